"""Languages of counters: majority, brackets and blocks of equal length."""

from __future__ import annotations

from weft.crasp.expressions import Add, And, Comparison, Counting, Integer, Name, Or, Symbol
from weft.crasp.library.catalogue import library_program
from weft.crasp.program import CraspProgram, Line

NONE = Integer(0)


@library_program("majority", "more 1s than 0s", "10110")
def majority() -> CraspProgram:
    """Count the zeros and the ones, and compare."""
    more = Comparison("<", Counting(Symbol("0")), Counting(Symbol("1")))
    return CraspProgram(("0", "1"), (Line("accept", more),))


@library_program("dyck-1", "well-nested brackets", "(()())")
def dyck_1() -> CraspProgram:
    """No prefix closes more than it opened, and in the end all is closed."""
    opened, closed = Counting(Symbol("(")), Counting(Symbol(")"))
    bad = Comparison("<", opened, closed)
    never_bad = Comparison("==", Counting(Name("bad")), NONE)
    accept = And((never_bad, Comparison("==", opened, closed)))
    return CraspProgram(("(", ")"), (Line("bad", bad), Line("accept", accept)))


@library_program("anbncn", "a^n b^n c^n", "aabbcc")
def anbncn() -> CraspProgram:
    """No letter comes after a later one, and all are equally frequent."""
    a, b, c = (Counting(Symbol(letter)) for letter in "abc")
    bad = Or(
        (
            And((Symbol("a"), Comparison(">", Add(b, c), NONE))),
            And((Symbol("b"), Comparison(">", c, NONE))),
        )
    )
    never_bad = Comparison("==", Counting(Name("bad")), NONE)
    accept = And((never_bad, Comparison("==", a, b), Comparison("==", b, c)))
    return CraspProgram(("a", "b", "c"), (Line("bad", bad), Line("accept", accept)))
