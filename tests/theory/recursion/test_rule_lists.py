"""Fitted rules: they find a machine that differs from the truth, and generalise."""

from __future__ import annotations

import random

import pytest

from weft.errors import WeftError
from weft.theory.recursion import (
    StateMachine,
    capped_machine,
    fit_rules,
    shortcut_machine,
    successor,
    successor_language,
)
from weft.theory.recursion.rule_lists import runnable

Number = tuple[str, ...]


def numbers(seed: int = 0, longest: int = 10) -> list[Number]:
    """Numbers of all lengths and depths, each once, in random order."""
    rng = random.Random(seed)
    found: set[Number] = set()
    for length in range(3, longest + 1):
        found.add(("01", *("X1",) * (length - 1)))
        for depth in range(length - 1):
            for _ in range(4):
                bits = (rng.choice(("XO", "X1")) for _ in range(length - 2 - depth))
                found.add(("01", *bits, "XO", *("X1",) * depth))
    drawn = sorted(found)
    rng.shuffle(drawn)
    return drawn


@pytest.mark.parametrize("planted", [
    shortcut_machine("run", "flip"), shortcut_machine("bounded", "flip", 4), capped_machine(8),
    shortcut_machine("fixed", "flip", 3),
], ids=lambda machine: machine.name)  # fmt: skip
def test_planted_shortcuts_are_recovered(planted: StateMachine) -> None:
    drawn = numbers()
    fit, test = drawn[::2], drawn[1::2]
    outputs = [planted(number) for number in fit]
    right = [output == successor(number) for number, output in zip(fit, outputs, strict=True)]
    fitted = fit_rules(successor_language("natural", fit), fit, outputs, right)
    failures = [number for number in test if planted(number) != successor(number)]
    assert len(failures) >= 4
    predicted = [runnable(fitted, number) == planted(number) for number in failures]
    assert sum(predicted) >= 0.9 * len(predicted)
    agreed = [runnable(fitted, number) == planted(number) for number in test]
    assert sum(agreed) >= 0.9 * len(agreed)


def test_constructor_order() -> None:
    drawn = [number[::-1] for number in numbers(1)]
    planted = shortcut_machine("bounded", "short", 3, "constructor")
    outputs = [planted(number) for number in drawn]
    right = [
        successor(each, "constructor") == made for each, made in zip(drawn, outputs, strict=True)
    ]
    fitted = fit_rules(successor_language("constructor", drawn), drawn, outputs, right)
    fresh = [number[::-1] for number in numbers(2)]
    agreed = [runnable(fitted, number) == planted(number) for number in fresh]
    assert sum(agreed) >= 0.9 * len(agreed)


def test_a_random_function_is_not_learned() -> None:
    """What has no rule is not predicted on inputs that were not fitted to."""
    rng = random.Random(5)
    drawn = numbers(longest=8)
    made = {each: tuple(rng.choice(("XO", "X1")) for _ in each) for each in drawn}
    fit, test = drawn[::2], drawn[1::2]
    fitted = fit_rules(
        successor_language("natural", fit), fit, [made[each] for each in fit], [False] * len(fit)
    )
    # A number of 3 tokens has 8 outputs, so a few are guessed.
    assert sum(runnable(fitted, each) == made[each] for each in test) <= 0.1 * len(test)


def test_outputs_without_an_end_are_left_out() -> None:
    drawn = numbers()[:40]
    outputs = [successor(number) if place % 2 else None for place, number in enumerate(drawn)]
    right = [output is not None for output in outputs]
    assert fit_rules(successor_language("natural", drawn), drawn, outputs, right).rules
    with pytest.raises(WeftError, match="no output that ends"):
        fit_rules(successor_language("natural", drawn), drawn, [None] * 40, [False] * 40)
