"""A task as a program meets it: the task's questions in the program's own tokens.

Compiled models read the tokens of their program. A question of the task becomes text, the program's
`encode` makes tokens of it, with whatever marks it needs, and answers stand under the same tokens
counted from the end. The task `program` has a program's tokens already. One that answers elsewhere
than under its tokens (formats `lm` and `seq2seq`) is asked for what the program itself puts out, at
every position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from weft.errors import WeftError
from weft.interpreter.batched import run_batch
from weft.language.program import Program, token_numbers
from weft.language.ranges import UNDEFINED
from weft.language.user_code import encode_text
from weft.tasks import Batch, Split, Task
from weft.tasks.arrays import Bools, Ints
from weft.tasks.formats import Format, Pairs
from weft.tasks.task import TRAIN

TESTS = 256
"""On so many tests of each split it is seen how long inputs are and how many layers they take."""
AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True)
class ProgramTask(Task):
    """A task in the tokens of a program.

    Attributes:
        inner: the task.
        program: the program that is to do it.
    """

    name: ClassVar[str] = "program"
    formats: ClassVar[tuple[Format, ...]] = ("tag",)
    format: Format = "tag"
    inner: Task
    program: Program

    def __post_init__(self) -> None:
        size = self.program.vocabulary.size
        if size is None:
            raise WeftError(
                "its tokens are not declared, so no model can read them",
                subject=self.program.name,
                remedy="Declare `tokens`",
            )

    # What a task says

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(str(self.program.vocabulary.name(n)) for n in range(len(self.vocabulary)))

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The program's tokens alone: it needs no padding, since lengths are told."""
        size = self.program.vocabulary.size or 0
        return tuple(str(self.program.vocabulary.name(number)) for number in range(size))

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """The values of the program's output."""
        output = self.program.variables[self.program.definition.output]
        return tuple(map(str, output.range.values))

    @property
    def splits(self) -> Mapping[str, Split]:
        return self.inner.splits

    @property
    def tested(self) -> tuple[str, ...]:
        return self.inner.tested

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        return self.inner.draw(split, rng, size)

    def is_rare(self, pairs: Pairs) -> Bools:
        return self.inner.is_rare(pairs)

    def is_held_out(self, pairs: Pairs) -> Bools:
        return self.inner.is_held_out(pairs)

    def is_validated(self, pairs: Pairs) -> Bools:
        return self.inner.is_validated(pairs)

    def is_in_distribution(self, pairs: Pairs) -> Bools:
        return self.inner.is_in_distribution(pairs)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return self.inner.reference(tokens)

    def batch(self, split: str, seed: int, step: int, size: int) -> Batch:
        return self._translated(self.inner.batch(split, seed, step, size))

    def test_set(self, split: str, size: int) -> Batch:
        return self._translated(self.inner.test_set(split, size))

    def validation_set(self, size: int) -> Batch:
        return self._translated(self.inner.validation_set(size))

    # The program's side

    def inputs(self, seed: int, count: int) -> Iterator[Sequence[Any]]:
        """Inputs of the program from the split that is trained on, none of them held out."""
        for step in range(-(-count // AT_ONCE)):
            size = min(AT_ONCE, count - step * AT_ONCE)
            yield from self.encoded(self.inner.batch(TRAIN, seed, step, size))

    def encoded(self, batch: Batch) -> list[Sequence[Any]]:
        """The program's inputs for the task's own examples."""
        return [self._read(one) for one in self.inner.asked(batch)]

    def _read(self, question: str | Sequence[Any]) -> Sequence[Any]:
        """One question in the program's tokens; text goes through its `encode`."""
        if not isinstance(question, str):
            return question
        try:
            tokens = encode_text(self.program, question)
            token_numbers(self.program, tokens)
        except WeftError as error:
            solve = ", ".join(self.inner.programs)
            raise WeftError(
                error.what,
                subject=f"the program {self.program.name} does not take the inputs of the task "
                f"{self.inner.called}",
                remedy=f"Name a program that solves it: {solve}"
                if solve
                else "Name another program",
            ) from None
        return tokens

    @cached_property
    def seen(self) -> tuple[int, int]:
        """How many tokens the longest test has, and how many layers the deepest one takes."""
        longest = deepest = 0
        for split in self.tested:
            inputs = self.encoded(self.inner.test_set(split, TESTS))
            longest = max(longest, *map(len, inputs))
            deepest = max(deepest, *run_batch(self.program, inputs).layers)
        return longest, deepest

    def _translated(self, batch: Batch) -> Batch:
        inputs = self.encoded(batch)
        numbers = [token_numbers(self.program, tokens) for tokens in inputs]
        lengths = np.array([len(row) for row in numbers], dtype=np.int64)
        tokens = np.zeros((len(numbers), max(1, int(lengths.max()))), dtype=np.int64)
        for place, row in enumerate(numbers):
            tokens[place, : len(row)] = row
        made = self._moved if self.inner.format == "tag" else self._put_out
        targets = made(batch, inputs, tokens.shape[1])
        return Batch(tokens=tokens, lengths=lengths, targets=targets, axes=batch.axes)

    def _moved(self, batch: Batch, inputs: list[Sequence[Any]], width: int) -> Ints:
        """The task's answers under the program's tokens, counted from the end."""
        codes = np.array([*map(self._code, self.inner.answers), -1], dtype=np.int64)
        targets = np.full((len(inputs), width), -1, dtype=np.int64)
        for place, tokens in enumerate(inputs):
            length = int(batch.lengths[place])
            count = min(length, len(tokens))
            told = batch.targets[place, length - count : length]
            targets[place, len(tokens) - count : len(tokens)] = codes[told]
        return targets

    def _code(self, answer: str) -> int:
        if answer not in self.answers:
            raise WeftError(
                f"its output is never '{answer}', which the task {self.inner.name} asks for",
                subject=self.program.name,
                remedy=f"It can be: {', '.join(self.answers)}. The task `program` asks for that",
            )
        return self.answers.index(answer)

    def _put_out(self, batch: Batch, inputs: list[Sequence[Any]], width: int) -> Ints:
        """What the program puts out at every position; -1 where that is undefined."""
        codes = self.program.variables[self.program.definition.output].range.codes
        targets = np.full((len(inputs), width), -1, dtype=np.int64)
        for place, row in enumerate(run_batch(self.program, inputs).outputs):
            found = [-1 if value is UNDEFINED else codes[value] for value in row]
            targets[place, : len(row)] = found
        return targets
