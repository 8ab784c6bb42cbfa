"""Compare the reference interpreter, the batched one and the weights on random inputs.

Every variable is compared at every layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from weft.compiler.build import Compiled
from weft.compiler.execution import run_model
from weft.errors import WeftError
from weft.interpreter import reference
from weft.interpreter.batched import BatchRun, run_batch
from weft.interpreter.inputs import FailedInput, inputs_by_length
from weft.interpreter.trace import Run
from weft.language.program import Program, token_numbers
from weft.language.ranges import Number
from weft.language.user_code import expected_answer
from weft.models.slots import UNDEFINED_CODE, Slot, decode
from weft.models.transformer import Transformer
from weft.weights.precision import Ramp, format_of, mean_ramps

BATCH = 64
REFERENCE = 25
"""The number of inputs that the reference interpreter, which is slow, runs too."""
FAILURES = 5
"""The number of failing inputs on which the interpreters' errors are compared."""


@dataclass(frozen=True)
class Difference:
    """The first layer, position and variable at which two runs of an input differ.

    If the program does not do its task, the variable is "the result" of the whole input, and the
    position -1.

    Attributes:
        tokens: the input.
        expected: the variable's value in the reference run, or the task's answer.
        found: the value that it has instead.
        source: where it was found: in the weights, an interpreter or the program.
    """

    tokens: tuple[Any, ...]
    layer: int
    position: int
    variable: str
    expected: Any
    found: Any
    source: str = "weights"

    def __str__(self) -> str:
        position = f", position {self.position}" if self.position >= 0 else ""
        return (
            f"layer {self.layer}{position}: {self.variable} is {self.found}, "
            f"should be {self.expected}"
        )


@dataclass(frozen=True)
class Report:
    """The result of a check.

    Attributes:
        inputs: the number of inputs compared.
        layers: the number of layers that they ran in total.
        difference: the smallest input that differs, if one does.
        failures: the inputs on which the program itself fails, shortest first.
        tried: the number of inputs drawn, failures included.
    """

    inputs: int
    layers: int
    difference: Difference | None
    failures: tuple[FailedInput, ...] = ()
    tried: int = 0

    @property
    def never_halts(self) -> bool:
        """Whether the program halted on none of the inputs."""
        return bool(self.failures) and not self.inputs and not any(f.halts for f in self.failures)


