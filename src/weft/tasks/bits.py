"""Tasks on strings of bits: parity and majority.

A question is a start token and bits, so the empty string is a question, too. Both lengths and
counts of ones are balanced: in uniformly random strings, about half of the bits are ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import ClassVar, Literal

import numpy as np

from weft.tasks.arrays import Bools, Ints, within
from weft.tasks.formats import START, Format, Pairs
from weft.tasks.task import TRAIN, Split, Task, check_ascending

ZERO = 4  # the token "0"; "1" follows
RARE = 16
"""With fewer strings of one length and count of ones than this, none of them is held out."""


@dataclass(frozen=True, kw_only=True)
class BitTask(Task):
    """A question about a string of bits, answered by one bit.

    Attributes:
        length: the maximum length in distribution.
        longer: the maximum length of all.
        answer: which tokens have a target: the `last` one, or `every` one. With `prefix`, the
            target of each token is the answer for the prefix that ends there.
    """

    format: Format = "tag"
    formats: ClassVar[tuple[Format, ...]] = ("tag",)
    length: int = 20
    longer: int = 40
    answer: Literal["last", "every", "prefix"] = "last"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending(self, ("length", 1), ("longer", "length"))

    @property
    def symbols(self) -> tuple[str, ...]:
        return ("0", "1")

    @property
    def answers(self) -> tuple[str, ...]:
        return ("0", "1")

    def decide(self, ones: Ints, lengths: Ints) -> Bools:
        """Whether the answer is 1 for strings with these counts of ones and of bits."""
        raise NotImplementedError

    def pairs(self, rng: np.random.Generator, width: int, lengths: Ints, ones: Ints) -> Pairs:
        """Random strings with these lengths and counts of ones, and their answers."""
        bits = random_bits(rng, width, lengths, ones)
        inside = within(lengths, width)
        question = np.zeros((len(bits), width + 1), dtype=np.int64)
        question[:, 0] = START
        question[:, 1:] = np.where(inside, bits + ZERO, 0)
        counted = np.zeros_like(question)
        np.cumsum(bits, axis=1, out=counted[:, 1:])
        ones = counted[:, -1]
        return Pairs(
            question=question,
            question_lengths=lengths + 1,
            answer=self._answered(counted, lengths),
            answer_lengths=lengths + 1,
            axes={"length": lengths, "ones": ones},
        )

    def _answered(self, counted: Ints, lengths: Ints) -> Ints:
        places = np.arange(counted.shape[1])
        if self.answer == "prefix":
            return self.decide(counted, np.broadcast_to(places, counted.shape)).astype(np.int64)
        answers = self.decide(counted[:, -1], lengths)[:, None]
        scored = (places == lengths[:, None]) if self.answer == "last" else places >= 0
        return np.where(scored, answers, -1)

    def is_rare(self, pairs: Pairs) -> Bools:
        counts = string_counts(int(self.longer))
        return np.asarray(counts[pairs.axes["length"], pairs.axes["ones"]] < RARE)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        prefixes = [tokens[1 : place + 1] for place in range(len(tokens))]
        if self.answer == "prefix":
            return tuple(self.answer_to(prefix) for prefix in prefixes)
        return (self.answer_to(tokens[1:]),) * (1 if self.answer == "last" else len(tokens))

    @staticmethod
    def answer_to(bits: tuple[str, ...]) -> str:
        """The answer to one string, in plain Python."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Parity(BitTask):
    """Whether the number of ones is odd.

    The data of the ALTA paper, appendix D.1: lengths 0 to 20 in training and 0 to 40 in tests,
    balanced over counts of ones. The count is drawn first, then a length that has room for it. The
    splits are the columns of table 3.
    """

    name: ClassVar[str] = "parity"
    programs: ClassVar[tuple[str, ...]] = (
        "parity",
        "parity-absolute",
        "parity-sum",
        "parity-count",
    )

    @cached_property
    def splits(self) -> Mapping[str, Split]:
        low, high = self.length, self.longer
        return {
            TRAIN: Split(
                description=f"at most {low} bits", axes={"length": (0, low), "ones": (0, low)}
            ),
            "longer": Split(
                description=f"{low + 1} to {high} bits",
                axes={"length": (low + 1, high), "ones": (0, high)},
            ),
            "more-ones": Split(
                description=f"more than {low} ones, of at most {high} bits",
                axes={"length": (low + 1, high), "ones": (low + 1, high)},
            ),
        }

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        axes = self.splits[split].axes
        (low, high), (fewest, most) = axes["length"], axes["ones"]
        ones = rng.integers(fewest, most, size, endpoint=True)
        lengths = rng.integers(np.maximum(low, ones), high, endpoint=True)
        return self.pairs(rng, high, lengths, ones)

    def decide(self, ones: Ints, lengths: Ints) -> Bools:
        odd: Bools = ones % 2 == 1
        return odd

    @staticmethod
    def answer_to(bits: tuple[str, ...]) -> str:
        return str(bits.count("1") % 2)


