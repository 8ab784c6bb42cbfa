"""The derivatives against the loss itself: small steps of every parameter of random rule sets.

All numbers are sums of few powers of two, so that differences of losses are exact in float64.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optimum_oracles import (
    Plain,
    compiled,
    embed,
    is_compiled_minimal,
    is_minimal,
    is_strict,
    loss,
)
from random_rule_sets import Instance, few, instances, many, variables

import weft
from weft.interpreter.states import StateSet
from weft.language.program import Variable
from weft.theory.optimum.coordinatewise import alpha_limit, check_rules, offenders
from weft.theory.optimum.derivatives import Penalty, derivatives
from weft.theory.optimum.reconstruction import Construction, paper_rules


def unpack(instance: Instance) -> Any:
    declared, rules, listed = instance
    units = Construction(declared, tuple(rule.rule() for rule in rules))
    z = np.array([embed(declared, state) for state in listed])
    return units, StateSet.from_values(declared, listed), compiled(declared, rules), z


def check_derivatives(instance: Instance, alpha: float, kind: Any) -> None:
    units, states, weights, z = unpack(instance)
    found = derivatives(units, states, Penalty(alpha, kind))
    here = loss(weights, weights, z, alpha, kind)
    step = 2**-8
    extra = alpha * step if kind == "l2" else 0.0  # the αε² of the square
    for part, index in weights.entries():
        up = loss(weights.moved(part, index, step), weights, z, alpha, kind) - here
        down = loss(weights.moved(part, index, -step), weights, z, alpha, kind) - here
        assert getattr(found.right, part)[index] == up / step - extra, (part, index)
        assert getattr(found.left, part)[index] == -(down / step - extra), (part, index)


@few
@given(instances(), st.sampled_from((1 / 64, 0.5, 63 / 64, 3.0)), st.sampled_from(("l1", "l2")))
def test_every_derivative_is_the_slope_of_the_loss(i: Instance, alpha: float, kind: str) -> None:
    check_derivatives(i, alpha, kind)


@pytest.mark.slow
@many
@given(instances(), st.sampled_from((1 / 64, 0.5, 63 / 64, 3.0)), st.sampled_from(("l1", "l2")))
def test_every_derivative_is_the_slope_of_the_loss_of_new_rule_sets(
    i: Instance, alpha: float, kind: str
) -> None:
    check_derivatives(i, alpha, kind)


@few
@given(instances())
def test_the_weights_are_those_of_the_paper(instance: Instance) -> None:
    units, _, weights, _ = unpack(instance)
    mine = units.weights()
    np.testing.assert_array_equal(mine.first, weights.first)
    np.testing.assert_array_equal(mine.bias, weights.bias)
    np.testing.assert_array_equal(mine.second, weights.second)


def bound(instance: Instance) -> float:
    """1/(2K) of the remark in B.6."""
    longest = max((len(rule.antecedent) for rule in instance[1]), default=1)
    return 1 / (2 * max(1, longest - 1))


def check_theorems(instance: Instance, share: float) -> None:
    units, states, weights, z = unpack(instance)
    listed = instance[2]
    for kind, alpha in (("l1", share), ("l2", share * bound(instance))):
        penalty = Penalty(alpha, kind)
        found = check_rules(units.rules, states, penalty)
        assert bool(found) == is_strict(weights, z, alpha, kind)
        if any(is_minimal(instance[1], listed, own=own) for own in (False, True)):
            assert found, "theorem 2"
        fires = [[rule.holds(state) for state in listed] for rule in instance[1]]
        misses = [
            [sum(state[n] != v for n, v in rule.antecedent) == 1 for state in listed]
            for rule in instance[1]
        ]
        single = [len(rule.antecedent) == 1 for rule in instance[1]]
        expected = all(
            any(fire) and (alone or any(miss))
            for fire, miss, alone in zip(fires, misses, single, strict=True)
        )
        assert bool(found) == expected, "the condition that theorem 1 should have"
        along = check_rules(units.rules, states, penalty, removals=True)
        assert bool(along) == is_compiled_minimal(weights, z), "removals decide minimality"


@few
@given(instances(), st.sampled_from((1 / 64, 0.5, 63 / 64)))
def test_theorem_2_and_the_corrected_theorem_1(instance: Instance, share: float) -> None:
    check_theorems(instance, share)


@pytest.mark.slow
@many
@given(instances(), st.sampled_from((1 / 64, 0.5, 63 / 64)))
def test_theorem_2_and_the_corrected_theorem_1_on_new_rule_sets(
    instance: Instance, share: float
) -> None:
    check_theorems(instance, share)


@few
@given(instances(), st.sampled_from((1 / 64, 0.5, 2.0, 5.0)), st.sampled_from(("l1", "l2")))
def test_offenders_are_the_parameters_whose_derivatives_have_the_wrong_sign(
    instance: Instance, alpha: float, kind: Any
) -> None:
    units, states, _, _ = unpack(instance)
    penalty = Penalty(alpha, kind)
    found = derivatives(units, states, penalty)
    wrong = []
    for part in ("first", "bias", "second"):
        left, right = getattr(found.left, part), getattr(found.right, part)
        at = np.argwhere(~penalty.is_strict(left, right))
        wrong += [(float(left[tuple(i)]), float(right[tuple(i)])) for i in at]
    named = [(o.left, o.right) for o in offenders(units, states, penalty)]
    assert sorted(named) == sorted(wrong)


def smallest_exception(own: bool) -> tuple[Instance, int]:
    """The smallest rule set and D, by exhaustion, that is an optimum and not minimal."""
    for count in (1, 2):
        declared = variables(*[2] * count)
        everywhere = [dict(zip(declared, row, strict=True))
                      for row in itertools.product((0, 1), repeat=count)]  # fmt: skip
        for size in (1, 2, 3):
            for listed in itertools.combinations(everywhere, size):
                for rule in one_rule(declared):
                    instance = declared, [rule], list(listed)
                    weights, z = unpack(instance)[2:]
                    strict = is_strict(weights, z, 0.5, "l1")
                    if strict and not is_minimal([rule], list(listed), own=own):
                        return instance, size
    raise AssertionError("there is none")


def one_rule(declared: dict[str, Variable]) -> list[Plain]:
    """All rules that set the last variable to 1."""
    *others, last = declared
    found = []
    for chosen in itertools.product((None, 0, 1), repeat=len(others)):
        guard = [(n, v) for n, v in zip(others, chosen, strict=True) if v is not None]
        found.append(Plain((*guard, (last, 0)), last, 1))
    return found


def test_theorem_1_as_printed_is_false_and_this_is_the_smallest_instance() -> None:
    """One rule of two constraints and two states; a = 0 as well as a = 1 will do."""
    (declared, (rule,), listed), size = smallest_exception(own=False)
    assert len(declared) == 2
    assert rule == Plain((("a", 0), ("b", 0)), "b", 1)
    assert (size, listed) == (2, [{"a": 0, "b": 0}, {"a": 0, "b": 1}])
    states = StateSet.from_values(declared, listed)
    assert check_rules([rule.rule()], states, Penalty(0.5))
    removed = check_rules([rule.rule()], states, Penalty(0.5), removals=True)
    assert removed.offender is not None
    assert removed.offender.parameter == "W1[0, a=0] down, b1[0] up"
    assert removed.offender.why == "no state fails a=0 alone"
    assert (removed.offender.left, removed.offender.right) == (-1.0, -1.0)


def test_if_a_rule_may_lose_the_old_value_one_variable_and_one_state_are_enough() -> None:
    (declared, (rule,), listed), size = smallest_exception(own=True)
    assert len(declared) == 1
    assert rule == Plain((("a", 0),), "a", 1)
    assert (size, listed) == (1, [{"a": 0}])


def test_squared_l2_leaves_zero_derivatives_and_is_strict_all_the_same() -> None:
    """The remark's proof would need lemma 2, which gives nothing for L2: ε² decides."""
    instance = variables(2, 2), [Plain((("a", 1), ("b", 0)), "b", 1)], [
        {"a": 1, "b": 0}, {"a": 0, "b": 0}]  # fmt: skip
    units, states, weights, z = unpack(instance)
    found = derivatives(units, states, Penalty(0.25, "l2"))
    assert (found.left.first == 0).any()
    assert check_rules(units.rules, states, Penalty(0.25, "l2"))
    assert is_strict(weights, z, 0.25, "l2")


