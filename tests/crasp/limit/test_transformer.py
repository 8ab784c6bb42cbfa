"""Limit transformers against the interpreters, at short and long lengths."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import programs, words

from weft.crasp import CraspProgram, library, run
from weft.crasp.batched import run_batch
from weft.crasp.limit.construct import construct
from weft.crasp.limit.transformer import LimitTransformer, gap


def check(program: CraspProgram, word: tuple[str, ...], precision: int | None = None) -> None:
    """Every line at every position; long words by the batched interpreter."""
    construction = construct(program)
    stream = construction.limit.run(word, precision=precision)
    wanted = (run(program, word) if len(word) < 50 else run_batch(program, [word])[0]).values
    positions = np.arange(1, len(word) + 2)
    for name, kind in program.kinds.items():
        column = stream[:, construction.stream.lines[name]]
        if kind == "Boolean":
            np.testing.assert_array_equal(column, wanted[name])
        else:
            np.testing.assert_allclose(column * positions, wanted[name], atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_random_programs(data: st.DataObject) -> None:
    program = data.draw(programs())
    for word in data.draw(st.lists(words(program, 10), min_size=1, max_size=2)):
        check(program, word)


@pytest.mark.parametrize("name", ["dyck-1", "tomita-4", "interleaved-majority"])
def test_words_of_length_2000(name: str) -> None:
    program = library.load(name)
    rng = random.Random(name)
    check(program, tuple(rng.choice(program.alphabet) for _ in range(2000)))


@pytest.mark.parametrize("precision", [2, 8, 30])
def test_the_precision_of_scores_does_not_matter(precision: int) -> None:
    """The gap is made for 24 bits, which are more than needed, or few enough for short words."""
    for name in ("tomita-4", "unique-copy"):
        check(library.load(name), library.load(name).alphabet[:1] * 9, precision)


def limit(name: str) -> LimitTransformer:
    return construct(library.load(name)).limit


def test_period_and_range() -> None:
    assert (limit("dyck-1").period, limit("dyck-1").range) == (1, 0)
    assert (limit("tomita-4").period, limit("tomita-4").range) == (1, 2)
    assert (limit("length-multiple").period, limit("length-multiple").range) == (4, 0)
    assert (limit("interleaved-majority").period, limit("interleaved-majority").range) == (3, 2)


def test_the_outputs_accept_or_reject() -> None:
    model = limit("dyck-1")
    assert model.classes == ("reject", "accept")
    for word, accepted in (("", 1), ("()", 1), ("(()", 0), (")(", 0)):
        assert model.outputs(model.run(word))[-1].argmax() == accepted


def test_a_gap_rounds_to_nothing_in_inputs_of_any_length() -> None:
    for precision in (1, 8, 24):
        assert 2.0 ** -gap(precision) < 2.0 ** -(precision + 1)
