"""Guarded updates: exclusive guards that say what the step does; the oracle is the step itself."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import weft
from weft.language import updates as updates_module
from weft.language.expressions import evaluate
from weft.language.ranges import UNDEFINED
from weft.language.updates import Updates, show_constraint


class Traffic(weft.Program):
    """Nested choices, a helper, a failing branch and a head."""

    tokens = list(range(4))

    light = weft.var(4, token=lambda t: t)
    wait = weft.var(5)
    seen = weft.var(2)
    before = weft.relative(light, -1)

    output = light

    def step(z):
        if z.light == 0:
            z.wait = min(z.wait + 1, 4)
            if z.wait > 2 and z.seen:
                z.light = 1
        elif z.light < 3:
            z.light += 1
            if z.light == 1:  # never: it was at least 1 and has grown
                z.wait = 0
        else:
            z.light = 6 // (z.wait - 2)  # fails if wait is 2; out of range if it is 3
        z.seen = z.before == 3


PROGRAM = Traffic()


def states() -> list[dict[str, Any]]:
    values = {
        name: (*variable.range.values, UNDEFINED) if variable.is_head else variable.range.values
        for name, variable in PROGRAM.variables.items()
    }
    return [dict(zip(values, row, strict=True)) for row in itertools.product(*values.values())]


def by_hand(state: dict[str, Any]) -> dict[str, Any] | None:
    """The step, written a second time; None if it fails."""
    light, wait, seen, before = (state[name] for name in ("light", "wait", "seen", "before"))
    if light == 0:
        wait = min(wait + 1, 4)
        light = 1 if wait > 2 and seen else 0
    elif light < 3:
        light += 1
    else:
        if wait == 2:
            return None
        light = 6 // (wait - 2)
    if before is UNDEFINED or not 0 <= light < 4:
        return None
    return {**state, "light": light, "wait": wait, "seen": int(before == 3)}


def test_applying_updates_is_running_the_step() -> None:
    updates = PROGRAM.updates
    for state in states():
        expected = by_hand(state)
        assert updates.can_apply(state) is (expected is not None)
        if expected is not None:
            assert updates.apply(state) == expected


def test_guards_of_a_variable_exclude_each_other_and_one_holds_where_it_changes() -> None:
    updates = PROGRAM.updates
    listed = list(updates)
    assert len(listed) == len(updates)
    for state in states():
        expected = by_hand(state)
        if expected is None:
            continue
        for name in updates.written:
            holding = [
                update
                for update in listed
                if update.variable == name
                and all(bool(evaluate(test, state)) is held for test, held in update.guard)
            ]
            assert len(holding) <= 1
            value = evaluate(holding[0].expression, state) if holding else state[name]
            assert value == expected[name]


def test_no_update_is_listed_that_no_state_can_take() -> None:
    for update in PROGRAM.updates:
        assert any(
            all(bool(evaluate(test, state)) is held for test, held in update.guard)
            for state in states()
        ), PROGRAM.updates.show(update)


def test_only_what_the_step_assigns_is_written() -> None:
    assert PROGRAM.updates.written == ("light", "wait", "seen")
    assert "before" in PROGRAM.updates.values


def test_updates_print_their_guards_as_sets_of_values() -> None:
    shown = {PROGRAM.updates.show(update) for update in PROGRAM.updates}
    assert "light = 0 => wait := min(wait + 1, 4)" in shown
    assert "light in {1, 2} => light := light + 1" in shown
    assert "seen := before == 3" in shown


def test_a_variable_with_very_many_updates_is_left_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updates_module, "MAX_UPDATES", 2)
    derived = PROGRAM.updates
    fresh = Updates(derived.variables, derived.values, derived.effects, derived.make)
    light = [update for update in fresh if update.variable == "light"]
    assert [(update.whole, update.guard) for update in light] == [(True, ())]
    for state in states():
        expected = by_hand(state)
        if expected is not None:
            assert evaluate(light[0].expression, state) == expected["light"]


@pytest.mark.parametrize(
    ("name", "values", "shown"),
    [
        ("light", [2], "light = 2"),
        ("light", [0, 1, 3], "light ≠ 2"),
        ("wait", [0, 1, 2, 4], "wait ≠ 3"),
        ("wait", [1, 2, 3], "wait in {1..3}"),
        ("wait", [0, 2, 3], "wait in {0, 2, 3}"),
        ("seen", [0], "seen = 0"),
        ("seen", [0, 1], "seen in {0, 1}"),
        ("before", [1, UNDEFINED], "before in {1, ∅}"),
    ],
)
def test_constraints_are_short(name: str, values: list[Any], shown: str) -> None:
    assert show_constraint(name, values, PROGRAM.variables[name]) == shown
