"""Definition 1 by brute force: all that can be removed is removed, and outputs are compared.

Nothing here knows how the package does it: f is computed rule by rule, one assignment at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.language.ranges import UNDEFINED
from weft.language.rules import Rule
from weft.theory import Offence, is_minimal, minimal_forms, observe, shortened
from weft.theory.minimal.minimality import Reading
from weft.theory.minimal.shortening import documented, kept_apart, seeded

RANGES = {"a": 3, "b": 3, "c": 2, "x": 3}
READINGS: tuple[Reading, ...] = ("exclusive", "weights", "logic")
State = dict[str, int]
EVERY: list[State] = [
    dict(zip(RANGES, values, strict=True)) for values in product(*map(range, RANGES.values()))
]
few = settings(max_examples=120, derandomize=True, deadline=None)


def holding(rules: Iterable[Rule], state: State) -> list[Rule]:
    return [rule for rule in rules if all(state[n] in values for n, values in rule.antecedent)]


def exclusive(rules: Iterable[Rule]) -> bool:
    rules = list(rules)
    return all(len(holding(rules, state)) <= 1 for state in EVERY)


def output(rules: Iterable[Rule], state: State, reading: Reading) -> Any:
    """What the layer makes of `x`: the new value, or with `weights` all that is written."""
    news = sorted(rule.new for rule in holding(rules, state))
    if reading == "weights":
        return news
    if len(set(news)) > 1:
        return "no function"
    return news[0] if news else state["x"]


def removals(rules: list[Rule]) -> Iterator[tuple[Offence, list[Rule]]]:
    """Every single removal, and what is left."""
    for place, rule in enumerate(rules):
        yield Offence(rule), rules[:place] + rules[place + 1 :]
        for name, _ in rule.guard:
            guard = tuple((other, values) for other, values in rule.guard if other != name)
            cut = Rule(guard, rule.variable, rule.old, rule.new)
            yield Offence(rule, name), [*rules[:place], cut, *rules[place + 1 :]]


def possible(rules: list[Rule], states: list[State], reading: Reading) -> list[Offence]:
    """The removals that change no output: definition 1 says that there are none."""
    found = []
    for offence, left in removals(rules):
        if reading == "exclusive" and not exclusive(left):
            continue
        if all(output(left, s, reading) == output(rules, s, reading) for s in states):
            found.append(offence)
    return found


def all_forms(rules: list[Rule], states: list[State], reading: Reading) -> set[frozenset[Rule]]:
    """What is left when rules and constraints go one by one, in every order."""
    ends, seen, stack = set(), set(), [frozenset(rules)]
    while stack:
        form = stack.pop()
        if form in seen:
            continue
        seen.add(form)
        ordered = sorted(form, key=repr)
        left = [
            frozenset(rest)
            for _, rest in removals(ordered)
            if (reading != "exclusive" or exclusive(rest))
            and all(output(rest, s, reading) == output(ordered, s, reading) for s in states)
        ]
        if not left:
            ends.add(form)
        stack += left
    return ends


@st.composite
def rule_sets(draw: Any, most: int = 6) -> list[Rule]:
    """Rules of x of which no two hold together, with one value or several per constraint."""
    found: list[Rule] = []
    for _ in range(draw(st.integers(1, most))):
        old = draw(st.integers(0, 2))
        new = draw(st.sampled_from([value for value in range(3) if value != old]))
        guard = []
        for name in ("a", "b", "c"):
            values = draw(st.sets(st.integers(0, RANGES[name] - 1), max_size=RANGES[name] - 1))
            if values:
                guard.append((name, tuple(sorted(values))))
        rule = Rule(tuple(guard), "x", old, new)
        if exclusive([*found, rule]):
            found.append(rule)
    return found


data = st.lists(st.sampled_from(EVERY), min_size=1, max_size=24)


@few
@given(rule_sets(), data, st.sampled_from(READINGS))
def test_is_minimal_is_the_definition(
    rules: list[Rule], states: list[State], reading: Reading
) -> None:
    possible_removals = possible(rules, states, reading)
    found = is_minimal(rules, states, reading=reading)
    assert bool(found) == (not possible_removals)
    assert found.offence is None or found.offence in possible_removals


@few
@given(rule_sets(), data)
def test_the_readings_are_ordered(rules: list[Rule], states: list[State]) -> None:
    strict, middle, weak = (
        bool(is_minimal(rules, states, reading=reading))
        for reading in ("logic", "weights", "exclusive")
    )
    assert strict <= middle <= weak


@few
@given(rule_sets(), data, st.one_of(st.none(), st.integers(0, 99)), st.sampled_from(READINGS))
def test_what_is_shortened_is_minimal_and_does_the_same(
    rules: list[Rule], states: list[State], seed: int | None, reading: Reading
) -> None:
    order = documented if seed is None else seeded(seed)
    pairs = shortened(rules, states, order, reading=reading)
    left = [rule for _, rule in pairs]
    assert possible(left, states, reading) == []
    for state in states:
        assert output(left, state, reading) == output(rules, state, reading)
    fired = {r for s in states for r in holding(rules, s)}
    if reading == "logic":
        assert {rule for rule, _ in pairs} <= fired
    else:
        assert {rule for rule, _ in pairs} == fired
    if reading == "exclusive":
        assert exclusive(left)


@settings(few, max_examples=80)
@given(rule_sets(most=3), data, st.sampled_from(READINGS))
def test_all_minimal_forms_are_found(
    rules: list[Rule], states: list[State], reading: Reading
) -> None:
    forms = minimal_forms(rules, states, reading=reading)
    found = [frozenset(form) for form in forms]
    if reading == "exclusive":  # otherwise two rules can come to be the same
        assert len(forms) == len(found) == len(set(found))
    assert set(found) == all_forms(rules, states, reading)


@few
@given(rule_sets(), data)
def test_constraints_that_only_keep_rules_apart_are_told(
    rules: list[Rule], states: list[State]
) -> None:
    left = [rule for _, rule in shortened(rules, states, reading="exclusive")]
    by_weights = [(o.rule, o.constraint) for o in possible(left, states, "weights")]
    assert sorted(map(repr, kept_apart(left, states))) == sorted(map(repr, by_weights))


MAYBE = ({"h": UNDEFINED}, {"h": 0}, {"h": 1})


def unknown(rules: Iterable[Rule], values: dict[str, Any]) -> bool:
    """Whether some rule would hold if undefined heads had the right value: it reads one."""
    return any(
        all(values[n] in allowed or values[n] is UNDEFINED for n, allowed in each.antecedent)
        and any(values[n] is UNDEFINED for n, _ in each.antecedent)
        for each in rules
    )


@few
@given(
    rule_sets(most=4),
    st.lists(st.tuples(st.sampled_from(EVERY), st.sampled_from(MAYBE)), min_size=1, max_size=16),
    st.lists(st.sampled_from([None, 0, 1]), min_size=4, max_size=4),
)
def test_no_rule_comes_to_read_an_undefined_head(
    rules: list[Rule], pairs: list[tuple[State, dict[str, Any]]], tests: list[int | None]
) -> None:
    rules = [
        each if value is None else Rule((*each.guard, ("h", (value,))), "x", each.old, each.new)
        for each, value in zip(rules, tests, strict=False)
    ]
    states = [one | other for one, other in pairs]
    states = [values for values in states if not unknown(rules, values)]
    left = [each for _, each in shortened(rules, states, reading="exclusive")]
    assert not any(unknown(left, values) for values in states)
    for values in states:
        assert output(left, values, "exclusive") == output(rules, values, "exclusive")
    for place, each in enumerate(left):
        for name, _ in each.guard:
            guard = tuple((other, vs) for other, vs in each.guard if other != name)
            cut = [*left[:place], Rule(guard, "x", each.old, each.new), *left[place + 1 :]]
            assert (
                any(unknown(cut, values) for values in states)
                or any(output(cut, v, "exclusive") != output(left, v, "exclusive") for v in states)
                or not all(len(holding(cut, v | h)) <= 1 for v in EVERY for h in MAYBE[1:])
            )


def rule(new: int, /, **guard: int) -> Rule:
    return Rule(tuple((name, (value,)) for name, value in guard.items()), "x", 0, new)


def state(**values: int) -> State:
    return {"a": 0, "b": 0, "c": 0, "x": 0, **values}


def test_two_rules_for_two_values_are_minimal_for_the_weights_but_not_for_the_logic() -> None:
    """`c = 0 => x: 0 -> 1` and `c = 1 => x: 0 -> 1`: one of them without `c` would do for both."""
    rules, states = [rule(1, c=0), rule(1, c=1)], [state(), state(c=1)]
    assert is_minimal(rules, states, reading="weights")
    offence = is_minimal(rules, states, reading="logic").offence
    assert offence == Offence(rules[0], "c")


def test_rules_can_need_a_constraint_only_to_stay_apart() -> None:
    """`a = 0, b = 0 => x := 1` and `a = 1, b = 1 => x := 2`, seen just where they fire.

    One constraint of each may go, but not both of one: without any it would hold everywhere.
    """
    rules, states = [rule(1, a=0, b=0), rule(2, a=1, b=1)], [state(), state(a=1, b=1)]
    forms = {frozenset(form) for form in minimal_forms(rules, states, reading="exclusive")}
    assert forms == {
        frozenset({rule(1, a=0), rule(2, a=1)}),
        frozenset({rule(1, b=0), rule(2, b=1)}),
    }
    apart = [rule(1, a=0, b=0), rule(2, b=1, c=0)]
    seen = [state(), state(b=1, a=1)]
    assert is_minimal([rule(1, b=0), rule(2, b=1)], seen, reading="exclusive")
    assert {each for each, _ in kept_apart(apart, seen)} == set(apart)
    loose = [left for _, left in shortened(rules, states)]  # by the weights: both hold at a=1, b=0
    assert loose == [rule(1, a=0), rule(2, a=1)]


def test_by_the_weights_rules_may_come_to_overlap_and_a_program_fails_where_they_disagree() -> None:
    """`sort`, few inputs: both interpreters refuse the state, and the input counts as failed."""
    import weft
    from weft.interpreter.inputs import valid_inputs
    from weft.theory import generalises, minimal_program

    program = weft.program("sort")
    trained, tests = valid_inputs(program, 30, 9), valid_inputs(program, 20, 9, seed=1)
    by_weights = minimal_program(program, trained, constraints=True)
    assert by_weights.reading == "weights"
    assert generalises(by_weights, trained).solved
    outcomes = generalises(by_weights, tests).outcomes
    failed = [each for each in outcomes if each.ending == "failed"]
    assert failed
    assert not any(each.covered for each in failed)
    assert "two rules hold together and disagree" in failed[0].reason
    assert failed[0].reason.startswith("layer ")
    for run in (weft.run, lambda program, tokens: weft.run_batch(program, [tokens])):
        with pytest.raises(WeftError, match="two rules hold together and disagree"):
            run(by_weights.program, failed[0].tokens)
    apart = minimal_program(program, trained, constraints=True, reading="exclusive")
    assert all(each.ending != "failed" for each in generalises(apart, tests).outcomes)


def test_the_old_value_is_no_constraint() -> None:
    """Where x is 1 already, writing 1 changes nothing: literally, nearly no rule needs it."""
    assert is_minimal([rule(1, c=1)], [state(c=1), state()])


def test_rules_that_read_more_than_was_observed_are_refused() -> None:
    import weft

    parity = weft.program("parity")
    with pytest.raises(WeftError, match="not observed"):
        is_minimal([Rule((("parity", (1,)),), "done", 0, 1)], observe(parity, ["1"]))