def test_a_rule_that_changes_nothing_is_named() -> None:
    states = StateSet.from_values(variables(2), [{"a": 0}, {"a": 1}])
    found = check_rules([weft.Rule((), "a", 1, 1)], states, Penalty(0.5)).offender
    assert found is not None
    assert (found.parameter, found.why) == ("W1[0, a=1]", "its rule changes nothing")


def test_at_alpha_1_a_rule_that_fires_once_is_no_strict_optimum_and_twice_is() -> None:
    rule = weft.Rule((("a", (1,)),), "b", 0, 1)
    met, missed = {"a": 1, "b": 0}, {"a": 0, "b": 0}
    for often, strict in ((1, False), (2, True)):
        states = StateSet.from_values(variables(2, 2), [*[met] * often, missed])
        assert bool(check_rules([rule], states, Penalty(1.0))) is strict
        assert not check_rules([rule], states.once(), Penalty(1.0))


@few
@given(instances(), st.sampled_from(("l1", "l2")))
def test_the_limit_of_alpha_parts_optima_from_others(instance: Instance, kind: Any) -> None:
    """Exact: one bit of the number below and above it."""
    units, states, _, _ = unpack(instance)
    limit = alpha_limit(units.rules, states, kind)
    if limit == np.inf:
        assert not len(units)
        return
    above = Penalty(float(np.nextafter(limit, np.inf)), kind)
    assert not check_rules(units.rules, states, above)
    if limit > 0:
        below = Penalty(float(np.nextafter(limit, 0)), kind)
        assert check_rules(units.rules, states, below)
        assert bool(check_rules(units.rules, states, Penalty(limit, kind))) is (kind == "l2")


