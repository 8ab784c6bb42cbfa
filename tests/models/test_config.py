"""Configs: what makes no sense is refused with the reason; presets have the papers' sizes."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

import mechanisms
from weft.errors import WeftError
from weft.models import LSTM, PRESETS, Transformer, TransformerConfig, config_from_dict, preset
from weft.models.config import APPLIES_TO_LSTM

NONSENSE: list[tuple[dict[str, Any], str]] = [
    ({"kind": "decodr"}, "kind 'decodr' is not known. Did you mean 'decoder'?"),
    ({"attention": "sofmax"}, "attention 'sofmax' is not known. Did you mean 'softmax'?"),
    ({"activation": "geglu"}, "activation 'geglu' is not known. Did you mean"),
    ({"norm": "before"}, "norm 'before' is not known. Known: none, pre, post"),
    ({"slopes": "step"}, "slopes 'step' is not known. Did you mean 'steep'?"),
    ({"slope_share": 1.5}, "slope_share"),
    ({"halting": "token"}, "halting 'token' is not known. Known: sequence, position"),
    ({"dtype": "float16"}, "dtype 'float16' is not known"),
    ({"vocabulary": 0}, "vocabulary is 0. It must be at least 1"),
    ({"outputs": 0}, "outputs is 0"),
    ({"width": 0}, "width is 0"),
    ({"layers": 0}, "layers is 0"),
    ({"loops": -1}, "loops is -1"),
    ({"key_width": -2}, "key_width is -2"),
    ({"value_width": -1}, "value_width is -1"),
    ({"window": 0}, "window is 0"),
    ({"global_every": 0}, "global_every is 0"),
    ({"heads": -1}, "heads is -1. It must be at least 0"),
    ({"random_offset": -3}, "random_offset is -3"),
    ({"encoder_layers": -1, "kind": "encoder-decoder"}, "encoder_layers is -1"),
    (
        {"encoder_position": "t5"},
        "encoder_position is for an encoder-decoder, and kind is 'decoder'",
    ),
    ({"encoder_position": "t6", "kind": "encoder-decoder"}, "position 't6' is not known"),
    (
        {"encoder_position": "learned", "kind": "encoder-decoder", "positions": None},
        "position 'learned' needs the number of positions",
    ),
    ({"tied": True, "outputs": 3}, "a tied output projection has a class for each token"),
    ({"halt": 1, "layers": 2}, "only a model with one layer can halt"),
    ({"halt": 8, "layers": 1}, "the stream has no dimension 8 to halt by"),
    ({"halt": 1, "layers": 1, "kind": "encoder-decoder"}, "an encoder-decoder does not halt"),
    ({"encoder_layers": 2}, "kind is 'decoder'. Leave out encoder_layers"),
    ({"inject": True}, "inject adds the embedding before loops after the first"),
    ({"alpha": 1.0}, "alpha is 1. Choose it above 1 and at most 2"),
    ({"alpha": 2.5}, "alpha is 2.5"),
    ({"position": "rotery"}, "position 'rotery' is not known. Did you mean 'rotary'?"),
    ({"position": "rotary+rotary"}, "position 'rotary' is given twice"),
    ({"position": "alibi+fire"}, "alibi and fire both bias scores by distance"),
    ({"position": "randomised"}, "'randomised' draws positions for another encoding"),
    (
        {"position": "randomised+rotary", "random_offset": 3},
        "randomised positions take no random_offset",
    ),
    ({"random_offset": 3}, "random_offset needs a positional encoding"),
    ({"position": "learned", "positions": None}, "needs the number of positions"),
    ({"position": "abacus", "positions": None}, "needs the number of positions"),
    ({"position": "randomised+rotary", "positions": None}, "needs the number of positions"),
    ({"position": "rotary", "key_width": 3}, "rotary rotates pairs of dimensions"),
    ({"position": "distance", "positions": None}, "needs the number of positions"),
    ({"position": "distance+t5"}, "distance and t5 both bias scores by distance"),
    ({"position": "randomised+rotary", "example_offsets": True}, "take no example_offsets"),
    ({"example_offsets": True}, "example_offsets needs a positional encoding"),
    (
        {"example_offsets": True, "position": "rotary", "positions": None},
        "example_offsets needs an upper bound. Give positions or random_offset",
    ),
    ({"norm": "layer"}, "Set norm_type='layer', with norm='pre' or norm='post'"),
    ({"norm_type": "batch"}, "norm_type 'batch' is not known. Known: rms, layer"),
    ({"norm_type": "layer", "norm": "none"}, "there is no norm. Set norm='pre'"),
    ({"norm_bias": False}, "only a LayerNorm has a bias to leave out"),
    ({"dropout": 1.0}, "dropout is 1. It must be at least 0 and below 1"),
    ({"dropout": -0.1}, "dropout is -0.1"),
    ({"attention_dropout": 1.5}, "attention_dropout is 1.5"),
    ({"architecture": "rnn"}, "architecture 'rnn' is not known. Known: transformer, lstm"),
    ({"architecture": "lstm"}, "an LSTM has no heads, and it is 2. Leave heads out"),
    ({"attention": "path", "kind": "encoder"}, "path attention is causal"),
    ({"attention": "forgetting", "kind": "encoder"}, "attention is causal"),
    ({"attention": "stick-breaking", "kind": "encoder"}, "attention is causal"),
    ({"attention": "path", "kind": "encoder-decoder"}, "attention is causal"),
    ({"attention": "stick-breaking", "position": "alibi"}, "takes no bias on scores"),
    ({"attention": "path", "position": "rotary"}, "PaTH encodes relative positions itself"),
    ({"attention": "path", "position": "t5"}, "PaTH encodes relative positions itself"),
    ({"attention": "entmax", "sink": True}, "entmax attention has no sink"),
    ({"attention": "swan", "offsets": 2}, "swan attention takes no table of offsets"),
    ({"canon": "AE"}, "canon 'AE' is not a subset of ABCD"),
    ({"canon": "AA"}, "canon 'AA' is not a subset of ABCD"),
    ({"canon": "A", "kind": "encoder"}, "Canon layers are causal"),
    ({"canon": "A", "kind": "encoder-decoder"}, "Canon layers are causal"),
    ({"activation": "swiglu", "hidden": (4, 4)}, "a SwiGLU has one hidden layer"),
    ({"activation": "swiglu", "hidden": ()}, "a SwiGLU has one hidden layer"),
]


@pytest.mark.parametrize(("changes", "reason"), NONSENSE, ids=[str(n[0]) for n in NONSENSE])
def test_nonsense_is_refused_with_the_reason(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(WeftError) as refused:
        mechanisms.config(**changes)
    assert reason in refused.value.line
    assert refused.value.subject == "TransformerConfig"
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nano", 3 * (4 * 48**2 + 3 * 48 * 128)),
        ("micro", 4 * (4 * 128**2 + 3 * 128 * 384)),
        ("mini", 6 * (4 * 384**2 + 3 * 384 * 1024)),
        ("small", 25_690_112),
        ("154m", 154_140_672),
    ],
)
def test_presets_have_the_sizes_of_the_papers(name: str, expected: int) -> None:
    """Matrices of all layers; embeddings and the gains of norms are not counted."""
    model = Transformer(preset(name, dtype="bfloat16"))
    counted = [w.numel() for n, w in model.layers.named_parameters() if ".gain" not in n]
    assert sum(counted) == expected
    config = model.config
    assert (config.layers, config.heads, config.width) == PRESETS[name]
    assert config.key_width * config.heads == config.value_width * config.heads == config.width


def test_canon_adds_half_a_million_weights_to_154m() -> None:
    """As the authors count: A on d, B on 3 d, C on d, D on both halves of a SwiGLU."""
    model = Transformer(preset("154m", canon="ABCD", dtype="bfloat16"))
    taps = [w.numel() for n, w in model.named_parameters() if n.endswith("taps")]
    assert sum(taps) == 4 * (1024 + 3 * 1024 + 1024 + 2 * 2816) * 12


def test_a_preset_knows_what_a_mechanism_needs() -> None:
    assert preset("nano", position="learned").positions == 4096
    assert preset("nano", position="abacus+fire").positions == 4096
    assert preset("nano", position="rotary").positions is None
    assert preset("nano", attention="swan").position == "rotary"
    assert preset("nano", attention="swan", position="none").position == "none"
    assert preset("nano", activation="gelu").hidden == (192,)
    assert preset("nano", vocabulary=11).outputs == 11


def test_unknown_names_come_with_a_suggestion() -> None:
    with pytest.raises(WeftError, match=r"no preset 'mimi'\. Did you mean 'mini'"):
        preset("mimi")
    with pytest.raises(WeftError, match=r"a model has no 'atention'\. Did you mean 'attention'"):
        preset("mini", atention="softmax")
    with pytest.raises(WeftError, match=r"unknown key 'widht'\. Did you mean 'width'"):
        config_from_dict({**preset("nano").as_dict(), "widht": 3})


def test_a_missing_key_is_named() -> None:
    values = preset("nano").as_dict()
    for key in ("hidden", "vocabulary"):
        with pytest.raises(WeftError, match=key):
            config_from_dict({k: v for k, v in values.items() if k != key})


@pytest.mark.parametrize(("position", "attention"), mechanisms.allowed())
def test_a_config_is_what_its_json_says(position: str, attention: str) -> None:
    config = mechanisms.config(position=position, attention=attention, canon="AD", hidden=(3, 4))
    assert config_from_dict(json.loads(json.dumps(config.as_dict()))) == config


def test_widths_of_heads_are_shares_of_the_stream() -> None:
    config = TransformerConfig(vocabulary=2, outputs=2, width=12, heads=3, hidden=(4,))
    assert (config.key_width, config.value_width) == (4, 4)
    with_both = mechanisms.config(kind="encoder-decoder", layers=3)
    assert with_both.encoder_layers == 3


def test_configs_from_before_a_field_was_added_still_load() -> None:
    """As in folders of models that older versions wrote."""
    new = ("norm_type", "norm_bias", "attention_biases", "dropout", "attention_dropout",
           "example_offsets", "architecture", "slope_share")  # fmt: skip
    config = mechanisms.config()
    old = {key: value for key, value in config.as_dict().items() if key not in new}
    assert len(old) == len(config.as_dict()) - len(new)
    assert config_from_dict(old) == config


# LSTMs: everything that does not apply is refused by name

NOT_OF_AN_LSTM: dict[str, Any] = {
    "heads": 3, "hidden": (4,), "key_width": 5, "value_width": 5, "position": "rotary",
    "encoder_position": "rotary", "attention": "path", "activation": "relu", "norm": "pre",
    "norm_type": "layer", "norm_bias": False, "canon": "A", "biases": False,
    "attention_biases": True, "attention_dropout": 0.1, "encoder_layers": 2, "loops": 2,
    "inject": True, "positions": 9, "max_length": 9, "digits": (1,), "offsets": 2,
    "random_offset": 3, "example_offsets": True, "window": 3, "global_every": 2,
    "slopes": "harmonic", "slope_share": 0.25, "alpha": 2.0, "scaled": False, "sink": True,
    "halt": 0, "halting": "position",
}  # fmt: skip


def test_every_field_applies_or_is_refused() -> None:
    names = {field.name for field in fields(TransformerConfig)}
    assert names == {*APPLIES_TO_LSTM, *NOT_OF_AN_LSTM}


@pytest.mark.parametrize("name", NOT_OF_AN_LSTM)
def test_what_an_lstm_does_not_have_is_refused_by_name(name: str) -> None:
    with pytest.raises(WeftError) as refused:
        preset("nano", architecture="lstm", **{name: NOT_OF_AN_LSTM[name]})
    assert f"an LSTM has no {name}" in refused.value.line
    assert refused.value.remedy == f"Leave {name} out"


def test_kinds_of_an_lstm() -> None:
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
