"""Configs by name, in the sizes of the papers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from weft.errors import check_known
from weft.models.config import LSTM_VALUES, TABLED, TransformerConfig

PRESETS: dict[str, tuple[int, int, int]] = {
    "nano": (3, 3, 48),
    "micro": (4, 4, 128),
    "mini": (6, 6, 384),
    "small": (8, 8, 512),
    "154m": (12, 16, 1024),
}
"""Layers, heads and width."""

POSITIONS = 4096


def preset(name: str = "mini", *, vocabulary: int = 128, **changes: Any) -> TransformerConfig:
    """Return the config of a decoder by the name of its size, with any changes.

    Args:
        name: `nano`, `micro`, `mini`, `small` or `154m`.
        vocabulary: number of tokens.
        changes: any other attribute of `TransformerConfig`, such as `position="nape"`.

    Example:
        >>> from weft.models import preset
        >>> preset("mini", position="nape").width
        384
        >>> preset("154m", attention="forgetting").hidden
        (2816,)
    """
    check_known(name, PRESETS, f"there is no preset '{name}'")
    known = [field.name for field in fields(TransformerConfig)]
    for key in changes:
        check_known(key, known, f"a model has no '{key}'")
    layers, heads, width = PRESETS[name]
    size = {"vocabulary": vocabulary, "outputs": vocabulary, "width": width, "layers": layers}
    if changes.get("architecture") == "lstm":
        return TransformerConfig(**{**size, "kind": "decoder", **LSTM_VALUES, **changes})
    activation = changes.get("activation", "swiglu")
    values: dict[str, Any] = {
        **size,
        "heads": heads,
        "hidden": (hidden_width(width) if activation == "swiglu" else 4 * width,),
        "kind": "decoder",
        "activation": activation,
        "norm": "pre",
        "biases": False,
        **_required(changes),
        **changes,
    }
    return TransformerConfig(**values)


def preset_width(name: str, changes: Mapping[str, Any]) -> int:
    """The width of a preset's model with some changes.

    Example:
        >>> preset_width("micro", {}), preset_width("micro", {"width": 64})
        (128, 64)
    """
    check_known(name, PRESETS, f"there is no preset '{name}'")
    return int(changes.get("width", PRESETS[name][2]))


def hidden_width(width: int) -> int:
    """8/3 of the width, rounded up to a multiple of 128: as many weights as 4 without a gate."""
    return 128 * math.ceil(8 * width / 3 / 128)


def _required(changes: dict[str, Any]) -> dict[str, Any]:
    """The settings that some mechanisms require."""
    names = f"{changes.get('position', '')}+{changes.get('encoder_position', '')}".split("+")
    required: dict[str, Any] = {}
    if any(name in TABLED for name in names):
        required["positions"] = POSITIONS
    if changes.get("attention") == "swan" and "position" not in changes:
        required["position"] = "rotary"
    return required
