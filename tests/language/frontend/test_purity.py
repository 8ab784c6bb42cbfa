"""What a derivation says: impure steps are refused, guards are sparse, reads see earlier writes."""

from __future__ import annotations

import pytest

import weft
from small_programs import small
from weft.language.expressions import reads

HELPERS = """
LOG = []
COUNT = 0


class Thing:
    seen = 0


def noisy(v):
    LOG.append(v)
    return v


def counting(v):
    global COUNT
    COUNT += 1
    return v
"""

IMPURE = {
    "printing": "print(z.a)",
    "printing within an expression": "z.b = print(z.a) or 1",
    "appending to a global list": "LOG.append(z.a)",
    "appending within an expression": "t = LOG.append(z.a)",
    "appending within a while": "n = z.a\nwhile n:\n    LOG.append(n)\n    n -= 1",
    "appending within a helper": "z.b = noisy(z.a)",
    "writing an item of a global": "LOG[0] = z.a",
    "writing an attribute": "Thing.seen = z.a",
    "writing a global name": "global COUNT\nCOUNT = z.a",
    "counting in a global": "global COUNT\nCOUNT += 1\nz.b = COUNT % 3",
    "counting in a helper": "z.b = counting(z.a)",
}


@pytest.mark.parametrize("name", IMPURE)
def test_a_step_with_other_effects_is_refused(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(weft.WeftError) as caught:
        small(IMPURE[name], HELPERS).updates  # noqa: B018
    assert caught.value.subject == "Small.step"
    assert caught.value.where is not None
    assert caught.value.remedy
    assert capsys.readouterr().out == ""


def guards(program: weft.Program) -> set[str]:
    return {name for rule in program.rules for name, _ in rule.guard}


def test_variables_that_are_not_read_are_in_no_guard() -> None:
    program = small("if z.a == 1:\n    z.b = 2")
    assert guards(program) == {"a"}
    assert program.rules.counts() == {"b": 2, "left": 3}  # b: 0 -> 2 and 1 -> 2, and three resets
    (update,) = program.updates
    assert (update.variable, reads(*(test for test, _ in update.guard))) == ("b", ["a"])


def test_a_variable_read_without_consequence_is_in_no_guard() -> None:
    program = small("t = z.c\nif z.a == 1 or t * 0:\n    z.b = 2\nif z.c:\n    t = 4")
    assert guards(program) == {"a"}


def test_each_variable_has_only_the_guards_that_it_needs() -> None:
    program = small("if z.a == 1:\n    z.b = 2\nif z.x > 0:\n    z.c = 1")
    assert {n for r in program.rules if r.variable == "b" for n, _ in r.guard} == {"a"}
    assert {n for r in program.rules if r.variable == "c" for n, _ in r.guard} == {"x"}


def test_values_that_make_no_difference_are_one_set() -> None:
    program = small("z.c = z.a > 0")
    shown = {rule.show(program.variables) for rule in program.rules if not rule.is_reset}
    assert shown == {"a = 0 => c: 1 -> 0", "a in {1, 2} => c: 0 -> 1"} or shown == {
        "a = 0 => c: 1 -> 0",
        "a ≠ 0 => c: 0 -> 1",
    }


STATE = {"a": 2, "b": 0, "c": 0, "x": 0.0, "s": frozenset(), "left": 0}


def test_a_read_after_a_write_sees_the_new_value() -> None:
    after = small("z.a = 1\nz.b = z.a + z.a").updates.apply(STATE)
    assert (after["a"], after["b"]) == (1, 2)


def test_a_read_after_a_write_sees_a_value_that_the_variable_could_not_keep() -> None:
    after = small("z.a = 7\nz.b = z.a - 6\nz.a = 0").updates.apply(STATE)
    assert (after["a"], after["b"]) == (0, 1)


def test_a_read_after_a_write_under_a_test_sees_either_value() -> None:
    program = small("if z.c:\n    z.a = 0\nz.b = z.a")
    assert program.updates.apply(STATE)["b"] == 2
    assert program.updates.apply({**STATE, "c": 1})["b"] == 0


def test_a_helper_sees_what_the_step_wrote_and_the_step_what_the_helper_wrote() -> None:
    program = small("z.a = 1\nup(z)\nz.c = z.a == 2", "def up(s):\n    s.a += 1")
    assert program.updates.apply(STATE)["c"] == 1


def test_a_variable_that_is_not_written_has_no_rules() -> None:
    program = small("z.b = z.a")
    assert program.updates.written == ("b",)
    assert set(program.rules.counts()) == {"b", "left"}
