"""The verifier against models that were changed: each is refused, or shown to be harmless."""

from __future__ import annotations

import pytest
from mutants import (
    PROGRAMS,
    changed_configs,
    changed_layers,
    changed_layouts,
    changed_statements,
    changed_weights,
    compiled,
    is_harmful,
    small_inputs,
    tally,
)

from weft.compiler.proof import prove

SEPARATE = [name for name in PROGRAMS if name.startswith("separate layers")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_unchanged_model_is_proved_and_right(name: str) -> None:
    model = compiled(name)
    assert prove(model.model, model.program, model.certificate).proved
    assert not is_harmful(name, model.model)
    assert small_inputs(name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_harmful_change_of_weights_is_proved(name: str) -> None:
    found = tally(name, changed_weights(name, 16, seed=0))
    assert not found.escaped
    assert found.refused > found.tried // 3


@pytest.mark.parametrize("name", SEPARATE)
def test_no_harmful_change_of_a_layer_is_proved(name: str) -> None:
    found = tally(name, changed_layers(name, 20, seed=0))
    assert not found.escaped
    assert found.refused > found.tried // 3


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_harmful_change_of_the_config_is_proved(name: str) -> None:
    found = tally(name, changed_configs(name))
    assert not found.escaped
    assert found.refused >= found.tried - 12  # other lengths and number formats are as good


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_harmful_layout_or_certificate_is_proved(name: str) -> None:
    assert not tally(name, changed_layouts(name)).escaped
    assert not tally(name, changed_statements(name)).escaped


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_harmful_change_of_many_weights_is_proved(name: str, seed: int) -> None:
    found = tally(name, changed_weights(name, 60, seed))
    assert not found.escaped


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
@pytest.mark.parametrize("name", SEPARATE)
def test_no_harmful_change_of_many_layers_is_proved(name: str, seed: int) -> None:
    assert not tally(name, changed_layers(name, 100, seed)).escaped
