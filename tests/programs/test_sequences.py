"""Reverse and copy on words of all lengths, and in as many layers as they say."""

from __future__ import annotations

import random
import string

import pytest

import weft
from weft.programs.sequences import Copy, Reverse, ReverseAbsolute

rng = random.Random(5)
WORDS = ["".join(rng.choices(string.ascii_lowercase, k=n)) for n in [*range(15), 40, 41]]


def test_reverse() -> None:
    batch = weft.run_batch(Reverse, WORDS)
    assert batch.results == [word[::-1] for word in WORDS]
    assert list(batch.layers) == [len(word) for word in WORDS]


def test_reverse_absolute_in_two_layers() -> None:
    words = [word for word in WORDS if len(word) <= 14]
    batch = weft.run_batch(ReverseAbsolute(positions=16), words)
    assert batch.results == [word[::-1] for word in words]
    assert set(batch.layers) == {2}


def test_copy() -> None:
    batch = weft.run_batch(Copy, WORDS)
    assert batch.results == WORDS
    assert list(batch.layers) == [len(word) + 2 for word in WORDS]


def test_marks_may_be_written() -> None:
    assert weft.run(Reverse, "<abc>").result == "cba"
    assert weft.run(Copy, "<abc>___").result == "abc"


@pytest.mark.parametrize("program", [Reverse, ReverseAbsolute, Copy])
def test_what_is_no_letter_is_refused(program: type[weft.Program]) -> None:
    with pytest.raises(weft.WeftError, match=r"'>' is not a letter\. Give a word"):
        weft.run(program, "a>b")


def test_reverse_absolute_ends_where_its_positions_end() -> None:
    with pytest.raises(weft.WeftError, match="18 tokens; the program has 16 positions"):
        weft.run(ReverseAbsolute, "a" * 16)
