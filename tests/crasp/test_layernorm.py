"""The LayerNorm construction against the reference interpreter."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import programs, words

import weft
from weft.crasp import CraspProgram, Line, Previous, Symbol, run
from weft.crasp.check import check_crasp
from weft.crasp.construction import CompiledCrasp, compile_crasp
from weft.crasp.library import load
from weft.crasp.model_files import save_crasp
from weft.crasp.prove import prove_folder
from weft.errors import WeftError


def compiled(program: CraspProgram, max_length: int = 1000) -> CompiledCrasp:
    return compile_crasp(program, max_length=max_length, form="layernorm")


def check(model: CompiledCrasp, word: tuple[str, ...]) -> None:
    """Booleans are 1 and -1 in the stream, up to rounding."""
    values = run(model.program, word).values
    stream = model.model(model.tokens([word])).stream[0]
    for name in model.lines:
        held = stream[:, model.model.layout[name].start].numpy()
        np.testing.assert_allclose(held, 2.0 * np.array(values[name]) - 1, atol=1e-3)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_programs_without_predicates(data: st.DataObject) -> None:
    program = data.draw(programs(predicates=False))
    model = compiled(program, 20)
    for word in data.draw(st.lists(words(program, 20), min_size=1, max_size=4)):
        check(model, word)


@pytest.mark.parametrize("name", ["majority", "dyck-1", "anbncn"])
def test_library_programs_on_short_and_long_words(name: str) -> None:
    program = load(name)
    model = compiled(program)
    for length in range(5):
        for word in product(program.alphabet, repeat=length):
            check(model, word)
    report = check_crasp(model, samples=8)
    assert (report.difference, report.longest) == (None, 1000)


def test_only_boolean_lines_are_read_and_checked() -> None:
    model = compiled(load("most-frequent"), 50)
    assert set(model.lines) == {n for n, k in model.program.kinds.items() if k == "Boolean"}
    assert check_crasp(model, samples=5).difference is None


def test_it_takes_more_units_than_the_limit_transformer() -> None:
    program = load("dyck-1")
    model = compiled(program)
    assert model.heads == model.model.config.layers == 2
    assert model.units > compile_crasp(program).units


def test_a_folder_is_written_loaded_and_not_called_proved(tmp_path: Path) -> None:
    save_crasp(compiled(load("dyck-1")), tmp_path / "dyck")
    model = weft.load(tmp_path / "dyck")
    for word, answer in [("", "accept"), ("(", "reject"), ("(())", "accept"), (")(", "reject")]:
        assert model.answer(word) == answer
    assert prove_folder(tmp_path / "dyck").verdict == "undecided"


def test_predicates_and_bfloat16_are_refused() -> None:
    program = CraspProgram(("a", "b"), (Line("accept", Previous(Symbol("a"))),))
    with pytest.raises(WeftError, match="no positions"):
        compiled(program)
    with pytest.raises(WeftError, match="bfloat16"):
        compile_crasp(load("dyck-1"), dtype="bfloat16", form="layernorm")


def test_too_long_words_are_refused_with_the_longest_length() -> None:
    with pytest.raises(WeftError, match=r"Compile for at most [\d,]+ symbols, or use float64"):
        compiled(load("majority"), 1_000_000)
