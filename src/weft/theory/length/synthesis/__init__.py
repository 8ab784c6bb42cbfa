"""Synthesis of C-RASP programs for regular languages, from what the deciders found.

    synthesise   the program of a decision without positions, or of an unfolding
    pieces       the automaton in pieces that a run leaves once and for all
    writer       the lines of a program for one automaton
    formulas     Boolean expressions that simplify themselves

Nothing here has to be trusted: the checker (`weft.theory.length.checker`) proves a program equal to
the automaton.
"""

from weft.theory.length.synthesis.programs import synthesise

__all__ = ["synthesise"]
