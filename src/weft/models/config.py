"""The shape of a Transformer, as one frozen value.

Compiled and trained models are described by the same few, orthogonal choices. `presets` has recipes
that return one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal

from weft.config import from_plain

Kind = Literal["encoder", "decoder", "encoder-decoder"]
Activation = Literal["clipped", "relu", "gelu", "swiglu"]
Norm = Literal["none", "pre", "post"]
Halting = Literal["sequence", "position"]


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """What a `Transformer` is made of.

    Attributes:
        vocabulary: how many tokens there are.
        outputs: how many classes the output projection has.
        width: dimensions of the stream.
        heads: attention heads of a layer.
        key_width: dimensions of a head's queries and keys; width / heads where it is left out.
        value_width: dimensions of a head's values; the same.
        hidden: widths of the feed-forward's hidden layers, in order.
        kind: an `encoder` sees everything, a `decoder` only what is to the left; an
            `encoder-decoder` has both, and its decoder also attends to the encoder.
        position: how positions are told, by name; several are joined by `+`.
        encoder_position: how the encoder of an encoder-decoder is told them; `position` if left
            out.
        attention: how heads weigh what they see, by name.
        activation: of the feed-forward. `clipped` is min(max(x, 0), 1).
        norm: before each part of a layer, after it, or none.
        canon: at which of the places A, B, C, D a layer mixes neighbouring positions.
        biases: whether the feed-forward has biases.
        tied: whether the output projection is the token embedding.
        layers: how many layers have weights.
        encoder_layers: how many of its own an encoder-decoder's encoder has; `layers` if left out.
        loops: how often layers are run through, an encoder's too; at most, where positions halt.
        inject: whether the embedding is added to the stream before every loop but the first.
        positions: how many absolute positions there are; None where no table of them is needed.
        max_length: the longest input that the model takes; None for any that its positions allow.
            Compiled models are right up to here and refuse what is longer.
        digits: which tokens are digits, for `abacus`.
        offsets: relative offsets from -offsets to offsets have biases of their own, and all beyond
            share one on each side; None for no such bias. Compiled models use this.
        random_offset: while training, positions (and places of digits) start anywhere up to here,
            anew for every batch.
        window: how far local layers see, with `swan`.
        global_every: every how many layers one sees everything, with `swan`, the first included.
        slopes: which schedule of slopes `nape` takes.
        alpha: of `entmax`: 1 would be softmax, 2 is sparsemax.
        scaled: whether scores are divided by the root of key_width.
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
    hidden: tuple[int, ...]
    key_width: int = 0
    value_width: int = 0
    kind: Kind = "encoder"
    position: str = "none"
    encoder_position: str = ""
    attention: str = "softmax"
    activation: Activation = "clipped"
    norm: Norm = "none"
    canon: str = ""
    biases: bool = True
    tied: bool = False
    layers: int = 1
    encoder_layers: int = 0
    loops: int = 1
    inject: bool = False
    positions: int | None = None
    max_length: int | None = None
    digits: tuple[int, ...] = ()
    offsets: int | None = None
    random_offset: int = 0
    window: int = 512
    global_every: int = 4
    slopes: str = "steep"
    alpha: float = 1.5
    scaled: bool = True
    sink: bool = False
    halt: int | None = None
    halting: Halting = "sequence"
    dtype: str = "float32"

    def __post_init__(self) -> None:
        from weft.models.validation import check

        for name in ("key_width", "value_width"):
            if not getattr(self, name):
                object.__setattr__(self, name, max(1, self.width // max(1, self.heads)))
        if self.kind == "encoder-decoder" and not self.encoder_layers:
            object.__setattr__(self, "encoder_layers", self.layers)
        check(self)

    @property
    def causal(self) -> bool:
        """Whether positions see only themselves and what is to their left."""
        return self.kind != "encoder"

    @property
    def encodings(self) -> tuple[str, ...]:
        """The names in `position`."""
        return tuple(name for name in self.position.split("+") if name != "none")

    @cached_property
    def of_encoder(self) -> TransformerConfig:
        """The config by which the encoder of an encoder-decoder is told positions."""
        if not self.encoder_position:
            return self
        return replace(
            self,
            kind="encoder",
            position=self.encoder_position,
            encoder_position="",
            encoder_layers=0,
        )

    def as_dict(self) -> dict[str, Any]:
        """The config as plain values, for JSON."""
        return {**asdict(self), "hidden": list(self.hidden), "digits": list(self.digits)}


def config_from_dict(values: dict[str, Any]) -> TransformerConfig:
    """A config from plain values; an unknown or missing key, or a wrong type, is an error."""
    return from_plain(TransformerConfig, values, "the model's config")
