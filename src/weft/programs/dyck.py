"""Nested brackets of several kinds up to a depth: the bounded Dyck language.

Well-nested brackets of k kinds are the model of all nested syntax. With bounded depth the language
is regular, but an automaton for it has about k^depth states; a stack has `depth` cells.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import weft

START = "s"
WAITING, STACKED, DONE = range(3)


class Dyck(weft.Program):
    """Whether brackets are well nested, and how deep, by a stack passed from left to right.

    Each position takes over the stack of its left neighbour, one position per layer. An opening
    bracket pushes its kind: every cell takes the content of the one above it. A closing bracket
    pops, if its kind is on top. A wrong bracket, or one that is too deep, makes all later positions
    wrong. One layer later the position counts its cells: that is the depth.

    N + 1 layers for N brackets of k kinds; for depth D, D + 2 heads, and D variables of k + 1
    values.
    """

    def __init__(self, brackets: str = "()[]{}", depth: int = 4) -> None:
        opening, closing = brackets[::2], brackets[1::2]
        kinds = len(opening) + 1  # kind 0 stands for an empty cell
        self.opening, self.closing = opening, closing
        self.deepest, self.wrong = depth, depth + 1
        self.tokens = [START, *brackets]
        self.opens = weft.var(kinds, token=lambda t: opening.find(t) + 1)
        self.closes = weft.var(kinds, token=lambda t: closing.find(t) + 1)
        self.stage = weft.var(3, token=lambda t: STACKED if t == START else WAITING)
        self.broken = weft.var(2)
        self.depth = weft.var(depth + 2)
        self.stage_left = weft.relative(self.stage, -1)
        self.broken_left = weft.relative(self.broken, -1)
        self.cells = tuple(f"cell_{place}" for place in range(depth))  # cell_0 is the top
        self.lefts = tuple(f"{cell}_left" for cell in self.cells)
        for cell, left in zip(self.cells, self.lefts, strict=True):
            setattr(self, cell, weft.var(kinds))
            setattr(self, left, weft.relative(getattr(self, cell), -1))
        self.output = self.depth
        self.halt = self.stage == DONE

    def step(self, z: Any) -> None:
        if z.stage == STACKED:
            z.depth = self.wrong if z.broken else sum(z[cell] != 0 for cell in self.cells)
            z.stage = DONE
        elif z.stage == WAITING and z.stage_left != WAITING:
            if z.opens:
                self.push(z)
            else:
                self.drop(z)
            z.stage = STACKED

    def push(self, z: Any) -> None:
        """Push the kind; a full stack breaks."""
        z.broken = int(z.broken_left or z[self.lefts[-1]] != 0)
        z.cell_0 = z.opens
        for place in range(1, self.deepest):
            z[self.cells[place]] = z[self.lefts[place - 1]]

    def drop(self, z: Any) -> None:
        """Pop the top; the stack breaks if it has another kind, or is empty."""
        z.broken = int(z.broken_left or z.cell_0_left != z.closes)
        for place in range(1, self.deepest):
            z[self.cells[place - 1]] = z[self.lefts[place]]

    def encode(self, text: str) -> Sequence[Any]:
        """Brackets, behind a start mark."""
        brackets = self.vocabulary.parse(text)
        return brackets if brackets[:1] == [START] else [START, *brackets]

    def decode(self, stream: weft.Stream) -> Any:
        """Whether brackets are well nested, and the depth after each up to the first mistake."""
        depths: Any = stream["depth"][1:]
        right = [depth for depth in depths if depth != self.wrong]
        return len(right) == len(depths) and depths[-1:] in [(), (0,)], right

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """Well-nested brackets; in every fourth sample, one of them is wrong."""
        made: list[str] = []
        stack: list[str] = []
        for left in range(length - 1, 0, -1):
            opens = len(stack) < min(left, self.deepest) and (not stack or rng.random() < 0.5)
            if opens:
                place = rng.randrange(len(self.opening))
                stack.append(self.closing[place])
            made.append(self.opening[place] if opens else stack.pop())
        if made and rng.random() < 0.25:
            made[rng.randrange(len(made))] = rng.choice(self.opening + self.closing)
        return [START, *made]

    def task(self, tokens: Sequence[Any]) -> Any:
        """The same by a Python list."""
        stack: list[str] = []
        depths: list[int] = []
        for bracket in tokens[1:]:
            if bracket in self.opening and len(stack) < self.deepest:
                stack.append(self.closing[self.opening.index(bracket)])
            elif not stack or stack.pop() != bracket:
                return False, depths
            depths.append(len(stack))
        return not stack, depths
