"""Counting tasks of Huang et al. (2025): three majorities and parity, in the decoder format."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from weft.tasks.algorithmic.protocol import FIRST, LengthTask, started
from weft.tasks.arrays import Bools, Ints, within
from weft.tasks.bits import RARE, random_bits, string_counts
from weft.tasks.formats import Pairs
from weft.tasks.task import check_letters


def answered(question: Ints, lengths: Ints, answer: Ints, axes: Mapping[str, Ints]) -> Pairs:
    """Questions of some lengths after <start>, with answers of a fixed width (b l)."""
    return Pairs(
        question=question,
        question_lengths=lengths + 1,
        answer=answer,
        answer_lengths=np.full(len(answer), answer.shape[1]),
        axes={"length": lengths, **axes},
    )


def untied_zeros(rng: np.random.Generator, lengths: Ints) -> Ints:
    """A number of zeros for each length, uniform on 0 to the length, but not half of it."""
    even = lengths % 2 == 0
    zeros = rng.integers(0, lengths + ~even)
    result: Ints = zeros + (even & (zeros >= lengths // 2))
    return result


@dataclass(frozen=True, kw_only=True)
class BinaryMajority(LengthTask):
    """Which bit is more frequent? Answered by that bit.

    The number of zeros is uniform on 0 to the length; ties are excluded.
    """

    name: ClassVar[str] = "binary-majority"
    unit: ClassVar[str] = "bits"

    @property
    def symbols(self) -> tuple[str, ...]:
        return ("0", "1")

    @property
    def positions(self) -> int:
        return self.longest + 3

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        lengths, width = self.lengths(split, rng, size)
        ones = lengths - untied_zeros(rng, lengths)
        bits = random_bits(rng, width, lengths, ones)
        answer = FIRST + (2 * ones > lengths)[:, None]
        axes = {"ones": ones, "margin": abs(2 * ones - lengths)}
        return answered(started(bits, lengths), lengths, answer, axes)

    def is_rare(self, pairs: Pairs) -> Bools:
        return rare_bits(pairs, self.longest)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return (Counter(tokens[1:]).most_common(1)[0][0],)


@dataclass(frozen=True, kw_only=True)
class BitParity(LengthTask):
    """Is the number of ones even or odd? Answered by `e` or `o`.

    The number of ones is uniform on 0 to the length.
    """

    name: ClassVar[str] = "bit-parity"
    shortest: ClassVar[int] = 0
    unit: ClassVar[str] = "bits"

    @property
    def symbols(self) -> tuple[str, ...]:
        return ("0", "1", "e", "o")

    @property
    def positions(self) -> int:
        return self.longest + 3

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        lengths, width = self.lengths(split, rng, size)
        ones = rng.integers(0, lengths, endpoint=True)
        bits = random_bits(rng, width, lengths, ones)
        answer = (FIRST + 2 + ones % 2)[:, None]
        return answered(started(bits, lengths), lengths, answer, {"ones": ones})

    def is_rare(self, pairs: Pairs) -> Bools:
        return rare_bits(pairs, self.longest)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return ("eo"[tokens.count("1") % 2],)


def rare_bits(pairs: Pairs, longest: int) -> Bools:
    """Which strings have a length and a count of ones that few strings share."""
    counts = string_counts(longest)
    return np.asarray(counts[pairs.axes["length"], pairs.axes["ones"]] < RARE)


@dataclass(frozen=True, kw_only=True)
class InterleavedMajority(LengthTask):
    """The more frequent bit of each of several interleaved strings, in their order.

    Bit i of the input belongs to string i modulo `strings`. Each string is drawn as in
    `binary-majority`, so none has a tie. Lengths are multiples of `strings`.

    Attributes:
        strings: how many strings are interleaved.
    """

    name: ClassVar[str] = "interleaved-majority"
    unit: ClassVar[str] = "bits"
    strings: int = 3

    def __post_init__(self) -> None:
        if self.strings < 1:
            raise self.error(f"strings is {self.strings}", "Give at least 1")
        super().__post_init__()

    @property
    def least(self) -> int:
        return self.strings

    @property
    def step(self) -> int:
        return self.strings

    @property
    def symbols(self) -> tuple[str, ...]:
        return ("0", "1")

    @property
    def positions(self) -> int:
        return self.longest + self.strings + 2

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        lengths, width = self.lengths(split, rng, size)
        each = np.repeat(lengths // self.strings, self.strings)
        ones = each - untied_zeros(rng, each)
        bits = random_bits(rng, width // self.strings, each, ones)
        rows = bits.reshape(size, self.strings, -1).transpose(0, 2, 1).reshape(size, width)
        answer = FIRST + (2 * ones > each).reshape(size, self.strings)
        margin = abs(2 * ones - each).reshape(size, self.strings).min(axis=1)
        return answered(started(rows, lengths), lengths, answer, {"margin": margin})

    def is_rare(self, pairs: Pairs) -> Bools:
        # With one or two bits each, a string without a tie is all zeros or all ones.
        short = pairs.axes["length"] <= 2 * self.strings
        return np.asarray(short & (2**self.strings < RARE))

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        parts = (tokens[1 + number :: self.strings] for number in range(self.strings))
        return tuple(Counter(part).most_common(1)[0][0] for part in parts)


@dataclass(frozen=True, kw_only=True)
class LetterMajority(LengthTask):
    """Which letter is the most frequent? Answered by that letter.

    Letters are independent and uniform; inputs with a tie for first place are drawn again, with the
    same length. The axis `margin` is the lead over the second most frequent letter.

    Attributes:
        letters: the alphabet.
    """

    name: ClassVar[str] = "letter-majority"
    unit: ClassVar[str] = "letters"
    letters: str = string.ascii_lowercase

    def __post_init__(self) -> None:
        super().__post_init__()
        check_letters(self, "letters", 2)

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(self.letters)

    @property
    def positions(self) -> int:
        return self.longest + 3

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        lengths, width = self.lengths(split, rng, size)
        letters = np.zeros((size, width), dtype=np.int64)
        winners, margins = np.zeros((2, size), dtype=np.int64)
        missing = np.arange(size)
        while len(missing):  # each round tries about as many inputs in all as the first one
            tries = max(1, max(size, 256) // len(missing))
            rows = np.repeat(missing, tries)
            wide = int(lengths[missing].max())
            drawn = rng.integers(0, len(self.letters), (len(rows), wide))
            counts = self._counts(drawn, lengths[rows])
            top = np.partition(counts, -2, axis=1)[:, -2:]
            good = np.flatnonzero(top[:, 1] > top[:, 0])
            row, first = np.unique(rows[good], return_index=True)
            kept = good[first]
            letters[row, :wide] = drawn[kept]
            winners[row] = counts[kept].argmax(axis=1)
            margins[row] = top[kept, 1] - top[kept, 0]
            missing = np.setdiff1d(missing, row, assume_unique=True)
        question = started(letters, lengths)
        return answered(question, lengths, FIRST + winners[:, None], {"margin": margins})

    def _counts(self, drawn: Ints, lengths: Ints) -> Ints:
        """How often each letter occurs in each row (b k)."""
        size, kinds = len(drawn), len(self.letters) + 1  # one more for padding
        inside = within(lengths, drawn.shape[1])
        cells = np.where(inside, drawn, kinds - 1) + kinds * np.arange(size)[:, None]
        counts = np.bincount(cells.ravel(), minlength=size * kinds)
        return np.asarray(counts.reshape(size, kinds)[:, :-1])

    def is_rare(self, pairs: Pairs) -> Bools:
        # Of two letters without a tie, both are the same.
        lengths, kinds = pairs.axes["length"], len(self.letters)
        few = kinds ** np.minimum(lengths, 4) < RARE
        return np.asarray(few | ((lengths == 2) & (kinds < RARE)))

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return (Counter(tokens[1:]).most_common(1)[0][0],)
