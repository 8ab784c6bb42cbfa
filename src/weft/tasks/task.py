"""What a Task is: a vocabulary, questions drawn by axes, answers, splits, and tests apart.

A task draws questions with their answers (`draw`); the rest is the same for all and is here. The
format lays them out for a model. Whether a question is held out for tests is decided by its content
(`membership`): batches never have one that is, test sets have nothing else. So nothing that is
tested can have been trained on, whichever splits were. Of the questions in distribution that are
held out, a quarter is for validation, in no batch and in no test set: a run that stops early looks
at these.

What a batch holds follows from (split, seed, step, size), and a test set from (split, size), so
nothing needs to be stored to go on with a run, or to have its tests again.
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
from weft.errors import WeftError, did_you_mean
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
"""The name of the validation set where splits are named."""
VALIDATED = 0.25
"""The share of the held-out examples in distribution that is for validation and not for tests."""
TRAINING, TESTING, VALIDATING = range(3)  # streams of random numbers

LAYOUTS: Mapping[Format, Callable[[Pairs], Batch]] = {
    "tag": tagged,
    "lm": continued,
    "seq2seq": translated,
    "next": next_symbols,
}


@dataclass(frozen=True, kw_only=True)
class Split:
    """A part of all inputs: what it is in words, and the range of each axis, both ends included."""

    description: str
    axes: Mapping[str, tuple[int, int]]

    def holds(self, pairs: Pairs) -> Bools:
        """Which examples (b) lie within all its ranges."""
        inside: Bools = np.ones(len(pairs.question), dtype=np.bool_)
        for axis, (low, high) in self.axes.items():
            inside &= (low <= pairs.axes[axis]) & (pairs.axes[axis] <= high)
        return inside


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """Something to learn. A subclass adds its parameters as fields.

    Attributes:
        format: how a model meets an example: `tag`, `lm`, `seq2seq` or `next`.
        held_out: the share of all inputs that is kept for tests and for validation.
        name: what it is called (of the class).
        formats: those that it can take (of the class).
        programs: programs of the library that solve it (of the class).
        published: whether its tests are given, so that none need be held out (of the class).
        mark: the token between question and answer in a row of the format `lm` (of the class).
        chunk: candidates for tests are drawn so many at a time (of the class).
        rounds: where so many draws in a row bring nothing, there is no more (of the class).
    """

    format: Format = "lm"
    held_out: float = 0.125
    name: ClassVar[str]
    formats: ClassVar[tuple[Format, ...]]
    programs: ClassVar[tuple[str, ...]] = ()
    published: ClassVar[bool] = False
    mark: ClassVar[str] = "="
    chunk: ClassVar[int] = 4096
    rounds: ClassVar[int] = 64

    def __post_init__(self) -> None:
        check_types(self, f"task {self.name}")
        if self.format not in self.formats:
            raise WeftError(
                f"it has no format '{self.format}'",
                subject=f"task {self.name}",
                remedy=f"Give one of: {', '.join(self.formats)}",
            )
        if not 0 <= self.held_out < 1 or not (self.held_out or self.published):
            raise WeftError(
                f"held_out is {self.held_out}",
                subject=f"task {self.name}",
                remedy="Give a share between 0 and 1",
            )

    # What a task says

    @property
    @abstractmethod
    def symbols(self) -> tuple[str, ...]:
        """The tokens of its own."""

    @property
    @abstractmethod
    def splits(self) -> Mapping[str, Split]:
        """Parts of all inputs by name; `train` is in distribution, and comes first."""

    @abstractmethod
    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        """So many random examples of a split, held out or not; widths follow from the split."""

    @abstractmethod
    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        """The answer to one question, in plain Python: the names of tokens, or of answers."""

    # What follows from it

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The names of all tokens; a token's number is its place, and 0 is padding."""
        return ("<pad>", "<start>", "<end>", self.mark, *self.symbols)

    @property
    def answers(self) -> tuple[str, ...]:
        """The names of the classes that targets number."""
        return self.vocabulary

    @property
    def outputs(self) -> int:
        """How many classes there are at a position."""
        return len(self.answers)

    @property
    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values, for JSON; `task(name, **parameters)` makes it again."""
        return asdict(self)

    @property
    def called(self) -> str:
        """Its name on the command line: `path/file.py:Class` if it was loaded from a file."""
        return file_reference(self) or self.name

    @property
    def tested(self) -> tuple[str, ...]:
        """The splits that have a test set."""
        return tuple(self.splits)

    def batch(self, split: str, seed: int, step: int, size: int) -> Batch:
        """Examples to train on, the same ones for the same arguments, none of them held out."""
        self._check_split(split)
        found: list[Pairs] = []
        missing, rounds = size, 0
        while missing > 0:
            if rounds == self.rounds:
                raise self._nothing(split, "to train on", "Train on another split")
            rng = np.random.default_rng([TRAINING, _number(split), seed, step, rounds])
            pairs = self.draw(split, rng, int(missing / (1 - self.held_out) * 1.1) + 8)
            kept = np.nonzero(~self.is_held_out(pairs))[0][:missing]
            found.append(taken(pairs, kept))
            missing, rounds = missing - len(kept), rounds + 1
        return self.lay_out(joined(found))

    def test_set(self, split: str, size: int) -> Batch:
        """Up to `size` examples that no batch has, all different; fewer where there are no more.

        A smaller test set is the beginning of a larger one.
        """
        self._check_split(split)
        found = self._distinct(TESTING, split, size, self.is_tested)
        if not len(found.question):
            raise self._nothing(split, "to test on", "Make the task with a larger `held_out`")
        return self.lay_out(found)

    def validation_set(self, size: int) -> Batch:
        """Up to `size` examples in distribution that no batch and no test set has, all different.

        What decides when a run stops, or which run is chosen, is measured on these. A smaller one
        is the beginning of a larger one.
        """
        found = self._distinct(VALIDATING, TRAIN, size, self.is_validated)
        if not len(found.question):
            remedy = "Make the task with a larger `held_out`, or let no run stop early"
            raise self._nothing(TRAIN, "to validate on", remedy)
        return self.lay_out(found)

    def _distinct(
        self, stream: int, split: str, size: int, chosen: Callable[[Pairs], Bools]
    ) -> Pairs:
        """Up to `size` different examples of a split that are chosen, in the order of draws."""
        found: list[Pairs] = []
        seen = np.zeros(0, dtype=np.uint64)
        fruitless = drawn = 0
        while len(seen) < size and fruitless < self.rounds:
            rng = np.random.default_rng([stream, _number(split), drawn])
            pairs = self.draw(split, rng, self.chunk)
            pairs = taken(pairs, chosen(pairs))
            hashes = hashed(pairs.question)
            first = np.sort(np.unique(hashes, return_index=True)[1])
            new = first[~np.isin(hashes[first], seen)]
            found.append(taken(pairs, new[: size - len(seen)]))
            seen = np.concatenate([seen, hashes[new]])
            fruitless, drawn = 0 if len(new) else fruitless + 1, drawn + 1
        return joined(found)

    def is_held_out(self, pairs: Pairs) -> Bools:
        """Which examples (b) are not trained on: those for tests and those for validation.

        Of a kind with very few members (`is_rare`), all are trained on if the kind is in
        distribution, and all are tested otherwise.
        """
        chosen = in_bucket(hashed(pairs.question), self.held_out)
        return np.where(self.is_rare(pairs), ~self.is_in_distribution(pairs), chosen)

    def is_validated(self, pairs: Pairs) -> Bools:
        """Which examples (b) are for validation: a part of those in distribution, held out."""
        held: Bools = self.is_held_out(pairs) & self.is_in_distribution(pairs)
        return held & in_bucket(rehashed(hashed(pairs.question)), VALIDATED)

    def is_tested(self, pairs: Pairs) -> Bools:
        """Which examples (b) are for tests: all that are held out and not for validation."""
        found: Bools = self.is_held_out(pairs) & ~self.is_validated(pairs)
        return found

    def is_in_distribution(self, pairs: Pairs) -> Bools:
        """Which examples (b) lie within what is trained on, held out or not."""
        return self.splits[TRAIN].holds(pairs)

    def is_rare(self, pairs: Pairs) -> Bools:
        """Which examples (b) are of a kind with so few members that none can be spared."""
        return np.zeros(len(pairs.question), dtype=np.bool_)

    def lay_out(self, pairs: Pairs) -> Batch:
        """Questions and answers in the task's format."""
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
        """The questions as a program is given them: text for its `encode`, without marks."""
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

    def _check_split(self, split: str) -> None:
        if split not in self.splits:
            raise WeftError(
                f"it has no split '{split}'",
                subject=f"task {self.name}",
                remedy=did_you_mean(split, list(self.splits)).capitalize(),
            )

    def _nothing(self, split: str, purpose: str, remedy: str) -> WeftError:
        return WeftError(
            f"the split '{split}' has nothing {purpose}",
            subject=f"task {self.name}",
            remedy=remedy,
        )


def _number(split: str) -> int:
    """A number for the name of a split, for the random numbers' seed."""
    return zlib.crc32(split.encode())
