"""Tasks on strings of bits: parity and majority.

A question is a start mark and bits, so that there is a question of no bits too. Counts of ones are
balanced, not lengths alone: random strings would nearly all have half as many ones as bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import ClassVar, Literal

import numpy as np

from weft.tasks.arrays import Bools, Ints, within
from weft.tasks.formats import START, Format, Pairs
from weft.tasks.parameters import check_ascending
from weft.tasks.task import TRAIN, Split, Task

ZERO = 4  # the token "0"; "1" comes next
FEW = 16  # of so many strings with the same length and count of ones, none can be spared


@dataclass(frozen=True, kw_only=True)
class BitTask(Task):
    """A question about a string of bits, answered by one bit.

    Attributes:
        length: the greatest length in distribution.
        longer: the greatest length of all.
        answer: where it is asked for: at the `last` token alone, or at `every` token. Where it is
            `prefix`, each token is asked for the answer to the string that ends there.
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
        """Strings with so many bits and ones, and their answers."""
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
        asked = (places == lengths[:, None]) if self.answer == "last" else places >= 0
        return np.where(asked, answers, -1)

    def is_rare(self, pairs: Pairs) -> Bools:
        kinds = _kinds(int(self.longer))
        found: Bools = kinds[pairs.axes["length"], pairs.axes["ones"]] < FEW
        return found

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

    The sets of the ALTA paper, appendix D.1: lengths 0 to 20 to train on and 0 to 40 to be tested
    on, with about as many examples for every count of ones. The count is drawn first, then one of
    the lengths that have room for it. The splits are the columns of table 3.
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

    Lengths are drawn evenly, then counts of ones. The axis `margin` is how far apart both counts
    are: the smaller, the harder.
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
                description=f"{low + 1} to {high} bits, where a bit or two decide",
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
        found = super().pairs(rng, width, lengths, ones)
        margin = abs(2 * found.axes["ones"] - lengths)
        return Pairs(**{**vars(found), "axes": {**found.axes, "margin": margin}})

    def decide(self, ones: Ints, lengths: Ints) -> Bools:
        return 2 * ones > lengths

    @staticmethod
    def answer_to(bits: tuple[str, ...]) -> str:
        return str(int(bits.count("1") > bits.count("0")))


def random_bits(rng: np.random.Generator, width: int, lengths: Ints, ones: Ints) -> Ints:
    """Random strings (b l) with these counts of bits and of ones; beyond their length are zeros.

    Every position draws a number, and those with the smallest ones are the ones.
    """
    numbers = np.where(within(lengths, width), rng.random((len(lengths), width)), 2.0)
    ordered = np.sort(numbers, axis=1)
    greatest = np.take_along_axis(ordered, np.maximum(ones - 1, 0)[:, None], axis=1)
    chosen = (numbers <= greatest) & (ones > 0)[:, None]
    return chosen.astype(np.int64)


@cache
def _kinds(longest: int) -> Ints:
    """How many strings there are of each length with each count of ones, up to FEW."""
    table = [
        [min(FEW, math.comb(length, ones)) for ones in range(longest + 1)]
        for length in range(longest + 1)
    ]
    return np.array(table, dtype=np.int64)
