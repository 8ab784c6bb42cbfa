"""Counting in one layer: histogram, and the most frequent letter.

Attention averages, it does not add. So a count is read off a share: a head looks at the start mark
and at everything that is to be counted, and averages a number that is 1 at the mark and 0
elsewhere. It finds 1 / (1 + count). A number is read as the nearest of its buckets, so there is a
bucket for every count that can occur, and the input may not be longer than that.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import weft

START = "s"


def shares(most: int) -> list[float]:
    """What the share of the start mark can be, beside up to `most` others."""
    return [1 / (1 + others) for others in range(most + 1)]


def counted(share: float) -> int:
    """How many others the start mark shares with."""
    return round(1 / share) - 1


class Histogram(weft.Program):
    """How often each letter occurs: every position counts its like, in one layer.

    The query is a set, the own letter and the start mark. The share that the mark has among what is
    selected gives the count.

    One layer and one head for any length; but a value and a bucket for every count up to `most`,
    which is also how many letters the input may have.
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
        """One count a letter."""
        return list(stream["count"][1:])

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A start mark and random letters."""
        return [START, *rng.choices(self.letters, k=length - 1)]

    def task(self, tokens: Sequence[Any]) -> Any:
        """The counts, by counting."""
        return [tokens.count(letter) for letter in tokens[1:]]


class MostFrequent(weft.Program):
    """The most frequent letter: count as `histogram` does, then see whether any count is larger.

    There is no attention to "the largest". But a position can ask for all counts above its own, by
    a set that it makes in the first layer; if the start mark answers alone, there is none.

    Two layers and two heads for any length; two variables with a value for every count, and the
    limits of `histogram`. Where several letters are equally frequent, all of them are found.
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
        # At most 1/2 where a rival is selected beside the mark.
        self.alone = weft.attend(self.rivals, self.count, self.start, output=weft.number([0.5, 1]))
        self.output = self.winner

    def step(self, z: Any) -> None:
        # Both lines run in both layers. The first finds the same again, the second is right once
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
