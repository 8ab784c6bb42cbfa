"""Bob's second half against the reference interpreter and the whole limit transformer."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crasp.strategies import programs, words
from weft.crasp import CraspProgram, library, parse, run
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


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), programs(max_lines=4))
def test_random_programs_are_rebuilt_exactly(data: st.DataObject, program: CraspProgram) -> None:
    word = data.draw(words(program))
    half = data.draw(st.integers(0, len(word)))
    whole = run(program, word)
    rebuilt = bob(program, alice(program, word[:half]), word[half:])
    assert rebuilt == {line: values[half + 1 :] for line, values in whole.values.items()}


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(max_lines=3), st.integers(0, 1000))
def test_limit_transformers_of_random_programs_are_rebuilt(
    program: CraspProgram, seed: int
) -> None:
    assert protocol(program, lengths=(1, 3, 8), words=1, seed=seed).exact


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


def test_programs_that_are_too_large_are_rebuilt_line_by_line() -> None:
    large = parse("""
        alphabet a b
        accept := # Q_a < # Q_b and not exists[j <= i, j == i - 5000] Q_a(j)
    """)
    report = protocol(large, lengths=(8, 16), words=1)
    assert report.exact
    assert report.limit_cost is None
    assert report.left_out in str(report)
    assert "activations" not in str(report)


def test_lengths_are_checked() -> None:
    with pytest.raises(WeftError, match="length 0"):
        protocol(library.load("majority"), lengths=(0,))


@pytest.mark.slow
@pytest.mark.parametrize("name", library.names())
def test_all_lengths(name: str) -> None:
    assert protocol(library.load(name), lengths=LENGTHS, words=1).exact
