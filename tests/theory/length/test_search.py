"""Search from membership alone, against the functions themselves and the reference interpreter."""

from __future__ import annotations

import itertools
import re
import time

import pytest

from weft.crasp import run
from weft.errors import WeftError
from weft.theory.length.search import search
from weft.theory.length.word_functions import WordFunction


def balanced(word: str) -> bool:
    depth = 0
    for symbol in word:
        depth += 1 if symbol == "(" else -1
        if depth < 0:
            return False
    return depth == 0


LANGUAGES = {
    "majority": ("01", lambda word: word.count("1") > word.count("0"), False),
    "dyck-1": ("()", balanced, False),
    "tomita-2": ("01", lambda word: re.fullmatch("(10)*", word) is not None, False),
    "aa-star": ("a", lambda word: len(word) % 2 == 0, True),
    "aa-star over two letters": ("ab", lambda word: re.fullmatch("(aa)*", word) is not None, True),
    "contains ab": ("ab", lambda word: "ab" in word, False),
    "contains ab, three letters": ("abc", lambda word: "ab" in word, True),
    "empty": ("ab", lambda word: False, False),
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_languages_are_found_and_right(name: str) -> None:
    alphabet, accepts, positions = LANGUAGES[name]
    result = search(alphabet, accepts, 10, 60, positions)
    assert result.found
    assert result.program is not None
    for length in range(7):
        for word in itertools.product(alphabet, repeat=length):
            assert run(result.program, word).accepted == accepts("".join(word))
    again = search(alphabet, accepts, 10, 60, positions)
    assert again.program == result.program
    assert "checked on every word up to length" in str(result)


def test_no_program_is_not_a_no() -> None:
    started = time.monotonic()
    result = search("01", lambda word: word.count("1") % 2 == 0, 8, 1.0, positions=True)
    assert not result.found
    assert "not a no" in str(result)
    assert time.monotonic() - started < 10


def test_a_slow_function_is_out_of_time_and_not_an_error() -> None:
    def slow(word: str) -> bool:
        time.sleep(0.0005)
        return word.count("1") > word.count("0")

    asked = WordFunction(slow, "01", boolean=True, seconds=60)
    asked.answers([w for n in range(8) for w in itertools.product("01", repeat=n)])
    result = search("01", asked, 13, 0.05)
    assert result.program is None
    assert result.outcome == "out of time"


def test_without_positions_there_is_no_residue() -> None:
    assert not search("a", lambda word: len(word) % 2 == 0, 8, 2.0).found


def test_functions_that_misbehave_are_errors_that_name_the_word() -> None:
    def raises(word: str) -> bool:
        if word == "ba":
            raise KeyError("x")
        return True

    with pytest.raises(WeftError, match="KeyError for 'ba'"):
        search("ab", raises, 4, 5)
    flips = itertools.cycle([True, False, False])
    with pytest.raises(WeftError, match="two different answers for"):
        search("ab", lambda word: next(flips), 4, 5)
    with pytest.raises(WeftError, match=r"still at .* after"):
        search("ab", lambda word: time.sleep(1.3) is None, 4, 0.2)
    with pytest.raises(WeftError, match="not true or false"):
        search("ab", lambda word: len(word), 4, 5)  # type: ignore[arg-type,return-value]
