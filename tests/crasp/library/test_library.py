"""Library programs by name and parameters, each against an independent definition."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

import pytest

from weft.crasp import library, run
from weft.errors import WeftError


def balanced(word: str) -> bool:
    depth = 0
    for symbol in word:
        depth += 1 if symbol == "(" else -1
        if depth < 0:
            return False
    return depth == 0


LANGUAGES: dict[str, Callable[[str], bool]] = {
    "majority": lambda word: word.count("1") > len(word) / 2,
    "dyck-1": balanced,
    "anbncn": lambda word: word == "".join(letter * (len(word) // 3) for letter in "abc"),
    "tomita-4": lambda word: "000" not in word,
    "even-length": lambda word: bool(re.fullmatch("(aa)*", word)),
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_all_short_words(name: str) -> None:
    program = library.load(name)
    for length in range(7):
        for word in map("".join, product(program.alphabet, repeat=length)):
            assert run(program, word).accepted == LANGUAGES[name](word), word


@pytest.mark.parametrize("name", library.names())
def test_example(name: str) -> None:
    assert run(library.load(name), library.ENTRIES[name].example).accepted


def test_unknown_name() -> None:
    with pytest.raises(WeftError, match=r"no C-RASP program 'dyk-1'\. Did you mean 'dyck-1'"):
        library.load("dyk-1")


def test_unknown_parameter() -> None:
    with pytest.raises(WeftError, match=r"majority: it has no parameter 'n'\. Leave it out"):
        library.load("majority", n=3)
    with pytest.raises(WeftError, match="does not name a program of the library"):
        library.load("majority(3)")