@dataclass(frozen=True, kw_only=True)
class Majority(BitTask):
    """Whether there are more ones than zeros.

    Lengths are drawn uniformly, then counts of ones. The axis `margin` is the difference between
    the counts of ones and zeros: the smaller, the harder.
    """

    name: ClassVar[str] = "majority"

    @cached_property
    def splits(self) -> Mapping[str, Split]:
        low, high = self.length, self.longer
        return {
            TRAIN: Split(
                description=f"at most {low} bits", axes={"length": (0, low), "margin": (0, low)}
            ),
            "longer": Split(
                description=f"{low + 1} to {high} bits",
                axes={"length": (low + 1, high), "margin": (0, high)},
            ),
            "close": Split(
                description=f"{low + 1} to {high} bits, with a margin of at most 2",
                axes={"length": (low + 1, high), "margin": (0, 2)},
            ),
        }

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        axes = self.splits[split].axes
        (low, high), (_, widest) = axes["length"], axes["margin"]
        lengths = rng.integers(low, high, size, endpoint=True)
        fewest = np.maximum(0, (lengths - widest + 1) // 2)
        ones = rng.integers(fewest, lengths - fewest, endpoint=True)
        return self.pairs(rng, high, lengths, ones)

    def pairs(self, rng: np.random.Generator, width: int, lengths: Ints, ones: Ints) -> Pairs:
        pairs = super().pairs(rng, width, lengths, ones)
        margin = abs(2 * pairs.axes["ones"] - lengths)
        return replace(pairs, axes={**pairs.axes, "margin": margin})

    def decide(self, ones: Ints, lengths: Ints) -> Bools:
        return 2 * ones > lengths

    @staticmethod
    def answer_to(bits: tuple[str, ...]) -> str:
        return str(int(bits.count("1") > bits.count("0")))


def random_bits(rng: np.random.Generator, width: int, lengths: Ints, ones: Ints) -> Ints:
    """Random strings (b l) with these lengths and counts of ones, and zeros beyond the lengths.

    Every position draws a random number; the positions with the smallest numbers become ones.
    """
    numbers = np.where(within(lengths, width), rng.random((len(lengths), width)), 2.0)
    ordered = np.sort(numbers, axis=1)
    greatest = np.take_along_axis(ordered, np.maximum(ones - 1, 0)[:, None], axis=1)
    chosen = (numbers <= greatest) & (ones > 0)[:, None]
    return chosen.astype(np.int64)


@cache
def string_counts(longest: int) -> Ints:
    """The number of strings per length and count of ones, capped at `RARE`."""
    table = [
        [min(RARE, math.comb(length, ones)) for ones in range(longest + 1)]
        for length in range(longest + 1)
    ]
    return np.array(table, dtype=np.int64)
