"""Both theorems on every library program with categorical variables, over random inputs.

Which rules fire and which constraints could go is found here by plain comparison of states.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from optimum_oracles import Plain, plain

import weft
from weft.interpreter.inputs import valid_inputs
from weft.interpreter.states import StateSet, states_of
from weft.language.ranges import Categorical
from weft.programs import LIBRARY
from weft.theory.optimum.coordinatewise import check_rules, is_strict_coordinate_optimum
from weft.theory.optimum.derivatives import Penalty, count_kinks, derivatives
from weft.theory.optimum.reconstruction import construct, paper_rules

PAGE = Path(__file__).parents[3] / "docs" / "optimum.md"
INPUTS = 60


def is_categorical(name: str) -> bool:
    return all(isinstance(v.range, Categorical) for v in weft.program(name).variables.values())


CATEGORICAL = [name for name in LIBRARY if is_categorical(name)]
OTHERS = [name for name in LIBRARY if name not in CATEGORICAL]


@cache
def sampled(name: str) -> tuple[weft.Program, list[Any], StateSet]:
    program = weft.program(name)
    inputs = valid_inputs(program, INPUTS, LIBRARY[name].longest)
    return program, inputs, states_of(program, inputs)


def holding(rule: Plain, states: StateSet) -> list[Any]:
    """For each constraint of a rule, the states in which it holds."""
    columns = dict(zip(states.variables, states.codes.T, strict=True))
    return [
        columns[name] == states.variables[name].range.codes[value]
        for name, value in rule.antecedent
    ]


@cache
def fired(name: str) -> tuple[Plain, ...]:
    program, _, states = sampled(name)
    rules = [plain(rule) for rule in paper_rules(program.rules)]
    return tuple(rule for rule in rules if np.logical_and.reduce(holding(rule, states)).any())


def looser(rule: Plain, states: StateSet) -> Plain:
    """The rule without guard constraints, each left out where no state fails it alone."""
    for name, _ in rule.antecedent:
        less = rule.without(name)
        before = np.logical_and.reduce(holding(rule, states))
        if name != rule.variable:
            after = np.logical_and.reduce(holding(less, states))
            rule = less if np.array_equal(before, after) else rule
    return rule


@cache
def minimal(name: str) -> tuple[Plain, ...]:
    """A minimal rule set: unfired rules gone, then constraints, one by one."""
    states = sampled(name)[2]
    return tuple(looser(rule, states) for rule in fired(name))


@pytest.mark.parametrize("name", CATEGORICAL)
def test_theorem_2_minimal_rules_are_a_strict_optimum(name: str) -> None:
    states = sampled(name)[2]
    rules = [rule.rule() for rule in minimal(name)]
    longest = max(len(rule.antecedent) for rule in minimal(name))
    below = 0.999 / (2 * max(1, longest - 1))
    for penalty in (Penalty(1e-6), Penalty(0.999), Penalty(1e-6, "l2"), Penalty(below, "l2")):
        assert check_rules(rules, states, penalty)
        assert check_rules(rules, states.once(), penalty)
        assert check_rules(rules, states, penalty, removals=True)


@pytest.mark.parametrize("name", CATEGORICAL)
def test_theorem_1_rules_that_never_fire_are_no_strict_optimum(name: str) -> None:
    program, inputs, states = sampled(name)
    everything = {plain(rule) for rule in paper_rules(program.rules)}
    unfired = everything - set(fired(name))
    for kind in ("l1", "l2"):
        found = is_strict_coordinate_optimum(program, inputs, 0.01, regulariser=kind)
        if unfired:
            assert found.offender is not None
            assert plain(found.offender.rule) in everything
    counts = count_kinks(construct(program.variables, program.rules), states)
    assert (counts.fires > 0).sum() == len(fired(name))


def row(name: str) -> list[str]:
    """The row of a program in the table of the page."""
    program, _, states = sampled(name)
    rules = [rule.rule() for rule in fired(name)]
    whole = check_rules(program.rules, states, Penalty(0.5))
    strict = check_rules(rules, states, Penalty(0.5))
    spare = sum(
        len(rule.antecedent) - len(least.antecedent)
        for rule, least in zip(fired(name), minimal(name), strict=True)
    )
    assert bool(check_rules(rules, states, Penalty(0.5), removals=True)) is (spare == 0)
    total = sum(1 for _ in paper_rules(program.rules))
    shown = [f"{total:,}", f"{len(rules):,}", "yes" if whole else "no"]
    shown += ["yes" if strict else "no", f"{spare:,}"]
    exception = strict and spare > 0
    return [f"`{name}`", *shown, "counter-example" if exception else ""]


def test_the_page_says_which_programs_theorem_1_fails_on() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## On the library")[2]
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in re.findall(r"^\| `.*\|$", text, re.MULTILINE)]  # fmt: skip
    assert rows == [row(name) for name in CATEGORICAL]


@pytest.mark.parametrize("name", OTHERS)
def test_programs_with_numbers_or_sets_are_refused(name: str) -> None:
    with pytest.raises(weft.WeftError, match="categorical variables only"):
        is_strict_coordinate_optimum(weft.program(name), ["a"])


def test_resets_are_left_out() -> None:
    program, _, states = sampled("parity")
    assert check_rules(program.rules, states, Penalty(0.5)).units == 3
    assert len(program.rules) == 7


def test_addition_has_derivatives_for_all_of_its_parameters() -> None:
    """A sample of them by comparing all states with one rule."""
    program, _, states = sampled("addition")
    units = construct(program.variables, program.rules)
    found = derivatives(units, states, Penalty(0.5))
    z, at = states.one_hot(), units.weights()
    assert found.left.first.shape == at.first.shape == (16420, 89)
    for unit in np.random.default_rng(0).integers(0, len(units), 40):
        g = z @ at.first[unit] + at.bias[unit]
        rising, falling = 2 * (states.counts * (g == 0)) @ z, 2 * (states.counts * (g == 1)) @ z
        signs = np.where(at.first[unit] > 0, 1, -1)
        np.testing.assert_array_equal(found.right.first[unit], 0.5 + rising)
        np.testing.assert_array_equal(found.left.first[unit], 0.5 * signs - falling)


def test_states_are_those_of_the_reference_interpreter() -> None:
    """Counted one position at a time."""
    program = weft.program("addition")
    inputs = ["1+2", "99+1", "5+55"]
    counted: dict[Any, int] = {}
    for given in inputs:
        trace = weft.run(program, given, trace=True).trace
        for layer in trace.layers:
            for position in range(layer.attended.positions):
                key = tuple(layer.attended.at(position).items())
                counted[key] = counted.get(key, 0) + 1
    found = states_of(program, inputs)
    mine = {tuple(found.values(i).items()): int(n) for i, n in enumerate(found.counts)}
    assert mine == counted


def test_inputs_without_positions_have_no_states() -> None:
    assert len(states_of(weft.program("rule-110"), [[]])) == 0


def test_a_program_whose_samples_all_fail_is_an_error() -> None:
    class Picky(weft.Program):
        tokens = 2
        a = weft.var(2, token=lambda t: t)
        output = a
        layers = 1

        def sample(self, rng: Any, length: int) -> Any:
            return [7]

    with pytest.raises(weft.WeftError, match="its sample returns"):
        valid_inputs(Picky(), 5, 3)


def test_alpha_and_regulariser_are_checked() -> None:
    with pytest.raises(weft.WeftError, match="alpha is 0"):
        is_strict_coordinate_optimum(weft.program("parity"), ["1"], 0.0)
    with pytest.raises(weft.WeftError, match="no regulariser 'l3'"):
        is_strict_coordinate_optimum(weft.program("parity"), ["1"], regulariser="l3")  # type: ignore[arg-type]
