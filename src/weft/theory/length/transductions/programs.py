"""C-RASP programs of tasks that the library does not have.

Copies with a stride, by local predicates or by counting alone, and what may come next in counter
languages. Inputs of copies consist of the letters a, b, ... and, with a stride, the filler `#`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from string import ascii_lowercase

from weft.crasp import library
from weft.crasp.library.catalogue import multiple
from weft.crasp.program import CraspProgram
from weft.crasp.syntax.builder import (
    Boolean,
    Count,
    CraspBuilder,
    all_of,
    any_of,
    count,
    exists,
    if_else,
    symbol,
)

SEPARATOR = "|"
FILLER = "#"
BAR = symbol(SEPARATOR)


# Copies


def letters_of(count: int) -> tuple[str, ...]:
    """What programs call so many symbols: a, b, ..., or a1, a2, ... if there are more than 26."""
    if count <= len(ascii_lowercase):
        return tuple(ascii_lowercase[:count])
    return tuple(f"a{number}" for number in range(1, count + 1))


def local_copy(letters: int, stride: int = 1) -> CraspProgram:
    """Every `stride`-th symbol of distinct ones, by a local predicate.

    What stands `stride` positions after this letter in the input comes next, and after the
    separator the symbol at position `stride`.
    """
    if stride == 1:
        return library.load("unique-copy", letters=letters)
    symbols = letters_of(letters)
    program = CraspBuilder((*symbols, FILLER, SEPARATOR), f"copy-every-{stride}")
    program.answering = exists(BAR)
    at_stride = exists(True, offsets=stride - 1) & ~exists(True, offsets=stride)
    program.first = at_stride & ~program.answering
    back = {a: program.define(f"back_{a}", exists(symbol(a), offsets=stride)) for a in symbols}
    for b in symbols:
        start = BAR & exists(symbol(b) & program.first)
        follows = [
            symbol(a) & exists(symbol(b) & back[a] & ~program.answering) for a in symbols if a != b
        ]
        program.allow(b, any_of([start, *follows]))
    return program.build()


def counted_copy(letters: int, stride: int = 1) -> CraspProgram:
    """Every `stride`-th symbol of distinct ones, by counting alone.

    The place of a letter is the number of positions up to its first occurrence, which is a count.
    The next letter is the one whose place is by `stride` higher than that of this letter.
    """
    symbols = letters_of(letters)
    fillers = (FILLER,) if stride > 1 else ()
    program = CraspBuilder((*symbols, *fillers, SEPARATOR), f"counted-copy-{stride}")
    program.reading = ~exists(BAR)
    before: dict[str, Count] = {}
    for a in symbols:
        seen = program.define(f"seen_{a}", exists(symbol(a)))
        before[a] = program.define(f"before_{a}", count(~seen & program.reading))
    place: Count | int = 0
    for a in symbols:  # at the separator it stays 0
        place = if_else(symbol(a), before[a] + 1, place)
    program.place = place
    for b in symbols:
        inside = exists(symbol(b) & program.reading)
        follows = before[b] + 1 == program.place + stride
        program.allow(b, ~program.reading & inside & follows)
    return program.build()


# Counter languages: what may come next after a prefix of a word, and whether it is a word


def brackets(kinds: int) -> CraspProgram:
    """Brackets of several kinds, each well nested on its own: what may come next.

    A bracket may be closed if more of its kind have been opened than closed.
    """
    symbols = "()[]"[: 2 * kinds]
    program = CraspBuilder(symbols, "next-bracket")
    kept: list[Boolean] = []
    for opening, closing in zip(symbols[::2], symbols[1::2], strict=True):
        opened, closed = count(symbol(opening)), count(symbol(closing))
        program.allow(opening, True)
        program.allow(closing, opened > closed)
        kept.append(opened == closed)
    program.accept = all_of(kept)
    return program.build()


def equal_runs(letters: str) -> CraspProgram:
    """a^n b^n c^n ...: what may come next.

    The first letter may come while there is no other; each further letter once the one before it is
    as frequent as the first, and while it is less frequent itself.
    """
    program = CraspBuilder(letters, "next-of-equal-runs")
    counts = [program.define(f"count_{a}", count(symbol(a))) for a in letters]
    program.allow(letters[0], counts[1] == 0)
    for place, a in enumerate(letters[1:], 1):
        program.allow(a, (counts[place - 1] == counts[0]) & (counts[place] < counts[0]))
    program.accept = all_of(one == two for one, two in pairwise(counts))
    return program.build()


def prefix_expressions(arity: int) -> CraspProgram:
    """Operators before their operands: what may come next.

    Any symbol may come while operands are missing. Each operator of n operands adds n - 1 of them.
    """
    operators = ascii_lowercase[:arity]
    program = CraspBuilder("01" + operators, "next-of-expression")
    asked = [multiple(more, count(symbol(o))) for more, o in enumerate(operators[1:], 1)]
    program.missing = sum(asked) + 1 - count(symbol("0")) - count(symbol("1"))
    for a in "01" + operators:
        program.allow(a, program.missing > 0)
    program.accept = program.missing == 0
    return program.build()


NEXT_PROGRAMS: dict[str, Callable[[], CraspProgram]] = {
    "dyck-1": lambda: brackets(1),
    "shuffle-2": lambda: brackets(2),
    "anbn": lambda: equal_runs("ab"),
    "anbncn": lambda: equal_runs("abc"),
    "4-count": lambda: equal_runs("abcd"),
    "boolean-3": lambda: prefix_expressions(3),
    "boolean-5": lambda: prefix_expressions(5),
}
"""By counter language, the program of what may come next."""

MEMBERSHIP_PROGRAMS: dict[str, str] = {
    "dyck-1": "dyck-1",
    "shuffle-2": "shuffle(pairs=2)",
    "anbn": "anbn",
    "anbncn": "anbncn",
    "4-count": "counter(letters=4)",
    "boolean-3": "prefix-expressions(arity=3)",
    "boolean-5": "prefix-expressions(arity=5)",
}
"""By counter language, the program of the library that accepts its words."""
