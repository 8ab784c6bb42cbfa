"""Reference, batched and compiled side by side: every variable at every layer, random inputs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from weft.compiler.build import Compiled
from weft.compiler.running import run_model
from weft.errors import WeftError
from weft.interpreter import reference
from weft.interpreter.batched import BatchRun, run_batch
from weft.language.program import Program, token_numbers
from weft.language.user_code import expected_answer, sample_input
from weft.models.reading import UNDEFINED_CODE, slot_codes
from weft.models.transformer import Transformer

BATCH = 64
REFERENCE = 25
"""How many inputs are also run by the reference interpreter, which is slow."""


@dataclass(frozen=True)
class Difference:
    """Where a model and its program part: the first layer, position and variable.

    Where it is the program that does not do its task, the variable is "the result" of the whole
    input, and the position -1.
    """

    tokens: tuple[Any, ...]
    layer: int
    position: int
    variable: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        position = f", position {self.position}" if self.position >= 0 else ""
        return (
            f"layer {self.layer}{position}: {self.variable} is {self.found}, "
            f"should be {self.expected}"
        )


@dataclass(frozen=True)
class Report:
    """How a check went.

    Attributes:
        inputs: how many inputs were compared.
        skipped: how many were drawn on which the program itself fails.
        layers: how many layers they ran, all together.
        difference: the smallest input that differs, if one does.
    """

    inputs: int
    skipped: int
    layers: int
    difference: Difference | None


def check(
    compiled: Compiled,
    *,
    samples: int = 200,
    max_length: int = 20,
    seed: int = 0,
    layers: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Report:
    """Compare a compiled model with both interpreters on random inputs, the short ones first.

    Where the program has a `task`, the interpreters' results are compared with that as well.
    """
    program = compiled.program
    longest = min(max_length, compiled.max_length or max_length)
    inputs, skipped = draw(program, samples, longest, seed, layers)
    for tokens in inputs[:REFERENCE]:
        one = reference.run(program, tokens, layers=layers, trace=True)
        other = run_batch(program, [tokens], layers=layers, trace=True)[0]
        if one != other:
            raise AssertionError(f"{program.name}: the interpreters disagree on {tokens}")
    total = 0
    for start in range(0, len(inputs), BATCH):
        part = inputs[start : start + BATCH]
        expected = run_batch(program, part, layers=layers, trace=True)
        difference = against_task(program, expected)
        difference = difference or compare(compiled.model, program, expected, layers)
        total += sum(expected.layers)
        progress(min(start + BATCH, len(inputs)))
        if difference is not None:
            return Report(start + len(part), skipped, total, difference)
    return Report(len(inputs), skipped, total, None)


def against_task(program: Program, found: BatchRun) -> Difference | None:
    """The first input for which the program itself does not compute what its task says."""
    if not program.has_task:
        return None
    ended = zip(found.tokens, found.layers, found.results, strict=True)
    for tokens, layers, result in ended:
        answer = expected_answer(program, tokens)
        if result != answer:
            return Difference(tokens, int(layers), -1, "the result", answer, result)
    return None


def draw(
    program: Program, samples: int, longest: int, seed: int, layers: int | None
) -> tuple[list[Sequence[Any]], int]:
    """Random inputs on which the program does not fail, the short ones first."""
    rng = random.Random(seed)
    shortest = min(longest, max(1, len(sample_input(program, rng, 1))))
    more = longest + 1 - shortest
    lengths = [shortest + number * more // samples for number in range(samples)]
    drawn = [sample_input(program, rng, length) for length in lengths]
    fitting = [tokens for tokens in drawn if len(tokens) <= longest]
    try:
        run_batch(program, fitting, layers=layers)
        inputs = fitting
    except WeftError:
        inputs = [tokens for tokens in fitting if _runs(program, tokens, layers)]
    skipped = samples - len(inputs)
    if not inputs:
        raise WeftError(
            f"none of {samples} random inputs ran without an error",
            subject=program.name,
            remedy="Override `sample(self, rng, length)` to draw inputs that the program takes",
        )
    return sorted(inputs, key=len), skipped


def _runs(program: Program, tokens: Sequence[Any], layers: int | None) -> bool:
    try:
        run_batch(program, [tokens], layers=layers)
    except WeftError:
        return False
    return True


def compare(
    model: Transformer, program: Program, expected: BatchRun, layers: int | None = None
) -> Difference | None:
    """The difference of the shortest input that has one, at its first layer.

    The streams are those of the layers in full; that the quicker form of the model, without its
    zeros, ends in the same way is compared as well.
    """
    watched: list[tuple[int, str, Tensor, Tensor]] = []
    numbers = [token_numbers(program, tokens) for tokens in expected.tokens]
    run = run_model(
        model,
        numbers,
        layers=layers,
        watch=lambda *seen: watched.append((*seen[:3], seen[3].clone())),
        plain=True,
    )
    quick = run_model(model, numbers, layers=layers)
    lengths = torch.tensor([len(row) for row in numbers])
    found: list[tuple[int, int, int, Difference]] = []
    most = max(expected.layers, default=0)
    for layer, stage, rows, stream in watched:
        if layer > most:
            break  # it should have halted; the endings differ
        states = expected.states(layer, stage)
        valid = torch.arange(stream.shape[1])[None, :] < lengths[rows.cpu()][:, None]
        flat = stream.cpu()[valid]
        owners = rows.cpu().repeat_interleave(valid.sum(-1)).numpy()
        for name, codes in states.items():
            if name not in model.layout:
                continue
            slot = model.layout[name]
            if slot.is_head != (stage == "attended"):
                continue
            mine = _codes(program, name, slot_codes(flat, slot).numpy(), stage)
            wrong = _wrong(program, name, codes, mine, owners, set(rows.tolist()))
            for place in wrong:
                found.append(
                    _difference(program, expected, layer, name, place, codes, mine, owners)
                )
    if not found:
        found = _endings(program, expected, run.layers, run.outputs)
        found += _endings(program, expected, quick.layers, quick.outputs)
    return min(found, key=lambda item: item[:3])[3] if found else None


def _codes(program: Program, name: str, codes: NDArray[Any], stage: str) -> NDArray[Any]:
    return np.where(codes == UNDEFINED_CODE, len(program.variables[name]), codes)


def _wrong(
    program: Program,
    name: str,
    expected: NDArray[Any],
    found: NDArray[Any],
    owners: NDArray[Any],
    rows: set[int],
) -> list[int]:
    """Places that differ. What a head holds where it is undefined is never read."""
    if len(expected) != len(found):
        return [0] if len(found) else []
    differs = expected != found
    if program.variables[name].is_head:
        differs &= expected != len(program.variables[name])
    return [int(place) for place in np.flatnonzero(differs)[:100]]


def _difference(
    program: Program,
    expected: BatchRun,
    layer: int,
    name: str,
    place: int,
    codes: NDArray[Any],
    mine: NDArray[Any],
    owners: NDArray[Any],
) -> tuple[int, int, int, Difference]:
    row = int(owners[place])
    position = place - int(np.flatnonzero(owners == row)[0])
    values = (*program.variables[name].range.values, "undefined")
    tokens = expected.tokens[row]
    made = Difference(
        tokens, layer, position, name, values[int(codes[place])], values[int(mine[place])]
    )
    return len(tokens), layer, position, made


def _endings(
    program: Program, expected: BatchRun, layers: list[int], outputs: list[tuple[int, ...]]
) -> list[tuple[int, int, int, Difference]]:
    found = []
    for row, tokens in enumerate(expected.tokens):
        if layers[row] != expected.layers[row]:
            made = Difference(
                tokens, layers[row], 0, "number of layers", expected.layers[row], layers[row]
            )
            found.append((len(tokens), layers[row], 0, made))
        elif outputs[row] != expected.outputs[row]:
            output = program.definition.output
            made = Difference(tokens, layers[row], 0, output, expected.outputs[row], outputs[row])
            found.append((len(tokens), layers[row], 0, made))
    return found
