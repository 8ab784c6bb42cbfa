"""The verifier of compiled C-RASP programs: does a model compute its program?

It trusts the program's meaning, the weights and config as they are loaded, and floating-point
arithmetic. It shares nothing with the construction of the weights. Open `verify` for the theorem
and the order of the checks.

    diagrams         canonical functions of word and position (`nodes`)
    meaning          the function of each line, from the program
    execution        the function of each dimension of the stream, from the weights
    heads            what a head attends to
    values           sums, means and units, with bounds on rounding errors
    paths            where two functions differ, and whether a word comes there (`feasibility`)
    model_checks     config, vocabulary, layout, and the sizes of all numbers
    counterexample   runs words through the model before anything is called wrong
"""

from weft.crasp.proof.verify import CraspProof, prove

__all__ = ["CraspProof", "prove"]
