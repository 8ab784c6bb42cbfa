"""Rule sets: which rules hold, overlap, differ; compared with brute force over all states."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.errors import Location
from weft.language.ranges import UNDEFINED
from weft.language.rules import Rule, RuleSet, expand


class Cells(weft.Program):
    """Two variables and a head, to state rules about."""

    tokens = [0, 1, 2]

    x = weft.var(3, token=lambda t: t)
    y = weft.var(2)
    near = weft.relative(x, 1)

    output = x

    def step(z):
        if z.near == z.x:
            z.y = 1 - z.y
        z.x = (z.x + z.y) % 3


PROGRAM = Cells()
VARIABLES = PROGRAM.variables
EXTRA = {name: (UNDEFINED,) if v.is_head else () for name, v in VARIABLES.items()}


def states() -> list[dict[str, Any]]:
    values = {
        name: (*variable.range.values, UNDEFINED) if variable.is_head else variable.range.values
        for name, variable in VARIABLES.items()
    }
    return [dict(zip(values, row, strict=True)) for row in itertools.product(*values.values())]


def some_of(values: tuple[Any, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(st.sampled_from(values), min_size=1, unique=True).map(tuple)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    variable = draw(st.sampled_from(["x", "y"]))
    values = VARIABLES[variable].range.values
    guard = tuple(
        (name, draw(some_of((*VARIABLES[name].range.values, *EXTRA[name]))))
        for name in VARIABLES
        if name != variable and draw(st.booleans())
    )
    return Rule(guard, variable, draw(st.sampled_from(values)), draw(st.sampled_from(values)))


@settings(max_examples=80, deadline=None)
@given(st.lists(rules(), max_size=5))
def test_overlaps_are_the_pairs_that_hold_together(listed: list[Rule]) -> None:
    found = RuleSet(VARIABLES, listed)
    everything = list(found)
    expected = {
        frozenset((i, j))
        for (i, one), (j, other) in itertools.combinations(enumerate(everything), 2)
        if one.variable == other.variable
        and any(one.holds(state) and other.holds(state) for state in states())
    }
    position = {id(rule): place for place, rule in enumerate(everything)}
    reported = [
        frozenset((position[id(one)], position[id(other)])) for one, other in found.overlaps()
    ]
    assert len(reported) == len(set(reported)), "a pair was reported twice"
    if len({id(rule) for rule in listed}) == len(listed):
        assert set(reported) == expected


@settings(max_examples=80, deadline=None)
@given(st.lists(rules(), max_size=6))
def test_the_rules_that_fire_are_those_that_hold(listed: list[Rule]) -> None:
    found = RuleSet(VARIABLES, listed)
    for state in states():
        holding = [rule for rule in listed if rule.holds(state)]
        assert sorted(map(repr, found.transitions(state))) == sorted(map(repr, holding))
        resets = [rule for rule in found.fired(state) if rule.is_reset]
        assert [rule.old for rule in resets] == (
            [] if state["near"] is UNDEFINED else [state["near"]]
        )
        disagreeing = any(
            one.variable == other.variable and one.new != other.new
            for one, other in itertools.combinations(holding, 2)
        )
        assert (found.disagreement(found.transitions(state)) is not None) is disagreeing


@settings(max_examples=80, deadline=None)
@given(st.lists(rules(), max_size=5), st.lists(rules(), max_size=5))
def test_differences_count_every_rule_once(left: list[Rule], right: list[Rule]) -> None:
    one, other = RuleSet(VARIABLES, left), RuleSet(VARIABLES, right)
    diff = one.diff(other)
    assert len(diff.only_left) + diff.both == len(one)
    assert len(diff.only_right) + diff.both == len(other)
    assert diff.both >= len(one.resets)
    assert one.diff(one).only_left == one.diff(one).only_right == ()


def test_the_rules_of_a_program_do_what_its_step_does() -> None:
    for state in states():
        if state["near"] is UNDEFINED:  # the step fails
            continue
        y = 1 - state["y"] if state["near"] == state["x"] else state["y"]
        expected = {**state, "y": y, "x": (state["x"] + y) % 3}
        assert PROGRAM.rules.apply(state) == expected
        changed = {rule.variable: rule.new for rule in PROGRAM.rules.transitions(state)}
        assert changed == {n: v for n, v in expected.items() if v != state[n]}


def test_derived_rules_are_counted_without_being_listed() -> None:
    derived = expand(PROGRAM)
    assert len(derived) == len(list(derived))
    listed = RuleSet(VARIABLES, [rule for rule in derived if not rule.is_reset])
    assert derived.counts() == listed.counts()
    assert list(derived.overlaps()) == []
    for state in states():
        if state["near"] is not UNDEFINED:
            assert set(derived.fired(state)) == set(listed.fired(state))


def test_heads_are_reset_by_one_rule_per_value() -> None:
    assert [(rule.variable, rule.old) for rule in PROGRAM.rules.resets] == [
        ("near", 0),
        ("near", 1),
        ("near", 2),
    ]


def test_atoms_are_the_rules_with_one_value_per_constraint() -> None:
    rule = Rule((("x", (0, 2)), ("near", (0, 1, UNDEFINED))), "y", 0, 1)
    assert rule.atoms() == math.prod((2, 3))
    assert Rule((), "y", 0, 1).atoms() == 1


def test_a_rule_is_the_same_whatever_line_it_comes_from() -> None:
    here, there = Location("a.py", 1), Location("b.py", 2)
    assert Rule((), "y", 0, 1, here) == Rule((), "y", 0, 1, there)
    grouped = RuleSet(VARIABLES, [Rule((), "y", 0, 1, here), Rule((), "y", 1, 0, there)]).by_line()
    assert [rule.old for rule in grouped[here]] == [0]
    assert [rule.old for rule in grouped[there]] == [1]


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        (Rule((), "y", 0, 1), "y: 0 -> 1"),
        (Rule((("x", (0, 2)),), "y", 0, 1), "x ≠ 1 => y: 0 -> 1"),
        (Rule((("x", (1,)), ("near", (UNDEFINED,))), "y", 1, 0), "x = 1, near = ∅ => y: 1 -> 0"),
    ],
)
def test_rules_print_on_one_line(rule: Rule, shown: str) -> None:
    assert rule.show(VARIABLES) == shown
