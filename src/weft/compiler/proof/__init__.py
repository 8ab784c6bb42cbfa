"""The verifier: does a model compute its program?

It trusts three things: the program's meaning (`weft.language`, `weft.interpreter`), the weights and
config as they are loaded, and IEEE floating-point arithmetic. It imports none of the compiler's
passes. What those found out arrives as a `Certificate`, whose statements are checked first.

Open `verify` for the theorem and the order of the checks.

    semantics            the derived updates, against the step as Python executes it
    invariant            the certificate: values, variables left out, heads merged
    stream_checks        the layout, embeddings, unembedding, config
    head_checks          every head: scores, margins, what is copied and cleared
    means                which numbers an averaging head can give, as the weights compute them
    feed_forward_checks  every update, by bounds over sets of states (`cells`, `rounding`,
                         `clearing`)
    exclusions           states in which the program itself fails
    counterexample       runs states and inputs through the weights before anything is called wrong
"""

from weft.compiler.proof.verify import Proof, prove

__all__ = ["Proof", "prove"]
