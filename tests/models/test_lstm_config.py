"""Which configs make an LSTM, and that everything that does not apply is refused by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from weft.errors import WeftError
from weft.models import LSTM, Transformer, TransformerConfig, preset
from weft.models.lstm_config import APPLIES

OTHERS: dict[str, Any] = {
    "heads": 3, "hidden": (4,), "key_width": 5, "value_width": 5, "position": "rotary",
    "encoder_position": "rotary", "attention": "path", "activation": "relu", "norm": "pre",
    "norm_type": "layer", "norm_bias": False, "canon": "A", "biases": False,
    "attention_biases": True, "attention_dropout": 0.1, "encoder_layers": 2, "loops": 2,
    "inject": True, "positions": 9, "max_length": 9, "digits": (1,), "offsets": 2,
    "random_offset": 3, "example_offsets": True, "window": 3, "global_every": 2,
    "slopes": "harmonic", "alpha": 2.0, "scaled": False, "sink": True, "halt": 0,
    "halting": "position",
}  # fmt: skip


def test_every_field_applies_or_is_refused() -> None:
    names = {field.name for field in fields(TransformerConfig)}
    assert names == {*APPLIES, *OTHERS}


@pytest.mark.parametrize("name", OTHERS)
def test_what_an_lstm_does_not_have_is_refused_by_name(name: str) -> None:
    with pytest.raises(WeftError) as refused:
        preset("nano", architecture="lstm", **{name: OTHERS[name]})
    assert f"an LSTM has no {name}" in refused.value.line
    assert refused.value.remedy == f"Leave {name} out"


def test_kinds() -> None:
    with pytest.raises(WeftError, match="reads one sequence"):
        preset("nano", architecture="lstm", kind="encoder-decoder")
    with pytest.raises(WeftError, match="Make width 7 even"):
        preset("nano", architecture="lstm", kind="encoder", width=7)
    assert preset("mini", architecture="lstm").width == 384


def test_a_config_builds_no_other_model() -> None:
    with pytest.raises(WeftError, match="architecture is 'lstm'"):
        Transformer(preset("nano", architecture="lstm"))
    with pytest.raises(WeftError, match="architecture is 'transformer'"):
        LSTM(preset("nano"))
