"""Counting in one layer: histogram, and the most frequent letter.

Attention averages; it does not add. So a count is read off a share: a head attends to the start
mark and to everything that is to be counted, and averages a number that is 1 at the mark and 0
elsewhere. The result is 1 / (1 + count). A number is rounded to the nearest of its buckets, so
there is a bucket for every possible count, which bounds the length of the input.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import weft

START = "s"


def shares(most: int) -> list[float]:
    """The possible shares of the start mark, beside up to `most` other positions."""
    return [1 / (1 + others) for others in range(most + 1)]


def counted(share: float) -> int:
    """The number of other positions, from the share of the start mark."""
    return round(1 / share) - 1


class Histogram(weft.Program):
    """How often each letter occurs: every position counts its own letter, in one layer.

    The query is a set of two values: the position's letter and the start mark. The share of the
    mark among the selected positions gives the count.

    One layer and one head for any length, but a value and a bucket for every count up to `most`,
    which is also the maximum number of letters.
    """

    layers = 1

    def __init__(self, letters: str = "abcd", most: int = 15) -> None:
        kinds = len(letters) + 1  # the start mark is kind 0
        self.letters = letters
        tokens = [START, *letters]
        self.tokens = tokens
        self.positions = most + 1
        self.kind = weft.var(kinds, token=tokens.index)
        alike = [{0, kind} for kind in range(kinds)]
        self.alike = weft.subset(kinds, alike, token=lambda t: alike[tokens.index(t)])
        self.start = weft.number([0, 1], token=lambda t: t == START)
        self.count = weft.var(most + 1)
        self.share = weft.attend(
            self.alike, self.kind, self.start, output=weft.number(shares(most))
        )
        self.output = self.count

    def step(z: Any) -> None:
        z.count = counted(z.share)

    def encode(self, text: str) -> Sequence[Any]:
        """Letters, behind a start mark."""
        letters = self.vocabulary.parse(text)
        return letters if letters[:1] == [START] else [START, *letters]

    def decode(self, stream: weft.Stream) -> Any:
        """One count per letter."""
        return list(stream["count"][1:])

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A start mark and random letters."""
        return [START, *rng.choices(self.letters, k=length - 1)]

    def task(self, tokens: Sequence[Any]) -> Any:
        """The counts, by counting."""
        return [tokens.count(letter) for letter in tokens[1:]]


class MostFrequent(weft.Program):
    """The most frequent letter: count as `histogram` does, then check whether any count is larger.

    No head can attend to "the largest". But a position can query for all counts above its own, with
    a set that it computes in the first layer; if only the start mark is selected, there are none.

    Two layers and two heads for any length; two variables with a value for every count, and the
    limits of `histogram`. If several letters are equally frequent, the result has all of them.
    """

    layers = 2

    def __init__(self, letters: str = "abcd", most: int = 15) -> None:
        kinds, counts = len(letters) + 1, most + 1
        self.letters = letters
        tokens = [START, *letters]
        self.tokens = tokens
        self.positions = most + 1
        self.most = most
        self.kind = weft.var(kinds, token=tokens.index)
        alike = [{0, kind} for kind in range(kinds)]
        self.alike = weft.subset(kinds, alike, token=lambda t: alike[tokens.index(t)])
        self.start = weft.number([0, 1], token=lambda t: t == START)
        self.count = weft.var(counts)
        self.rivals = weft.subset(
            counts, [above(count, most) for count in range(counts)], default={0}
        )
        self.winner = weft.var(2)
        self.share = weft.attend(
            self.alike, self.kind, self.start, output=weft.number(shares(most))
        )
        # At most 1/2 if a rival is selected beside the mark.
        self.alone = weft.attend(self.rivals, self.count, self.start, output=weft.number([0.5, 1]))
        self.output = self.winner

    def step(self, z: Any) -> None:
        # Both lines run in both layers. The first computes the same again; the second is right once
        # all counts and rivals are.
        count = counted(z.share)
        z.count = count
        z.rivals = above(count, self.most)
        z.winner = int(z.alone == 1)

    encode = Histogram.encode
    sample = Histogram.sample

    def decode(self, stream: weft.Stream) -> Any:
        """The letters that are most frequent, each once."""
        pairs: Any = zip(stream["kind"], stream["winner"], strict=True)
        kinds = {kind for kind, wins in pairs if wins and kind > 0}
        return "".join(map(self.vocabulary.name, sorted(kinds)))

    def task(self, tokens: Sequence[Any]) -> Any:
        """The letters whose count is the largest."""
        counts = Counter(tokens[1:])
        largest = max(counts.values(), default=0)
        return "".join(letter for letter in self.letters if 0 < counts[letter] == largest)


def above(count: int, most: int) -> set[int]:
    """All counts above this one, and that of the start mark, which is 0."""
    return {0, *range(count + 1, most + 1)}
