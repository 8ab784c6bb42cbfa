"""Regular languages that a counter or the neighbouring symbols decide."""

from __future__ import annotations

from weft.crasp.expressions import And, Comparison, Counting, Integer, Local, Name, Symbol
from weft.crasp.library.catalogue import library_program
from weft.crasp.program import CraspProgram, Line


@library_program("tomita-4", "no three 0s in a row", "0010010")
def tomita_4() -> CraspProgram:
    """No zero follows two zeros."""
    zero, one = Symbol("0"), Integer(1)
    near = [Comparison(">=", Counting(zero, Local((offset,))), one) for offset in (1, 2)]
    bad = And((zero, *near))
    accept = Comparison("==", Counting(Name("bad")), Integer(0))
    return CraspProgram(("0", "1"), (Line("bad", bad), Line("accept", accept)))
