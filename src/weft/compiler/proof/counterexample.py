"""Before anything is called wrong, it is run: a state by the feed-forward, or a whole input."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from weft.compiler.proof.invariant import Invariant
from weft.compiler.proof.stream_checks import encode, rounded
from weft.errors import WeftError
from weft.interpreter.batched import BatchRun, run_batch
from weft.interpreter.reference import StepFailure, step
from weft.language.program import Program
from weft.language.ranges import UNDEFINED, show_value
from weft.language.user_code import sample_input
from weft.models.transformer import DTYPES, Transformer
from weft.proofs import Shown

INPUTS = 192
"""How many inputs are run in search of one that differs."""

BATCH = 16
"""How many of them are run at once."""

SECONDS = 3.0
"""After this many seconds, no more are tried."""

LAYERS = 64
"""How many layers an input is run for, at most."""


def find_state(
    model: Transformer,
    invariant: Invariant,
    variable: str,
    states: Iterable[dict[str, Any]],
    layer: int = 0,
) -> Shown | None:
    """A state after attention in which a layer's feed-forward updates a variable wrongly.

    The feed-forward itself computes it, in the model's own number format; the reference
    interpreter says what is right.
    """
    program, dtype = invariant.program, model.config.dtype
    slot, owner = model.layout[variable], program.variables[variable]
    for codes in states:
        state = _completed(program, invariant, codes)
        try:
            after = step(program, state)[variable]
        except (StepFailure, WeftError):
            continue
        before = _stream(model, program, state).to(DTYPES[dtype])
        with torch.inference_mode():
            added = model.layers[layer].feed_forward(before[None, None])[0, 0]  # type: ignore[operator]
        result = (before + added)[slot.dimensions].double().tolist()
        wanted = rounded(encode(owner), dtype)[owner.range.codes[after]].tolist()
        if result != wanted:
            shown = ", ".join(f"{name} = {show_value(state[name])}" for name in codes)
            expected = f"{show_value(after)}, {_vector(wanted)}"
            return Shown(f"'{variable}' after the step where {shown}", _vector(result), expected)
    return None


def _stream(model: Transformer, program: Program, state: dict[str, Any]) -> torch.Tensor:
    """One position of the stream (d), in float64, that holds a state."""
    stream = torch.zeros(model.layout.width, dtype=torch.float64)
    for name, slot in model.layout.items():
        variable, value = program.variables[name], state[name]
        if value is UNDEFINED:
            continue
        if slot.kind == "number":
            stream[slot.start] = value
        else:
            stream[slot.dimensions] = torch.from_numpy(
                encode(variable)[variable.range.codes[value]]
            )
    return stream


def _vector(values: Sequence[float]) -> str:
    shown = ", ".join(f"{value:g}" for value in values[:12])
    return f"[{shown}{', ...' if len(values) > 12 else ''}]"


def _completed(program: Program, invariant: Invariant, codes: dict[str, Any]) -> dict[str, Any]:
    """A state from the codes of some variables; heads of numbers hold a mean that can occur."""
    state: dict[str, Any] = {}
    for name, variable in program.variables.items():
        code = codes.get(invariant.owner(name))
        means = invariant.means.get(name)
        if code is None:
            listed = invariant.variables.get(name, variable).range.values
            state[name] = UNDEFINED if variable.is_head else listed[0]
        elif means is not None:
            state[name] = float(means.examples[means.codes.tolist().index(code)])
        else:
            state[name] = variable.range.values[code]
    return state


def find_input(
    model: Transformer, program: Program, inputs: Sequence[Sequence[int]] | None = None
) -> Shown | None:
    """An input on which model and program differ, the shortest of those that were tried.

    Args:
        model: the model.
        program: the program.
        inputs: token numbers of the only inputs that count; None for any.
    """
    longest = model.config.max_length
    limit = longest if isinstance(longest, int) else None  # a config may hold anything
    candidates = _inputs(program, limit) if inputs is None else iter(inputs)
    size = program.vocabulary.size or 1
    fitting = (
        numbers
        for numbers in candidates
        if numbers and max(numbers) < size and (limit is None or len(numbers) <= limit)
    )
    chosen = sorted(itertools.islice(fitting, INPUTS), key=len)
    began = time.perf_counter()
    for begin in range(0, len(chosen), BATCH):
        if time.perf_counter() - began > SECONDS:
            break
        result = _compare(model, program, chosen[begin : begin + BATCH])
        if result is not None:
            return result
    return None


def _compare(model: Transformer, program: Program, inputs: list[Sequence[int]]) -> Shown | None:
    """The first input of a batch on which model and program differ."""
    named = [[program.vocabulary.name(number) for number in numbers] for numbers in inputs]
    expected = list(_runs(program, named))
    lengths = torch.tensor([len(numbers) for numbers in inputs])
    tokens = torch.zeros(len(inputs), int(lengths.max()), dtype=torch.long)
    for row, numbers in enumerate(inputs):
        tokens[row, : len(numbers)] = torch.tensor(numbers)
    limit = LAYERS if program.definition.halt is not None else None
    try:
        with torch.inference_mode():
            result = model(tokens, lengths, layers=limit)
    except (WeftError, RuntimeError) as error:
        what = str(error).splitlines()[0]
        return Shown(f"on {len(inputs)} inputs", f"an error, {what!r}", "answers")
    best, ran = result.logits.argmax(-1).tolist(), result.layers.tolist()
    for row, run in enumerate(expected):
        if run is None:
            continue
        where = f"on the input {program.vocabulary.show(named[row])!r}"
        outputs = tuple(best[row][: len(named[row])])
        if outputs != run.outputs[0]:
            return Shown(where, _listed(outputs), _listed(run.outputs[0]))
        if limit is not None and ran[row] != run.layers[0]:
            return Shown(where, f"{ran[row]} layers", f"{run.layers[0]}")
    return None


def _runs(program: Program, inputs: list[list[Any]]) -> Iterator[BatchRun | None]:
    """The program on each input; None if it fails there, or takes too long to try."""
    for tokens in inputs:
        try:
            yield run_batch(program, [tokens], max_layers=LAYERS)
        except WeftError:
            yield None


def _listed(values: Sequence[Any]) -> str:
    return " ".join(map(str, values))


def _inputs(program: Program, longest: int | None) -> Iterator[list[int]]:
    """Short inputs, all of them while they are few, then samples."""
    size, limit = program.vocabulary.size or 1, longest or 24
    left = INPUTS // 2
    for length in range(1, limit + 1):
        if size**length > left:
            break
        for numbers in itertools.product(range(size), repeat=length):
            left -= 1
            yield list(numbers)
    rng = random.Random(0)
    lengths = [2 + number * min(limit, 24) // INPUTS for number in range(INPUTS)]
    for length in lengths:
        try:
            drawn = list(program.vocabulary.all_numbers(sample_input(program, rng, length)))
        except WeftError:  # a sample of the user's own that fails is reported by `weft check`
            return
        if drawn and len(drawn) <= limit:
            yield drawn
