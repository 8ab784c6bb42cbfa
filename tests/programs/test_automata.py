"""Any automaton and any regular expression: against Python's `re` on all short words."""

from __future__ import annotations

import itertools
import re

import pytest

import weft
from weft.automata.expressions import expression_table, smallest
from weft.programs.automata import Dfa, Regex

PATTERNS = [
    "(aa)*",
    "(ab)*",
    "a|bb*",
    "(a|b)*abb",
    "[ab]+c?",
    "[^a]b",
    "a(b|)c",
    ".*ab.*",
    "",
    "a?a?a?aaa",
    "((a))",
    "[a-c]*b",
    "(a*b*)*c",
    "(a|ab)(c|bcc)?",
    "a.c|[^b]+",
    "()",
    "(a+b?)+",
    "(a|bc){2}c{0,2}",
    "a{0}b{1,3}",
]


def words(letters: str, longest: int) -> list[str]:
    """All words up to a length."""
    lengths = range(longest + 1)
    return ["".join(w) for n in lengths for w in itertools.product(letters, repeat=n)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_accepts_what_python_accepts(pattern: str) -> None:
    every = words("abc", 6)
    found = weft.run_batch(Regex(pattern, letters="abc"), every).results
    assert found == [re.fullmatch(pattern, word) is not None for word in every]


def test_signs_can_be_letters() -> None:
    program = Regex(r"\(\.*\)|[\-\]]\\")
    assert set(program.letters) == set("(.)-]\\")
    for word in ("()", "(...)", "-\\", "]\\"):
        assert weft.run(program, word).result is True
    assert weft.run(program, "(.").result is False


@pytest.mark.parametrize(
    ("pattern", "states"),
    [("(aa)*", 2), ("a*", 1), ("(a|b)*abb", 4), ("(a|b)*a(a|b)(a|b)", 8), ("a|a|a", 3)],
)
def test_tables_are_as_small_as_they_can_be(pattern: str, states: int) -> None:
    assert len(Regex(pattern).table) == states


def test_states_that_no_word_tells_apart_become_one() -> None:
    assert smallest([[1, 2], [1, 2], [2, 2]], [1, 0]) == ([[0, 1], [1, 1]], [0])
    assert expression_table("a|b", "ab") == ([[1, 1], [2, 2], [2, 2]], [1])


def test_a_state_of_three_counts_modulo_three() -> None:
    numbers = [f"{number:b}" for number in range(200)]
    assert weft.run_batch(Dfa(), numbers).results == [int(n, 2) % 3 == 0 for n in numbers]
    assert weft.run(Dfa(), "10110").outputs == (0, 1, 2, 2, 2, 1)[:1] + tuple(
        int("10110"[: n + 1], 2) % 3 for n in range(5)
    )


def test_it_may_start_in_any_state() -> None:
    odd = Dfa(letters="ab", table=[[1, 0], [0, 1]], accepting=[0], start=1)
    every = words("ab", 5)
    assert weft.run_batch(odd, every).results == [w.count("a") % 2 == 1 for w in every]


@pytest.mark.parametrize("length", [0, 1, 7, 30])
def test_n_letters_take_n_layers(length: int) -> None:
    assert weft.run(Regex("[ab]*"), "ab" * (length // 2) + "a" * (length % 2)).layers == length


def test_both_can_be_named_with_their_parameters() -> None:
    assert weft.run(weft.program('regex(pattern="(ab)*")'), "abab").result is True
    named = weft.program('dfa(letters="ab", table=[[1, 0], [0, 1]], accepting=[1])')
    assert weft.run(named, "aba").result is False


def test_weights_of_a_pattern_are_proved() -> None:
    from weft.compiler.check import check
    from weft.compiler.proof import prove

    for level in (0, 2):
        compiled = weft.compile(Regex("(a|b)*a(a|b)"), level=level)
        assert prove(compiled.model, compiled.program, compiled.certificate).proved
        assert check(compiled, samples=40, max_length=12).difference is None


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        ("a**", "place 3: * is not expected"),
        ("(ab", "a ) is missing"),
        ("ab)", "place 3: this bracket was not opened"),
        ("[ab", "it ends too early"),
        ("[]", "] is not expected"),
        (r"\d", "only signs have a backslash"),
        ("{2}", "{ is not expected"),
        ("a{2", "a } is missing"),
        ("a{3,2}", "2 is less than 3"),
        ("[b-a]", "a comes before b"),
        ("^a$", "^ is not expected"),
        ("", "names no letters"),
        (".*", "names no letters"),
        ("(a|b)*a" + "(a|b)" * 12, "more than 1,000 states"),
    ],
)
def test_a_pattern_that_is_not_understood_is_refused(pattern: str, part: str) -> None:
    with pytest.raises(weft.WeftError) as caught:
        Regex(pattern)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"letters": ""}, "at least one"),
        ({"letters": "00"}, "all different"),
        ({"letters": "0^"}, "without ^"),
        ({"table": []}, "no states"),
        ({"table": [[0]]}, "must have 2 states"),
        ({"table": [[0, 1]]}, "one of 0 to 0"),
        ({"accepting": [3]}, "one of 0 to 2"),
        ({"start": -1}, "one of 0 to 2"),
    ],
)
def test_an_automaton_with_a_mistake_is_refused(arguments: dict[str, object], part: str) -> None:
    with pytest.raises(weft.WeftError) as caught:
        Dfa(**arguments)  # type: ignore[arg-type]
    assert part in str(caught.value)
    assert "table=[[1, 0], [0, 1]]" in str(caught.value)


def test_a_letter_that_is_not_known_is_refused() -> None:
    with pytest.raises(weft.WeftError, match="'2' is not a letter of this automaton"):
        Dfa().encode("012")
