"""The LayerNorm construction against the reference interpreter."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import programs, words

from weft.crasp import CraspProgram, Line, Previous, Symbol, run
from weft.crasp.layernorm import LayerNormConstruction, compile_layernorm
from weft.crasp.library import load
from weft.errors import WeftError


def signs(made: LayerNormConstruction, program: CraspProgram, word: tuple[str, ...]) -> np.ndarray:
    """The Boolean lines at every position, from the last stream."""
    tokens = [len(program.alphabet), *map(program.alphabet.index, word)]
    stream = made.model(torch.tensor([tokens])).stream[0]
    return stream[:, list(made.booleans.values())].double().numpy()


def check(made: LayerNormConstruction, program: CraspProgram, word: tuple[str, ...]) -> None:
    values = run(program, word).values
    expected = np.array([values[name] for name in made.booleans]).T
    np.testing.assert_allclose(signs(made, program, word), 2.0 * expected - 1, atol=1e-3)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_programs_without_predicates(data: st.DataObject) -> None:
    program = data.draw(programs(predicates=False))
    made = compile_layernorm(program, max_length=20)
    for word in data.draw(st.lists(words(program, 20), min_size=1, max_size=4)):
        check(made, program, word)


@pytest.mark.parametrize("name", ["majority", "dyck-1", "anbncn"])
def test_library_programs_on_short_and_long_words(name: str) -> None:
    program = load(name)
    made = compile_layernorm(program, max_length=1000)
    for length in range(6):
        for word in product(program.alphabet, repeat=length):
            check(made, program, word)
    generator = random.Random(0)
    for length in (100, 1000):
        check(made, program, tuple(generator.choices(program.alphabet, k=length)))


def test_the_answer_is_read_from_the_logits() -> None:
    program = load("dyck-1")
    model = compile_layernorm(program).model
    opening, closing = map(program.alphabet.index, "()")
    for word, accepted in [([], 1), ([opening], 0), ([opening, closing], 1), ([closing], 0)]:
        logits = model(torch.tensor([[2, *word]])).logits
        assert int(logits[0, -1].argmax()) == accepted


def test_predicates_are_refused() -> None:
    program = CraspProgram(("a", "b"), (Line("accept", Previous(Symbol("a"))),))
    with pytest.raises(WeftError, match="no positions"):
        compile_layernorm(program)
