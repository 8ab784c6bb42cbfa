"""C-RASP programs as Weft programs: equal to the reference, compiled, proved, sampled."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import programs

import weft
from weft.compiler.execution import input_numbers, run_model
from weft.crasp import CraspProgram, library, run
from weft.crasp.batched import run_batch
from weft.crasp.bridge import CraspAsProgram, as_program


def short_words(program: CraspProgram, count: int = 130) -> list[tuple[str, ...]]:
    """All words up to a length, about as many as asked for."""
    words: list[tuple[str, ...]] = [()]
    length = 1
    while len(words) < count:
        words += list(product(program.alphabet, repeat=length))[: 4 * count]
        length += 1
    return words


def check_lines(bridge: CraspAsProgram, words: list[tuple[str, ...]]) -> None:
    """Every line has the value that the reference gives, at every position."""
    for word in words:
        stream = weft.run(bridge, [bridge.begin, *word]).stream
        for name, values in run(bridge.crasp, word).values.items():
            stored = bridge.lines[name]
            column: tuple[Any, ...] = stream[stored.variable]
            assert [stored.sign * v + stored.shift for v in column] == list(values), (word, name)


@pytest.mark.parametrize("name", library.names())
def test_library_programs_equal_the_interpreter(name: str) -> None:
    crasp = library.load(name)
    bridge = as_program(crasp, max_length=8)
    words = short_words(crasp)
    outputs = weft.run_batch(bridge, [[bridge.begin, *word] for word in words]).outputs
    wanted = run_batch(crasp, words)
    if not crasp.next_symbols:
        lines = wanted.values[crasp.accepting]
    else:
        allowed = [
            wanted.values[crasp.next_symbols[s]]
            if s in crasp.next_symbols
            else np.zeros_like(wanted.mask)
            for s in crasp.alphabet
        ]
        lines = np.argmax([*allowed, np.ones_like(wanted.mask)], axis=0)
    for row, output in enumerate(outputs):
        assert tuple(output) == tuple(map(int, lines[row, : len(output)])), words[row]


@pytest.mark.parametrize("name", ["dyck-1", "tomita-4", "ab-or-bbaa", "prefix-expressions"])
def test_all_lines_of_library_programs(name: str) -> None:
    crasp = library.load(name)
    check_lines(as_program(crasp, max_length=8), short_words(crasp, 40)[::3])


@settings(max_examples=30, deadline=None)
@given(programs(max_lines=3, depth=1), st.data())
def test_all_lines_of_random_programs(crasp: CraspProgram, data: st.DataObject) -> None:
    words = st.lists(st.sampled_from(crasp.alphabet), max_size=7).map(tuple)
    check_lines(as_program(crasp, max_length=7), [data.draw(words), data.draw(words)])


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(programs(), st.data())
def test_all_lines_of_larger_random_programs(crasp: CraspProgram, data: st.DataObject) -> None:
    words = st.lists(st.sampled_from(crasp.alphabet), max_size=9).map(tuple)
    check_lines(as_program(crasp, max_length=9), [data.draw(words) for _ in range(4)])


@pytest.mark.parametrize("name", ["dyck-1", "majority", "tomita-4"])
def test_compiled_and_proved(name: str) -> None:
    crasp = library.load(name)
    bridge = as_program(crasp, max_length=5)
    compiled = weft.compile(bridge, max_length=6)
    assert weft.prove(compiled).verdict == "proved"
    words = [[bridge.begin, *word] for word in short_words(crasp, 63)[:63]]
    outputs = run_model(compiled.model, input_numbers(bridge, words)).outputs
    assert [bool(output[-1]) for output in outputs] == [
        run(crasp, word[1:]).accepted for word in words
    ]


def test_compiled_transduction_writes_the_answer() -> None:
    bridge = as_program(library.load("sort", letters=3))
    assert weft.generate(bridge, "cab|") == ["a", "b", "c"]
    assert weft.generate(bridge, "b|") == ["b"]
    assert weft.generate(bridge, "|") == []
