"""Two halves of the theory that share no code: minimality by definition, optimality by derivatives.

Along coordinates and removals of constraints, compiled rules are a strict optimum exactly where
they are minimal as weights read definition 1.
"""

from __future__ import annotations

import pytest
from hypothesis import given

import weft
from random_rule_sets import Instance, few, instances
from weft.theory import fired_rules, is_minimal, minimal, observe
from weft.theory.derivatives import Penalty
from weft.theory.optimum import check_rules
from weft.theory.reconstruction import paper_rules
from weft.theory.reconstruction_states import sample_inputs, states_from, states_of

NAMES = ["parity", "parity-absolute", "addition", "comparison", "rule-110", "reverse", "dyck"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [3, 25])
def test_minimal_rules_are_those_that_are_strict_along_removals(name: str, count: int) -> None:
    program = weft.program(name)
    inputs = sample_inputs(program, count, 8, seed=count)
    used, there = observe(program, inputs), states_of(program, inputs)
    several = [fired_rules(used), minimal(program, inputs, constraints=True).rules]
    if name.startswith("parity"):
        several.append(tuple(paper_rules(program.rules)))
    for rules in several:
        defined = bool(is_minimal(rules, used, reading="weights"))
        assert bool(check_rules(rules, there, Penalty(0.5), removals=True)) is defined


@few
@given(instances())
def test_random_rules(instance: Instance) -> None:
    declared, plain, states = instance
    rules = [rule.rule() for rule in plain]
    defined = bool(is_minimal(rules, states, reading="weights"))
    there = states_from(declared, states)
    assert bool(check_rules(rules, there, Penalty(0.5), removals=True)) is defined
