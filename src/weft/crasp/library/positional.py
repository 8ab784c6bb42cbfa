"""Regular languages that need positions: the previous symbols, or the position's remainder."""

from __future__ import annotations

from weft.crasp.expressions import Name, Subtract
from weft.crasp.library.catalogue import check_range, library_program
from weft.crasp.library.notation import (
    compare,
    count,
    every,
    exists,
    modulo,
    negation,
    never,
    previous,
    program,
    q,
    some,
)
from weft.crasp.program import CraspProgram


@library_program("tomita-4", "no three 0s in a row", "0010010")
def tomita_4() -> CraspProgram:
    """No 0 follows two 0s."""
    near = [compare(count("0", offset), ">=", 1) for offset in (1, 2)]
    return program(("0", "1"), bad=every(q("0"), *near), accept=never("bad"))


@library_program("contains-ab", "an ab somewhere, of three letters", "cbacab")
def contains_ab() -> CraspProgram:
    """Some b has an a right before it."""
    return program("abc", accept=exists(every(q("b"), previous(q("a")))))


@library_program("ab-or-aabb", "(ab + aabb)*", "abaabbab")
def ab_or_aabb() -> CraspProgram:
    """Brackets of depth at most 2 that open a second one only right after the first.

    The depth and the previous symbol give the state of the automaton. Without the previous symbol
    there is no program: counts do not say whether depth 1 was reached from above or from below.
    """
    depth = Name("depth")
    second = every(q("a"), compare(depth, "==", 2), negation(previous(q("a"))))
    return program(
        "ab",
        depth=Subtract(count("a"), count("b")),
        bad=some(compare(depth, "<", 0), compare(depth, ">", 2), second),
        accept=every(never("bad"), compare(depth, "==", 0)),
    )


@library_program("even-length", "(aa)*", "aaaa")
def even_length() -> CraspProgram:
    """There is nothing but a, and the last position is even."""
    return _multiple(2)


@library_program("length-multiple", "(aaaa)*, or another period", "aaaaaaaa")
def length_multiple(period: int = 4) -> CraspProgram:
    """There is nothing but a, and the period divides the last position."""
    check_range("period", period, 1)
    return _multiple(period)


def _multiple(period: int) -> CraspProgram:
    only = compare(count(negation(q("a"))), "==", 0)
    return program("ab", accept=every(only, modulo(period, 0)))


@library_program("abab", "(abab)*", "abababab")
def abab() -> CraspProgram:
    """There is an a at odd positions, a b at even ones, and 4 divides the last position."""
    return program(
        "ab",
        bad=some(every(q("a"), modulo(2, 0)), every(q("b"), modulo(2, 1))),
        accept=every(never("bad"), modulo(4, 0)),
    )
