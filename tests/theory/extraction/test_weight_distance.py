"""Distances: of feed-forwards too deep to read, of units in disguise, and rule by rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from compiled_parity import arrays, keys, parity_states

import weft
from weft.interpreter.states import StateSet
from weft.language.ranges import UNDEFINED
from weft.models import Layout, TransformerConfig
from weft.models.feed_forward import FeedForward
from weft.theory.extraction.networks import HiddenLayer
from weft.theory.extraction.weight_distance import distance
from weft.theory.optimum.derivatives import Penalty


def feed_forward(width: int, hidden: tuple[int, ...], activation: Any = "relu") -> FeedForward:
    made = FeedForward(TransformerConfig(
        vocabulary=2, outputs=2, width=width, hidden=hidden, heads=1, key_width=1, value_width=1,
        loops=1, activation=activation,
    ))  # fmt: skip
    torch.manual_seed(0)
    for part in made.parameters():
        torch.nn.init.normal_(part, std=0.4)
    return made


def vector(layout: Layout, state: dict[str, Any]) -> Any:
    """A state in a stream, one-hot, and nothing where a head is undefined."""
    found = np.zeros(layout.width)
    for name, value in state.items():
        if value is not UNDEFINED:
            found[layout[name].start + value] = 1
    return found


def stepped(program: weft.Program, state: dict[str, Any]) -> dict[str, Any]:
    """The state after the step, heads cleared."""
    after = program.rules.apply(state)
    return {name: UNDEFINED if program.variables[name].is_head else after[name] for name in after}


def off(program: weft.Program, layout: Layout, layer: FeedForward, states: StateSet) -> Any:
    """For each state by how much each dimension is off, by plain products."""
    rows = []
    parts = list(zip(layer.weights, layer.biases, strict=True))
    for row in range(len(states)):
        state = states.values(row)
        start = h = vector(layout, state)
        for place, (weight, bias) in enumerate(parts):
            h = weight.detach().double().numpy() @ h + bias.detach().double().numpy()
            h = h if place == len(parts) - 1 else np.maximum(h, 0)
        rows.append(np.abs(start + h - vector(layout, stepped(program, state))))
    return np.array(rows)


@pytest.mark.parametrize("hidden", [(5, 4), (3, 3, 3)])
def test_deep_feed_forwards_are_compared_by_what_they_do_alone(hidden: tuple[int, ...]) -> None:
    program, states = parity_states()
    layout = weft.compile(program, level=0).model.layout
    layer = feed_forward(layout.width, hidden)
    with torch.no_grad():
        layer.weights[-1] *= 0.1  # so that some states are right
        layer.biases[-1].zero_()
    found = distance(layer, layout, program, states, penalty=Penalty(0.5))
    apart = off(program, layout, layer, states)
    share = states.counts / states.counts.sum()
    assert found.reconstruction == pytest.approx(float(share @ apart.sum(1)))
    assert found.wrong == pytest.approx(float(share[apart.max(1) > 0.1].sum()))
    assert 0 < found.wrong < 1
    size = sum(float(part.detach().abs().sum()) for part in layer.parameters())
    assert found.loss == pytest.approx(float(states.counts @ apart.sum(1)) + 0.5 * size, rel=1e-5)
    assert found.rules == 7
    assert found.units is None
    assert f"this has {len(hidden)} hidden layers of 'relu'" in found.unreadable


def test_a_deep_feed_forward_can_be_at_no_distance_in_function() -> None:
    program, states = parity_states()
    model = weft.compile(program, level=0).model
    first, second, bias, last = arrays(model.layers[0].feed_forward)
    layer = feed_forward(model.layout.width, (7, 7), "clipped")
    with torch.no_grad():
        for part, value in zip((*layer.weights, *layer.biases),
                               (first, np.eye(7), second, bias, np.zeros(7), last),
                               strict=True):  # fmt: skip
            part.copy_(torch.tensor(value))
    found = distance(layer, model.layout, program, states, penalty=Penalty(0.5))
    assert (found.wrong, found.reconstruction, found.units) == (0, 0, None)
    assert found.loss - found.compiled_loss == pytest.approx(0.5 * 7)


def test_other_activations_are_compared_by_what_they_do_alone() -> None:
    program, states = parity_states()
    layout = weft.compile(program, level=0).model.layout
    found = distance(feed_forward(layout.width, (6,), "gelu"), layout, program, states)
    assert found.units is None
    assert "this has one hidden layer of 'gelu'" in found.unreadable


def compiled_parity() -> tuple[weft.Program, StateSet, Layout, list[Any]]:
    program, states = parity_states()
    model = weft.compile(program, level=0).model
    return program, states, model.layout, arrays(model.layers[0].feed_forward)


@pytest.mark.parametrize("clipped", [False, True])
def test_weights_that_are_the_same_function_by_scale_and_spread_are_at_no_distance(
    clipped: bool,
) -> None:
    program, states, layout, (first, second, bias, last) = compiled_parity()
    rng = np.random.default_rng(0)
    for name in ("parity", "done"):  # of each one value always holds
        shift = rng.normal(size=len(bias))
        first[:, layout[name].dimensions] += shift[:, None]
        bias = bias - shift
    scale = np.ones(7) if clipped else rng.uniform(0.3, 3.0, 7)
    net = HiddenLayer(first * scale[:, None], bias * scale, second / scale, last, clipped)
    found = distance(net, layout, program, states)
    assert found.reconstruction < 1e-9
    assert found.units is not None
    assert found.units.weights_l1 < 1e-9
    assert found.units.compiled_l1 == 31  # 2 (4 + 3 + 2) + (2 + 1 + 2) + 4 (1 + 1)


def test_a_relu_that_is_left_over_counts_at_its_smallest_scale() -> None:
    program, states, layout, (first, second, bias, last) = compiled_parity()
    rng = np.random.default_rng(1)
    own = [rng.normal(size=(1, len(last))), rng.normal(size=1) - 9, rng.normal(size=(len(last), 1))]
    net = HiddenLayer(np.concatenate([first, own[0]]), np.concatenate([bias, own[1]]),
                 np.concatenate([second, own[2]], axis=1), last, False)  # fmt: skip
    found = distance(net, layout, program, states).units
    assert found is not None
    scales = np.geomspace(0.01, 100, 20_001)
    sizes = [np.abs(part).sum() for part in own]
    squares = [np.square(part).sum() for part in own]
    least = (scales * (sizes[0] + sizes[1]) + sizes[2] / scales).min()
    assert found.weights_l1 == pytest.approx(least, rel=1e-5)
    least = (scales**2 * (squares[0] + squares[1]) + squares[2] / scales**2).min()
    assert found.weights_l2 == pytest.approx(np.sqrt(least), rel=1e-5)


@pytest.mark.parametrize("gone", range(7))
def test_a_rule_that_no_unit_is_is_missing(gone: int) -> None:
    program, states, layout, (first, second, bias, last) = compiled_parity()
    left = [unit for unit in range(7) if unit != gone]
    net = HiddenLayer(first[left], bias[left], second[:, left], last, True)
    found = distance(net, layout, program, states)
    units = found.units
    assert units is not None
    assert (units.recovered + units.alike, len(units.missing), units.extra) == (6, 1, 0)
    (rule,) = units.missing
    fires = [rule.holds(states.values(row)) for row in range(len(states))]
    assert found.wrong == pytest.approx(states.counts[fires].sum() / states.total)
    assert set(units.kinds) <= {"recovered", "alike"}
    of_program = keys(program.rules)
    for kind, one in zip(units.kinds, units.reading.rules, strict=True):
        assert (kind == "recovered") is bool(of_program & keys([one.rule]))
    assert not keys([rule]) & keys(one.rule for one in units.reading.rules)
