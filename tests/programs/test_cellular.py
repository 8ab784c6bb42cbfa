"""Elementary automata: known pictures, and all rules by arithmetic on whole rows."""

from __future__ import annotations

import itertools

import pytest

import weft
from weft.programs.cellular import Automaton

RULE_110 = [
    "0000000001",
    "0000000011",
    "0000000111",
    "0000001101",
    "0000011111",
    "0000110001",
    "0001110011",
    "0011010111",
    "0111111101",
]


def test_the_picture_of_rule_110() -> None:
    for generation, row in enumerate(RULE_110):
        assert weft.run(Automaton(generations=generation), RULE_110[0]).result == row


def after(rule: int, row: int, width: int) -> int:
    """The next row as a number, by shifting rows against each other."""
    left, right, whole = row >> 1, row << 1, (1 << width) - 1
    result = 0
    for number in range(8):
        if rule >> number & 1:
            bits = (left, row, right)
            alike = [
                b if number >> place & 1 else ~b for b, place in zip(bits, (2, 1, 0), strict=True)
            ]
            result |= alike[0] & alike[1] & alike[2]
    return result & whole


@pytest.mark.parametrize("rule", [0, 1, 30, 54, 90, 110, 150, 184, 225, 255])
def test_a_rule_on_all_rows_of_six_cells(rule: int) -> None:
    rows = ["".join(bits) for bits in itertools.product("01", repeat=6)]
    expected = [f"{after(rule, after(rule, int(row, 2), 6), 6):06b}" for row in rows]
    assert weft.run_batch(Automaton(rule, generations=2), rows).results == expected


def test_one_layer_a_generation() -> None:
    assert weft.run(Automaton(generations=5), "00100").layers == 5
    assert weft.run(Automaton(), "1").layers == 8
    assert weft.run(Automaton(), "").result == ""


def test_two_hidden_units_are_enough_for_rule_110() -> None:
    assert weft.compile(Automaton(110)).hidden_units == 2


def test_mistakes_are_named() -> None:
    with pytest.raises(weft.WeftError, match=r"there is no rule 256\. Choose one of 0 to 255"):
        Automaton(256)
    with pytest.raises(weft.WeftError, match="there is an edge among the cells"):
        weft.run(Automaton, "01|10")
