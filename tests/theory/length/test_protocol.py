"""Bob's second half against the reference interpreter and the whole limit transformer."""

from __future__ import annotations

import math
import random

import pytest

from weft.crasp import library, run
from weft.errors import WeftError
from weft.theory.length.protocol import LENGTHS, alice, bob, protocol


@pytest.mark.parametrize("name", library.names())
def test_library_programs_are_rebuilt_exactly(name: str) -> None:
    program = library.load(name)
    report = protocol(program, lengths=(1, 2, 8, 16), words=1)
    assert report.exact
    word = random.Random(1).choices(program.alphabet, k=14)
    whole = run(program, word)
    rebuilt = bob(program, alice(program, word[:7]), word[7:])
    assert rebuilt == {line: values[8:] for line, values in whole.values.items()}
    for cost in (report.cost, report.limit_cost):
        assert cost is not None
        for length in range(8, 600):
            assert cost.bits(length) <= cost.factor * math.log2(length) + 1e-9


def test_messages_hide_the_word() -> None:
    program = library.load("majority")
    first, second = program.alphabet
    words = [[first, second, first], [second, first, first]]
    assert alice(program, words[0]) == alice(program, words[1])


def test_a_wrong_message_is_noticed() -> None:
    program = library.load("majority")
    word = list(program.alphabet) * 4
    rebuilt = bob(program, alice(program, [program.alphabet[1]] * 4), word[4:])
    whole = run(program, word).values
    assert any(rebuilt[line] != whole[line][5:] for line in rebuilt)


def test_lengths_are_checked() -> None:
    with pytest.raises(WeftError, match="length 0"):
        protocol(library.load("majority"), lengths=(0,))


@pytest.mark.slow
@pytest.mark.parametrize("name", library.names())
def test_all_lengths(name: str) -> None:
    assert protocol(library.load(name), lengths=LENGTHS, words=1).exact
