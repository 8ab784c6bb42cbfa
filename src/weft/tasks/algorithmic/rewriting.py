"""Copying and sorting of Huang et al. (2025): answers that repeat the symbols of the input."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from weft.tasks.algorithmic.protocol import FIRST, LengthTask, started
from weft.tasks.arrays import Bools, Ints, within
from weft.tasks.bits import RARE
from weft.tasks.formats import Pairs
from weft.tasks.task import check_letters

FILLER = "#"


@dataclass(frozen=True, kw_only=True)
class DistinctTask(LengthTask):
    """A task on distinct symbols, which are drawn without replacement.

    Attributes:
        alphabet: the number of symbols; 0 for as many as `longest`.
    """

    alphabet: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kinds < self.longest:
            what = f"{self.longest} symbols of {self.alphabet} cannot all differ"
            raise self.error(what, f"Give an alphabet of at least {self.longest}, or 0")

    @property
    def kinds(self) -> int:
        """The number of symbols that inputs are drawn from."""
        return self.alphabet or self.longest

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(str(number) for number in range(1, self.kinds + 1))

    @property
    def positions(self) -> int:
        return 2 * self.longest + 2

    def is_rare(self, pairs: Pairs) -> Bools:
        return _few_arrangements(self.kinds, self.longest)[pairs.axes["length"]]


@cache
def _few_arrangements(kinds: int, longest: int) -> Bools:
    """For each length, whether there are few sequences of distinct symbols."""
    counts = [min(RARE, math.perm(kinds, length)) for length in range(longest + 1)]
    return np.array(counts) < RARE


def _distinct(rng: np.random.Generator, kinds: int, size: int, width: int) -> Ints:
    """Rows of `width` distinct numbers below `kinds`, in random order."""
    rows = np.broadcast_to(np.arange(kinds), (size, kinds))
    return rng.permuted(rows, axis=1)[:, :width]


def _rewritten(question: Ints, lengths: Ints, answer: Ints, answer_lengths: Ints) -> Pairs:
    return Pairs(
        question=question,
        question_lengths=lengths + 1,
        answer=answer,
        answer_lengths=answer_lengths,
        axes={"length": lengths},
    )


@dataclass(frozen=True, kw_only=True)
class UniqueCopy(DistinctTask):
    """A sequence of distinct symbols, copied.

    With a `stride` of k (appendix G.7), the input starts with k - 1 fillers `#`, and the answer is
    every k-th symbol after them, beginning with the first. To copy on, a head has to look back k
    positions instead of one, at `<start>` too. The length counts the fillers, and the number of
    symbols after them is a multiple of k.

    Attributes:
        stride: every symbol is copied (1), or every second one (2), and so on.
    """

    name: ClassVar[str] = "unique-copy"
    stride: int = 1

    def __post_init__(self) -> None:
        if self.stride < 1:
            raise self.error(f"stride is {self.stride}", "Give at least 1")
        super().__post_init__()

    @property
    def least(self) -> int:
        return 2 * self.stride - 1

    @property
    def step(self) -> int:
        return self.stride

    @property
    def symbols(self) -> tuple[str, ...]:
        return super().symbols + (FILLER,) * (self.stride > 1)

    @property
    def positions(self) -> int:
        groups = (self.longest + 1) // self.stride  # the one before the first symbol included
        return groups * self.stride + groups

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        lengths, width = self.lengths(split, rng, size)
        fillers = self.stride - 1
        drawn = _distinct(rng, self.kinds, size, width - fillers)
        rows = np.concatenate([np.full((size, fillers), self.kinds), drawn], axis=1)
        question = started(rows, lengths)
        copied = np.ascontiguousarray(question[:, self.stride :: self.stride])
        return _rewritten(question, lengths, copied, (lengths - fillers) // self.stride)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return tokens[self.stride :: self.stride]


@dataclass(frozen=True, kw_only=True)
class Sorting(DistinctTask):
    """Distinct numbers, in ascending order."""

    name: ClassVar[str] = "sorting"

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        lengths, width = self.lengths(split, rng, size)
        drawn = _distinct(rng, self.kinds, size, width)
        inside = within(lengths, width)
        ordered = np.sort(np.where(inside, drawn, self.kinds), axis=1)
        answer = np.where(inside, ordered + FIRST, 0)
        return _rewritten(started(drawn, lengths), lengths, answer, lengths)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(tokens[1:], key=int))


@dataclass(frozen=True, kw_only=True)
class RepeatCopy(LengthTask):
    """A sequence of few letters, which repeat, copied.

    Attributes:
        letters: the alphabet; letters are independent and uniform.
    """

    name: ClassVar[str] = "repeat-copy"
    unit: ClassVar[str] = "letters"
    letters: str = "ab"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_letters(self, "letters", 2)

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(self.letters)

    @property
    def positions(self) -> int:
        return 2 * self.longest + 2

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        lengths, width = self.lengths(split, rng, size)
        question = started(rng.integers(0, len(self.letters), (size, width)), lengths)
        return _rewritten(question, lengths, question[:, 1:], lengths)

    def is_rare(self, pairs: Pairs) -> Bools:
        few = len(self.letters) ** np.minimum(pairs.axes["length"], 4) < RARE
        return np.asarray(few)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return tokens[1:]
