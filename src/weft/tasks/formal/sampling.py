"""Uniformly random words of a given length, by counting.

    W(0, q) = [q accepts]        W(r, q) = sum over letters a of W(r-1, q a)

W(r, q) is the number of words of r letters that lead from q to acceptance. In state q with r
letters to go, the letter a is drawn with probability W(r-1, q a) / W(r, q), so every word of the
language of that length is equally likely. Counts are kept as logarithms.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from weft.tasks.arrays import Ints
from weft.tasks.formal.machines import Machine

Floats = NDArray[np.float64]


class WordSampler:
    """Draws words of a machine's language, uniform among those of a length."""

    def __init__(self, machine: Machine, longest: int, excluded: int | None = None) -> None:
        """Count the words.

        Args:
            machine: the language.
            longest: the maximum length.
            excluded: a letter that words do not contain; None for no such letter.
        """
        self.machine = machine
        self.longest = longest
        self.excluded = excluded

    @cached_property
    def _log_counts(self) -> Floats:
        """log W(r, q): r s."""
        counts = np.full((self.longest + 1, len(self.machine.next)), -np.inf)
        counts[0, self.machine.accepting] = 0.0
        for left in range(1, self.longest + 1):
            counts[left] = np.logaddexp.reduce(self._ahead(counts[left - 1]), axis=1)
        return counts

    def _ahead(self, counts: Floats) -> Floats:
        """The log counts after each letter: s a."""
        ahead = counts[self.machine.next]
        if self.excluded is not None:
            ahead[:, self.excluded] = -np.inf
        return np.asarray(ahead)

    @cached_property
    def log_counts(self) -> Floats:
        """The logarithm of the number of words of each length; minus infinity if there is none."""
        return np.asarray(self._log_counts[:, self.machine.start])

    @cached_property
    def _cumulative(self) -> Floats:
        """The probability that the next letter is at most a, with r letters to go: r s a."""
        table = np.ones((self.longest + 1, *self.machine.next.shape))
        for left in range(1, self.longest + 1):
            counts = self._log_counts[left]
            total = np.where(np.isfinite(counts), counts, 0.0)[:, None]
            sums = np.cumsum(np.exp(self._ahead(self._log_counts[left - 1]) - total), axis=1)
            last = sums[:, -1:]
            # Divided by the last sum, so that it is exactly 1 and no impossible letter is drawn.
            table[left] = np.divide(sums, last, out=np.ones_like(sums), where=last > 0)
        return table

    def draw(self, rng: np.random.Generator, width: int, lengths: Ints) -> Ints:
        """Words of these lengths as numbers of letters (b l), 0 beyond their lengths.

        There must be words of each length, see `log_counts`.
        """
        size, table = len(lengths), self._cumulative
        letters = np.zeros((width, size), dtype=np.int64)
        states = np.full(size, self.machine.start)
        chances = rng.random((width, size))
        for place in range(width):
            left = lengths - place
            rows = slice(None) if (left > 0).all() else np.flatnonzero(left > 0)
            sums = table[left[rows], states[rows]]
            drawn = (sums <= chances[place, rows, None]).sum(axis=1)
            letters[place, rows] = drawn
            states[rows] = self.machine.next[states[rows], drawn]
        return letters.T

    def words(self, low: int, high: int, limit: int) -> list[tuple[int, ...]] | None:
        """All words of some lengths, shortest first; None if there are more than `limit`."""
        counts = self.log_counts[low : high + 1]
        if np.exp(np.minimum(counts, 50)).sum() > limit + 0.5:
            return None
        level: list[tuple[tuple[int, ...], int]] = [((), self.machine.start)]
        result: list[tuple[int, ...]] = []
        for length in range(high + 1):
            if length >= low:
                result += [word for word, state in level if self.machine.accepting[state]]
            level = [
                ((*word, letter), int(then))
                for word, state in level
                for letter, then in enumerate(self.machine.next[state])
                if letter != self.excluded and self._reaches(int(then), low, high, length + 1)
            ]
        return result

    def _reaches(self, state: int, low: int, high: int, read: int) -> bool:
        """Whether some word of the lengths can still be completed."""
        ahead = self._log_counts[max(0, low - read) : high - read + 1, state]
        return bool(np.isfinite(ahead).any())
