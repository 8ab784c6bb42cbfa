"""Functions of words are asked with care: once, with errors that name the word."""

from __future__ import annotations

import sys

import pytest

from weft.errors import WeftError
from weft.theory.length.word_functions import WordFunction, shown, word_function


def test_every_word_is_asked_about_once_and_a_few_twice() -> None:
    asked: list[str] = []

    def length(word: str) -> int:
        asked.append(word)
        return len(word)

    function = WordFunction(length, "ab")
    words = [("a",) * n for n in range(100)]
    assert function.answers([*words, *words]) == [*range(100), *range(100)]
    assert len(function) == 100
    assert set(asked) == {"a" * n for n in range(100)}
    assert 100 < len(asked) <= 164
    before = len(asked)
    function.answers(words[:50])
    assert len(asked) == before


def test_words_of_long_symbols_are_tuples() -> None:
    function = WordFunction(lambda word: word, ("x1", "y"))
    assert function.answers([("x1", "y"), ()]) == [("x1", "y"), ()]
    assert WordFunction(list, "ab").answers([("a", "b")]) == [("a", "b")]


def test_a_function_with_a_memory_is_kept() -> None:
    function = WordFunction(len, "ab")
    assert word_function(function, ["a", "b"]) is function
    assert word_function(len, "ab") is not function
    with pytest.raises(WeftError, match="over the alphabet a b"):
        word_function(function, "abc")


def test_failures_name_the_word() -> None:
    def leaves(word: str) -> int:
        return sys.exit(1) if word == "ab" else 0

    with pytest.raises(WeftError, match="SystemExit for 'ab'"):
        WordFunction(leaves, "ab").answers([(), ("a", "b")])
    with pytest.raises(WeftError, match="for 'a' cannot be compared"):
        WordFunction(lambda word: {"x": 1}, "ab").answers([("a",)])
    seen: set[str] = set()

    def remembers(word: str) -> bool:
        known = word in seen
        seen.add(word)
        return known

    with pytest.raises(WeftError, match="two different answers for the empty word"):
        WordFunction(remembers, "ab").answers([()])
    for alphabet in ("", "aba"):
        with pytest.raises(WeftError, match="at least one symbol"):
            WordFunction(len, alphabet)


def test_words_as_text() -> None:
    assert shown(()) == "the empty word"
    assert shown(("x", "yz")) == "'x yz'"
