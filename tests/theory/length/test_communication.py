"""Communication tables against closed formulas and brute force."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from weft.crasp import library
from weft.errors import WeftError
from weft.theory.length.communication import FAMILIES, communication, communication_table


def majority(word: str) -> bool:
    return word.count("1") > word.count("0")


def balanced(word: str) -> bool:
    depths = [word[:k].count("(") - word[:k].count(")") for k in range(len(word) + 1)]
    return min(depths) >= 0 and depths[-1] == 0


def test_tables_have_the_known_numbers_of_rows() -> None:
    assert [row.rows for row in communication_table(majority, "01", 7)] == list(range(2, 9))
    rows = [row.rows for row in communication_table(balanced, "()", 7)]
    assert rows == [n // 2 + 2 for n in range(1, 8)]
    parity = communication(lambda word: word.count("1") % 2, "01", max_length=7)
    assert {row.rows for row in parity.table} == {2}
    assert (parity.label, parity.growth) == ("consistent", "constant")


def test_sampled_tables_are_lower_bounds_and_labelled() -> None:
    table = communication_table(majority, "01", 6, budget=100)
    assert [row.exhaustive for row in table] == [True] * 3 + [False] * 3
    assert all(row.rows <= row.length + 1 for row in table)


@pytest.mark.parametrize("name", FAMILIES)
def test_families_refute(name: str) -> None:
    family = FAMILIES[name]
    evidence = communication(family.function, family.alphabet, max_length=3, family=family)
    assert evidence.label == "refuted"
    assert evidence.verified >= 6
    for row in evidence.table:  # counted without the family
        assert row.rows >= family.count(row.length)


def test_measured_growth_is_never_a_no() -> None:
    evidence = communication(FAMILIES["equality"].function, "ab", max_length=6)
    assert (evidence.label, evidence.growth) == ("consistent", "superlogarithmic")
    assert "measured superlogarithmic to N = 6" in evidence.reason


def test_programs_certify() -> None:
    program = library.load("majority")
    assert communication(majority, "01", max_length=4, program=program).label == "certified"


def test_wrong_families_are_errors() -> None:
    family = FAMILIES["equality"]
    wrong = replace(family, function=lambda word: word.count("a") % 2)
    with pytest.raises(WeftError, match="agree in column"):
        wrong.verify()
    with pytest.raises(WeftError, match="not that of the family"):
        communication(lambda word: word == word[::-1], "ab", max_length=2, family=family)


def test_functions_that_misbehave() -> None:
    answers = itertools.count()
    with pytest.raises(WeftError, match="two different answers"):
        communication_table(lambda word: next(answers), "ab", 2)
    with pytest.raises(WeftError, match="ZeroDivisionError for 'aa'"):
        communication_table(lambda word: 1 // word.count("b"), "ab", 2)
