"""The optimum of random programs, from their source to the answer, against steps of the loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from optimum_oracles import compiled, embed, is_strict, plain

import weft
from random_programs import batches, few, many, programs
from weft.language.ranges import Categorical
from weft.theory.optimum.coordinatewise import is_strict_coordinate_optimum

MAX_RULES = 25
"""Of programs with more rules than this, not every parameter is moved."""


def check_program(program: weft.Program, inputs: list[list[int]]) -> str:
    """What came of it, after comparing the answer with the loss."""
    if not all(isinstance(v.range, Categorical) for v in program.variables.values()):
        with pytest.raises(weft.WeftError, match="categorical variables only"):
            is_strict_coordinate_optimum(program, inputs)
        return "refused"
    try:
        runs = weft.run_batch(program, inputs, trace=True, max_layers=8)
        answer = is_strict_coordinate_optimum(program, inputs, 0.75)
    except weft.WeftError:
        return "fails"  # its step does, or it does not halt, or a head is undefined where it counts
    z = [
        embed(dict(program.variables), layer.attended.at(position))
        for run in runs
        for layer in run.trace.layers
        for position in range(layer.attended.positions)
    ]
    rules = [plain(rule) for rule in single_valued(program)]
    if len(rules) > MAX_RULES:
        return "large"
    weights = compiled(dict(program.variables), rules)
    width = weights.first.shape[1]
    assert bool(answer) == is_strict(weights, np.array(z).reshape(-1, width), 0.75, "l1")
    return "strict" if answer else "not strict"


def single_valued(program: weft.Program) -> list[weft.Rule]:
    """All rules but resets with one value per constraint, expanded by hand."""
    found = [rule for rule in program.rules if not rule.is_reset]
    while any(len(values) > 1 for rule in found for _, values in rule.guard):
        found = [one for rule in found for one in split(rule)]
    return found


def split(rule: weft.Rule) -> list[weft.Rule]:
    for place, (name, values) in enumerate(rule.guard):
        if len(values) > 1:
            before, after = rule.guard[:place], rule.guard[place + 1 :]
            return [
                weft.Rule((*before, (name, (value,)), *after), rule.variable, rule.old, rule.new)
                for value in values
            ]
    return [rule]


seen: dict[str, int] = {}


@settings(few, max_examples=110)  # most programs are outside of the theorems
@given(programs(), batches())
def check_many(program: weft.Program, inputs: list[list[int]]) -> None:
    outcome = check_program(program, inputs)
    seen[outcome] = seen.get(outcome, 0) + 1


def test_random_programs() -> None:
    """Both answers must have come up, or nothing was tested."""
    seen.clear()
    check_many()
    assert seen.get("strict", 0) > 2, seen
    assert seen.get("not strict", 0) > 2, seen


@pytest.mark.slow
@many
@given(programs(), batches())
def test_new_random_programs(program: weft.Program, inputs: Any) -> None:
    check_program(program, inputs)
