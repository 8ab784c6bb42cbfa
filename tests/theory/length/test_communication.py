"""Communication tables against closed formulas and brute force."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from random_automata import random_dfas
from weft.crasp import library
from weft.errors import WeftError
from weft.theory.length.communication import (
    FAMILIES,
    communication,
    communication_table,
    fitted_growth,
    next_of_copy,
    next_of_sum,
)


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


def argmax(word: str) -> str:
    return max("abc", key=lambda letter: (word.count(letter), letter))


def copies(word: str) -> bool:
    return word[: len(word) // 2] * 2 == word


def equal_runs(word: str) -> bool:
    return word == "a" * (len(word) // 2) + "b" * (len(word) // 2)


@pytest.mark.parametrize(
    ("alphabet", "function", "rows", "growth"),
    [
        ("01", lambda word: word.count("1") % 2 == 1, lambda n: 2, "constant"),
        ("01", majority, lambda n: n + 1, "logarithmic"),
        ("()", balanced, lambda n: n // 2 + 2, "logarithmic"),
        ("ab", equal_runs, lambda n: 2, "constant"),
        ("ab", copies, lambda n: 2**n, "superlogarithmic"),
    ],
)
def test_closed_forms(
    alphabet: str, function: Callable[[str], bool], rows: Callable[[int], int], growth: str
) -> None:
    table = communication_table(function, alphabet, 8, budget=70_000)
    assert all(row.exhaustive for row in table)
    assert [row.rows for row in table] == [rows(n) for n in range(1, 9)]
    assert [row.bits for row in table] == [math.ceil(math.log2(rows(n))) for n in range(1, 9)]
    assert fitted_growth(table) == growth


def test_argmax_grows_like_the_square_for_three_letters() -> None:
    """A row is the difference of the counts, as far as N more letters can make up for it."""
    table = communication_table(argmax, "abc", 5)
    for row in table:
        assert row.exhaustive
        n = row.length
        assert n**2 / 4 <= row.rows <= (n + 1) * (n + 2) // 2
    assert fitted_growth(table) == "logarithmic"


def test_rows_of_a_regular_language_are_at_most_its_states() -> None:
    for dfa in random_dfas(5, 40, states=(2, 5), letters="ab"):
        evidence = communication(dfa.accepts, dfa.alphabet, max_length=5)
        assert evidence.label == "consistent"
        assert max(row.rows for row in evidence.table) <= dfa.minimal().size


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
    for length in range(1, 6):  # rows counted without the family: all columns up to a length
        words = ["".join(w) for w in itertools.product(family.alphabet, repeat=length)]
        rows = family.rows(length)
        assert set(rows) <= set(words)
        assert len(rows) == family.count(length)
        columns = {family.column(one, two) for one, two in itertools.combinations(rows, 2)}
        table = {tuple(family.function(row + column) for column in sorted(columns)) for row in rows}
        assert len(table) == len(rows)


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
    with pytest.raises(WeftError, match="not told apart"):
        wrong.verify()
    with pytest.raises(WeftError, match="not that of the family"):
        communication(lambda word: word == word[::-1], "ab", max_length=2, family=family)


def test_functions_that_misbehave() -> None:
    answers = itertools.count()
    with pytest.raises(WeftError, match="two different answers"):
        communication_table(lambda word: next(answers), "ab", 2)
    with pytest.raises(WeftError, match="ZeroDivisionError for 'aa'"):
        communication_table(lambda word: 1 // word.count("b"), "ab", 2)


def test_next_symbols_of_transductions() -> None:
    for x in ("", "a", "abba"):
        written = ""
        for symbol in x:
            assert next_of_copy(f"{x}#{written}") == symbol
            written += symbol
        assert next_of_copy(f"{x}#{written}") is None
    assert next_of_copy("ab#b") is None
    for left, right in itertools.product(range(9), repeat=2):
        total, written = f"{left + right:b}", ""
        for digit in total:
            assert next_of_sum(f"{left:b}+{right:b}={written}") == digit
            written += digit
        assert next_of_sum(f"{left:b}+{right:b}={written}") is None


def test_a_marked_copy_of_another_kind_is_not_the_family() -> None:
    def reversed_copy(word: str) -> bool:
        left, mark, right = word.partition("#")
        return mark == "#" and right == left[::-1]

    family = FAMILIES["marked-copies"]
    with pytest.raises(WeftError, match="not that of the family"):
        communication(reversed_copy, "ab#", max_length=2, family=family)
