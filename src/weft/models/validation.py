"""Which configs make sense; what does not is refused with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from weft.errors import WeftError, did_you_mean
from weft.extensions import available, exists

if TYPE_CHECKING:
    from weft.models.config import TransformerConfig

EMBEDDED = ("learned", "sinusoidal", "abacus")
ROTATED = ("rotary",)
BIASED = ("alibi", "nape", "t5", "fire")
POSITIONS = ("none", *EMBEDDED, "randomised", *ROTATED, *BIASED)
ATTENTIONS = ("softmax", "forgetting", "path", "stick-breaking", "entmax", "swan", "log-scaled")
ACTIVATIONS = ("clipped", "relu", "gelu", "swiglu")
AT_LEAST_ONE = (
    "vocabulary", "outputs", "width", "key_width", "value_width", "layers", "window",
    "global_every",
)  # fmt: skip
LARGEST = 1 << 28
"""The largest size: products of two stay far from what 64 bits hold."""
LARGEST_COUNT = 1 << 12
"""Of heads and layers."""
LARGEST_POSITIONS = 1 << 20
CHOICES = {
    "kind": ("encoder", "decoder", "encoder-decoder"),
    "activation": ACTIVATIONS,
    "norm": ("none", "pre", "post"),
    "slopes": ("steep", "harmonic", "geometric"),
    "halting": ("sequence", "position"),
    "dtype": ("float32", "float64", "bfloat16"),
}


def check(config: TransformerConfig) -> None:
    """Raise a `WeftError` where a config makes no sense."""
    for key, known in CHOICES.items():
        value = getattr(config, key)
        if value not in known:
            _refuse(f"{key} '{value}' is not known", did_you_mean(value, list(known)).capitalize())
    _check_sizes(config)
    _check_positions(config)
    _check_attention(config)
    for place in config.canon:
        if place not in "ABCD" or config.canon.count(place) > 1:
            _refuse(f"canon '{config.canon}' is not some of A, B, C and D", "Write it as in 'AC'")
    if config.canon and config.kind != "decoder":
        _refuse("Canon layers look to the left, and an encoder to both sides", "Use a decoder")
    if config.activation == "swiglu" and len(config.hidden) != 1:
        _refuse("a SwiGLU has one hidden layer", "Give one hidden width")


def _check_largest(config: TransformerConfig) -> None:
    """Refuse sizes that no machine has room for, before they are multiplied or allocated."""
    sizes = {key: getattr(config, key) for key in (*AT_LEAST_ONE, "random_offset")}
    del sizes["layers"]  # below
    sizes |= {"offsets": config.offsets or 0}
    sizes |= {"hidden": max(config.hidden, default=0), "heads * width": config.heads * config.width}
    for key in ("key_width", "value_width"):
        sizes[f"heads * {key}"] = config.heads * getattr(config, key)
    for key, size in sizes.items():
        if size > LARGEST:
            _refuse(f"{key} is {size:,}", f"It must be at most {LARGEST:,}")
    counts = {"heads": LARGEST_COUNT, "layers": LARGEST_COUNT, "encoder_layers": LARGEST_COUNT}
    for key, most in {**counts, "positions": LARGEST_POSITIONS}.items():
        if (getattr(config, key) or 0) > most:
            _refuse(f"{key} is {getattr(config, key):,}", f"It must be at most {most:,}")


def _check_sizes(config: TransformerConfig) -> None:
    for key in AT_LEAST_ONE:
        if getattr(config, key) < 1:
            _refuse(f"{key} is {getattr(config, key)}", "It must be at least 1")
    for width in config.hidden:
        if width < 0:
            _refuse(f"hidden has a layer of width {width}", "Widths must not be negative")
    if (config.positions is not None and config.positions < 1) or (config.offsets or 0) < 0:
        _refuse(f"positions is {config.positions} and offsets is {config.offsets}",
                "Give at least 1 and 0, or leave them out")  # fmt: skip
    _check_largest(config)
    for key in ("heads", "loops", "random_offset", "encoder_layers"):
        if getattr(config, key) < 0:
            _refuse(f"{key} is {getattr(config, key)}", "It must not be negative")
    if config.offsets is not None and config.offsets < 0:
        _refuse(f"offsets is {config.offsets}", "It must not be negative")
    if config.max_length is not None and config.max_length < 1:
        _refuse(f"max_length is {config.max_length}", "It must be at least 1")
    if config.tied and config.vocabulary != config.outputs:
        _refuse("a tied output projection has a class for each token", "Make outputs = vocabulary")
    if config.halt is not None and config.layers > 1:
        _refuse("halting is for one layer that is looped", "Set layers=1 and loops")
    if config.halt is not None and not 0 <= config.halt < config.width:
        _refuse(f"the stream has no dimension {config.halt} to halt by", "Choose one below width")
    if config.halt is not None and config.kind == "encoder-decoder":
        _refuse("an encoder-decoder does not halt", "Leave out halt, or use another kind")
    if config.encoder_layers and config.kind != "encoder-decoder":
        _refuse(
            f"a model of kind '{config.kind}' has one kind of layers", "Leave out encoder_layers"
        )
    if config.encoder_position and config.kind != "encoder-decoder":
        _refuse(f"a model of kind '{config.kind}' has one position", "Leave out encoder_position")
    if any(not 0 <= token < config.vocabulary for token in config.digits):
        _refuse("some digits are no tokens", f"Choose them below {config.vocabulary}")
    if config.inject and config.loops < 2:
        _refuse("inject adds the embedding before loops after the first", "Set loops above 1")
    if not 1 < config.alpha <= 2:
        _refuse(f"alpha is {config.alpha:g}", "Choose it above 1 and at most 2")


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
        _refuse(f"{' and '.join(biased)} are both biases on distances", "Choose one of them")
    if "randomised" in names and len(names) == 1:
        _refuse("'randomised' draws positions for another encoding", "As in 'randomised+rotary'")
    if "randomised" in names and config.random_offset:
        _refuse("randomised positions are drawn already", "Leave out random_offset")
    if config.random_offset and not names:
        _refuse("random_offset moves positions, and none are told", "Give a position")
    if any(name in ("learned", "randomised", "abacus") for name in names) and not config.positions:
        _refuse(f"position '{config.position}' needs to know how many there are", "Give positions")
    if "rotary" in names and config.key_width % 2:
        _refuse("rotary turns pairs of dimensions", f"Make key_width {config.key_width} even")


def _check_attention(config: TransformerConfig) -> None:
    kind, names = config.attention, config.encodings
    if kind not in ATTENTIONS:
        _check_extension("attention", kind, ATTENTIONS)
    if kind in ("path", "stick-breaking", "forgetting") and config.kind != "decoder":
        _refuse(f"{kind} attention runs from left to right", "Use a decoder")
    if kind == "stick-breaking" and any(name in BIASED for name in names):
        _refuse("stick-breaking weighs by recency itself, without a bias", "Leave out the position")
    if kind == "path" and any(name in (*BIASED, *ROTATED) for name in names):
        _refuse("PaTH is itself the encoding of relative positions", "Leave out the position")
    if config.sink and kind != "softmax":
        _refuse(f"{kind} attention has no sink", "Use softmax, or sink=False")
    if config.offsets is not None and kind != "softmax":
        _refuse(f"{kind} attention takes no table of offsets", "Use softmax")


def _check_extension(kind: str, name: str, known: tuple[str, ...]) -> None:
    """Load a user's mechanism, or refuse a name that nothing has."""
    if not exists(kind, name):
        remedy = did_you_mean(name, [*known, *available(kind)]).capitalize()
        _refuse(f"{kind} '{name}' is not known", remedy)
    if kind == "position":
        from weft.models.positions import encoding_class

        encoding_class(name)
    else:
        from weft.models.attentions import mechanism_class

        mechanism_class(name)


def _refuse(what: str, remedy: str) -> NoReturn:
    raise WeftError(what, subject="TransformerConfig", remedy=remedy)
