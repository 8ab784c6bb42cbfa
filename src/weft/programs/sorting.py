"""Sorting, two ways: counting what is smaller, and swapping neighbours.

The first takes two layers and uses absolute positions; the second takes as many layers as there are
items and does the same at every position, whatever their number.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import weft
from weft.programs.counting import START, counted, shares

END = "e"


class SortUnique(weft.Program):
    """Sorting of distinct items in two layers: count the smaller ones, then fetch by rank.

    In the first layer every item queries for all smaller ones, with a set, and the share of the
    start mark among them gives their number: its rank. In the second layer, position i fetches the
    item of rank i.

    Two layers and two heads, and four variables with a value for each kind of item, which is also
    the maximum number of items: 10 by default.
    """

    layers = 2

    def __init__(self, items: str = "0123456789") -> None:
        kinds = len(items) + 1  # the start mark is kind 0, below all items
        tokens = [START, *items]
        self.items = items
        self.tokens = tokens
        self.positions = kinds
        self.item = weft.var(kinds, token=tokens.index)
        self.smaller = weft.subset(
            kinds,
            [below(item) for item in range(kinds)],
            token=lambda t: below(tokens.index(t)),
        )
        self.start = weft.number([0, 1], token=lambda t: t == START)
        self.index = weft.var(kinds, position=lambda i: i)
        self.rank = weft.var(kinds)
        self.ranked = weft.var(2)
        self.share = weft.attend(
            self.smaller, self.item, self.start, output=weft.number(shares(len(items)))
        )
        self.mine = weft.attend(self.index, self.rank, self.item)
        self.output = self.item

    def step(z: Any) -> None:
        if z.ranked:
            z.item = z.mine
        else:
            # The start mark, which is smaller than all items, is not among its `counted` others.
            z.rank = counted(z.share) + (z.item > 0)
            z.ranked = 1

    def encode(self, text: str) -> Sequence[Any]:
        """Distinct items, after a start mark."""
        items = self.vocabulary.parse(text.removeprefix(START))
        twice = [item for item in items if items.count(item) > 1 or item == START]
        if twice:
            raise weft.WeftError(
                f"'{twice[0]}' occurs twice",
                remedy="Give each item once; `sort` takes repeats",
            )
        return [START, *items]

    def decode(self, stream: weft.Stream) -> Any:
        """The items in order."""
        items: Any = stream["item"][1:]
        return "".join(map(self.vocabulary.name, items))

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A start mark and some items."""
        return [START, *rng.sample(self.items, min(length - 1, len(self.items)))]

    def task(self, tokens: Sequence[Any]) -> Any:
        """The items, sorted by Python."""
        return "".join(sorted(tokens[1:], key=self.items.index))


def below(item: int) -> set[int]:
    """All items below this one, and the start mark."""
    return {0, *range(item)}


class Sort(weft.Program):
    """Sorting with repeats: swap neighbours that are in the wrong order, everywhere in parallel.

    Odd-even transposition sort: positions pair up with a neighbour, the smaller item goes left and
    the larger right; in the next layer they pair up with the neighbour on the other side. That
    sorts N items in N layers. Meanwhile `done` moves from the start mark to the last item, one
    position per layer: a clock that halts all positions after N layers.

    N layers and three heads for N items, and no variable that grows with N.
    """

    def __init__(self, items: str = "0123456789") -> None:
        self.items = items
        self.tokens = [START, *items, END]  # in order: the marks never change places with items
        self.item = weft.var(len(self.tokens), token=self.tokens.index)
        self.mark = weft.var(2, token=lambda t: t in (START, END))
        self.pairs_left = weft.var(2, position=lambda i: i % 2)
        self.done = weft.var(2, token=lambda t: t in (START, END))
        self.left = weft.relative(self.item, -1)
        self.right = weft.relative(self.item, 1)
        self.done_left = weft.relative(self.done, -1)
        self.output = self.item
        self.halt = self.done == 1

    def step(z: Any) -> None:
        if not z.mark:
            z.item = max(z.item, z.left) if z.pairs_left else min(z.item, z.right)
            z.done |= z.done_left
        z.pairs_left = 1 - z.pairs_left

    def encode(self, text: str) -> Sequence[Any]:
        """Items between two marks."""
        items = self.vocabulary.parse(text.removeprefix(START).removesuffix(END))
        if START in items or END in items:
            raise weft.WeftError(
                "the items contain a mark",
                remedy=f"Give items alone: {self.items}",
            )
        return [START, *items, END]

    def decode(self, stream: weft.Stream) -> Any:
        """The items in order."""
        items: Any = stream["item"][1:-1]
        return "".join(map(self.vocabulary.name, items))

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """Random items between two marks."""
        return [START, *rng.choices(self.items, k=max(0, length - 2)), END]

    def task(self, tokens: Sequence[Any]) -> Any:
        """The items, sorted by Python."""
        return "".join(sorted(tokens[1:-1], key=self.items.index))
