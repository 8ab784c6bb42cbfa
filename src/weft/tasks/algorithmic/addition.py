"""Binary addition of Huang et al. (2025): two numbers of any lengths, and their sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from weft.tasks.algorithmic.protocol import FIRST, LengthTask
from weft.tasks.arithmetic.digits import added
from weft.tasks.arrays import Bools, Ints, constant, placed, turned, within
from weft.tasks.bits import RARE
from weft.tasks.formats import START, Pairs

PLUS = FIRST + 2


@dataclass(frozen=True, kw_only=True)
class BinaryAddition(LengthTask):
    """The sum of two binary numbers, most significant bit first.

    The length counts the bits of both numbers, `+` and `=`. The position of `+` is uniform. Numbers
    have no leading zeros. The axis `shorter` is the number of bits of the shorter number.
    """

    name: ClassVar[str] = "binary-addition"
    mark: ClassVar[str] = "="
    shortest: ClassVar[int] = 4

    @property
    def symbols(self) -> tuple[str, ...]:
        return ("0", "1", "+")

    @property
    def positions(self) -> int:
        return 2 * self.longest - 1

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        lengths, width = self.lengths(split, rng, size)
        first = rng.integers(1, lengths - 2)
        second = lengths - 2 - first
        a, b = (_numbers(rng, each, width - 3) for each in (first, second))
        total, carried = added(a, b, base=2)
        longest = np.maximum(first, second)
        answer_lengths = longest + carried[np.arange(size), longest - 1]
        question, question_lengths = placed(
            width,
            [
                constant(START, size),
                (_written(a, first), first),
                constant(PLUS, size),
                (_written(b, second), second),
            ],
        )
        return Pairs(
            question=question,
            question_lengths=question_lengths,
            answer=_written(total, answer_lengths),
            answer_lengths=answer_lengths,
            axes={"length": lengths, "shorter": np.minimum(first, second)},
        )

    def is_rare(self, pairs: Pairs) -> Bools:
        # Given the position of +, a number of n bits takes 2^(n-1) values, or 2 if n is 1.
        lengths, shorter = pairs.axes["length"], pairs.axes["shorter"]
        longer = lengths - 2 - shorter
        free = np.maximum(shorter - 1, 1) + np.maximum(longer - 1, 1)
        return np.asarray(2 ** np.minimum(free, 4) < RARE)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        a, b = "".join(tokens[1:]).split("+")
        return tuple(f"{int(a, 2) + int(b, 2):b}")


def _numbers(rng: np.random.Generator, lengths: Ints, width: int) -> Ints:
    """Bits of random numbers, least significant first, without leading zeros."""
    bits = np.where(within(lengths, width), rng.integers(0, 2, (len(lengths), width)), 0)
    leading = bits[np.arange(len(lengths)), lengths - 1] | (lengths > 1)
    bits[np.arange(len(lengths)), lengths - 1] = leading
    return bits


def _written(bits: Ints, lengths: Ints) -> Ints:
    """Tokens of numbers, most significant bit first."""
    return turned(np.where(within(lengths, bits.shape[1]), bits + FIRST, 0), lengths)
