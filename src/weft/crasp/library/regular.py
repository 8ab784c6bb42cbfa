"""Regular languages that need no positions: a few counts decide each of them."""

from __future__ import annotations

from itertools import groupby, pairwise
from string import ascii_lowercase

from weft.crasp.library.catalogue import check_range, library_program, multiple
from weft.crasp.program import CraspProgram
from weft.crasp.syntax.builder import (
    Boolean,
    Count,
    CraspBuilder,
    all_of,
    any_of,
    count,
    exists,
    symbol,
)
from weft.errors import WeftError


@library_program("tomita-1", "1*", "111")
def tomita_1() -> CraspProgram:
    """There is no 0."""
    program = CraspBuilder("01")
    zero, _ = program.symbols
    program.accept = count(zero) == 0
    return program.build()


@library_program("tomita-2", "(10)*", "1010")
def tomita_2() -> CraspProgram:
    """Every prefix has as many 1s as 0s, or one more; the whole word as many."""
    program = CraspBuilder("01")
    zero, one = program.symbols
    program.bad = (count(one) < count(zero)) | (count(zero) + 1 < count(one))
    program.accept = (count(program.bad) == 0) & (count(one) == count(zero))
    return program.build()


@library_program("tomita-7", "0*1*0*1*", "001101")
def tomita_7() -> CraspProgram:
    """Go through the blocks one after another; no 0 may follow the last one.

    That the fourth block has begun is a chain of three counts, each of which starts when the one
    before has found its symbol.
    """
    program = CraspBuilder("01")
    zero, one = program.symbols
    program.second = exists(one)
    program.third = exists(zero & program.second)
    program.fourth = exists(one & program.third)
    program.bad = zero & program.fourth
    program.accept = count(program.bad) == 0
    return program.build()


@library_program("sorted-blocks", "aa*bb*cc*dd*ee*, for a number of letters", "aabbbcdee")
def sorted_blocks(letters: int = 5) -> CraspProgram:
    """No letter comes after a later one, and each occurs."""
    check_range("letters", letters, 2, len(ascii_lowercase))
    program = CraspBuilder(ascii_lowercase[:letters])
    symbols = program.symbols
    program.bad = any_of(
        letter & (sum(map(count, symbols[place:])) > 0)
        for place, letter in enumerate(symbols[:-1], 1)
    )
    program.accept = all_of([count(program.bad) == 0, *(count(each) >= 1 for each in symbols)])
    return program.build()


@library_program("alternating-blocks", "a+b+a+..., of a number of blocks (L_k)", "aabaa")
def alternating_blocks(blocks: int = 3) -> CraspProgram:
    """Go through the blocks one after another, in a chain as deep as there are blocks.

    The language L_k of the depth hierarchy: the more blocks, the more layers a transformer needs.
    """
    check_range("blocks", blocks, 1, 100)
    program = CraspBuilder("ab")
    a, b = program.symbols
    *_, last, beyond = _chain(program, ("ab" * blocks)[: blocks + 1])
    program.wrong_start = exists(b & (count(a) == 0))
    program.accept = ~program.wrong_start & last & ~beyond
    return program.build()


@library_program("ab-d-bc", "{a,b}* d {b,c}*", "abdcb")
def ab_d_bc() -> CraspProgram:
    """There is one d, no a after it and no c before it."""
    program = CraspBuilder("abcd")
    a, _, c, d = program.symbols
    program.bad = (a & (count(d) >= 1)) | (c & (count(d) == 0))
    program.accept = (count(program.bad) == 0) & (count(d) == 1)
    return program.build()


@library_program("contains-ab-binary", "an ab somewhere, of two letters", "bbaab")
def contains_ab_binary() -> CraspProgram:
    """Some b has an a before it: of two letters, there is an ab in between."""
    program = CraspBuilder("ab")
    a, b = program.symbols
    program.accept = exists(b & exists(a))
    return program.build()


@library_program("ends-in-b", "the last symbol is b", "aab")
def ends_in_b() -> CraspProgram:
    """Read the last symbol; nothing is counted."""
    program = CraspBuilder("ab")
    _, b = program.symbols
    program.accept = b
    return program.build()


