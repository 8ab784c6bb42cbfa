"""Regular languages that need periodic predicates."""

from __future__ import annotations

from weft.crasp.expressions import (
    And,
    Comparison,
    Counting,
    Integer,
    Not,
    Periodic,
    Position,
    Symbol,
)
from weft.crasp.library.catalogue import library_program
from weft.crasp.program import CraspProgram, Line


@library_program("even-length", "(aa)*", "aaaa")
def even_length() -> CraspProgram:
    """Nothing but a, and the last position is even."""
    only = Comparison("==", Counting(Not(Symbol("a"))), Integer(0))
    accept = And((only, Position(Periodic(2, (0,)))))
    return CraspProgram(("a", "b"), (Line("accept", accept),))
