"""The architecture of a Transformer, as one frozen value.

Compiled and trained models are described by the same few, orthogonal choices. `presets` has configs
by name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, NoReturn, get_args

from weft.config import check_bounds, choices, from_plain, to_plain, typed_fields
from weft.errors import WeftError, check_known, unknown_name
from weft.extensions import available, exists

Kind = Literal["encoder", "decoder", "encoder-decoder"]
AttentionName = Literal[
    "softmax", "forgetting", "path", "stick-breaking", "entmax", "swan", "log-scaled"
]
Activation = Literal["clipped", "relu", "gelu", "swiglu"]
NormPlace = Literal["none", "pre", "post"]
NormType = Literal["rms", "layer"]
Architecture = Literal["transformer", "lstm"]
Slopes = Literal["steep", "harmonic", "geometric"]
Halting = Literal["sequence", "position"]
DType = Literal["float32", "float64", "bfloat16"]
EmbeddedPosition = Literal["learned", "sinusoidal", "abacus"]
RotatedPosition = Literal["rotary"]
BiasedPosition = Literal["alibi", "nape", "t5", "distance", "fire"]

ATTENTIONS: tuple[str, ...] = get_args(AttentionName)
ROTATED: tuple[str, ...] = get_args(RotatedPosition)
BIASED: tuple[str, ...] = get_args(BiasedPosition)
POSITIONS = ("none", *get_args(EmbeddedPosition), "randomised", *ROTATED, *BIASED)
TABLED = ("learned", "randomised", "abacus", "distance")
"""Positional encodings that need `positions`."""

MAX_SIZE = 1 << 28
"""Of any width; products of two sizes stay far below what 64 bits hold."""
MAX_COUNT = 1 << 12
"""Of heads and layers."""
MAX_POSITIONS = 1 << 20

BOUNDS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("vocabulary", "outputs", "width", "key_width"), (1, MAX_SIZE)),
    **dict.fromkeys(("value_width", "window", "global_every"), (1, MAX_SIZE)),
    **dict.fromkeys(("hidden", "offsets", "random_offset"), (0, MAX_SIZE)),
    **dict.fromkeys(("heads", "encoder_layers"), (0, MAX_COUNT)),
    "layers": (1, MAX_COUNT),
    "loops": (0, math.inf),
    "positions": (1, MAX_POSITIONS),
    "slope_share": (0, 1),
    "max_length": (1, math.inf),
}
"""Smallest and largest values; no machine has memory for more."""

APPLIES_TO_LSTM = (
    "architecture", "vocabulary", "outputs", "width", "layers", "kind", "tied", "dropout", "dtype",
)  # fmt: skip
LSTM_VALUES: dict[str, Any] = {"heads": 0, "hidden": ()}
"""Values of the fields that do not apply to an LSTM and have no default."""


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """The architecture of a `Transformer`.

    Attributes:
        vocabulary: number of tokens.
        outputs: number of classes of the output projection.
        width: dimensions of the residual stream.
        heads: attention heads per layer.
        key_width: dimensions of a head's queries and keys; width / heads by default.
        value_width: dimensions of a head's values; width / heads by default.
        hidden: widths of the feed-forward's hidden layers, in order.
        kind: an `encoder` attends in both directions, a `decoder` is causal; an `encoder-decoder`
            has both, and its decoder also attends to the encoder.
        position: positional encoding, by name; several are joined by `+`.
        encoder_position: positional encoding of an encoder-decoder's encoder; `position` by
            default.
        attention: attention mechanism, by name.
        activation: of the feed-forward. `clipped` is min(max(x, 0), 1).
        norm: `pre` normalises the input of attention and feed-forward, `post` the stream after
            each, `none` neither.
        norm_type: `rms` for RMSNorm, `layer` for LayerNorm, which also subtracts the mean.
        norm_bias: whether a LayerNorm has a bias.
        canon: at which of the points A, B, C and D a layer has a Canon convolution.
        biases: whether the feed-forward has biases.
        attention_biases: whether queries, keys, values and the output of attention have biases.
        dropout: while training, share of the embeddings, and of what attention and feed-forward add
            to the stream, that is set to zero.
        attention_dropout: while training, share of the attention weights that is set to zero.
        tied: whether the output projection is the token embedding.
        layers: number of layers with weights of their own.
        encoder_layers: the same for an encoder-decoder's encoder; `layers` by default.
        loops: how often all layers are applied, an encoder's too; the maximum if the model halts.
        inject: whether the embedding is added to the stream before every loop but the first.
        positions: number of absolute positions; None if no encoding needs a table of them.
        max_length: the longest input that the model accepts; None for no limit but `positions`.
            Compiled models are correct up to this length and refuse longer inputs.
        digits: the tokens that are digits, for `abacus`.
        offsets: relative offsets from -offsets to offsets have a bias each, and all beyond share
            one per side; None for no such bias. For compiled models.
        random_offset: while training, add an offset of 0 to `random_offset`, drawn per batch, to
            all positions (and to the places of digits).
        example_offsets: while training, add an offset per example, drawn from 0 to `positions`
            minus the example's length; `random_offset`, if set, is a further upper bound.
        window: how many tokens local layers attend to, with `swan`.
        global_every: every how many layers one is global, the first included, with `swan`.
        slopes: the schedule of slopes of `nape`.
        slope_share: the share of the heads that have slopes, with `nape`.
        alpha: of `entmax`: 1 would be softmax, 2 is sparsemax.
        scaled: whether scores are divided by sqrt(key_width).
        sink: whether every head has an attention sink with value zero.
        halt: the dimension of the stream that is 1 once a position has halted; None to run all
            layers.
        halting: a `sequence` stops when all its positions have halted; or each `position` keeps
            its stream once it has halted, as in the Universal Transformer.
        dtype: `float32`, `float64` or `bfloat16`.
        architecture: `transformer`, or `lstm` for the recurrent baseline, to which only vocabulary,
            outputs, width, layers, kind, tied, dropout and dtype apply.
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
    norm: NormPlace = "none"
    norm_type: NormType = "rms"
    norm_bias: bool = True
    canon: str = ""
    biases: bool = True
    attention_biases: bool = False
    dropout: float = 0.0
    attention_dropout: float = 0.0
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
    example_offsets: bool = False
    window: int = 512
    global_every: int = 4
    slopes: Slopes = "steep"
    slope_share: float = 0.5
    alpha: float = 1.5
    scaled: bool = True
    sink: bool = False
    halt: int | None = None
    halting: Halting = "sequence"
    dtype: DType = "float32"
    architecture: Architecture = "transformer"

    def __post_init__(self) -> None:
        for name in ("key_width", "value_width"):
            if not getattr(self, name):
                object.__setattr__(self, name, max(1, self.width // max(1, self.heads)))
        if self.kind == "encoder-decoder" and not self.encoder_layers:
            object.__setattr__(self, "encoder_layers", self.layers)
        _check(self)

    @property
    def causal(self) -> bool:
        """Whether positions attend only to themselves and to the left."""
        return self.kind != "encoder"

    @property
    def encodings(self) -> tuple[str, ...]:
        """The names in `position`."""
        return tuple(name for name in self.position.split("+") if name != "none")

    @property
    def draws_per_example(self) -> bool:
        """Whether training draws random numbers for each example: dropout, or its offset."""
        return bool(self.dropout or self.attention_dropout or self.example_offsets)

    @cached_property
    def of_encoder(self) -> TransformerConfig:
        """The config with the positional encoding of an encoder-decoder's encoder."""
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
        plain: dict[str, Any] = to_plain(self)
        return plain


CHOICES: dict[str, tuple[str, ...]] = {
    name: choices(hint) for name, hint in typed_fields(TransformerConfig).items() if choices(hint)
}
"""The allowed values of every field with a fixed choice."""


def config_from_dict(values: dict[str, Any]) -> TransformerConfig:
    """Return a config from plain values; unknown or missing keys and wrong types are errors."""
    return from_plain(TransformerConfig, values, "the model's config")


def _check(config: TransformerConfig) -> None:
    """Raise a `WeftError` if choices do not fit together."""
    if config.norm in CHOICES["norm_type"]:
        _refuse(
            f"norm is where a norm is applied, and '{config.norm}' is a type of norm",
            f"Set norm_type='{config.norm}', with norm='pre' or norm='post'",
        )
    for key, allowed in CHOICES.items():
        value = getattr(config, key)
        check_known(value, allowed, f"{key} '{value}' is not known", subject="TransformerConfig")
    if config.architecture == "lstm":
        _check_lstm(config)
    _check_sizes(config)
    _check_layers(config)
    _check_positions(config)
    _check_attention(config)


def _check_lstm(config: TransformerConfig) -> None:
    """Refuse whatever an LSTM does not have, by name."""
    if config.kind == "encoder-decoder":
        _refuse(
            "an LSTM reads one sequence, and kind is 'encoder-decoder'",
            "Use kind='decoder', with a task of format 'lm'",
        )
    defaults = {**LSTM_VALUES, "key_width": config.width, "value_width": config.width}
    for field in fields(config):
        value = getattr(config, field.name)
        if field.name in APPLIES_TO_LSTM or value == defaults.get(field.name, field.default):
            continue
        _refuse(f"an LSTM has no {field.name}, and it is {value!r}", f"Leave {field.name} out")
    if config.kind == "encoder" and config.width % 2:
        _refuse(
            "a bidirectional LSTM has half of its width per direction",
            f"Make width {config.width} even",
        )


def _check_sizes(config: TransformerConfig) -> None:
    check_bounds(config, BOUNDS, "TransformerConfig")
    for key in ("width", "key_width", "value_width"):
        size = config.heads * getattr(config, key)
        if size > MAX_SIZE:
            _refuse(f"heads * {key} is {size:,}", f"It must be at most {MAX_SIZE:,}")
    if config.tied and config.vocabulary != config.outputs:
        _refuse("a tied output projection has a class for each token", "Make outputs = vocabulary")
    if any(not 0 <= token < config.vocabulary for token in config.digits):
        _refuse("some digits are not tokens", f"Choose them below {config.vocabulary}")
    if not 1 < config.alpha <= 2:
        _refuse(f"alpha is {config.alpha:g}", "Choose it above 1 and at most 2")


def _check_layers(config: TransformerConfig) -> None:
    if config.halt is not None and config.layers > 1:
        _refuse("only a model with one layer can halt", "Set layers=1 and loops")
    if config.halt is not None and not 0 <= config.halt < config.width:
        _refuse(f"the stream has no dimension {config.halt} to halt by", "Choose one below width")
    if config.halt is not None and config.kind == "encoder-decoder":
        _refuse("an encoder-decoder does not halt", "Leave out halt, or use another kind")
    for key in ("encoder_layers", "encoder_position"):
        if getattr(config, key) and config.kind != "encoder-decoder":
            _refuse(
                f"{key} is for an encoder-decoder, and kind is '{config.kind}'", f"Leave out {key}"
            )
    if config.norm_type == "layer" and config.norm == "none":
        _refuse("norm_type is 'layer', and there is no norm", "Set norm='pre' or norm='post'")
    if not config.norm_bias and config.norm_type != "layer":
        _refuse("only a LayerNorm has a bias to leave out", "Set norm_type='layer'")
    for key in ("dropout", "attention_dropout"):
        if not 0 <= getattr(config, key) < 1:
            _refuse(f"{key} is {getattr(config, key):g}", "It must be at least 0 and below 1")
    if config.inject and config.loops < 2:
        _refuse("inject adds the embedding before loops after the first", "Set loops above 1")
    for point in config.canon:
        if point not in "ABCD" or config.canon.count(point) > 1:
            _refuse(f"canon '{config.canon}' is not a subset of ABCD", "Write it as in 'AC'")
    if config.canon and config.kind != "decoder":
        _refuse("Canon layers are causal", "Use a decoder")
    if config.activation == "swiglu" and len(config.hidden) != 1:
        _refuse("a SwiGLU has one hidden layer", "Give one hidden width")


def _check_positions(config: TransformerConfig) -> None:
    if config.encoder_position:
        _check_positions(config.of_encoder)
    names = config.encodings
    for name in names:
        if name not in POSITIONS:
            _check_extension("position", name, POSITIONS)
        if names.count(name) > 1:
            _refuse(f"position '{name}' is given twice", "Name it once")
    biased = [name for name in names if name in BIASED]
    if len(biased) > 1:
        _refuse(f"{' and '.join(biased)} both bias scores by distance", "Choose one of them")
    if "randomised" in names and len(names) == 1:
        _refuse("'randomised' draws positions for another encoding", "As in 'randomised+rotary'")
    for key in ("random_offset", "example_offsets"):
        if getattr(config, key) and "randomised" in names:
            _refuse(f"randomised positions take no {key}", f"Leave out {key}")
        if getattr(config, key) and not names:
            _refuse(f"{key} needs a positional encoding", "Give a position")
    if config.example_offsets and not (config.positions or config.random_offset):
        _refuse("example_offsets needs an upper bound", "Give positions or random_offset")
    if any(name in TABLED for name in names) and not config.positions:
        _refuse(f"position '{config.position}' needs the number of positions", "Give positions")
    if "rotary" in names and config.key_width % 2:
        _refuse("rotary rotates pairs of dimensions", f"Make key_width {config.key_width} even")


def _check_attention(config: TransformerConfig) -> None:
    kind, names = config.attention, config.encodings
    if kind not in ATTENTIONS:
        _check_extension("attention", kind, ATTENTIONS)
    if kind in ("path", "stick-breaking", "forgetting") and config.kind != "decoder":
        _refuse(f"{kind} attention is causal", "Use a decoder")
    if kind == "stick-breaking" and any(name in BIASED for name in names):
        _refuse("stick-breaking attention takes no bias on scores", "Leave out the position")
    if kind == "path" and any(name in (*BIASED, *ROTATED) for name in names):
        _refuse("PaTH encodes relative positions itself", "Leave out the position")
    if config.sink and kind != "softmax":
        _refuse(f"{kind} attention has no sink", "Use softmax, or sink=False")
    if config.offsets is not None and kind != "softmax":
        _refuse(f"{kind} attention takes no table of offsets", "Use softmax")


def _check_extension(kind: str, name: str, known: tuple[str, ...]) -> None:
    """Load a user's mechanism, or refuse an unknown name."""
    if not exists(kind, name):
        what, names = f"{kind} '{name}' is not known", [*known, *available(kind)]
        raise unknown_name(what, name, names, subject="TransformerConfig")
    if kind == "position":
        from weft.models.positions import encoding_class

        encoding_class(name)
    else:
        from weft.models.attentions import mechanism_class

        mechanism_class(name)


def _refuse(what: str, remedy: str) -> NoReturn:
    raise WeftError(what, subject="TransformerConfig", remedy=remedy)
