"""Errors about names: suggestions keep the spelling of what they suggest."""

from __future__ import annotations

import pytest

import weft
from weft.errors import WeftError, check_known, unknown_name


def test_a_suggestion_is_spelt_as_it_is_known() -> None:
    assert "Did you mean 'I_JUMP'?" in str(unknown_name("no 'I_JMP'", "I_JMP", ["I_JUMP", "I_RUN"]))
    assert unknown_name("no 'x'", "x", ["A", "b"]).remedy == "Known: A, b"
    assert unknown_name("no 'x'", "x", []).remedy == "There are none"


def test_only_unknown_names_are_refused() -> None:
    check_known("A", {"A": 1}, "no 'A'")
    with pytest.raises(WeftError, match=r"Thing: no 'a'\. Known: Bcd"):
        check_known("a", ["Bcd"], "no 'a'", subject="Thing")


class Capitals(weft.Program):
    """A program whose names have capitals."""

    tokens = ["Left", "Right"]
    Turns = weft.var(2, token=lambda t: t == "Left")
    output = Turns
    layers = 1

    def step(z):
        z.Turns = 1


def test_names_of_users_keep_their_capitals() -> None:
    with pytest.raises(WeftError, match="Did you mean 'Right'"):
        weft.run(Capitals, "Left Righht")
