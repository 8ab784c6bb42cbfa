"""PERIODIC and LOCAL as measured on weights: of compiled models, and of ones that violate them."""

from __future__ import annotations

import pytest
import torch

from weft.crasp import library
from weft.crasp.construction import compile_crasp
from weft.crasp.head_positions import measure_positions


@pytest.mark.parametrize("form", ["offsets", "absolute"])
@pytest.mark.parametrize(
    ("name", "period", "range_"),
    [("tomita-4", 1, 2), ("length-multiple", 4, 0), ("interleaved-majority", 3, 2)],
)
def test_compiled_models_are_periodic_and_local(
    form: str, name: str, period: int, range_: int
) -> None:
    compiled = compile_crasp(library.load(name), max_length=50, form=form)  # type: ignore[arg-type]
    found = measure_positions(compiled.model)
    assert (found.positions, found.period, found.range) == (51, period, range_)
    assert found.is_local
    assert (compiled.limit.period, compiled.limit.range) == (period, range_)


def test_a_head_that_depends_on_the_position_is_not_local() -> None:
    model = compile_crasp(library.load("tomita-4"), max_length=30, form="absolute").model
    with torch.no_grad():
        place = model.layout["position"].start + 7
        model.layers[0].attention.query[1, place] *= 2  # type: ignore[index,operator]
    found = measure_positions(model)
    assert not found.is_local
    assert found.heads[1].deviation == 256
    assert "LOCAL: no" in found.lines()
    assert "vary along i - j by up to 256" in str(found.heads[1])


def test_a_table_that_does_not_repeat_is_not_periodic() -> None:
    model = compile_crasp(library.load("abab"), max_length=30).model
    with torch.no_grad():
        model.position.parts["learned"].table[20] += 1  # type: ignore[union-attr,index,operator]
    found = measure_positions(model)
    assert found.period is None
    assert "PERIODIC, over positions 0 to 30: rows do not repeat" in found.lines()


def test_a_head_with_a_bias_for_all_that_is_far_is_not_local() -> None:
    model = compile_crasp(library.load("tomita-4"), max_length=30).model
    with torch.no_grad():
        model.layers[0].attention.bias[1, 0] = 1.0  # type: ignore[index,operator]
    found = measure_positions(model)
    assert not found.is_local
    assert found.range == 30
