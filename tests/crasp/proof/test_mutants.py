"""Attacks: weights, configs, layouts and programs that were changed are proved only if harmless."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest
from crasp_mutants import (
    Mutant,
    config_mutants,
    is_harmful,
    layout_mutants,
    program_mutants,
    structure_mutants,
    weight_mutants,
    words_for,
)
from handmade_crasp import PROGRAM, ahead

from weft.crasp import CraspProgram, library
from weft.crasp.construction import compile_crasp
from weft.crasp.proof import prove
from weft.errors import WeftError
from weft.models.transformer import Transformer

SMALL = ["dyck-1", "even-length", "ab-or-bbaa", "contains-ab", "sort"]


def tally(program: CraspProgram, mutants: Iterable[Mutant], longest: int) -> Counter[str]:
    """How many are proved and not; no harmful one may be proved."""
    words, result = words_for(program, longest), Counter[str]()
    for mutant in mutants:
        proof = prove(mutant.model, program, search=False)
        result[proof.verdict] += 1
        if proof.proved:
            assert not is_harmful(mutant.model, program, words), mutant.what
    return result


def all_mutants(
    model: Transformer, program: CraspProgram, seed: int, count: int
) -> Iterable[Mutant]:
    rng = random.Random(seed)
    yield from weight_mutants(model, rng, count)
    yield from structure_mutants(model, rng)
    yield from config_mutants(model)
    yield from layout_mutants(model, program)


def test_no_harmful_change_of_weights_is_proved() -> None:
    model = ahead(8)
    result = tally(PROGRAM, weight_mutants(model, random.Random(0), 60), 8)
    result += tally(PROGRAM, structure_mutants(model, random.Random(0)), 8)
    assert result["proved"] > 10  # the harmless ones
    assert result["undecided"] > 40


def test_no_harmful_change_of_the_config_or_the_layout_is_proved() -> None:
    model = ahead(8)
    result = tally(PROGRAM, config_mutants(model), 8)
    assert result["undecided"] >= 7
    names = [*layout_mutants(model, PROGRAM)]
    assert tally(PROGRAM, names[::4], 8)["proved"] == 0


@pytest.mark.parametrize("name", ["dyck-1", "sort"])
def test_a_program_with_one_operator_changed_is_not_proved(name: str) -> None:
    program = library.load(name)
    compiled = compile_crasp(program, max_length=7)
    words, proved, others = words_for(program, 7), 0, [*program_mutants(program)]
    others = others[:: max(1, len(others) // 25)]
    for other in others:
        if prove(compiled.model, other, search=False).proved:
            proved += 1
            assert not is_harmful(compiled.model, other, words), other.lines
    assert proved < len(others) / 2


@pytest.mark.slow
@pytest.mark.parametrize("form", ["offsets", "absolute"])
@pytest.mark.parametrize("name", SMALL)
def test_many_changes_of_compiled_models(name: str, form: str) -> None:
    program = library.load(name)
    try:
        model = compile_crasp(program, max_length=10, form=form).model  # type: ignore[arg-type]
    except WeftError:
        pytest.skip("no such form")
    result = tally(program, all_mutants(model, program, 1, 300), 10)
    assert result["undecided"] > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", library.names())
def test_changed_programs_are_not_proved_against_old_weights(name: str) -> None:
    program = library.load(name)
    compiled, words = compile_crasp(program, max_length=8), words_for(program, 8)
    others = [*program_mutants(program)]
    for other in others[:: max(1, len(others) // 80)]:
        if prove(compiled.model, other, search=False).proved:
            assert not is_harmful(compiled.model, other, words), other.lines
