"""Two halves of the theory that share no code: minimality by definition, optimality by derivatives.

Along coordinates and removals of constraints, compiled rules are a strict optimum exactly if they
are minimal by the reading `weights` of definition 1. Theorem 2 holds by `weights` and by `logic`,
and not by `exclusive`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optimum_oracles import (
    Plain,
    compiled,
    embed,
    exclusive,
    is_compiled_minimal,
    is_strict,
    plain,
)
from optimum_oracles import is_minimal as oracle_is_minimal
from random_rule_sets import Instance, few, instances, many, variables

import weft
from weft.interpreter.inputs import valid_inputs
from weft.interpreter.states import StateSet, states_of
from weft.language.rules import Rule
from weft.theory import fired_rules, is_minimal, minimal_program, observe, shortened
from weft.theory.minimal.minimality import READINGS
from weft.theory.optimum.coordinatewise import check_rules
from weft.theory.optimum.derivatives import Penalty
from weft.theory.optimum.reconstruction import paper_rules

NAMES = ["parity", "parity-absolute", "addition", "comparison", "rule-110", "reverse", "dyck"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [3, 25])
def test_minimal_rules_are_those_that_are_strict_along_removals(name: str, count: int) -> None:
    program = weft.program(name)
    inputs = valid_inputs(program, count, 8, seed=count)
    used, there = observe(program, inputs), states_of(program, inputs)
    left = minimal_program(program, inputs, constraints=True).rules
    assert check_rules(left, there, Penalty(0.5), removals=True), "the two defaults agree"
    several = [fired_rules(used), left]
    if name.startswith("parity"):
        several.append(tuple(paper_rules(program.rules)))
    for rules in several:
        defined = bool(is_minimal(rules, used, reading="weights"))
        assert bool(check_rules(rules, there, Penalty(0.5), removals=True)) is defined


FOUR = variables(2, 2, 2, 2)


def three_rules() -> tuple[list[Plain], list[dict[str, Any]]]:
    """Rules that set b from 0 to 1, each apart from the other two by another constraint."""
    guards = ({"a": 0, "c": 0}, {"a": 1, "d": 0}, {"c": 1, "d": 1})
    rules = [Plain((*guard.items(), ("b", 0)), "b", 1) for guard in guards]
    states = [(0, 0, 0), (1, 1, 0), (1, 1, 1)]
    return rules, [{"a": a, "b": 0, "c": c, "d": d} for a, c, d in states]


def test_theorem_2_is_false_by_the_exclusive_reading() -> None:
    """Each constraint of the first rule keeps it apart from another one; no state needs any."""
    rules, states = three_rules()
    assert exclusive(rules)
    listed = [rule.rule() for rule in rules]
    answers = {reading: bool(is_minimal(listed, states, reading=reading)) for reading in READINGS}
    assert answers == {"exclusive": True, "weights": False, "logic": False}
    assert not oracle_is_minimal(rules, states, own=False)
    z = np.array([embed(FOUR, state) for state in states])
    assert not is_strict(compiled(FOUR, rules), z, 0.5, "l1")
    assert not is_strict(compiled(FOUR, rules), z, 0.1, "l2")
    there = StateSet.from_values(FOUR, states)
    answer = check_rules(listed, there, Penalty(0.5))
    assert answer.offender is not None
    assert answer.offender.parameter == "b1[0]"
    assert answer.offender.why == "no state fails exactly one constraint of its rule"
    by_definition = check_rules(listed, there, Penalty(0.5), removals=True, reading="exclusive")
    assert (by_definition.offence, by_definition.offender) == (None, answer.offender)
    by_logic = check_rules(listed, there, Penalty(0.5), removals=True, reading="logic")
    assert by_logic.offence is not None
    shorter = [left for _, left in shortened(listed, states)]
    assert is_strict(compiled(FOUR, [plain(rule) for rule in shorter]), z, 0.5, "l1")


@st.composite
def rule_sets(draw: Any) -> tuple[list[Rule], list[dict[str, Any]]]:
    """Rules over four variables of two values, shortened by some reading or as they were drawn."""
    rules: list[Plain] = []
    for _ in range(draw(st.integers(1, 6))):
        old = draw(st.sampled_from((0, 0, 1)))
        tested = [name for name in "acd" if draw(st.booleans())]
        guard = [(name, draw(st.integers(0, 1))) for name in tested]
        rule = Plain((*guard, ("b", old)), "b", 1 - old)
        if exclusive([*rules, rule]):
            rules.append(rule)
    state = st.fixed_dictionaries({name: st.integers(0, 1) for name in "abcd"})
    states = draw(st.lists(state, min_size=1, max_size=10))
    listed = [rule.rule() for rule in rules]
    reading = draw(st.sampled_from((None, *READINGS)))
    if reading is not None:
        listed = [left for _, left in shortened(listed, states, reading=reading)]
    return listed, states


def check_theorem_2(rules: list[Rule], states: list[dict[str, Any]]) -> None:
    """By brute force over weights; rules that were shortened may overlap outside D."""
    plain_rules = [plain(rule) for rule in rules]
    weights = compiled(FOUR, plain_rules)
    z = np.array([embed(FOUR, state) for state in states])
    by = {reading: bool(is_minimal(rules, states, reading=reading)) for reading in READINGS}
    assert by["weights"] == is_compiled_minimal(weights, z)
    assert by["logic"] == oracle_is_minimal(plain_rules, states, own=False)
    if by["weights"] or by["logic"]:
        assert is_strict(weights, z, 63 / 64, "l1")
    along = check_rules(rules, StateSet.from_values(FOUR, states), Penalty(0.5), removals=True)
    assert bool(along) == by["weights"]
    assert along.reading == "weights"


@few
@given(rule_sets())
def test_theorem_2_holds_by_weights_and_by_logic(
    found: tuple[list[Rule], list[dict[str, Any]]],
) -> None:
    check_theorem_2(*found)


@pytest.mark.slow
@many
@given(rule_sets())
def test_theorem_2_holds_by_weights_and_by_logic_on_new_rule_sets(
    found: tuple[list[Rule], list[dict[str, Any]]],
) -> None:
    check_theorem_2(*found)


@few
@given(instances())
def test_random_rules(instance: Instance) -> None:
    declared, plain, states = instance
    rules = [rule.rule() for rule in plain]
    defined = bool(is_minimal(rules, states, reading="weights"))
    there = StateSet.from_values(declared, states)
    assert bool(check_rules(rules, there, Penalty(0.5), removals=True)) is defined
