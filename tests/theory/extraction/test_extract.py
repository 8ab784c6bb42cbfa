"""Rules read back: from compiled weights, disguised ones, random ones, and trained ones."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from compiled_parity import Key, arrays, keys, parity_states
from hypothesis import given
from hypothesis import strategies as st
from optimum_oracles import compiled as compiled_weights
from optimum_oracles import embed
from random_rule_sets import Instance, few, instances, variables

import weft
from weft.interpreter.inputs import valid_inputs
from weft.interpreter.states import StateSet, states_of
from weft.language.program import Variable
from weft.language.ranges import UNDEFINED
from weft.models import Layout, Slot, TransformerConfig
from weft.models.feed_forward import FeedForward
from weft.theory.extraction.extract import ExtractedRules, read_rules
from weft.theory.extraction.networks import HiddenLayer
from weft.theory.extraction.weight_distance import distance
from weft.theory.optimum.derivatives import Penalty
from weft.theory.optimum.reconstruction import paper_rules


def read_keys(reading: ExtractedRules) -> Counter[Key]:
    return keys(found.rule for found in reading.rules)


@pytest.mark.parametrize("activation", ["clipped", "relu"])
@pytest.mark.parametrize("name", ["parity", "comparison", "dyck", "turing", "scan", "rule-110"])
def test_compiled_rules_come_back_to_the_letter(name: str, activation: Any) -> None:
    program = weft.program(name)
    model = weft.compile(program, level=0, activation=activation).model
    reading = read_rules(model.layers[0].feed_forward, model.layout)
    assert read_keys(reading) == keys(paper_rules(program.rules, resets=True))
    assert not reading.unread
    assert reading.output_bias == 0


def layout_for(declared: dict[str, Variable]) -> Layout:
    sizes = [len(variable) for variable in declared.values()]
    firsts = np.cumsum([0, *sizes]).tolist()
    return Layout(tuple(
        Slot(name, "categorical", first, len(variable), variable.is_head)
        for (name, variable), first in zip(declared.items(), firsts, strict=False)
    ))  # fmt: skip


def assignments(declared: dict[str, Variable]) -> list[dict[str, Any]]:
    columns = [(*v.range.values, UNDEFINED) if v.is_head else v.range.values
               for v in declared.values()]  # fmt: skip
    return [dict(zip(declared, row, strict=True)) for row in itertools.product(*columns)]


def disguised(
    net: HiddenLayer, declared: dict[str, Variable], rng: np.random.Generator
) -> HiddenLayer:
    """The same function: units shuffled, scaled and split, biases spread over slots; then noise."""
    first, bias, second = net.first.copy(), net.bias.copy(), net.second.copy()
    start = 0
    for variable in declared.values():
        if not variable.is_head:  # exactly one of its dimensions is 1
            shift = rng.normal(size=len(bias))
            first[:, start : start + len(variable)] += shift[:, None]
            bias = bias - shift
        start += len(variable)
    scale = rng.uniform(1.0, 3.0, len(bias))
    first, bias = first * scale[:, None], bias * scale
    if not net.clipped:
        second = second / scale
    order = rng.permutation(2 * len(bias))
    first, bias = np.repeat(first, 2, 0)[order], np.repeat(bias, 2)[order]
    second = np.concatenate([[0.75 * column, 0.25 * column] for column in second.T])[order].T
    noisy = [part + rng.uniform(-0.002, 0.002, part.shape) for part in (first, bias, second)]
    return HiddenLayer(*noisy, net.output_bias, net.clipped)


@few
@given(instances(), st.booleans(), st.integers(0, 1000))
def test_rules_in_disguise_are_read(instance: Instance, clipped: bool, seed: int) -> None:
    declared, rules, _ = instance
    if not rules:
        return
    weights = compiled_weights(declared, rules)
    plain = HiddenLayer(
        weights.first, weights.bias, weights.second, np.zeros(len(weights.second)), True
    )
    if not clipped:
        plain = HiddenLayer(plain.first, plain.bias, plain.second, plain.output_bias, False)
    net = disguised(plain, declared, np.random.default_rng(seed))
    reading = read_rules(net, layout_for(declared), tolerance=0.1)
    assert read_keys(reading) == keys(rule.rule() for rule in rules)


@st.composite
def nets(draw: Any) -> tuple[dict[str, Variable], HiddenLayer]:
    """Units that are rules or nearly so: tests of sets of values, a few weights changed."""
    declared = variables(*draw(st.lists(st.integers(2, 3), min_size=1, max_size=2)),
                         head=draw(st.booleans()))  # fmt: skip
    width = sum(len(v) for v in declared.values())
    units = draw(st.integers(1, 3))
    first, bias, second = np.zeros((units, width)), np.ones(units), np.zeros((width, units))
    for unit in range(units):
        own = draw(st.sampled_from(list(declared)))
        start = 0
        for name, variable in declared.items():
            codes = range(start, start + len(variable))
            start += len(variable)
            if name == own:
                old, new = draw(st.permutations(codes))[:2]
                first[unit, old] += 1
                bias[unit] -= 1
                second[old, unit] -= 1
                second[new, unit] += 0 if variable.is_head else 1
            elif variable.is_head and draw(st.booleans()):  # undefined passes
                first[unit, draw(st.sampled_from(codes))] -= 1
            elif draw(st.booleans()):
                allowed = draw(st.sets(st.sampled_from(codes), min_size=1))
                first[unit, sorted(allowed)] += 1
                bias[unit] -= 1
    amount = st.integers(-4, 4).map(lambda n: n / 4)
    for _ in range(draw(st.integers(0, 2))):
        first[draw(st.integers(0, units - 1)), draw(st.integers(0, width - 1))] += draw(amount)
    bias[0] += draw(st.sampled_from((0.0, 0.0, 0.25, -0.25, 1.0)))
    return declared, HiddenLayer(first, bias, second, np.zeros(width), draw(st.booleans()))


def fires(rule: weft.Rule, state: dict[str, Any]) -> bool:
    return all(any(state[n] is v or state[n] == v for v in vs) for n, vs in rule.antecedent)


def written(rules: list[weft.Rule], declared: dict[str, Variable], state: Any) -> Any:
    """What rules add to the stream in a state, one dimension at a time."""
    places = [(name, value) for name, v in declared.items() for value in v.range.values]
    total = np.zeros(len(places))
    for rule in rules:
        if fires(rule, state):
            total[places.index((rule.variable, rule.old))] -= 1
            if rule.new is not UNDEFINED:
                total[places.index((rule.variable, rule.new))] += 1
    return total


def check_truth(
    declared: dict[str, Variable], net: HiddenLayer, states: Any, reading: ExtractedRules
) -> None:
    """What was read is what its units do, in all these states."""
    groups: dict[tuple[int, ...], list[weft.Rule]] = {}
    for found in reading.rules:
        groups.setdefault(found.units, []).append(found.rule)
    for units, rules in groups.items():
        part = list(units)
        for state in states:
            hidden = net.activate(net.first[part] @ embed(declared, state) + net.bias[part])
            found = net.second[:, part] @ hidden
            np.testing.assert_allclose(found, written(rules, declared, state), atol=0.2)


@few
@given(nets())
def test_what_is_read_from_any_weights_is_true_in_every_assignment(
    given_net: tuple[dict[str, Variable], HiddenLayer],
) -> None:
    declared, net = given_net
    reading = read_rules(net, layout_for(declared), tolerance=0.05)
    check_truth(declared, net, assignments(declared), reading)
    counted = [unit for found in (*reading.rules, *reading.unread) for unit in found.units]
    assert {*counted, *reading.idle} == set(range(len(net.bias)))


@few
@given(nets(), st.data())
def test_what_is_read_from_states_is_true_of_them_and_has_no_spare_constraint(
    given_net: tuple[dict[str, Variable], HiddenLayer], data: Any
) -> None:
    declared, net = given_net
    listed = data.draw(st.lists(st.sampled_from(assignments(declared)), min_size=1, max_size=8))
    reading = read_rules(
        net, layout_for(declared), StateSet.from_values(declared, listed), tolerance=0.05
    )
    check_truth(declared, net, listed, reading)
    for found in reading.rules:
        where = [fires(found.rule, state) for state in listed]
        for left_out in range(len(found.rule.guard)):
            guard = found.rule.guard[:left_out] + found.rule.guard[left_out + 1 :]
            less = weft.Rule(guard, found.rule.variable, found.rule.old, found.rule.new)
            assert [fires(less, state) for state in listed] != where


def one_unit(first: list[float], bias: float, second: list[float]) -> tuple[Layout, HiddenLayer]:
    """A clipped unit over two variables of two values, `a` and `b`."""
    return layout_for(variables(2, 2)), HiddenLayer(
        np.array([first]), np.array([bias]), np.array([second]).T, np.zeros(4), True
    )


@pytest.mark.parametrize(
    ("first", "bias", "second", "why"),
    [
        ([0, 0.5, 1, 0], 0.0, [0, 0, -1, 1], "more levels than on and off"),
        ([0, 1, 0, 0], 0.0, [0, 0, -1, 1], "it writes b without testing its old value"),
        ([0, 1, 1, 0], -1.0, [0, 0, -0.5, 0.5], "what it writes to b does not change"),
        ([0, 1, 1, 0], -1.0, [0, 0, 0, 1], "what it writes to b does not change"),
        ([0, 1, 1, 0], -1.0, [0, 0, -1, 2], "what it writes to b does not change"),
        ([0, 1, 1, 0], -1.0, [2, 0, -1, 1], "what it writes to a does not change"),
    ],
)
def test_units_that_are_no_rules_are_left_with_the_reason(
    first: list[float], bias: float, second: list[float], why: str
) -> None:
    layout, net = one_unit(first, bias, second)
    reading = read_rules(net, layout)
    assert not reading.rules
    assert why in reading.unread[0].why


def test_a_unit_that_puts_two_values_is_no_rule() -> None:
    net = HiddenLayer(
        np.array([[1, 0, 0]]), np.zeros(1), np.array([[-1, 1, 2]]).T, np.zeros(3), True
    )
    (found,) = read_rules(net, layout_for(variables(3))).unread
    assert "what it writes to a does not change" in found.why


def test_a_unit_that_is_on_where_one_or_the_other_holds_has_no_guard() -> None:
    """c = 0 and (a = 1 or b = 1): one level, and a test, but of no conjunction."""
    declared = variables(2, 2, 2)
    first, second = np.array([[0, 1, 0, 1, 2, 0]]), np.array([[0, 0, 0, 0, -1, 1]]).T
    net = HiddenLayer(first, np.array([-2.0]), second, np.zeros(6), True)
    states = StateSet.from_values(declared, assignments(declared))
    reading = read_rules(net, layout_for(declared), states)
    assert not reading.rules
    assert reading.unread[0].why == "no single guard holds in exactly the states in which it is on"
    less = StateSet.from_values(declared, [s for s in assignments(declared) if s["a"]])
    (found,) = read_rules(net, layout_for(declared), less).rules
    assert found.rule == weft.Rule((), "c", 0, 1)


def test_units_that_never_write_are_idle() -> None:
    assert read_rules(one_unit([0, 1, 1, 0], -2.0, [0, 0, -1, 1])[1],
                      layout_for(variables(2, 2))).idle == (0,)  # fmt: skip


def test_more_hidden_layers_are_refused() -> None:
    model = weft.compile(weft.program("parity-sum"), level=0).model
    with pytest.raises(weft.WeftError, match="one hidden layer of ReLUs"):
        read_rules(model.layers[0].feed_forward, model.layout)


def test_a_layout_of_another_program_is_refused() -> None:
    program, states = parity_states()
    other = weft.compile(weft.program("rule-110"), level=0).model
    with pytest.raises(weft.WeftError, match="no variable 'parity'"):
        distance(other.layers[0].feed_forward, other.layout, program, states)


@pytest.mark.parametrize("name", ["parity", "turing", "sort"])
def test_compiled_weights_are_at_no_distance_from_the_optimum_but_for_unfired_rules(
    name: str,
) -> None:
    program = weft.program(name)
    states = states_of(program, valid_inputs(program, 40, 10))
    model = weft.compile(program, level=0).model
    found = distance(model.layers[0].feed_forward, model.layout, program, states)
    assert (found.wrong, found.reconstruction, found.units.extra) == (0, 0, 0)
    assert found.units.recovered + found.units.alike == found.rules
    unfired = sum(1 for _ in paper_rules(program.rules, resets=True)) - found.rules
    assert (found.units.weights_l1 == 0) is (unfired == 0)
    assert found.loss >= found.compiled_loss


def test_distances_are_those_of_the_weights_that_were_changed() -> None:
    program, states = parity_states()
    model = weft.compile(program, level=0).model
    first, second, bias, last = arrays(model.layers[0].feed_forward)
    moved = second.copy()
    moved[3, 0] += 0.25
    order = [4, 1, 0, 6, 2, 5, 3]
    net = HiddenLayer(first[order], bias[order], moved[:, order], last, True)
    penalty = Penalty(0.5)
    found = distance(net, model.layout, program, states, penalty=penalty)
    assert (found.units.weights_l1, found.units.weights_l2) == (0.25, 0.25)
    often = sum(int(n) for i, n in enumerate(states.counts) if fires_first(program, states, i))
    assert found.reconstruction == pytest.approx(0.25 * often / states.total)
    assert found.wrong == pytest.approx(often / states.total)
    everything = sum(np.abs(part).sum() for part in (first, bias, moved))
    assert found.loss == pytest.approx(0.25 * often + 0.5 * everything)


def test_a_rule_that_the_program_does_not_have_is_extra() -> None:
    program, states = parity_states()
    model = weft.compile(program, level=0).model
    first, second, bias, last = arrays(model.layers[0].feed_forward)
    done = model.layout["done"].start
    read, write = np.zeros((1, len(last))), np.zeros((len(last), 1))
    read[0, done + 1], write[done + 1], write[done] = 1, -1, 1  # done: 1 -> 0
    net = HiddenLayer(np.concatenate([first, read]), np.append(bias, 0.0),
                 np.concatenate([second, write], axis=1), last, True)  # fmt: skip
    found = distance(net, model.layout, program, states)
    assert (found.units.recovered + found.units.alike, found.units.extra) == (7, 1)
    assert found.units.weights_l1 == 3


def test_a_unit_that_is_like_no_rule_is_matched_with_none() -> None:
    """It undoes all rules, whatever the state: nearer to nothing than to any of them."""
    program, states = parity_states()
    model = weft.compile(program, level=0).model
    first, second, bias, last = arrays(model.layers[0].feed_forward)
    net = HiddenLayer(0 * first[:1], np.ones(1), -second.sum(1, keepdims=True), last, True)
    found = distance(net, model.layout, program, states)
    mine = sum(np.square(part).sum() for part in (net.first, net.bias, net.second))
    assert found.units.weights_l2 == pytest.approx(np.sqrt(mine + found.units.compiled_l2**2))
    squares = sum(np.square(part).sum() for part in (first, bias, second))
    assert found.units.compiled_l2**2 == pytest.approx(squares)


def fires_first(program: weft.Program, states: StateSet, row: int) -> bool:
    """Whether the unit that was changed, the first rule's, is on."""
    return next(iter(paper_rules(program.rules))).holds(states.values(row))


