"""Tasks that rearrange letters: copy, reverse and sort."""

from __future__ import annotations

import string
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from weft.tasks.arrays import Ints, turned, within
from weft.tasks.formats import Format, Pairs
from weft.tasks.task import TRAIN, Split, Task, check_ascending, check_letters

FIRST = 4  # the token of the first letter


@dataclass(frozen=True, kw_only=True)
class SequenceTask(Task):
    """A sequence of letters becomes another one of the same length.

    Lengths are drawn uniformly, then letters. The axis `kinds` is the number of distinct letters:
    the more letters repeat, the harder it is to tell positions apart by content.

    Attributes:
        length: the maximum length in distribution.
        longer: the maximum length of all.
        letters: the alphabet, in order.
        unique: whether all letters of a sequence differ.
    """

    formats: ClassVar[tuple[Format, ...]] = ("lm", "seq2seq", "tag")
    mark: ClassVar[str] = "|"
    length: int = 20
    longer: int = 40
    letters: str = string.ascii_lowercase
    unique: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending(self, ("length", 1), ("longer", "length"))
        check_letters(self, "letters", 2)
        if self.unique and self.longer > len(self.letters):
            remedy = f"Give a longer of at most {len(self.letters)}, or more letters"
            raise self.error(f"{self.longer} letters cannot all differ", remedy)

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(self.letters)

    @cached_property
    def splits(self) -> Mapping[str, Split]:
        low, high = self.length, self.longer
        return {
            TRAIN: Split(description=f"at most {low} letters", axes={"length": (1, low)}),
            "longer": Split(
                description=f"{low + 1} to {high} letters", axes={"length": (low + 1, high)}
            ),
        }

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        low, high = self.splits[split].axes["length"]
        lengths = rng.integers(low, high, size, endpoint=True)
        question = np.where(within(lengths, high), FIRST + self._letters(rng, size, high), 0)
        return Pairs(
            question=question,
            question_lengths=lengths,
            answer=self.rewritten(question, lengths),
            answer_lengths=lengths,
            axes={"length": lengths, "kinds": _kinds(question)},
        )

    def _letters(self, rng: np.random.Generator, size: int, width: int) -> Ints:
        """Random letters as numbers from 0 (b l)."""
        if self.unique:
            return np.argsort(rng.random((size, len(self.letters))), axis=1)[:, :width]
        return rng.integers(0, len(self.letters), (size, width))

    @abstractmethod
    def rewritten(self, question: Ints, lengths: Ints) -> Ints:
        """The answers to rows of letters (b l), with 0 beyond their lengths."""


def _kinds(rows: Ints) -> Ints:
    """The number of distinct tokens in each row."""
    ordered = np.sort(rows, axis=1)
    kinds: Ints = (ordered[:, :1] > 0).sum(axis=1)
    kinds += (ordered[:, 1:] > ordered[:, :-1]).sum(axis=1)
    return kinds


@dataclass(frozen=True, kw_only=True)
class Copy(SequenceTask):
    """The same letters in the same order."""

    name: ClassVar[str] = "copy"
    formats: ClassVar[tuple[Format, ...]] = ("lm", "seq2seq")
    programs: ClassVar[tuple[str, ...]] = ("copy",)

    def rewritten(self, question: Ints, lengths: Ints) -> Ints:
        return question

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return tokens


@dataclass(frozen=True, kw_only=True)
class Reverse(SequenceTask):
    """The letters in reverse order."""

    name: ClassVar[str] = "reverse"
    programs: ClassVar[tuple[str, ...]] = ("reverse", "reverse-absolute")

    def rewritten(self, question: Ints, lengths: Ints) -> Ints:
        return turned(question, lengths)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return tokens[::-1]


@dataclass(frozen=True, kw_only=True)
class Sort(SequenceTask):
    """The letters in sorted order, with repeats; digits by default."""

    name: ClassVar[str] = "sort"
    programs: ClassVar[tuple[str, ...]] = ("sort", "sort-unique")
    letters: str = string.digits

    def rewritten(self, question: Ints, lengths: Ints) -> Ints:
        inside = within(lengths, question.shape[1])
        beyond = FIRST + len(self.letters)
        ordered = np.sort(np.where(inside, question, beyond), axis=1)
        return np.where(inside, ordered, 0)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(tokens, key=self.letters.index))
