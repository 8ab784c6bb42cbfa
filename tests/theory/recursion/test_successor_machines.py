"""The successor's machines against brute force: integers, regular expressions, mirror images."""

from __future__ import annotations

import re
from typing import Any

import pytest

from weft.errors import WeftError
from weft.theory.recursion import (
    capped_machine,
    copy_machine,
    shortcut_machine,
    successor,
    successor_candidates,
    successor_machine,
)
from weft.theory.recursion.successor_machines import CARRIES, ORDERS, Order

MOST = 2048
NAMES = {"0": "XO", "1": "X1"}


def word(number: int, order: Order = "natural") -> tuple[str, ...]:
    """A number's constructors, from Python's binary notation."""
    tokens = ("01", *(NAMES[digit] for digit in f"{number:b}"[1:]))
    return tokens if order == "natural" else tokens[::-1]


def text(tokens: tuple[str, ...]) -> str:
    """Tokens as letters: s for 01, 0 and 1."""
    return "".join({"01": "s", "XO": "0", "X1": "1"}[token] for token in tokens)


def flipped(number: str, run: int, found: str) -> str:
    """A number whose last `run` letters are rewritten, with what a detector writes before them."""
    before = number[: len(number) - run - 1]
    at = number[len(number) - run - 1]
    return before + (found if at == "s" else "1") + "0" * run


@pytest.mark.parametrize("order", ORDERS)
def test_the_true_machine_adds_one(order: Order) -> None:
    machine = successor_machine(order)
    for number in range(1, MOST):
        assert machine(word(number, order)) == word(number + 1, order)
        assert successor(word(number, order), order) == word(number + 1, order)


def expected(detector: str, carry: str, bound: int, shift: int, number: str) -> str:
    """What a shortcut of the natural order writes, from regular expressions."""
    trailing = len(re.search("1*$", number)[0])  # type: ignore[index]
    most = len(number) - 1
    run = {
        "run": trailing,
        "bounded": min(trailing, bound),
        "longest": max(map(len, re.findall("1+", number)), default=0) if trailing else 0,
        "fixed": min(bound, most) if trailing else 0,
        "off": trailing if trailing <= bound else max(0, min(most, trailing + shift)),
    }[detector]
    reaches_the_end = run == most
    if reaches_the_end and carry == "right":
        return "s" + "0" * (run + 1)
    return flipped(number, run, "1" if carry == "flip" else "s")


@pytest.mark.parametrize("carry", CARRIES)
@pytest.mark.parametrize(("detector", "bound", "shift"), [
    ("run", 0, 0), ("bounded", 0, 0), ("bounded", 3, 0), ("longest", 0, 0), ("fixed", 2, 0),
    ("off", 2, 1), ("off", 2, -1), ("off", 0, 2),
])  # fmt: skip
def test_shortcuts_are_their_definitions_in_both_orders(
    detector: Any, bound: int, shift: int, carry: Any
) -> None:
    natural = shortcut_machine(detector, carry, bound, "natural", shift)
    mirrored = shortcut_machine(detector, carry, bound, "constructor", shift)
    for number in range(1, MOST, 1 if detector == "run" else 3):
        tokens = word(number)
        wanted = expected(detector, carry, bound, shift, text(tokens))
        assert text(natural(tokens)) == wanted
        assert text(mirrored(tokens[::-1])) == wanted[::-1]


@pytest.mark.parametrize("order", ORDERS)
def test_where_the_shortcuts_are_wrong(order: Order) -> None:
    """The run detector on all-carry inputs, the bounded one on deep ones, the longest on decoys."""

    def wrong(*given: Any) -> set[int]:
        machine = shortcut_machine(*given, order=order)
        return {n for n in range(1, MOST) if machine(word(n, order)) != word(n + 1, order)}

    carry = {n for n in range(1, MOST) if n & (n + 1) == 0}
    assert wrong("run", "short") == wrong("run", "flip") == carry
    assert wrong("run", "right") == set()
    deep = {n for n in range(16, MOST) if n % 16 == 15}  # 15 is 01 and three X1
    assert wrong("bounded", "right", 3) == deep
    assert wrong("bounded", "short", 3) == deep | carry
    decoys = {
        n for n in range(1, MOST)
        if n % 2 and len(re.search("1*$", f"{n:b}"[1:])[0])  # type: ignore[index]
        < max(map(len, re.findall("1+", f"{n:b}"[1:])), default=0)
    }  # fmt: skip
    assert wrong("longest", "right") == decoys
    assert not decoys & wrong("run", "short"), "the run detector is right on every decoy"


def test_capped_and_copied() -> None:
    for number in range(1, 300):
        for order in ORDERS:
            tokens = word(number, order)
            assert capped_machine(5, order)(tokens) == word(number + 1, order)[:5]
            assert copy_machine()(tokens) == tokens


@pytest.mark.parametrize("order", ORDERS)
def test_candidates_stop_and_have_names_of_their_own(order: Order) -> None:
    found = list(successor_candidates(order, 6))
    assert len({each.name for each in found}) == len(found)
    assert [each.kind for each in found if each.is_true] == ["successor"]
    for each in found:
        for number in (1, 2, 3, 6, 13, 31, 46):
            each.machine(word(number, order))


def test_unknown_choices_are_refused() -> None:
    wrong: Any = "backwards"
    with pytest.raises(WeftError, match="there is no order 'backwards'"):
        successor_machine(wrong)
    with pytest.raises(WeftError, match="there is no detector"):
        shortcut_machine(wrong)
    with pytest.raises(WeftError, match="all_carry cannot be"):
        shortcut_machine("run", wrong)
    with pytest.raises(WeftError, match="bound is -1"):
        shortcut_machine("bounded", bound=-1)
