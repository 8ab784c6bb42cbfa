"""Decimal addition, one token per digit, in three digit orders.

plain              57+8=65
reversed           75+8=56     least significant digit first in every number
reversed-answer    57+8=56     least significant digit first in the sum only
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from weft.tasks.arrays import Bools, Ints, constant, placed, turned, within
from weft.tasks.formats import Format, Pairs
from weft.tasks.task import TRAIN, Split, Task, check_ascending

ZERO = 4  # the token "0"; the other digits and the plus follow
PLUS = ZERO + 10


@dataclass(frozen=True, kw_only=True)
class Addition(Task):
    """The sum of two decimal numbers.

    The length of the longer number is drawn uniformly, then that of the other one, up to the same
    length. The axes are `digits` (of the longer number), `carries` (the number of digits that
    carry) and `chain` (the longest run of consecutive carries).

    Attributes:
        digits: the maximum number of digits in distribution.
        longer: the maximum number of digits of all.
        order: the digit order: `plain`, `reversed` or `reversed-answer`.
    """

    name: ClassVar[str] = "addition"
    formats: ClassVar[tuple[Format, ...]] = ("lm", "seq2seq")
    programs: ClassVar[tuple[str, ...]] = ("addition",)
    digits: int = 5
    longer: int = 10
    order: Literal["plain", "reversed", "reversed-answer"] = "plain"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending(self, ("digits", 1), ("longer", "digits"))

    @property
    def symbols(self) -> tuple[str, ...]:
        return (*string.digits, "+")

    @cached_property
    def splits(self) -> Mapping[str, Split]:
        low, high = self.digits, self.longer
        return {
            TRAIN: Split(description=f"numbers of at most {low} digits", axes={"digits": (1, low)}),
            "longer": Split(
                description=f"numbers of {low + 1} to {high} digits",
                axes={"digits": (low + 1, high)},
            ),
            "carries": Split(
                description=f"numbers of at most {low} digits with a carry at every digit",
                axes={"digits": (1, low), "carries": (1, low), "chain": (1, low)},
            ),
        }

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        low, high = self.splits[split].axes["digits"]
        longest = rng.integers(low, high, size, endpoint=True)
        if split == "carries":
            a, b = _that_carry(rng, longest, high)
            return self._pairs(a, longest, b, longest)
        shorter = rng.integers(1, longest, endpoint=True)
        swapped = rng.integers(0, 2, size) == 1
        lengths = np.where(swapped, shorter, longest), np.where(swapped, longest, shorter)
        a, b = (_random(rng, each, high) for each in lengths)
        return self._pairs(a, lengths[0], b, lengths[1])

    def _pairs(self, a: Ints, a_lengths: Ints, b: Ints, b_lengths: Ints) -> Pairs:
        """Questions from digits (b l), least significant digit first."""
        total, carried = added(a, b)
        longest = np.maximum(a_lengths, b_lengths)
        lengths = longest + carried[np.arange(len(a)), longest - 1]
        question, question_lengths = placed(
            2 * a.shape[1] + 1,
            [
                self._written(a, a_lengths, self.order == "reversed"),
                constant(PLUS, len(a)),
                self._written(b, b_lengths, self.order == "reversed"),
            ],
        )
        answer, _ = self._written(total, lengths, self.order != "plain")
        return Pairs(
            question=question,
            question_lengths=question_lengths,
            answer=answer,
            answer_lengths=lengths,
            axes={"digits": longest, "carries": carried.sum(axis=1), "chain": chain(carried)},
        )

    def _written(self, digits: Ints, lengths: Ints, backwards: bool) -> tuple[Ints, Ints]:
        """Tokens of numbers, and their lengths."""
        tokens = np.where(within(lengths, digits.shape[1]), digits + ZERO, 0)
        return tokens if backwards else turned(tokens, lengths), lengths

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        step = -1 if self.order == "reversed" else 1
        a, b = (int(number[::step]) for number in "".join(tokens).split("+"))
        total = str(a + b)
        return tuple(total if self.order == "plain" else total[::-1])


def _random(rng: np.random.Generator, lengths: Ints, width: int) -> Ints:
    """Digits of random numbers, least significant first, without leading zeros."""
    digits = np.where(within(lengths, width), rng.integers(0, 10, (len(lengths), width)), 0)
    rows = np.arange(len(lengths))
    leading = rng.integers(np.where(lengths > 1, 1, 0), 10)
    digits[rows, lengths - 1] = leading
    return digits


def _that_carry(rng: np.random.Generator, lengths: Ints, width: int) -> tuple[Ints, Ints]:
    """Digits of pairs of numbers with a carry at every digit."""
    places = np.arange(width)
    first, leading = places == 0, places == lengths[:, None] - 1
    a = rng.integers(np.where(first | leading, 1, 0), 10)
    least = np.where(first, 10, 9) - a
    b = rng.integers(np.where(leading, np.maximum(least, 1), least), 10)
    inside = within(lengths, width)
    return np.where(inside, a, 0), np.where(inside, b, 0)


def added(a: Ints, b: Ints, base: int = 10) -> tuple[Ints, Bools]:
    """The digits of sums, one more than the numbers have, and which digits carry."""
    size, width = a.shape
    total = np.zeros((size, width + 1), dtype=np.int64)
    carried = np.zeros((size, width), dtype=np.bool_)
    carry = np.zeros(size, dtype=np.int64)
    for place in range(width):
        raw = a[:, place] + b[:, place] + carry
        total[:, place] = raw % base
        carried[:, place] = raw >= base
        carry = carried[:, place].astype(np.int64)
    total[:, width] = carry
    return total, carried


def chain(carried: Bools) -> Ints:
    """The longest run of carries in each row."""
    run = np.zeros(len(carried), dtype=np.int64)
    longest = run
    for place in range(carried.shape[1]):
        run = (run + 1) * carried[:, place]
        longest = np.maximum(longest, run)
    return longest