@library_program("subsequence", "`pattern` is a scattered subsequence", "bacbac")
def subsequence(pattern: str = "abc") -> CraspProgram:
    """Find the letters of the pattern one after another, with one count for each run.

    Piecewise-testable languages are the Boolean combinations of these.
    """
    _check_pattern(pattern)
    program = CraspBuilder(sorted(set(pattern)))
    _chain(program, pattern)
    return program.build()


@library_program("no-subsequence", "`pattern` is not a scattered subsequence", "bbaab")
def no_subsequence(pattern: str = "aba") -> CraspProgram:
    """Find the letters of the pattern one after another; the last one must be missing."""
    _check_pattern(pattern)
    program = CraspBuilder(sorted(set(pattern)))
    program.accept = ~_chain(program, pattern)[-1]
    return program.build()


@library_program("ab-or-bbaa", "(ab + bbaa)*", "abbbaaab")
def ab_or_bbaa() -> CraspProgram:
    """Of the four steps of bbaa, none is ahead of the one before it.

    The height is the number of a less that of b: ab goes up and down, bbaa down two and up two.
    Below 0, the height alone does not say whether the way goes down or up, but how often each of
    the four steps was made does: they take turns.
    """
    program = CraspBuilder("ab")
    a, b = program.symbols
    program.height = count(a) - count(b)
    program.down_1 = count(b & (program.height == -1))
    program.down_2 = count(b & (program.height == -2))
    program.up_1 = count(a & (program.height == -1))
    program.up_2 = count(a & (program.height == 0))
    steps: list[Count] = [program.down_1, program.down_2, program.up_1, program.up_2]
    program.bad = any_of(
        [
            program.height > 1,
            program.height < -2,
            *(earlier < later for earlier, later in pairwise(steps)),
            program.down_1 > program.up_2 + 1,
        ]
    )
    program.accept = (count(program.bad) == 0) & (program.height == 0)
    return program.build()


@library_program("b-or-abc", "(b + abc)*", "babcbb")
def b_or_abc() -> CraspProgram:
    """In every prefix, the letters a, the b between an a and its c, and the c take turns."""
    program = CraspBuilder("abc")
    a, b, c = program.symbols
    program.inside = count(b & (count(a) > count(c)))
    program.bad = any_of(
        [
            count(a) < program.inside,
            program.inside < count(c),
            count(a) > count(c) + 1,
        ]
    )
    program.accept = (count(program.bad) == 0) & (count(a) == count(c))
    return program.build()


@library_program("bcab-or-cbac", "(bcab + cbac)*", "bcabcbac")
def bcab_or_cbac() -> CraspProgram:
    """One a counts as three of the others, which gives the place in a block of four.

    The balance of the other letters goes 1, 2, -1, 0 through a block. The letter at the second
    place differs from that at the first, and the one at the fourth equals it: in every block, and
    so in their counts.
    """
    program = CraspBuilder("abc")
    a, b, c = program.symbols
    program.balance = count(b) + count(c) - multiple(3, count(a))
    first, second, after_a, fourth = (program.balance == place for place in (1, 2, -1, 0))
    program.b_first = count(b & first)
    program.c_second = count(c & second)
    program.b_fourth = count(b & fourth)
    program.bad = any_of(
        [
            program.balance > 2,
            program.balance < -1,
            a & ~after_a,
            second & (program.b_first != program.c_second),
            fourth & (program.b_first != program.b_fourth),
        ]
    )
    program.accept = (count(program.bad) == 0) & fourth
    return program.build()


def _chain(program: CraspBuilder, pattern: str) -> list[Boolean]:
    """Lines `seen_1`, `seen_2`, ...: the first runs of a pattern are a subsequence so far.

    A run of equal letters is one line, which counts them: a position that has found one of them
    must not stand for the next one too.
    """
    lines: list[Boolean] = []
    for letter, run in groupby(pattern):
        body = symbol(letter) & lines[-1] if lines else symbol(letter)
        number = len(list(run))
        seen = exists(body) if number == 1 else count(body) >= number
        lines.append(program.define(f"seen_{len(lines) + 1}", seen))
    return lines


def _check_pattern(pattern: str) -> None:
    if not pattern.isalnum() or len(pattern) > 100:
        raise WeftError(
            f"pattern cannot be '{pattern}'", remedy="Give 1 to 100 letters, as in pattern=abc"
        )
