"""Traces: what is collected is what ran, each distinct state once, in memory or on disk."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from random_programs import programs
from weft.compiler.build import compile_program
from weft.compiler.execution import padded
from weft.errors import WeftError
from weft.interpreter.states import Packing
from weft.language import Program
from weft.language.program import token_numbers
from weft.language.ranges import UNDEFINED
from weft.training import TraceSet, collect, extract
from weft.training.traces import vectors as vectors_module
from weft.training.traces.dataset import PARTS, averaging_heads, load
from weft.training.traces.vectors import VectorPairs

NAMES = ["parity", "parity-absolute(positions=9)", "parity-sum(ones=9)", "parity-count(ones=9)"]
BITS = ["", "1", "0", "101", "1101001", "11111111", "00000000", "10"]


def states_of(program: Program, inputs: list[str]) -> Counter[tuple[Any, ...]]:
    """All states by the reference interpreter, position by position: the slow, plain way."""
    found: Counter[tuple[Any, ...]] = Counter()
    for given_input in inputs:
        trace = weft.run(program, given_input, trace=True).trace
        assert trace is not None
        for layer in trace.layers:
            for place in range(layer.attended.positions):
                before, after = layer.attended.at(place), layer.after.at(place)
                found[tuple(before.items()), tuple(after.items())] += 1
    return found


def as_counter(traces: TraceSet) -> Counter[tuple[Any, ...]]:
    """A trace set in the same form: heads of numbers by what they averaged."""
    found: Counter[tuple[Any, ...]] = Counter()
    numbers = averaging_heads(traces.program)
    for row in range(len(traces)):
        pair = []
        for codes in (traces.states.codes[row], traces.after[row]):
            state = {}
            for (name, variable), code in zip(
                traces.program.variables.items(), codes.tolist(), strict=True
            ):
                state[name] = (*variable.range.values, UNDEFINED)[code]
                if name in numbers and state[name] is not UNDEFINED:
                    state[name] = traces.averages[row, numbers.index(name)]
            pair.append(tuple(state.items()))
        found[tuple(pair)] += int(traces.counts[row])
    return found


@pytest.mark.parametrize("name", NAMES)
def test_all_states_of_all_layers_and_positions_are_counted(name: str) -> None:
    program = weft.program(name)
    traces = collect(program, BITS)
    assert as_counter(traces) == states_of(program, BITS)
    assert len(traces) == len(states_of(program, BITS))
    assert traces.inputs == len(BITS)


@given(programs(), st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_states_of_random_programs_are_those_of_the_reference(program: Program, seed: int) -> None:
    import random

    rng = random.Random(seed)
    inputs = [program.sample(rng, rng.randint(1, 5)) for _ in range(4)]
    try:
        expected = states_of(program, inputs)  # type: ignore[arg-type]
    except WeftError:
        with pytest.raises(WeftError):
            collect(program, inputs)
        return
    assert as_counter(collect(program, inputs)) == expected


@pytest.mark.parametrize("name", [*NAMES, "addition"])
@pytest.mark.parametrize("limit", [1, 7, 1 << 20])
def test_the_disk_changes_nothing(name: str, limit: int, tmp_path: Path) -> None:
    program = weft.program(name)
    inputs = ["12+7", "9+99", "123+456"] if name == "addition" else BITS
    inside = collect(program, inputs)
    stored = extract(program, iter(inputs), tmp_path / "traces", limit=limit)
    assert (stored.states.codes == inside.states.codes).all()
    for array in ("averages", "after", "counts"):
        assert (getattr(stored, array) == getattr(inside, array)).all()
    assert json.loads((tmp_path / "traces" / "traces.json").read_text())["inputs"] == len(inputs)
    assert [one.name for one in tmp_path.iterdir()] == ["traces"]


def test_states_that_no_word_holds_take_several() -> None:
    class Wide(weft.Program):
        """Ten variables of 500 values: no word of 64 bits has room for them before and after."""

        tokens = 500
        layers = 2

        def __init__(self) -> None:
            for number in range(10):
                start = weft.var(500, token=lambda t, n=number: (7 * t + n) % 500)
                setattr(self, f"v{number}", start)
            self.output = self.v0

        def step(z: Any) -> None:  # type: ignore[misc]
            z.v0 = z.v9

    program = Wide()
    assert len(Packing.of(program.variables).words) > 1
    inputs = [[1, 2, 499], [2, 2], [499]]
    assert as_counter(collect(program, inputs)) == states_of(program, inputs)  # type: ignore[arg-type]


def test_traces_of_another_program_are_refused(tmp_path: Path) -> None:
    extract(weft.program("parity"), BITS, tmp_path / "traces")
    with pytest.raises(WeftError, match="another program"):
        load(tmp_path / "traces", weft.program("parity-sum"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("keep me")
    with pytest.raises(WeftError, match="holds no traces"):
        extract(weft.program("parity"), BITS, tmp_path / "other")
    assert (tmp_path / "other" / "mine.txt").read_text() == "keep me"


@pytest.mark.parametrize("name", [*NAMES, "copy", "dyck"])
def test_vectors_are_what_a_compiled_models_stream_holds(name: str) -> None:
    """The oracle is the compiled model: its streams before and after the feed-forward."""
    program = weft.program(name)
    texts = {"copy": ["weft", "a"], "dyck": ["([])", "(]"]}.get(name, BITS[1:])
    inputs = [program.encode(text) for text in texts]
    compiled = compile_program(program, level=0, max_length=max(map(len, inputs)))
    model, seen = compiled.model, Counter[tuple[Any, ...]]()
    tokens, lengths = padded([token_numbers(program, one) for one in inputs])
    moments: dict[tuple[int, str], tuple[torch.Tensor, torch.Tensor]] = {}
    model(
        tokens, lengths, plain=True,
        watch=lambda layer, stage, rows, stream: moments.__setitem__(
            (layer, stage), (rows, stream.clone())
        ),
    )  # fmt: skip
    for layer, stage in moments:
        if stage == "attended":
            rows, before = moments[layer, "attended"]
            after = moments[layer, "after"][1]
            valid = torch.arange(before.shape[1]) < lengths[rows][:, None]
            for x, y in zip(before[valid].tolist(), after[valid].tolist(), strict=True):
                seen[rounded(x), rounded(y)] += 1
    traces = collect(program, inputs)
    pairs = VectorPairs.of(traces, model.layout, torch.device("cpu"))
    reads, leaves = pairs.at(torch.arange(len(traces)))
    mine: Counter[tuple[Any, ...]] = Counter()
    for x, y, count in zip(reads.tolist(), leaves.tolist(), traces.counts.tolist(), strict=True):
        mine[rounded(x), rounded(y)] += count
    assert mine == seen


def rounded(vector: list[float]) -> tuple[float, ...]:
    return tuple(round(value, 2) + 0.0 for value in vector)


def test_vectors_made_ahead_and_on_the_way_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    program = weft.program("parity-count(ones=9)")
    traces = collect(program, BITS)
    layout = compile_program(program, level=0, max_length=9).model.layout
    ahead = VectorPairs.of(traces, layout, torch.device("cpu"))
    monkeypatch.setattr(vectors_module, "MAX_DENSE", 0)
    later = VectorPairs.of(traces, layout, torch.device("cpu"))
    index = torch.arange(len(traces))
    for one, other in zip(ahead.at(index), later.at(index), strict=True):
        torch.testing.assert_close(one, other)


def test_states_are_drawn_as_often_as_they_occurred_or_all_alike() -> None:
    program = weft.program("parity")
    traces = collect(program, BITS)
    pairs = VectorPairs.of(
        traces, compile_program(program, level=0).model.layout, torch.device("cpu")
    )
    torch.manual_seed(0)
    draws = 200_000
    for by_counts in (True, False):
        drawn = torch.bincount(pairs.draw(draws, by_counts=by_counts), minlength=len(traces))
        share = traces.counts / traces.counts.sum() if by_counts else 1 / len(traces)
        error = np.abs(drawn.numpy() / draws - share) / np.sqrt(share / draws)
        assert error.max() < 5  # deviations


def test_parts_are_all_used() -> None:
    program = weft.program("addition")
    traces = collect(program, [f"{n * 37 % 1000}+{n * 91 % 1000}" for n in range(40)])
    assert len(traces) > 50 * PARTS
