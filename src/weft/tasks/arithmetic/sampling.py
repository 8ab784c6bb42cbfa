"""Drawing operands: digit counts as a domain says, then uniform numbers of these counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from weft.tasks.arithmetic.digits import random_digits, random_digits_among
from weft.tasks.arithmetic.domains import Counts
from weft.tasks.arrays import Bools, Ints

CANDIDATES = 4096
"""How many operands are drawn at a time in place of rejected ones, at least one for each."""
MOST_FRUITLESS = 100
"""So often without an accepted one, the rest counts as too rare."""


@dataclass(frozen=True)
class NestedLengths:
    """The longest operand has one of some lengths, the others any up to it; all uniformly.

    Attributes:
        lengths: the lengths of the longest operand.
        operands: the number of operands.
    """

    lengths: tuple[int, ...]
    operands: int

    def draw(self, rng: np.random.Generator, size: int) -> Sequence[Ints]:
        """The digit count of each operand (b each)."""
        longest = np.array(self.lengths)[rng.integers(0, len(self.lengths), size)]
        others = [rng.integers(1, longest, endpoint=True) for _ in range(self.operands - 1)]
        first = rng.integers(0, self.operands, size)  # how many of the others precede the longest
        counts = []
        for place in range(self.operands):
            before = others[min(place, self.operands - 2)]
            after = others[place - 1] if place else before
            counts.append(np.where(first == place, longest, np.where(place < first, before, after)))
        return counts


@dataclass(frozen=True, eq=False)
class CellLengths:
    """Digit counts with given probabilities.

    Attributes:
        cells: the probability of each tuple of digit counts.
    """

    cells: Mapping[Counts, Fraction]

    def draw(self, rng: np.random.Generator, size: int) -> Sequence[Ints]:
        """The digit count of each operand (b each)."""
        counts, bounds = self._bounds
        cell = np.searchsorted(bounds, rng.random(size), side="right")
        return tuple(counts[np.minimum(cell, len(counts) - 1)].T)

    @cached_property
    def _bounds(self) -> tuple[Ints, Any]:
        """The tuples of digit counts, and their cumulative probabilities."""
        chances = np.array([float(chance) for chance in self.cells.values()])
        return np.array(list(self.cells), dtype=np.int64), np.cumsum(chances)


Lengths = NestedLengths | CellLengths


@dataclass(frozen=True, kw_only=True, eq=False)
class OperandSampler:
    """Random operands.

    Attributes:
        lengths: how digit counts are drawn.
        width: the maximum number of digits, which is how many are returned.
        base: the base.
        among: the only digits that operands have; all digits if empty.
        accepted: which operands (b) are kept; the others are drawn anew. None for all.
        keep_lengths: draw rejected operands anew with the same digit counts, so that the
            probabilities of digit counts stay as `lengths` has them.
    """

    lengths: Lengths
    width: int
    base: int
    among: tuple[int, ...] = ()
    accepted: Callable[[Sequence[Ints]], Bools] | None = None
    keep_lengths: bool = True

    def draw(self, rng: np.random.Generator, size: int) -> list[Ints] | None:
        """The digits of each operand (b l each), least significant first.

        None if too few operands are accepted to find so many of them.
        """
        counts = self.lengths.draw(rng, size)
        operands = self._digits(rng, counts)
        if self.accepted is None:
            return operands
        missing, fruitless = np.flatnonzero(~self.accepted(operands)), 0
        while len(missing) and fruitless < MOST_FRUITLESS:
            rows = np.repeat(missing, max(1, CANDIDATES // len(missing)))
            if self.keep_lengths:
                again: Sequence[Ints] = [lengths[rows] for lengths in counts]
            else:
                again = self.lengths.draw(rng, len(rows))
            drawn = self._digits(rng, again)
            accepted = np.flatnonzero(self.accepted(drawn))
            found, first = np.unique(rows[accepted], return_index=True)
            for digits, new in zip(operands, drawn, strict=True):
                digits[found] = new[accepted[first]]
            missing = np.setdiff1d(missing, found, assume_unique=True)
            fruitless = 0 if len(found) else fruitless + 1
        return None if len(missing) else operands

    def _digits(self, rng: np.random.Generator, counts: Sequence[Ints]) -> list[Ints]:
        if self.among:
            return [random_digits_among(rng, each, self.width, self.among) for each in counts]
        return [random_digits(rng, each, self.width, self.base) for each in counts]
