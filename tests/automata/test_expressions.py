"""Expressions: against Python's `re`, and what is refused. The parser has more tests in
`tests/programs/test_automata.py`."""

from __future__ import annotations

import itertools
import re

import pytest

from weft.automata import expression_dfa
from weft.errors import WeftError


@pytest.mark.parametrize(
    "text", ["(ab|aabb)*", "a{3}", "(a|b){2,3}c?", "[^a]*", "a+", "(a+)b", ".*ab", "()|a", ""]
)
def test_it_accepts_what_python_accepts(text: str) -> None:
    dfa = expression_dfa(text, "abc")
    for length in range(6):
        for letters in itertools.product("abc", repeat=length):
            word = "".join(letters)
            assert dfa.accepts(word) == (re.fullmatch(text, word) is not None)


def test_the_alphabet_is_what_the_expression_names_unless_given() -> None:
    assert expression_dfa("b*a").alphabet == ("a", "b")
    assert expression_dfa("b*a", "cba").alphabet == ("c", "b", "a")


def test_the_empty_language_is_a_language() -> None:
    assert not expression_dfa("[^ab]", "ab").live()


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("(b+abc)*", ["(b|abc)*", "((b+)abc)*"]),
        ("(ab+aabb)*", ["(ab|aabb)*", "(a(b+)aabb)*"]),
        ("a+b+c", ["a|b|c", "(a+)(b+)c"]),
        ("(ab)+(ba)", ["(ab)|(ba)", "((ab)+)(ba)"]),
        ("[ab]+c+", ["[ab]|c+", "([ab]+)c+"]),
    ],
)
def test_an_ambiguous_plus_is_refused_with_both_readings(text: str, readings: list[str]) -> None:
    with pytest.raises(WeftError, match=r"\+ is ambiguous") as caught:
        expression_dfa(text)
    assert all(f"{reading} if it means" in caught.value.remedy for reading in readings)
    for reading in readings:
        expression_dfa(reading)


@pytest.mark.parametrize(
    ("text", "alphabet", "part"),
    [
        ("(ab", None, "column 4: a ) is missing"),
        ("a**", None, "column 3: * is not expected"),
        ("a*+b", None, '"or" is |'),
        ("a b", None, "column 2: a blank is not expected"),
        ("ac", "ab", "column 2: 'c' is not in the alphabet a b"),
        (".*", None, "names no letters"),
        ("a", ["a", "bc"], "not a single character"),
        ("(" * 5000, None, "nested too deep"),
        ("((a{999}){999}){999}", None, "too long"),
        ("[ab]*a[ab]{12}", None, "more than 1,000 states"),
    ],
)
def test_a_bad_expression_is_refused(text: str, alphabet: str | None, part: str) -> None:
    with pytest.raises(WeftError) as caught:
        expression_dfa(text, alphabet)
    assert part in str(caught.value)
