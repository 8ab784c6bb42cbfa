"""Traces of compiled models are those of the interpreter, with margins that are as they say."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import weft
from weft.compiler.tracing import trace_model
from weft.errors import WeftError
from weft.language.program import token_numbers
from weft.models import Transformer, preset
from weft.models.slots import Slot, decode, margin, nearest

INPUTS = {"parity": "10110", "addition": "5+8", "parity-sum": "1101", "dyck": "(()())"}


@pytest.mark.parametrize(
    ("name", "level"), [*((name, 2) for name in INPUTS), ("parity", 0), ("parity-sum", 0)]
)
def test_variables_are_those_of_the_interpreter_at_every_layer(name: str, level: int) -> None:
    program = weft.program(name)
    run = weft.run(program, INPUTS[name], trace=True)
    assert run.trace is not None
    model = weft.compile(program, level=level, max_length=16).model
    trace = trace_model(model, token_numbers(program, run.tokens), layers=run.layers)
    assert len(trace.layers) == len(run.trace.layers) == run.layers
    for ours, theirs in zip(trace.layers, run.trace.layers, strict=True):
        for variable in model.layout:
            if variable in trace.heads:
                assert ours.attended[variable] == theirs.attended[variable]
            else:
                assert ours.after[variable] == theirs.after[variable]
        assert set(ours.margins) == set(model.layout)
        assert set(ours.gaps) == set(trace.heads)
    plain = trace.as_dict()
    assert plain["layers"][-1]["after"] == dict(trace.layers[-1].after)


SLOTS = [
    Slot("bit", "categorical", 0, 3),
    Slot("head", "categorical", 0, 3, is_head=True),
    Slot("number", "number", 0, 1, values=(0.0, 0.25, 1.0)),
    Slot("set", "set", 0, 2, values=tuple(map(frozenset, ((), (0,), (1,), (0, 1))))),
]  # fmt: skip


def value(held: torch.Tensor, slot: Slot) -> Any:
    """The nearest value, from the distances to all encodings."""
    if slot.is_head and not bool((held > 0.5).any()):
        return "undefined"
    return nearest(held, slot).tolist()


@pytest.mark.parametrize("slot", SLOTS, ids=lambda slot: slot.name)
def test_a_change_within_the_margin_keeps_the_value_and_a_larger_one_need_not(slot: Slot) -> None:
    generator = torch.Generator().manual_seed(0)
    changed = 0
    for _ in range(40):
        exact = nearest(torch.rand(slot.size, generator=generator).double(), slot)
        held = exact + 0.2 * (torch.rand(slot.size, generator=generator).double() - 0.5)
        allowed = float(margin(held, slot))
        corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * slot.size).view(-1, slot.size)
        for corner in corners.double():
            assert value(held + 0.999 * allowed * corner, slot) == value(held, slot)
        changed += any(
            value(held + 1.001 * allowed * corner, slot) != value(held, slot)
            for corner in corners.double()
        )
    assert changed == 40


def test_exact_encodings_have_the_margin_of_half_a_step() -> None:
    bit, head, number, subset = SLOTS
    assert float(margin(torch.tensor([0.0, 1.0, 0.0]), bit)) == 0.5
    assert float(margin(torch.zeros(3), head)) == 0.5
    assert float(margin(torch.tensor([0.25]), number)) == 0.125
    assert float(margin(torch.tensor([1.0, 0.0]), subset)) == 0.5
    assert int(decode(torch.tensor([0.25]), number)) == 1


def test_gaps_are_between_selected_scores_and_the_sink() -> None:
    """A match scores twice the sink, and what does not match nothing: both are one sink away."""
    program = weft.program("parity-absolute(positions=8)")
    model = weft.compile(program, level=0).model
    trace = trace_model(model, token_numbers(program, weft.run(program, "101").tokens))
    attention: Any = model.layers[0].attention
    sinks = dict(zip(model.layout.heads, attention.sink.tolist(), strict=True))
    for layer in trace.layers:
        for names, sink in sinks.items():
            for name in names:
                assert layer.gaps[name] == pytest.approx(sink)


def test_a_trained_model_has_no_variables_to_trace() -> None:
    with pytest.raises(WeftError, match="does not say which dimensions"):
        trace_model(Transformer(preset("nano", vocabulary=4)), [1, 2])
