"""C-RASP programs as Weft programs: equal to the reference, compiled, proved, sampled."""

from __future__ import annotations

import random
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
from weft.crasp.bridge.program import CraspAsProgram, as_program
from weft.crasp.syntax.builder import CraspBuilder, count, mod, previous, symbol


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
            assert [stored.factor * v + stored.shift for v in column] == list(values), (word, name)


@pytest.mark.parametrize("name", library.names())
def test_library_programs_equal_the_interpreter(name: str) -> None:
    crasp, bridge = library.load(name), weft.program(f"crasp:{name}(max_length=8)")
    assert isinstance(bridge, CraspAsProgram)
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
    rng = random.Random(name)
    samples = [bridge.sample(rng, length) for length in (1, 4, 7)]
    assert weft.run_batch(bridge, samples).results == [bridge.task(tokens) for tokens in samples]


@pytest.mark.parametrize("name", ["dyck-1", "tomita-4", "ab-or-bbaa", "prefix-expressions"])
def test_all_lines_of_library_programs(name: str) -> None:
    crasp = library.load(name)
    check_lines(as_program(crasp, max_length=8), short_words(crasp, 40)[::3])


@settings(max_examples=20, deadline=None)
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


@pytest.mark.slow
@pytest.mark.parametrize("name", library.names())
def test_every_library_program_is_compiled_and_proved(name: str) -> None:
    compiled = weft.compile(weft.program(f"crasp:{name}(max_length=4)"))
    assert weft.prove(compiled).verdict == "proved"


def test_compiled_transduction_writes_the_answer() -> None:
    bridge = as_program(library.load("sort", letters=3))
    assert weft.generate(bridge, "cab|") == ["a", "b", "c"]
    assert weft.generate(bridge, "b|") == ["b"]
    assert weft.generate(bridge, "|") == []


def test_any_length_if_nothing_is_counted_without_a_bound() -> None:
    bridge = as_program(library.load("tomita-4"), max_length=3)
    assert bridge.positions is None
    word = "001" * 20
    assert weft.run_batch(bridge, [word, f"{word}000", f"000{word}"]).results == [
        True, False, False,
    ]  # fmt: skip


def test_longer_words_are_refused_if_something_is() -> None:
    bridge = as_program(library.load("majority"), max_length=3)
    with pytest.raises(weft.WeftError, match="the input has 5 tokens; the program has 4 positions"):
        weft.run(bridge, "0101")


def test_names_that_are_taken_are_changed() -> None:
    """Lines may have the names of a program's own attributes, and symbols those of its tokens."""
    p = CraspBuilder("ab^.")
    p["step"] = count(symbol("^"))
    p["output"] = p["step"] >= 1
    p["symbol"] = p["output"] & symbol("a")
    p["symbol_left"] = previous(p["symbol"])
    p["count_1_left"] = ~p["symbol"]
    p["mod_2"] = count(symbol("b")) - count(symbol("a"))
    p["sampler"] = mod(2, 1) & (count(symbol("b")) == 1)
    p["name"] = previous(previous(p["count_1_left"]))
    p.allow(".", p["symbol_left"])
    bridge = as_program(p.build(), max_length=6)
    check_lines(bridge, short_words(bridge.crasp, 90)[::2])
    assert weft.generate(bridge, "^ab") == ["."]


@pytest.mark.parametrize("name", ["begin", "lines", "sampler", "definition", "count_2", "name"])
def test_any_line_name_is_a_variable(name: str) -> None:
    """The names of attributes that bridges set, and of variables that they add, are free."""
    p = CraspBuilder("ab")
    p[f"{name}_left"] = count(symbol("a")) > 1
    p[name] = count(p[f"{name}_left"]) - count(symbol("b"))
    p["accept"] = p[name] == count(mod(2, 0))
    bridge = as_program(p.build(), max_length=6)
    check_lines(bridge, short_words(bridge.crasp, 60))


def test_a_length_of_nothing_is_refused() -> None:
    with pytest.raises(weft.WeftError, match=r"max_length cannot be 0\. Give at least 1"):
        as_program(library.load("majority"), 0)


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("crasp:majority(max_length=1000000000)", "count_1 would have 2,000,000,001"),
        ("crasp:length-multiple(period=1000000)", "mod_1000000 would have 1,000,000"),
    ],
)
def test_variables_of_too_many_values_are_refused(name: str, variable: str) -> None:
    with pytest.raises(weft.WeftError, match=f"the variable {variable} values, more than 20,000"):
        weft.program(name)


def test_offsets_too_far_back_are_refused() -> None:
    p = CraspBuilder("ab")
    p["accept"] = count(symbol("a"), offsets=10**8) > 0
    with pytest.raises(weft.WeftError, match="too far back"):
        as_program(p.build())
