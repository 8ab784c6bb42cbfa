"""Small models of every kind with random weights, for tests of what all mechanisms share."""

from __future__ import annotations

from typing import Any

import torch

from weft.errors import WeftError
from weft.models import Transformer, TransformerConfig

ENCODINGS = (
    "none", "learned", "sinusoidal", "rotary", "alibi", "nape", "t5", "distance", "fire", "abacus",
    "abacus+fire", "learned+rotary", "randomised+learned", "randomised+rotary", "randomised+alibi",
)  # fmt: skip
ATTENTIONS = (
    "softmax", "forgetting", "path", "stick-breaking", "entmax", "swan", "log-scaled",
)  # fmt: skip
DIGITS = (2, 3, 4)
VOCABULARY = 7


def config(**changes: Any) -> TransformerConfig:
    """A small decoder in float64."""
    values: dict[str, Any] = {
        "vocabulary": VOCABULARY, "outputs": VOCABULARY, "width": 8, "heads": 2, "hidden": (6,),
        "kind": "decoder", "activation": "gelu", "norm": "pre", "layers": 2, "positions": 40,
        "digits": tuple(DIGITS), "window": 3, "global_every": 2, "dtype": "float64", **changes,
    }  # fmt: skip
    return TransformerConfig(**values)


def model(seed: int = 0, **changes: Any) -> Transformer:
    """The same with random weights, large enough that every term of a formula matters."""
    made = Transformer(config(**changes)).eval()
    generator = torch.Generator().manual_seed(seed)
    for name, weight in made.named_parameters():
        drawn = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
        middle, spread = 0.0, 0.5
        if name.endswith((".gain", ".growth", ".scale")):
            middle, spread = 1.0, 0.2
        if name.endswith("fire.c"):
            middle, spread = 0.3, 0.0
        if name.endswith("fire.threshold"):
            middle, spread = 3 / 512, 0.0  # positions on both sides of it
        weight.data.copy_(middle + spread * drawn)
    return made


def allowed() -> list[tuple[str, str]]:
    """All encodings with all attentions that make sense in a decoder."""
    found = []
    for encoding in ENCODINGS:
        for attention in ATTENTIONS:
            try:
                config(position=encoding, attention=attention)
            except WeftError:
                continue
            found.append((encoding, attention))
    return found


def tokens(count: int, length: int, seed: int = 0) -> torch.Tensor:
    """Random token numbers (b l)."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(VOCABULARY, (count, length), generator=generator)
