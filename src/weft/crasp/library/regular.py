"""Regular languages that need no positions: a few counts decide each of them."""

from __future__ import annotations

from itertools import groupby, pairwise
from string import ascii_lowercase

from weft.crasp.expressions import Add, Expression, Integer, Name, Subtract
from weft.crasp.library.catalogue import check_range, library_program
from weft.crasp.library.notation import (
    compare,
    count,
    every,
    exists,
    negation,
    never,
    program,
    q,
    some,
    total,
)
from weft.crasp.program import CraspProgram
from weft.errors import WeftError

BITS = ("0", "1")


@library_program("tomita-1", "1*", "111")
def tomita_1() -> CraspProgram:
    """There is no 0."""
    return program(BITS, accept=compare(count("0"), "==", 0))


@library_program("tomita-2", "(10)*", "1010")
def tomita_2() -> CraspProgram:
    """Every prefix has as many 1s as 0s, or one more; the whole word as many."""
    zeros, ones = count("0"), count("1")
    ahead = compare(Add(zeros, Integer(1)), "<", ones)
    return program(
        BITS,
        bad=some(compare(ones, "<", zeros), ahead),
        accept=every(never("bad"), compare(ones, "==", zeros)),
    )


@library_program("tomita-7", "0*1*0*1*", "001101")
def tomita_7() -> CraspProgram:
    """Go through the blocks one after another; no 0 may follow the last one.

    That the fourth block has begun is a chain of three counts, each of which starts where the one
    before has found its symbol.
    """
    return program(
        BITS,
        second=exists(q("1")),
        third=exists(every(q("0"), Name("second"))),
        fourth=exists(every(q("1"), Name("third"))),
        bad=every(q("0"), Name("fourth")),
        accept=never("bad"),
    )


@library_program("sorted-blocks", "aa*bb*cc*dd*ee*, for a number of letters", "aabbbcdee")
def sorted_blocks(letters: int = 5) -> CraspProgram:
    """No letter comes after a later one, and each occurs."""
    check_range("letters", letters, 2, len(ascii_lowercase))
    alphabet = ascii_lowercase[:letters]
    late = [
        every(q(letter), compare(total(map(count, alphabet[place:])), ">", 0))
        for place, letter in enumerate(alphabet[:-1], 1)
    ]
    present = [compare(count(letter), ">=", 1) for letter in alphabet]
    return program(alphabet, bad=some(*late), accept=every(never("bad"), *present))


@library_program("alternating-blocks", "a+b+a+..., of a number of blocks (L_k)", "aabaa")
def alternating_blocks(blocks: int = 3) -> CraspProgram:
    """Go through the blocks one after another, in a chain as deep as there are blocks.

    The language L_k of the depth hierarchy: the more blocks, the more layers a transformer needs.
    """
    check_range("blocks", blocks, 1, 100)
    letters = ("ab" * blocks)[: blocks + 1]
    steps = _chain(letters)
    begins = exists(every(q("b"), compare(count("a"), "==", 0)))
    lines = {
        **steps,
        "wrong_start": begins,
        "accept": every(
            negation(Name("wrong_start")),
            Name(f"seen_{blocks}"),
            negation(Name(f"seen_{blocks + 1}")),
        ),
    }
    return program("ab", **lines)


@library_program("ab-d-bc", "{a,b}* d {b,c}*", "abdcb")
def ab_d_bc() -> CraspProgram:
    """There is one d, no a after it and no c before it."""
    after = every(q("a"), compare(count("d"), ">=", 1))
    before = every(q("c"), compare(count("d"), "==", 0))
    return program(
        "abcd",
        bad=some(after, before),
        accept=every(never("bad"), compare(count("d"), "==", 1)),
    )


@library_program("contains-ab-binary", "an ab somewhere, of two letters", "bbaab")
def contains_ab_binary() -> CraspProgram:
    """Some b has an a before it: of two letters, there is an ab in between."""
    return program("ab", accept=exists(every(q("b"), exists(q("a")))))


@library_program("ends-in-b", "the last symbol is b", "aab")
def ends_in_b() -> CraspProgram:
    """Read the last symbol; nothing is counted."""
    return program("ab", accept=q("b"))


@library_program("subsequence", "`pattern` is a scattered subsequence", "bacbac")
def subsequence(pattern: str = "abc") -> CraspProgram:
    """Find the letters of the pattern one after another, with one count for each run.

    Piecewise-testable languages are the Boolean combinations of these.
    """
    steps = _chain(_checked_pattern(pattern))
    return program(sorted(set(pattern)), **steps)


@library_program("no-subsequence", "`pattern` is not a scattered subsequence", "bbaab")
def no_subsequence(pattern: str = "aba") -> CraspProgram:
    """Find the letters of the pattern one after another; the last one must be missing."""
    steps = _chain(_checked_pattern(pattern))
    return program(sorted(set(pattern)), **steps, accept=negation(Name(list(steps)[-1])))


@library_program("ab-or-bbaa", "(ab + bbaa)*", "abbbaaab")
def ab_or_bbaa() -> CraspProgram:
    """Between a bbaa's four steps of height, none may be one ahead of the step before it.

    The height is the number of a less that of b: ab goes up and down, bbaa down two and up two.
    Below 0 a position alone does not say whether the way goes down or up, but how often each of the
    four steps was made does: they take turns.
    """
    height = Subtract(count("a"), count("b"))

    def steps(letter: str, reached: int) -> Expression:
        return count(every(q(letter), compare(Name("height"), "==", reached)))

    order = ["down_1", "down_2", "up_1", "up_2"]
    ahead = [compare(Name(earlier), "<", Name(later)) for earlier, later in pairwise(order)]
    return program(
        "ab",
        height=height,
        down_1=steps("b", -1),
        down_2=steps("b", -2),
        up_1=steps("a", -1),
        up_2=steps("a", 0),
        bad=some(
            compare(Name("height"), ">", 1),
            compare(Name("height"), "<", -2),
            *ahead,
            compare(Name("down_1"), ">", Add(Name("up_2"), Integer(1))),
        ),
        accept=every(never("bad"), compare(Name("height"), "==", 0)),
    )


@library_program("b-or-abc", "(b + abc)*", "babcbb")
def b_or_abc() -> CraspProgram:
    """In every prefix, the letters a, the b between an a and its c, and the c take turns."""
    between = every(q("b"), compare(count("a"), ">", count("c")))
    inside = Name("inside")
    return program(
        "abc",
        inside=count(between),
        bad=some(
            compare(count("a"), "<", inside),
            compare(inside, "<", count("c")),
            compare(count("a"), ">", Add(count("c"), Integer(1))),
        ),
        accept=every(never("bad"), compare(count("a"), "==", count("c"))),
    )


def _chain(pattern: str) -> dict[str, Expression]:
    """Lines `seen_1`, `seen_2`, ...: the first runs of a pattern are a subsequence so far.

    A run of equal letters is one line, which counts them: a position that has found one of them
    must not stand for the next one too.
    """
    lines: dict[str, Expression] = {}
    for place, (letter, run) in enumerate(groupby(pattern), 1):
        body = q(letter) if place == 1 else every(q(letter), Name(f"seen_{place - 1}"))
        number = len(list(run))
        line = exists(body) if number == 1 else compare(count(body), ">=", number)
        lines[f"seen_{place}"] = line
    return lines


def _checked_pattern(pattern: str) -> str:
    if not pattern.isalnum() or len(pattern) > 100:
        raise WeftError(
            f"pattern cannot be '{pattern}'", remedy="Give 1 to 100 letters, as in pattern=abc"
        )
    return pattern
