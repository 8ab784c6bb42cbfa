"""Abstract state machines: what a step is, and what is refused."""

from __future__ import annotations

import pytest

from weft.errors import WeftError
from weft.theory.recursion import Pointer, Rule, StateMachine


def test_rules_fire_at_once_on_the_state_before_the_step() -> None:
    swap = StateMachine(
        "swap",
        (Rule("k <= 3", emit="first", first="second", second="first"),),
        registers={"first": "a", "second": "b"},
    )
    assert swap(("x",)) == ("a", "b", "a")


def test_two_rules_may_fire_together_if_they_agree() -> None:
    both = (
        Rule("k == 1", emit='"a"'),
        Rule("k <= 1", emit='"a"', left="1"),
        Rule("left == 1 and k == 2", emit='"b"'),
    )
    machine = StateMachine("both", both, registers={"left": 0})
    assert machine(()) == ("a", "b")
    assert list(machine.trace(())) == ["k = 1: rules 1 and 2 emit a", "k = 2: rule 3 emits b"]


def test_two_values_for_one_location_are_an_error() -> None:
    machine = StateMachine("both", (Rule("k == 1", emit='"a"'), Rule("k < 2", emit='"b"')))
    with pytest.raises(WeftError, match="rules 1, 2 give emit two values in one step"):
        machine(())


def test_the_first_rule_wins_in_an_ordered_machine() -> None:
    rules = (Rule("k > 2"), Rule("k == 1", emit='"a"'), Rule("k > 0", emit='"b"'))
    assert StateMachine("ordered", rules, ordered=True)(()) == ("a", "b")


def test_reading_beyond_the_ends_gives_nothing() -> None:
    rules = (
        Rule("input[0] == input[L + 1] and input[k] != input[0]", emit="input[k]"),
        Rule("output[k - 1] == output[k] and k < 1", emit='"z"'),
    )
    assert StateMachine("copy", rules)(("a", "b")) == ("a", "b")


def test_a_machine_that_does_not_stop_is_an_error() -> None:
    with pytest.raises(WeftError, match="does not stop within 4 steps"):
        StateMachine("loop", (Rule("k > 0", emit='"a"'),))(())
    with pytest.raises(WeftError, match="write no token"):
        StateMachine("silent", (Rule("k > 0", left="1"),), registers={"left": 0})(())
    with pytest.raises(WeftError, match="write no token"):
        StateMachine("outside", (Rule("k > 0", emit="input[k]"),))(("a",))


@pytest.mark.parametrize(("rule", "what"), [
    (Rule("k <", emit='"a"'), "'k <' is not an expression"),
    (Rule("j == 1", emit='"a"'), "'j == 1' uses 'j'"),
    (Rule("k == 1", emit="[1]"), "uses List"),
    (Rule("k == 1", emit="input.count"), "uses Attribute"),
    (Rule("(lambda: 1) == 1", emit='"a"'), "uses Lambda"),
    (Rule("input[0](1) == 1", emit='"a"'), "is not a pointer"),
    (Rule("k == 1", register="1"), "which is not a register"),
])  # fmt: skip
def test_rules_outside_the_signature_are_refused(rule: Rule, what: str) -> None:
    with pytest.raises(WeftError) as error:
        StateMachine("wrong", (rule,))
    assert what in error.value.line


def test_a_machine_prints_what_it_runs() -> None:
    machine = StateMachine(
        "mark",
        (Rule('input[k] != "b"', emit="input[k]", seen='"yes"'), Rule('input[k] == "b"')),
        (Pointer("i", "always 1", lambda tokens: 1),),
        {"seen": "no"},
        ordered=True,
    )
    assert str(machine).splitlines() == [
        "mark", "  i: always 1", "  seen: no at first",
        "  if input[k] ≠ b then emit input[k], seen := yes", "  else if input[k] = b then stop",
    ]  # fmt: skip
