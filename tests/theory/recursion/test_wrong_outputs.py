"""Kinds of wrong outputs of the successor, in both orders."""

from __future__ import annotations

import pytest

from weft.theory.recursion import shortcut_machine, successor
from weft.theory.recursion.wrong_outputs import sequence_error, successor_error

LETTERS = {"s": "01", "0": "XO", "1": "X1"}


def word(text: str) -> tuple[str, ...]:
    return tuple(LETTERS[letter] for letter in text)


@pytest.mark.parametrize(("number", "output", "kind"), [
    ("s10", "s11", "right"), ("s111", "s0000", "right"), ("s10", "s10", "copied"),
    ("s111", "s000", "short"), ("s111", "1000", "flip"), ("s111", "s111", "copied"),
    ("s011", "s0100", "too long"), ("s011", "s10", "too short"),
    ("s0011", "s0010", "run off by -1"),
    ("s0011", "s1000", "run off by +1"), ("s0011", "10000", "run off by +2"),
    ("s00111", "s00110", "run off by -2"), ("s0011", "s0110", "other"), ("s111", "00", "too short"),
    ("s111", "s0001", "other"), ("s0", "", "too short"), ("s0011", None, "too long"),
])  # fmt: skip
def test_kinds(number: str, output: str | None, kind: str) -> None:
    given, made = word(number), None if output is None else word(output)
    assert successor_error(given, made, successor(given), "natural") == kind
    mirrored = None if made is None else made[::-1]
    truth = successor(given[::-1], "constructor")
    assert successor_error(given[::-1], mirrored, truth, "constructor") == kind


def test_the_machines_have_the_kinds_of_their_names() -> None:
    for length in range(2, 9):
        given = word("s" + "1" * (length - 1))
        for carry in ("short", "flip"):
            output = shortcut_machine("run", carry)(given)
            assert successor_error(given, output, successor(given), "natural") == carry


def test_other_functions() -> None:
    kinds = [
        sequence_error(("a", "b"), output, ("b", "a", "c"), reordered=True)
        for output in (("b", "a", "c"), ("a", "b"), ("a", "b", "c"), ("a",), None, ("c", "c", "c"))
    ]
    assert kinds == ["right", "copied", "wrong order", "too short", "too long", "other"]
    assert sequence_error(("x",), ("a", "b"), ("b", "a")) == "other"
