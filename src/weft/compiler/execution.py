"""Running models on the inputs of a program: as tokens, or as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from weft.errors import WeftError
from weft.interpreter.inputs import read_input
from weft.interpreter.reference import layer_limit
from weft.language.program import Program, token_numbers
from weft.language.ranges import UNDEFINED
from weft.language.stream import Stream
from weft.language.user_code import decode_stream
from weft.models.factory import Model
from weft.models.forward import StreamObserver
from weft.models.text import TextRun, check_length
from weft.models.transformer import Output, Transformer


@dataclass(frozen=True)
class ModelRun:
    """A model's run on a batch: for each input, its outputs at every position and its layers."""

    outputs: list[tuple[int, ...]]
    layers: list[int]
    halted: list[bool]
    stream: Tensor


def padded(
    numbers: Sequence[Sequence[int]], device: torch.device | str = "cpu"
) -> tuple[Tensor, Tensor]:
    """Sequences as one tensor (batch, length), padded with zeros, and their lengths (batch)."""
    lengths = torch.tensor([len(row) for row in numbers], dtype=torch.long)
    longest = max(1, *lengths.tolist()) if len(numbers) else 1
    tokens = torch.zeros(len(numbers), longest, dtype=torch.long)
    inside = torch.arange(longest) < lengths[:, None]
    tokens[inside] = torch.tensor([number for row in numbers for number in row], dtype=torch.long)
    return tokens.to(device), lengths.to(device)


def run_model(
    model: Model,
    numbers: Sequence[Sequence[int]],
    *,
    layers: int | None = None,
    watch: StreamObserver | None = None,
    plain: bool = False,
) -> ModelRun:
    """Run a model on token numbers."""
    tokens, lengths = padded(numbers, model.embedding.device)
    options = {"layers": layers, "watch": watch, "plain": plain or None}
    chosen = {name: value for name, value in options.items() if value is not None}
    with torch.inference_mode():
        output: Output = model(tokens, lengths, **chosen)
        best = output.logits.argmax(-1).tolist()
    outputs = [tuple(row[: len(given)]) for row, given in zip(best, numbers, strict=True)]
    return ModelRun(outputs, output.layers.tolist(), output.halted.tolist(), output.stream)


def input_numbers(program: Program, inputs: Iterable[Sequence[Any]]) -> list[list[int]]:
    """The token numbers of inputs."""
    return [token_numbers(program, tokens) for tokens in inputs]


@dataclass(frozen=True)
class ProgramFormat:
    """Text as a program reads and writes it, by its `encode` and `decode`.

    Attributes:
        program: the program.
        trained: whether the model was trained on the program rather than compiled from it. It may
            then fail to halt, which ends it after its last layer, and what `decode` cannot read is
            left as it is.
        longest: the largest number of tokens that an input may have; None for what the model's
            config allows.
    """

    program: Program
    trained: bool = False
    longest: int | None = None

    def run(self, model: Model, text: str, *, layers: int | None = None) -> TextRun:
        """Run a model on a text that the program's `encode` takes."""
        program = self.program
        tokens = tuple(read_input(program, text))
        check_length(len(tokens), self.longest)
        limit, must_halt = layers, False
        if model.config.halt is not None and not self.trained:
            limit, must_halt = layer_limit(program, layers, None)
        run = run_model(model, [model_numbers(model, program, tokens)], layers=limit)
        if must_halt and not run.halted[0]:
            raise WeftError(
                f"the model has not halted after {limit:,} layers",
                subject=program.name,
                remedy="Give --layers to run that many and stop",
            )
        outputs, output = run.outputs[0], program.definition.output
        if isinstance(model, Transformer) and model.stream_layout is not None:
            read = model.read(run.stream[0, : len(tokens)])
        else:
            values = program.variables[output].range.values
            read = {output: [values[code] if code < len(values) else None for code in outputs]}
        columns = {
            name: tuple(UNDEFINED if value is None else value for value in column)
            for name, column in read.items()
        }
        try:
            result = _decoded(program, Stream(columns))
        except WeftError:
            if not self.trained:
                raise
            result = " ".join(map(str, columns[output]))
        return TextRun(tokens, outputs, result, run.layers[0])


def model_numbers(model: Model, program: Program, tokens: Sequence[Any]) -> list[int]:
    """The numbers that a model has for the tokens of a program."""
    numbers = token_numbers(program, tokens)
    names = None if model.vocabulary is None else model.vocabulary.names
    if names is None or names == program.vocabulary.names:
        return numbers
    places = {str(name): number for number, name in enumerate(names)}
    return [places[str(program.vocabulary.name(number))] for number in numbers]


def _decoded(program: Program, stream: Stream) -> Any:
    try:
        return decode_stream(program, stream)
    except WeftError as error:
        if not isinstance(error.__cause__, KeyError):
            raise
        raise WeftError(
            f"its decode reads {error.__cause__}, which the weights leave out: the output does not "
            "depend on it",
            subject=program.name,
            remedy="Decode from the output, or compile it with -O 0",
        ) from None
