"""Counting by averages: against Python's counting, up to the longest input."""

from __future__ import annotations

import itertools
from statistics import multimode

import pytest

import weft
from weft.programs.counting import Histogram, MostFrequent

WORDS = ["".join(w) for n in range(1, 8) for w in itertools.product("ab", repeat=n)]
LONG = ["a" * 15, "a" * 14 + "d", "abcd" * 3 + "abc", "aabbbccccdddddb", "b" * 7 + "c" * 8]


def test_every_letter_is_counted() -> None:
    words = ["", *WORDS, *LONG]
    found = weft.run_batch(Histogram(), words).results
    assert found == [[sum(a == b for b in word) for a in word] for word in words]


def test_the_most_frequent_letters_are_found() -> None:
    words = [*WORDS, *LONG]
    found = weft.run_batch(MostFrequent(), words).results
    assert found == ["".join(sorted(multimode(word))) for word in words]


def test_nothing_is_most_frequent_in_nothing() -> None:
    assert weft.run(MostFrequent, "").result == ""


def test_layers_do_not_grow() -> None:
    assert {run.layers for run in weft.run_batch(Histogram(), LONG)} == {1}
    assert {run.layers for run in weft.run_batch(MostFrequent(), LONG)} == {2}


def test_what_has_no_bucket_is_refused() -> None:
    with pytest.raises(weft.WeftError, match="17 tokens; the program has 16 positions"):
        weft.run(Histogram, "a" * 16)
    assert weft.run(Histogram(most=16), "a" * 16).result == [16] * 16


def test_an_unknown_letter_is_refused() -> None:
    with pytest.raises(weft.WeftError, match="no token 'x'"):
        weft.run(Histogram, "abx")
