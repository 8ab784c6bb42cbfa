"""One table of programs with inputs and right answers, replayed at every stage.

The answers come from Python itself (counting ones, adding integers), never from Weft.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import weft
from weft.language import Program


@dataclass(frozen=True)
class Case:
    """A program, inputs for it, and what it should make of each."""

    name: str
    program: Callable[[], Program]
    inputs: tuple[str, ...]
    expected: Callable[[str], Any]

    def __str__(self) -> str:
        return self.name


def _bits(longest: int, count: int) -> tuple[str, ...]:
    rng = random.Random(0)
    short = [f"{n:b}" for n in range(16)]
    return (*short, *("".join(rng.choices("01", k=rng.randint(1, longest))) for _ in range(count)))


def _sums(digits: int, count: int) -> tuple[str, ...]:
    rng = random.Random(1)
    numbers = [(0, 0), (9, 1), (99, 1), (5, 500), (999, 999)]
    numbers += [
        (rng.randrange(10 ** rng.randint(1, digits)), rng.randrange(10 ** rng.randint(1, digits)))
        for _ in range(count)
    ]
    return tuple(f"{a}+{b}" for a, b in numbers)


def _sum(text: str) -> int:
    left, right = text.split("+")
    return int(left) + int(right)


def _visited(text: str) -> str:
    """The nodes of a tree in order, as in `ab..c..`, by a stack of what is still to do."""
    position, stack, visited = 0, ["tree"], ""
    while stack:
        item = stack.pop()
        if item != "tree":
            visited += item
            continue
        node, position = text[position], position + 1
        if node != ".":
            stack += ["tree", node, "tree"]
    return visited


NUMBERS = tuple(str(number) for number in (*range(1, 18), 2**12 - 1, 2**12, 0b1011101))
TREES = (".", "a..", "ab..c..", "abc....", "a.b.c..")

CASES = (
    Case("parity", lambda: weft.program("parity"), _bits(40, 30), lambda t: t.count("1") % 2),
    Case(
        "parity-absolute",
        lambda: weft.program("parity-absolute(positions=40)"),
        _bits(40, 30),
        lambda t: t.count("1") % 2,
    ),
    Case(
        "parity-sum",
        lambda: weft.program("parity-sum(ones=40)"),
        _bits(40, 30),
        lambda t: t.count("1") % 2,
    ),
    Case("addition", lambda: weft.program("addition"), _sums(12, 30), _sum),
    Case(
        "successor-natural",
        lambda: weft.program("successor(order=natural)"),
        NUMBERS,
        lambda t: int(t) + 1,
    ),
    Case("tree-walk", lambda: weft.program("tree-walk"), TREES, _visited),
)
