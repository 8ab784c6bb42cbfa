"""Any program as a task: inputs that the program samples itself, with its outputs as targets."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from weft.errors import WeftError
from weft.interpreter.batched import run_batch
from weft.interpreter.inputs import random_inputs
from weft.interpreter.reference import run
from weft.language.program import Program
from weft.language.ranges import UNDEFINED
from weft.language.source import source_hash
from weft.language.user_code import sample_input
from weft.programs import LIBRARY, program
from weft.tasks.arrays import Bools, taken
from weft.tasks.batch import Batch
from weft.tasks.formats import Format, Pairs
from weft.tasks.task import TRAIN, Split, Task

LONGEST = 20
"""The default maximum length, unless the program needs longer inputs or has fewer positions."""
RARE = 64
"""If a length has at most this many inputs, all of them are trained on."""


@dataclass(frozen=True, kw_only=True)
class ProgramOutput(Task):
    """A program's output at every position, on inputs that its `sample` draws.

    The axis `layers` is the number of layers that the program takes on an input, so accuracy by
    `layers` shows how deep a computation the model has learned.

    Attributes:
        program: its name, or `path/file.py:Class`, with arguments as in name(n=3).
        length: the maximum number of tokens in distribution; half of `longer` if 0.
        longer: the maximum number of all; if 0, 20 or what the program needs and has room for.
        content: the first digits of a hash of its source, to detect that it has changed.
    """

    name: ClassVar[str] = "program"
    format: Format = "tag"
    formats: ClassVar[tuple[Format, ...]] = ("tag",)
    chunk: ClassVar[int] = 512  # examples are drawn one by one
    rounds: ClassVar[int] = 16
    program: str = "parity"
    length: int = 0
    longer: int = 0
    content: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.made.vocabulary.size is None:
            raise WeftError(
                "its tokens are not declared, so a model cannot read them",
                subject=self.made.name,
                remedy="Declare `tokens`",
            )
        if not source_hash(self.made).startswith(self.content):
            raise WeftError(
                f"{self.program} has changed since this task was configured",
                remedy="Leave `content` out, or restore the program",
            )
        low, high = self.lengths
        if not 1 <= low < high:
            remedy = "Give at least 1 for the first, and more for the second"
            raise self.error(f"length is {low} and longer is {high}", remedy)

    @cached_property
    def made(self) -> Program:
        """The program."""
        return program(self.program)

    @cached_property
    def lengths(self) -> tuple[int, int]:
        """The maximum number of tokens in distribution, and of all."""
        room = getattr(self.made, "positions", None)
        usual = max(LONGEST, 3 * self._shortest)
        longest = min(usual, room) if isinstance(room, int) else usual
        high = self.longer or max(longest, self.length + 1)
        return self.length or high // 2, high

    @property
    def _shortest(self) -> int:
        """About how many tokens the program's shortest inputs have."""
        try:
            return len(sample_input(self.made, random.Random(0), 1))
        except WeftError:  # there are no inputs this short
            return 1

    @property
    def called(self) -> str:
        return self.program

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(map(str, self._tokens))

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Padding and the program's tokens, which include the marks it needs."""
        return ("<pad>", *self.symbols)

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """The values of the program's output."""
        return tuple(map(str, self.made.variables[self.made.definition.output].range.values))

    @cached_property
    def splits(self) -> Mapping[str, Split]:
        low, high = self.lengths
        return {
            TRAIN: Split(description=f"at most {low} tokens", axes={"length": (1, low)}),
            "longer": Split(
                description=f"{low + 1} to {high} tokens", axes={"length": (low + 1, high)}
            ),
        }

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        low, high = self.splits[split].axes["length"]
        chance = random.Random(int(rng.integers(2**63)))
        drawn = random_inputs(self.made, chance, size, low, high, exact=True)
        inputs = list(map(tuple, drawn))
        different = list(dict.fromkeys(inputs))  # short inputs repeat often
        pairs = self._answered(different, high)
        places = {tokens: place for place, tokens in enumerate(different)}
        return taken(pairs, np.array([places[tokens] for tokens in inputs], dtype=np.int64))

    def _answered(self, inputs: Sequence[tuple[Any, ...]], width: int) -> Pairs:
        """Inputs with the program's outputs."""
        ran = run_batch(self.made, inputs)
        codes = self.made.variables[self.made.definition.output].range.codes
        question, answer = np.zeros((2, len(inputs), width), dtype=np.int64)
        for place, (tokens, values) in enumerate(zip(inputs, ran.outputs, strict=True)):
            numbers = self.made.vocabulary.all_numbers(list(tokens))
            question[place, : len(tokens)] = np.array(numbers) + 1  # 0 is padding
            answer[place, : len(tokens)] = [
                -1 if value is UNDEFINED else codes[value] for value in values
            ]
        lengths = np.array([len(tokens) for tokens in inputs], dtype=np.int64)
        return Pairs(
            question=question,
            question_lengths=lengths,
            answer=answer,
            answer_lengths=lengths,
            axes={"length": lengths, "layers": np.array(ran.layers, dtype=np.int64)},
        )

    def _nothing(self, split: str, purpose: str, remedy: str) -> WeftError:
        low, high = self.splits[split].axes["length"]
        tokens = len(self.symbols)
        return WeftError(
            f"it has no inputs of {low} to {high} tokens {purpose}: with {tokens} "
            f"token{'' if tokens == 1 else 's'}, and one input in {1 / self.held_out:.0f} held out "
            "for tests, there are too few",
            subject=self.program,
            remedy="Set `length` and `longer` higher, or declare more tokens",
        )

    def is_rare(self, pairs: Pairs) -> Bools:
        """Short inputs: there are at most (number of tokens)^length of them."""
        bounded = pairs.question_lengths * np.log(max(2, len(self.symbols)))
        return np.asarray(bounded <= np.log(RARE))

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        names = dict(zip(self.symbols, self._tokens, strict=True))
        outputs = run(self.made, [names[token] for token in tokens]).outputs
        return tuple(str(value) for value in outputs if value is not UNDEFINED)

    def asked(self, batch: Batch) -> list[Sequence[Any]]:
        """The questions, in the program's own tokens."""
        rows = zip(batch.tokens.tolist(), batch.lengths.tolist(), strict=True)
        return [[self._tokens[token - 1] for token in row[:length]] for row, length in rows]

    @cached_property
    def _tokens(self) -> tuple[Any, ...]:
        """The tokens as the program names them."""
        words = self.made.vocabulary
        return tuple(words.name(number) for number in range(words.size or 0))


def own_parameters(name: str) -> dict[str, Any]:
    """The parameters of `ProgramOutput` for a program; with `content` if it is not built in."""
    if name.partition("(")[0].strip() in LIBRARY:
        return {"program": name}
    return {"program": name, "content": source_hash(program(name))[:12]}
