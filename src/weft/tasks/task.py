"""The base class of tasks: a vocabulary, questions drawn by axes, answers, splits and test sets.

A subclass draws questions with their answers (`draw`); everything else is here. The format lays
them out for a model. A hash of a question decides whether it is held out (`hashing`): training
batches never contain held-out questions, test sets contain nothing else, so no test question can
have been trained on, whichever splits were used. A quarter of the held-out questions in
distribution is for validation, in no batch and no test set: early stopping uses these.

A batch is determined by (split, seed, step, size) and a test set by (split, size), so a run resumes
without stored data.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from weft.config import check_types
from weft.errors import WeftError, check_known
from weft.extensions import file_reference
from weft.tasks.arrays import Bools, joined, taken
from weft.tasks.batch import Batch
from weft.tasks.formats import (
    END,
    MARK,
    START,
    Format,
    Pairs,
    continued,
    next_symbols,
    tagged,
    translated,
)
from weft.tasks.hashing import hashed, in_bucket, rehashed

TRAIN = "train"
VALIDATION = "validation"
"""The name of the validation set, beside those of splits."""
VALIDATED = 0.25
"""The share of the held-out questions in distribution that is for validation, not for tests."""
DIGITS = tuple("0123456789")
TRAINING, TESTING, VALIDATING = range(3)  # independent random streams

LAYOUTS: Mapping[Format, Callable[[Pairs], Batch]] = {
    "tag": tagged,
    "lm": continued,
    "seq2seq": translated,
    "next": next_symbols,
}


@dataclass(frozen=True, kw_only=True)
class Split:
    """A set of inputs: a description, and the range of each axis, including both ends."""

    description: str
    axes: Mapping[str, tuple[int, int]]

    def holds(self, pairs: Pairs) -> Bools:
        """Which examples (b) lie in all of its ranges."""
        inside: Bools = np.ones(len(pairs.question), dtype=np.bool_)
        for axis, (low, high) in self.axes.items():
            inside &= (low <= pairs.axes[axis]) & (pairs.axes[axis] <= high)
        return inside


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """A task. A subclass adds its parameters as fields.

    Attributes:
        format: how a model meets an example: `tag`, `lm`, `seq2seq` or `next`.
        held_out: the share of all inputs that is held out for tests and validation.
        name: its name (class attribute, as are the following).
        formats: the formats it supports.
        programs: library programs that solve it.
        published: whether it has a published test set, so that `held_out` may be 0.
        mark: the token between question and answer in the format `lm`.
        chunk: the number of candidates for a test set that are drawn at a time.
        slow: whether examples are slow to make, so that worker processes make them beside a GPU.
        rounds: the number of draws without a new example after which a set counts as exhausted.
    """

    format: Format = "lm"
    held_out: float = 0.125
    name: ClassVar[str]
    formats: ClassVar[tuple[Format, ...]]
    programs: ClassVar[tuple[str, ...]] = ()
    published: ClassVar[bool] = False
    mark: ClassVar[str] = "="
    slow: ClassVar[bool] = False
    chunk: ClassVar[int] = 4096
    rounds: ClassVar[int] = 64

    def __post_init__(self) -> None:
        check_types(self, f"task {self.name}")
        if self.format not in self.formats:
            what = f"it does not support the format '{self.format}'"
            raise self.error(what, f"Give one of: {', '.join(self.formats)}")
        if not 0 <= self.held_out < 1 or not (self.held_out or self.published):
            raise self.error(f"held_out is {self.held_out}", "Give a share between 0 and 1")

    def error(self, what: str, remedy: str) -> WeftError:
        """An error about this task, for a subclass to raise."""
        return WeftError(what, subject=f"task {self.name}", remedy=remedy)

    # What a subclass defines

    @property
    @abstractmethod
    def symbols(self) -> tuple[str, ...]:
        """The names of its tokens, without those that all tasks have."""

    @property
    @abstractmethod
    def splits(self) -> Mapping[str, Split]:
        """Sets of inputs by name; `train` is in distribution and comes first."""

    @abstractmethod
    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        """`size` random examples of a split, held out or not; widths depend on the split only."""

    @abstractmethod
    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        """The answer to one question, in plain Python, as names of tokens or answers."""

    # What follows from that

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The names of all tokens; a token's number is its index, and 0 is padding."""
        return ("<pad>", "<start>", "<end>", self.mark, *self.symbols)

    @property
    def answers(self) -> tuple[str, ...]:
        """The names of the classes: targets are indices into it."""
        return self.vocabulary

    @property
    def outputs(self) -> int:
        """The number of classes."""
        return len(self.answers)

    @property
    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values, for JSON; `task(name, **parameters)` is equal to it."""
        return asdict(self)

    @property
    def called(self) -> str:
        """Its name on the command line: `path/file.py:Class` if it was loaded from a file."""
        return file_reference(self) or self.name

    @property
    def digit_tokens(self) -> tuple[int, ...]:
        """The tokens that are digits of numbers, for abacus positions."""
        return tuple(n for n, token in enumerate(self.vocabulary) if token in DIGITS)

    @property
    def tested(self) -> tuple[str, ...]:
        """The splits that runs are evaluated on unless they name others."""
        return tuple(self.splits)

    @property
    def testable(self) -> tuple[str, ...]:
        """The splits that have a test set."""
        return self.tested

    def batch(self, split: str, seed: int, step: int, size: int) -> Batch:
        """Training examples, the same ones for the same arguments, none of them held out."""
        self.check_split(split)
        drawn: list[Pairs] = []
        missing, rounds = size, 0
        while missing > 0:
            if rounds == self.rounds:
                raise self._nothing(split, "to train on", "Train on another split")
            rng = np.random.default_rng([TRAINING, _number(split), seed, step, rounds])
            pairs = self.draw(split, rng, int(missing / (1 - self.held_out) * 1.1) + 8)
            kept = np.nonzero(~self.is_held_out(pairs))[0][:missing]
            drawn.append(taken(pairs, kept))
            missing, rounds = missing - len(kept), rounds + 1
        return self.lay_out(joined(drawn))

    def test_set(self, split: str, size: int) -> Batch:
        """Up to `size` distinct examples that no batch has; fewer if there are no more.

        A smaller test set is a prefix of a larger one.
        """
        self.check_split(split)
        pairs = self._distinct(TESTING, split, size, self.is_tested)
        if not len(pairs.question):
            raise self._nothing(split, "to test on", "Make the task with a larger `held_out`")
        return self.lay_out(pairs)

    def validation_set(self, size: int) -> Batch:
        """Up to `size` distinct examples in distribution that no batch and no test set has.

        Early stopping and model selection use these. A smaller set is a prefix of a larger one.
        """
        pairs = self._distinct(VALIDATING, TRAIN, size, self.is_validated)
        if not len(pairs.question):
            remedy = "Make the task with a larger `held_out`, or do not stop early"
            raise self._nothing(TRAIN, "to validate on", remedy)
        return self.lay_out(pairs)

    def _distinct(
        self, stream: int, split: str, size: int, chosen: Callable[[Pairs], Bools]
    ) -> Pairs:
        """Up to `size` distinct examples of a split that are `chosen`, in the order of draws."""
        distinct: list[Pairs] = []
        seen = np.zeros(0, dtype=np.uint64)
        fruitless = drawn = 0
        while len(seen) < size and fruitless < self.rounds:
            rng = np.random.default_rng([stream, _number(split), drawn])
            pairs = self.draw(split, rng, self.chunk)
            pairs = taken(pairs, chosen(pairs))
            hashes = hashed(pairs.identity)
            first = np.sort(np.unique(hashes, return_index=True)[1])
            new = first[~np.isin(hashes[first], seen)]
            distinct.append(taken(pairs, new[: size - len(seen)]))
            seen = np.concatenate([seen, hashes[new]])
            fruitless, drawn = 0 if len(new) else fruitless + 1, drawn + 1
        return joined(distinct)

    def is_held_out(self, pairs: Pairs) -> Bools:
        """Which examples (b) are not trained on: those for tests and those for validation.

        Rare examples (`is_rare`) are all trained on if they are in distribution, and all held out
        otherwise.
        """
        chosen, rare = in_bucket(hashed(pairs.identity), self.held_out), self.is_rare(pairs)
        return np.where(rare, ~self.is_in_distribution(pairs), chosen) if rare.any() else chosen

    def is_validated(self, pairs: Pairs) -> Bools:
        """Which examples (b) are for validation: some of those held out in distribution."""
        held: Bools = self.is_held_out(pairs) & self.is_in_distribution(pairs)
        return held & in_bucket(rehashed(hashed(pairs.identity)), VALIDATED)

    def is_tested(self, pairs: Pairs) -> Bools:
        """Which examples (b) are for tests: all that are held out and not for validation."""
        return np.asarray(self.is_held_out(pairs) & ~self.is_validated(pairs))

    def is_in_distribution(self, pairs: Pairs) -> Bools:
        """Which examples (b) lie in the training distribution, held out or not."""
        return self.splits[TRAIN].holds(pairs)

    def is_rare(self, pairs: Pairs) -> Bools:
        """Which examples (b) are of a kind with too few members to hold any of them out."""
        return np.zeros(len(pairs.question), dtype=np.bool_)

    def lay_out(self, pairs: Pairs) -> Batch:
        """A batch of questions and answers in the task's format."""
        return LAYOUTS[self.format](pairs)

    def examples(self, batch: Batch) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Each question and its answer as names of tokens, without marks.

        A label set is written as its names in the order of classes, as in `(|)|[`.
        """
        for row, question in enumerate(self._questions(batch)):
            scored = batch.targets[row] >= 0
            if batch.legal is not None:
                sets = batch.legal[row, scored]
                answer = ["|".join(self.answers[c] for c in np.flatnonzero(one)) for one in sets]
            else:
                targets = batch.targets[row, scored].tolist()
                if self.format != "tag" and targets[-1] == END:
                    targets.pop()
                answer = [self.answers[target] for target in targets]
            yield tuple(self.vocabulary[token] for token in question), tuple(answer)

    def asked(self, batch: Batch) -> Sequence[str | Sequence[Any]]:
        """The questions as text for a program's `encode`, without marks."""
        symbols = set(self.symbols)
        space = "" if all(len(symbol) == 1 for symbol in symbols) else " "
        return [
            space.join(word for word in question if word in symbols)
            for question, _ in self.examples(batch)
        ]

    def _questions(self, batch: Batch) -> Iterator[list[int]]:
        """The tokens of each question, without the marks around it."""
        tokens, lengths = batch.tokens, batch.prompt if self.format == "lm" else batch.lengths
        if batch.source is not None and batch.source_lengths is not None:
            tokens, lengths = batch.source, batch.source_lengths
        for row, length in zip(tokens.tolist(), lengths.tolist(), strict=True):
            marked = self.format == "lm" and row[length - 1] == MARK
            started = self.format == "next" and row[0] == START
            yield row[started : length - marked]

    def check_split(self, split: str) -> None:
        """Raise a `WeftError` unless it has a split of this name."""
        check_known(split, self.splits, f"it has no split '{split}'", subject=f"task {self.name}")

    def _nothing(self, split: str, purpose: str, remedy: str) -> WeftError:
        return self.error(f"the split '{split}' has no examples {purpose}", remedy)


def _number(split: str) -> int:
    """A number for the name of a split, as part of a random seed."""
    return zlib.crc32(split.encode())


# Checks of parameters beyond their types


def check_ascending(task: Task, *steps: tuple[str, int | str]) -> None:
    """Check that each named parameter is at least a number, or more than another parameter."""
    for name, bound in steps:
        low = getattr(task, bound) + 1 if isinstance(bound, str) else bound
        if getattr(task, name) < low:
            above = f", more than {bound}" if isinstance(bound, str) else ""
            raise task.error(f"{name} is {getattr(task, name)}", f"Give at least {low}{above}")


def check_letters(task: Task, name: str, least: int) -> None:
    """Check that a parameter lists at least `least` distinct characters."""
    letters = getattr(task, name)
    if len(letters) < least or len(set(letters)) < len(letters):
        raise task.error(f"{name} is {letters!r}", f"Give at least {least} distinct characters")