def train(states: StateSet, model: Any, start: list[Any], alpha: float, steps: int) -> FeedForward:
    """Training from traces near the compiled weights: the paper's loss, each state once."""
    width = model.layout.width
    exact = arrays(model.layers[0].feed_forward)
    best = [torch.tensor(part, dtype=torch.float64) for part in exact]
    config = TransformerConfig(vocabulary=2, outputs=2, width=width, hidden=(len(start[0]),),
                               heads=1, key_width=1, value_width=1, loops=1,
                               activation="clipped", dtype="float64")  # fmt: skip
    layer = FeedForward(config).double()
    with torch.no_grad():
        for parameter, value in zip((*layer.weights, *layer.biases), start, strict=True):
            parameter.copy_(torch.tensor(value))
    z = torch.zeros(len(states), width, dtype=torch.float64)
    places = [d for name in states.variables
              for d in range(*model.layout[name].dimensions.indices(width))]  # fmt: skip
    z[:, places] = torch.tensor(states.one_hot())
    target = (z @ best[0].T + best[2]).clamp(0, 1) @ best[1].T
    optimiser = torch.optim.Adam(layer.parameters(), lr=3e-3)
    slower = torch.optim.lr_scheduler.LinearLR(optimiser, 1, 0.001, steps)
    for _ in range(steps):
        loss = (layer(z) - target).abs().sum()
        loss = loss + alpha * sum(p.abs().sum() for p in layer.parameters())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        slower.step()
    return layer


def test_training_from_near_the_optimum_comes_back_to_its_rules() -> None:
    """Theorem 2 seen from the other side: noise on all weights, then the regularised loss."""
    program, states = parity_states()
    model = weft.compile(program, level=0).model
    rng = np.random.default_rng(0)
    exact = arrays(model.layers[0].feed_forward)
    start = [part + 0.05 * rng.normal(size=part.shape) for part in exact]
    before = distance(HiddenLayer(start[0], start[2], start[1], start[3], True),
                      model.layout, program, states.once())  # fmt: skip
    assert before.wrong > 0.5
    layer = train(states, model, start, alpha=0.1, steps=1000)
    after = distance(layer, model.layout, program, states.once(), penalty=Penalty(0.1))
    assert after.wrong == 0
    assert after.units.recovered + after.units.alike == after.rules == 7
    assert after.units.extra == 0
    assert after.units.weights_l1 < before.units.weights_l1 / 2
    assert after.loss < 1.01 * after.compiled_loss  # below it, even: see docs/optimum.md
