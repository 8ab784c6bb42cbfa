"""Parity of a bit string, three ways (ALTA paper, figures 2, 7 and 8).

The programs compute the same function, but transformers learn them very differently: the paper's
first lesson. `parity-count` is `parity-sum` in the form that the paper trains from traces.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import weft

START = "s"


class Parity(weft.Program):
    """Parity carried from left to right, one position per layer, by looking at the left neighbour.

    Right for every length: N bits take N layers; two binary variables, two heads and 7 rules.
    """

    tokens = [0, 1, START]

    parity = weft.var(2, token=lambda t: 0 if t == START else t)
    done = weft.var(2, token=lambda t: t == START)
    parity_left = weft.relative(parity, -1)
    done_left = weft.relative(done, -1)

    output = parity
    halt = done == 1

    def step(z: Any) -> None:
        if not z.done and z.done_left:
            z.parity ^= z.parity_left
            z.done = 1

    def encode(self, text: str) -> Sequence[Any]:
        """The bits, behind a start mark."""
        bits = self.vocabulary.parse(text)
        return bits if bits[:1] == [START] else [START, *bits]

    def decode(self, stream: weft.Stream) -> Any:
        """The parity of the whole string."""
        return stream["parity"][-1]

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A start mark and random bits."""
        return [START, *(rng.randrange(2) for _ in range(length - 1))]

    def task(self, tokens: Sequence[Any]) -> int:
        """Whether the number of ones is odd."""
        return tokens.count(1) % 2


class ParityAbsolute(weft.Program):
    """Parity carried from left to right by absolute positions: each looks up the index before it.

    The same algorithm as `parity`, but with absolute positions, so it is limited to them: N bits
    take N - 1 layers, for N up to `positions`.
    """

    def __init__(self, positions: int = 64) -> None:
        self.tokens = [0, 1]
        self.positions = positions
        self.parity = weft.var(2, token=lambda t: t)
        self.done = weft.var(2, position=lambda i: i == 0)
        self.index = weft.var(positions, position=lambda i: i)
        self.index_left = weft.var(positions, position=lambda i: max(0, i - 1))
        self.parity_left = weft.attend(self.index_left, self.index, self.parity)
        self.done_left = weft.attend(self.index_left, self.index, self.done)
        self.output = self.parity
        self.halt = self.done == 1

    def step(z: Any) -> None:
        if not z.done and z.done_left:
            z.parity ^= z.parity_left
            z.done = 1

    def decode(self, stream: weft.Stream) -> Any:
        """The parity of the whole string."""
        return stream["parity"][-1] if stream["parity"] else 0

    task = Parity.task


class ParitySum(weft.Program):
    """Parity by counting in one layer: the step turns a head's average directly into the parity.

    The head averages over the ones and the start mark; with n ones, the mark's share is
    1 / (n + 1). One layer for any length, but a bucket for every count of ones up to `ones`: it
    cannot generalise to counts that it has not seen.
    """

    layers = 1

    def __init__(self, ones: int = 40) -> None:
        self.tokens = [0, 1, START]
        self.parity = weft.var(2)
        self.start = weft.number([0, 1], token=lambda t: t == START)
        self.start_or_one = weft.var(2, token=lambda t: t in (1, START))
        self.query = weft.var(2, default=1)
        buckets = [1 / (count + 1) for count in range(ones + 1)]
        self.share = weft.attend(
            self.query, self.start_or_one, self.start, output=weft.number(buckets)
        )
        self.output = self.parity

    def step(z: Any) -> None:
        ones = round(1 / z.share) - 1
        if ones % 2:
            z.parity = 1

    encode = Parity.encode
    decode = Parity.decode
    sample = Parity.sample
    task = Parity.task


class ParityCount(weft.Program):
    """Parity by counting in two layers: the first stores the count of ones, the second its parity.

    The form of `parity-sum` whose traces the ALTA paper trains on (appendix D.1): a categorical
    count is easier to learn from than a share. Shares are multiplied by `scale`, so that noise in
    training does not blur them.
    """

    layers = 2

    def __init__(self, ones: int = 40, scale: int = 1000) -> None:
        self.tokens = [0, 1, START]
        self.scale = scale
        self.parity = weft.var(2)
        self.counted = weft.var(2)
        self.ones = weft.var(ones + 1)
        self.start = weft.number([0, scale], token=lambda t: scale * (t == START))
        self.start_or_one = weft.var(2, token=lambda t: t in (1, START))
        self.query = weft.var(2, default=1)
        buckets = [scale / (count + 1) for count in range(ones + 1)]
        self.share = weft.attend(
            self.query, self.start_or_one, self.start, output=weft.number(buckets)
        )
        self.output = self.parity

    def step(self, z: Any) -> None:
        if not z.counted:
            z.ones = round(self.scale / z.share) - 1
            z.counted = 1
        else:
            z.parity = z.ones % 2

    encode = Parity.encode
    decode = Parity.decode
    sample = Parity.sample
    task = Parity.task
