"""Regular languages that need positions: the previous symbols, or the position's remainder."""

from __future__ import annotations

from weft.crasp.library.catalogue import check_range, library_program
from weft.crasp.program import CraspProgram
from weft.crasp.syntax.builder import CraspBuilder, any_of, count, exists, mod, previous


@library_program("tomita-4", "no three 0s in a row", "0010010")
def tomita_4() -> CraspProgram:
    """No 0 follows two 0s."""
    program = CraspBuilder("01")
    zero, _ = program.symbols
    program.bad = zero & (count(zero, offsets=1) >= 1) & (count(zero, offsets=2) >= 1)
    program.accept = count(program.bad) == 0
    return program.build()


@library_program("contains-ab", "an ab somewhere, of three letters", "cbacab")
def contains_ab() -> CraspProgram:
    """Some b has an a right before it."""
    program = CraspBuilder("abc")
    a, b, _ = program.symbols
    program.accept = exists(b & previous(a))
    return program.build()


@library_program("ab-or-aabb", "(ab + aabb)*", "abaabbab")
def ab_or_aabb() -> CraspProgram:
    """Brackets of depth at most 2 that open a second one only right after the first.

    The depth and the previous symbol give the state of the automaton. Without the previous symbol
    there is no program: counts do not say whether depth 1 was reached from above or from below.
    """
    program = CraspBuilder("ab")
    a, b = program.symbols
    program.depth = count(a) - count(b)
    late = a & (program.depth == 2) & ~previous(a)
    program.bad = any_of([program.depth < 0, program.depth > 2, late])
    program.accept = (count(program.bad) == 0) & (program.depth == 0)
    return program.build()


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
    program = CraspBuilder("ab")
    a, _ = program.symbols
    program.accept = (count(~a) == 0) & mod(period, 0)
    return program.build()


@library_program("abab", "(abab)*", "abababab")
def abab() -> CraspProgram:
    """There is an a at odd positions, a b at even ones, and 4 divides the last position."""
    program = CraspBuilder("ab")
    a, b = program.symbols
    program.bad = (a & mod(2, 0)) | (b & mod(2, 1))
    program.accept = (count(program.bad) == 0) & mod(4, 0)
    return program.build()
