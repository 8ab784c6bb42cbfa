"""The derived updates and rules do what the step does, for random programs and any state.

The oracle is Python: `reference.step` executes the source of the step as it stands.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import weft
from random_programs import all_states, few, many, programs, states
from small_programs import within
from weft.interpreter import reference
from weft.language.frontend import AlwaysFails
from weft.language.tables import LIMIT


@within(5)
def understood(program: weft.Program) -> weft.Program:
    """The program, if it is not one of those that are refused for the size of a table."""
    try:
        program.updates  # noqa: B018
        program.rules  # noqa: B018
    except AlwaysFails:
        assert all(executed(program, state) is None for state in all_states(program))
        assume(False)
    except weft.WeftError as error:
        assume(f"more than {LIMIT:,}" not in str(error))
        raise
    return program


def executed(program: weft.Program, state: dict[str, Any]) -> dict[str, Any] | None:
    """The state after the step, executed as Python; None where it fails."""
    try:
        return reference.step(program, state)
    except reference.StepFailure:
        return None


@within(5)
def check_updates(program: weft.Program, state: dict[str, Any]) -> None:
    after = executed(program, state)
    if after is not None:
        assert program.updates.apply(state) == after
        assert program.updates.can_apply(state)
    else:
        with pytest.raises(Exception):  # noqa: B017, PT011  # whatever Python raises
            program.updates.apply(state)
        assert not program.updates.can_apply(state)


@within(5)
def check_rules(program: weft.Program, state: dict[str, Any]) -> None:
    after = executed(program, state)
    if after is None:
        return
    assert program.rules.apply(state) == after
    fired = program.rules.fired(state)
    assert sorted(map(str, fired)) == sorted(str(r) for r in program.rules if r.holds(state))
    assert [r for r in fired if r.new == r.old] == []


@within(5)
def check_rule_set(program: weft.Program) -> None:
    listed = list(program.rules)
    assert len(program.rules) == len(listed)
    assert sum(program.rules.counts().values()) == len(listed)
    assert list(program.rules.overlaps()) == []
    assert len(set(listed)) == len(listed)


@few
@given(programs(), st.data())
def test_updates_and_rules_do_what_the_step_does(program: weft.Program, data: Any) -> None:
    understood(program)
    for state in data.draw(st.lists(states(program), min_size=1, max_size=12)):
        check_updates(program, state)
        check_rules(program, state)


@few
@given(programs())
def test_rules_never_overlap_and_are_counted_without_listing(program: weft.Program) -> None:
    check_rule_set(understood(program))


@pytest.mark.slow
@many
@given(programs(), st.data())
def test_updates_and_rules_do_what_many_steps_do(program: weft.Program, data: Any) -> None:
    understood(program)
    for state in data.draw(st.lists(states(program), min_size=1, max_size=20)):
        check_updates(program, state)
        check_rules(program, state)
    check_rule_set(program)