def check(
    compiled: Compiled,
    *,
    samples: int = 200,
    max_length: int = 20,
    seed: int = 0,
    layers: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Report:
    """Compare a compiled model with both interpreters on random inputs, shortest first.

    If the program has a `task`, the interpreters' results are compared with that as well. No input
    is longer than `max_length`, or than the model was made for.
    """
    program = compiled.program
    longest = min(max_length, compiled.max_length or max_length)
    inputs, failures = inputs_by_length(program, samples, longest, seed, layers)
    tried = len(inputs) + len(failures)
    given = [*inputs[:REFERENCE], *(list(failure.tokens) for failure in failures[:FAILURES])]
    for tokens in sorted(given, key=len):
        difference = compare_interpreters(program, tokens, layers)
        if difference is not None:
            return Report(len(inputs), 0, difference, failures, tried)
    total = 0
    for start in range(0, len(inputs), BATCH):
        part = inputs[start : start + BATCH]
        expected = run_batch(program, part, layers=layers, trace=True)
        difference = against_task(program, expected)
        difference = difference or compare(compiled.model, program, expected, layers)
        total += sum(expected.layers)
        progress(min(start + BATCH, len(inputs)))
        if difference is not None:
            return Report(start + len(part), total, difference, failures, tried)
    return Report(len(inputs), total, None, failures, tried)


def compare_interpreters(
    program: Program, tokens: Sequence[Any], layers: int | None = None
) -> Difference | None:
    """The first difference between the two interpreters; None if there is none."""
    one = _outcome(lambda: reference.run(program, tokens, layers=layers, trace=True, index=0))
    other = _outcome(lambda: run_batch(program, [tokens], layers=layers, trace=True)[0])
    if one == other:
        return None
    if isinstance(one, str) or isinstance(other, str):
        expected, result = (run if isinstance(run, str) else "no error" for run in (one, other))
        return Difference(tuple(tokens), 0, -1, "the error", expected, result, BATCHED)
    assert one.trace is not None
    assert other.trace is not None
    pairs = zip(one.trace.layers, other.trace.layers, strict=False)
    for number, (mine, theirs) in enumerate(pairs, 1):
        for stage in ("attended", "after"):
            left, right = getattr(mine, stage), getattr(theirs, stage)
            for name in program.variables:
                for position, values in enumerate(zip(left[name], right[name], strict=True)):
                    if repr(values[0]) != repr(values[1]):
                        where = (tuple(tokens), number, position, name)
                        return Difference(*where, *values, source=BATCHED)
    ran, also_ran = one.layers, other.layers
    last = min(ran, also_ran)
    return Difference(tuple(tokens), last, -1, "the number of layers", ran, also_ran, BATCHED)


BATCHED = "batched interpreter"


def _outcome(run: Callable[[], Run]) -> Run | str:
    try:
        return run()
    except WeftError as error:
        return error.line


def against_task(program: Program, found: BatchRun) -> Difference | None:
    """The first input on which the program's result differs from its task's answer."""
    if not program.has_task:
        return None
    ended = zip(found.tokens, found.layers, found.results, strict=True)
    for tokens, layers, result in ended:
        answer = expected_answer(program, tokens)
        if result != answer:
            return Difference(tokens, int(layers), -1, "the result", answer, result, "program")
    return None


def compare(
    model: Transformer, program: Program, expected: BatchRun, layers: int | None = None
) -> Difference | None:
    """The first difference on the shortest input that has one; None if there is none.

    Streams come from the full matrices. The compact form of the model, without its zeros, must end
    with the same outputs.
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
    longest = max(map(len, numbers), default=0)
    result: list[Difference] = []
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
            mine = _codes(program, name, flat, slot, longest, model.config.dtype)
            result += [
                _difference(program, expected, layer, name, place, codes, mine, owners)
                for place in _wrong(program, name, codes, mine)
            ]
    if not result:
        result = _endings(program, expected, run.layers, run.outputs)
        result += _endings(program, expected, quick.layers, quick.outputs)
    return min(result, key=lambda d: (len(d.tokens), d.layer, d.position), default=None)


def _codes(
    program: Program, name: str, stream: Tensor, slot: Slot, longest: int, dtype: str
) -> NDArray[Any]:
    """The codes of a variable at the positions of a stream (n d).

    Rounding can move a mean across the border of a bucket. So it is read as the weights read it, by
    thresholds between the means that can occur.
    """
    if slot.kind == "number" and slot.is_head:
        ramps = _ramps(program, name, longest, dtype)
        if ramps is not None:
            middles = np.asarray([(ramp.low + ramp.high) / 2 for ramp in ramps])
            return np.searchsorted(middles, stream[:, slot.start].double().numpy(), side="right")
    codes = decode(stream, slot).numpy()
    return np.where(codes == UNDEFINED_CODE, len(program.variables[name]), codes)


def _ramps(program: Program, name: str, longest: int, dtype: str) -> list[Ramp] | None:
    value = program.variables[program.heads[name].value].range
    output = program.variables[name].range
    assert isinstance(value, Number)
    assert isinstance(output, Number)
    try:
        return mean_ramps(name, value, output, longest, format_of(dtype))
    except WeftError:  # a head that no step reads
        return None


def _wrong(program: Program, name: str, expected: NDArray[Any], found: NDArray[Any]) -> list[int]:
    """The places that differ. An undefined head output is never read, so it may hold anything."""
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
) -> Difference:
    row = int(owners[place])
    position = place - int(np.flatnonzero(owners == row)[0])
    values = (*program.variables[name].range.values, "undefined")
    where = (expected.tokens[row], layer, position, name)
    return Difference(*where, values[int(codes[place])], values[int(mine[place])])


def _endings(
    program: Program, expected: BatchRun, layers: list[int], outputs: list[tuple[int, ...]]
) -> list[Difference]:
    result = []
    for row, tokens in enumerate(expected.tokens):
        if layers[row] != expected.layers[row]:
            differs: tuple[str, Any, Any] = ("number of layers", expected.layers[row], layers[row])
        elif outputs[row] != expected.outputs[row]:
            differs = (program.definition.output, expected.outputs[row], outputs[row])
        else:
            continue
        result.append(Difference(tokens, layers[row], 0, *differs))
    return result
