"""The shape of a Transformer, as one frozen value.

Compiled and trained models are described by the same few, orthogonal choices.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from weft.errors import WeftError, did_you_mean

Activation = Literal["clipped", "relu"]
Halting = Literal["sequence", "position"]


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """What a `Transformer` is made of.

    Attributes:
        vocabulary: how many tokens there are.
        outputs: how many classes the output projection has.
        width: dimensions of the stream.
        heads: attention heads of a layer.
        key_width: dimensions of a head's queries and keys.
        value_width: dimensions of a head's values.
        hidden: widths of the feed-forward's hidden layers, in order.
        activation: `clipped` is min(max(x, 0), 1).
        layers: how many layers have weights; one that is shared can run any number of times.
        shared: whether the one layer is used again and again.
        max_layers: after how many layers a shared model stops by itself.
        positions: length of the table of absolute positions; None for none.
        offsets: relative offsets from -offsets to offsets have biases of their own, and all beyond
            share one on each side; None for no relative bias.
        causal: whether positions see only themselves and what is to their left.
        sink: whether every head can attend to nothing.
        halt: the dimension of the stream that is 1 where a position has halted; None to run all
            layers.
        halting: a `sequence` stops when all its positions have halted; or each `position` stays as
            it is from when it halts, as in the Universal Transformer.
        dtype: `float32`, `float64` or `bfloat16`.
    """

    vocabulary: int
    outputs: int
    width: int
    heads: int
    key_width: int
    value_width: int
    hidden: tuple[int, ...]
    activation: Activation = "clipped"
    layers: int = 1
    shared: bool = True
    max_layers: int = 4096
    positions: int | None = None
    offsets: int | None = None
    causal: bool = False
    sink: bool = True
    halt: int | None = None
    halting: Halting = "sequence"
    dtype: str = "float32"

    def as_dict(self) -> dict[str, Any]:
        """The config as plain values, for JSON."""
        return {**asdict(self), "hidden": list(self.hidden)}


def config_from_dict(values: dict[str, Any]) -> TransformerConfig:
    """A config from plain values; an unknown or missing key is an error."""
    known = [field.name for field in fields(TransformerConfig)]
    for key in values:
        if key not in known:
            raise WeftError(
                f"the model's config has an unknown key '{key}'",
                remedy=did_you_mean(key, known).capitalize(),
            )
    try:
        return TransformerConfig(**{**values, "hidden": tuple(values["hidden"])})
    except (KeyError, TypeError) as error:
        raise WeftError(f"the model's config is not complete: {error}") from None