def test_minimal_rules_are_still_no_local_optimum_where_a_variable_has_two_values() -> None:
    """Coordinates are not all directions: of a slot of two values, either can be what is tested.

    W1 of both values down and b1 up changes no pre-activation, and the weights get smaller.
    """
    rule = Plain((("a", 1), ("b", 0)), "b", 1)
    declared = variables(2, 2)
    listed = [{"a": a, "b": b} for a in (0, 1) for b in (0, 1)]
    units, states, weights, z = unpack((declared, [rule], listed))
    assert is_minimal([rule], listed, own=False)
    assert check_rules(units.rules, states, Penalty(0.5), removals=True)
    here = loss(weights, weights, z, 0.5, "l1")
    for step in (2**-20, 2**-4, 1.0):
        moved = weights.moved("bias", (0,), step)
        for dimension in (0, 1):
            moved = moved.moved("first", (0, dimension), -step)
        assert loss(moved, weights, z, 0.5, "l1") == here - 0.5 * step


def test_with_squares_a_long_rule_has_a_lower_limit() -> None:
    """b1 = -3 weighs more than any W2: one near miss holds it up to 1/3, four firings W2 to 2."""
    rule = Plain((("a", 1), ("b", 1), ("h", 1), ("c", 0)), "c", 1)
    declared = variables(2, 2, 2, head=True)
    met = {"a": 1, "b": 1, "c": 0, "h": 1}
    states = StateSet.from_values(declared, [*[met] * 4, {**met, "a": 0}])
    assert alpha_limit([rule.rule()], states, "l2") == 1 / 3
    assert alpha_limit([rule.rule()], states, "l1") == 2


def test_a_rule_that_asks_for_two_values_of_its_variable_has_no_unit() -> None:
    never = weft.Rule((("a", (1,)),), "a", 0, 1)
    twice = weft.Rule((("a", (0, 1)), ("b", (1,))), "a", 0, 1)
    assert list(paper_rules([never, twice])) == [weft.Rule((("b", (1,)),), "a", 0, 1)]
