"""Predictions of Python functions, against the deciders and functions that mislead."""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Callable

import pytest

from random_automata import random_dfas
from weft.automata import LANGUAGES
from weft.crasp import parse, run
from weft.errors import WeftError
from weft.theory.length.answers import Answer
from weft.theory.length.functions import predict_function
from weft.theory.length.regular import predict_language


def verdicts(pair: tuple[Answer, Answer]) -> tuple[str, str]:
    none, absolute = pair
    assert (none.positions, absolute.positions) == ("none", "absolute")
    return none.verdict, absolute.verdict


def balanced(word: str) -> bool:
    depths = [word[:k].count("(") - word[:k].count(")") for k in range(len(word) + 1)]
    return min(depths) >= 0 and depths[-1] == 0


def palindrome(word: str) -> bool:
    return word == word[::-1]


@pytest.mark.parametrize("name", ["parity", "tomita-2", "tomita-4", "aa-star", "ab-or-aabb"])
def test_regular_functions_are_decided(name: str) -> None:
    language = LANGUAGES[name]
    pattern = re.compile(language.expression)
    pair = predict_function(lambda word: bool(pattern.fullmatch(word)), language.alphabet)
    exact = predict_language(language.dfa)
    assert verdicts(pair) == (exact.none.verdict, exact.absolute.verdict)
    for answer in pair:
        assert answer.support == "checked"  # never proved: the function may go on differently
        assert answer.checked_to == 12
        assert "all words up to length" in answer.details[0]


def test_random_automata_are_learned() -> None:
    for dfa in random_dfas(3, 12, states=(2, 4), letters="ab"):
        pair = predict_function(dfa.accepts, dfa.alphabet, max_length=10, seconds=0.5)
        exact = predict_language(dfa)
        none, absolute = verdicts(pair)
        assert none == exact.none.verdict
        if exact.absolute.verdict == "unknown":
            assert absolute in ("unknown", "yes")
        else:
            assert absolute == exact.absolute.verdict


@pytest.mark.parametrize(
    ("alphabet", "accepts"),
    [
        ("01", lambda word: word.count("1") > word.count("0")),
        ("()", balanced),
        ("ab", lambda word: word == "a" * (len(word) // 2) + "b" * (len(word) // 2)),
        (("x1", "y"), lambda word: word.count("x1") > word.count("y")),
    ],
)
def test_counters_are_found_by_search(
    alphabet: str | tuple[str, ...], accepts: Callable[..., bool]
) -> None:
    pair = predict_function(accepts, alphabet, seconds=20)
    assert verdicts(pair) == ("yes", "yes")
    program = parse(pair[0].program)
    rng = random.Random(1)
    for _ in range(60):
        word = tuple(rng.choices(alphabet, k=rng.randint(0, 30)))
        text = "".join(word) if isinstance(alphabet, str) else word
        assert run(program, word).accepted == accepts(text)


@pytest.mark.parametrize(
    ("alphabet", "accepts", "name"),
    [
        ("01", palindrome, "palindromes"),
        ("cab", palindrome, "palindromes"),
        ("ab", lambda word: word[: len(word) // 2] * 2 == word, "equality"),
        ("01|", lambda word: word.count("|") == 1 and len(set(word.split("|"))) == 1, "marked"),
    ],
)
def test_long_messages_refute(alphabet: str, accepts: Callable[[str], bool], name: str) -> None:
    pair = predict_function(accepts, alphabet, seconds=5)
    assert verdicts(pair) == ("no", "no")
    for answer in pair:
        assert answer.support == "checked"
        assert name in answer.reason


@pytest.mark.parametrize("accepted", [True, False])
def test_trivial_languages_are_said_as_such(accepted: bool) -> None:
    pair = predict_function(lambda word: accepted, "ab")
    assert verdicts(pair) == ("yes", "yes")
    said = "accepted" if accepted else "rejected"
    assert f"every word is {said}" in pair[0].reason


# Functions that look like something else on short words


def test_a_bounded_counter_is_not_taken_for_a_counter() -> None:
    """Dyck-1 to length 8 and empty beyond: not Dyck-1, and too large an automaton."""
    none, absolute = predict_function(
        lambda word: len(word) <= 8 and balanced(word), "()", seconds=0.5
    )
    for answer in (none, absolute):
        if answer.verdict == "yes":
            assert not run(parse(answer.program), "()" * 5).accepted
        else:
            assert answer.verdict == "unknown"


def test_parity_that_ends_is_not_taken_for_parity() -> None:
    pair = predict_function(
        lambda word: len(word) > 20 or word.count("1") % 2 == 0, "01", seconds=0.5
    )
    assert "no" not in verdicts(pair)


def test_palindromes_that_end_are_not_refuted() -> None:
    pair = predict_function(lambda word: len(word) > 20 or palindrome(word), "ab", seconds=0.5)
    assert "no" not in verdicts(pair)


def test_a_counter_that_wraps_late_is_not_taken_for_a_counter() -> None:
    def accepts(word: str) -> bool:
        return (word.count("a") - word.count("b")) % 21 == 0

    pair = predict_function(accepts, "ab", max_length=10, seconds=0.5)
    assert "yes" not in verdicts(pair)


def test_nothing_found_is_unknown_with_evidence() -> None:
    prime = predict_function(
        lambda word: len(word) > 1 and all(len(word) % k for k in range(2, len(word))),
        "a",
        seconds=0.5,
    )
    assert verdicts(prime) == ("unknown", "unknown")
    for answer in prime:
        assert answer.support == "none"
        assert answer.checked_to is None
        assert any("communication: 1, 1, 1" in line for line in answer.details)
    large = predict_function(lambda word: word.count("a") % 15 == 0, "ab", seconds=0.5)
    assert any("an automaton of 15 states agrees" in line for line in large[0].details)


def slow(word: str) -> bool:
    time.sleep(1)
    return True


def test_functions_that_misbehave_are_errors() -> None:
    coin = random.Random(0)
    for function, message in [
        (lambda word: 1 / (len(word) - 3) > 0, "ZeroDivisionError for 'aaa'"),
        (lambda word: coin.random() < 0.5, "two different answers"),
        (lambda word: len(word), "not true or false"),
        (lambda word: sys.exit(), "SystemExit"),
        (slow, "still at"),
    ]:
        with pytest.raises(WeftError, match=message):
            predict_function(function, "ab", patience=0.2)
    for alphabet in ("", "aa"):
        with pytest.raises(WeftError, match="alphabet"):
            predict_function(palindrome, alphabet)
    with pytest.raises(WeftError, match="length cannot be 0"):
        predict_function(palindrome, "ab", max_length=0)
    with pytest.raises(WeftError, match="cannot take"):
        predict_function(palindrome, "ab", seconds=0)
