"""A task in the tokens of a program, for compiled models, which read those.

Each question of the task is turned into text and encoded by the program's `encode`. Answers are
aligned with the same tokens, counted from the end. The task `program` has a program's tokens
already. If the task's answers are not aligned with its tokens (formats `lm` and `seq2seq`), the
targets are the program's own outputs at every position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from weft.compiler.build import Compiled, compile_program
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
"""Number of tests per split from which the length and depth of inputs are determined."""
CHUNK = 4096


@dataclass(frozen=True, kw_only=True)
class ProgramTask(Task):
    """A task in the tokens of a program.

    Attributes:
        inner: the task.
        program: the program that solves it.
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
        """The program's tokens; there is no padding token, since the model is given lengths."""
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

    @property
    def testable(self) -> tuple[str, ...]:
        return self.inner.testable

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
        """Inputs of the program from the training split, none of them held out."""
        for step in range(-(-count // CHUNK)):
            size = min(CHUNK, count - step * CHUNK)
            yield from self.encoded(self.inner.batch(TRAIN, seed, step, size))

    def encoded(self, batch: Batch) -> list[Sequence[Any]]:
        """The program's inputs for the task's own examples."""
        return [self._read(question) for question in self.inner.asked(batch)]

    def _read(self, question: str | Sequence[Any]) -> Sequence[Any]:
        """One question in the program's tokens; text is encoded by its `encode`."""
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
    def extent(self) -> tuple[int, int]:
        """Length of the longest test, and number of layers that the deepest one takes."""
        longest = deepest = 0
        for split in self.tested:
            inputs = self.encoded(self.inner.test_set(split, TESTS))
            longest = max(longest, *map(len, inputs))
            deepest = max(deepest, *run_batch(self.program, inputs).layers)
        return longest, deepest

    @cached_property
    def compiled(self) -> Compiled:
        """The program compiled at level 0, for inputs as long as the task's; compiled once."""
        declared = self.program.definition.positions
        longest = self.extent[0] if declared is None else None
        return compile_program(self.program, level=0, max_length=longest)

    def _translated(self, batch: Batch) -> Batch:
        inputs = self.encoded(batch)
        numbers = [token_numbers(self.program, tokens) for tokens in inputs]
        lengths = np.array([len(row) for row in numbers], dtype=np.int64)
        tokens = np.zeros((len(numbers), max(1, int(lengths.max()))), dtype=np.int64)
        for place, row in enumerate(numbers):
            tokens[place, : len(row)] = row
        aligned = self.inner.format == "tag"
        targets_of = self._aligned_answers if aligned else self._outputs
        targets = targets_of(batch, inputs, tokens.shape[1])
        return Batch(tokens=tokens, lengths=lengths, targets=targets, axes=batch.axes)

    def _aligned_answers(self, batch: Batch, inputs: list[Sequence[Any]], width: int) -> Ints:
        """The task's answers aligned with the program's tokens, counted from the end."""
        codes = np.array([*map(self._code, self.inner.answers), -1], dtype=np.int64)
        targets = np.full((len(inputs), width), -1, dtype=np.int64)
        for place, tokens in enumerate(inputs):
            length = int(batch.lengths[place])
            count = min(length, len(tokens))
            answers = batch.targets[place, length - count : length]
            targets[place, len(tokens) - count : len(tokens)] = codes[answers]
        return targets

    def _code(self, answer: str) -> int:
        if answer not in self.answers:
            raise WeftError(
                f"its output is never '{answer}', which is an answer of the task {self.inner.name}",
                subject=self.program.name,
                remedy=f"It can be: {', '.join(self.answers)}. Or use the task `program`",
            )
        return self.answers.index(answer)

    def _outputs(self, batch: Batch, inputs: list[Sequence[Any]], width: int) -> Ints:
        """The program's output at every position; -1 if it is undefined."""
        codes = self.program.variables[self.program.definition.output].range.codes
        targets = np.full((len(inputs), width), -1, dtype=np.int64)
        for place, row in enumerate(run_batch(self.program, inputs).outputs):
            targets[place, : len(row)] = [-1 if v is UNDEFINED else codes[v] for v in row]
        return targets
