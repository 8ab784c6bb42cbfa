"""The catalogue of mechanisms, each with its formula, and parameter counts of models.

A mechanism's text is the docstring of its file.
"""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Literal

import torch

from weft.errors import WeftError, unknown_name
from weft.extensions import exists, kind_in_file, reference
from weft.models import attention, canon, dropout, feed_forward, layer, lstm, norms, offsets
from weft.models.attentions import mechanism_class
from weft.models.config import ATTENTIONS, POSITIONS, TransformerConfig
from weft.models.factory import build_model
from weft.models.positions import encoding_class, randomised

Group = Literal["positions", "attentions", "blocks"]

NONE = """\
No positional encoding (NoPE).

    s_ij = q_i · k_j / sqrt(D)

A decoder can still learn positions, since the number of keys of a query depends on its position. An
encoder cannot: it sees a bag of tokens."""

KINDS = """\
Which tokens attend to which.

    encoder           every query attends to every key
    decoder           query i attends to keys j <= i
    encoder-decoder   a decoder that also attends to the output of an encoder"""

LOOPS = """\
Layers that are applied more than once.

    x <- layers(x), `loops` times; with `inject`, layers(x + embedding) from the second time on

All loops share weights. With `halt`, one layer is looped until a dimension of the stream is 1: a
sequence stops when all its positions have halted, or each position keeps its stream once it has
halted, as in the Universal Transformer."""

BLOCKS: dict[str, tuple[str, dict[str, Any], str | ModuleType]] = {
    "pre-norm": ("x + f(norm(x)), and a norm at the end", {"norm": "pre"}, layer),
    "post-norm": ("norm(x + f(x))", {"norm": "post"}, layer),
    "no-norm": ("x + f(x)", {"norm": "none"}, layer),
    "layer-norm": ("LayerNorm instead of RMSNorm", {"norm_type": "layer"}, norms),
    "attention-biases": (
        "biases on queries, keys, values and output", {"attention_biases": True}, attention,
    ),
    "dropout": ("on embeddings, attention and feed-forward", {"dropout": 0.1}, dropout),
    "attn-dropout": ("on attention weights", {"attention_dropout": 0.1}, dropout),
    "example-offsets": (
        "a random position offset per example",
        {"example_offsets": True, "position": "learned"},
        offsets,
    ),
    "clipped": ("min(max(x, 0), 1), for compiled models", {"activation": "clipped"}, feed_forward),
    "relu": ("max(x, 0)", {"activation": "relu"}, feed_forward),
    "gelu": ("x Phi(x)", {"activation": "gelu"}, feed_forward),
    "swiglu": ("silu(gate) * up", {"activation": "swiglu"}, feed_forward),
    "canon-A": ("Canon on the stream before attention", {"canon": "A"}, canon),
    "canon-B": ("Canon on queries, keys and values", {"canon": "B"}, canon),
    "canon-C": ("Canon on the stream before the feed-forward", {"canon": "C"}, canon),
    "canon-D": ("Canon on the hidden layer, before the activation", {"canon": "D"}, canon),
    "encoder": ("every query attends to every key", {"kind": "encoder"}, KINDS),
    "decoder": ("every query attends to the left", {"kind": "decoder"}, KINDS),
    "encoder-decoder": (
        "a decoder that also attends to an encoder", {"kind": "encoder-decoder"}, KINDS,
    ),
    "looped": ("the same layers, applied again", {"loops": 2}, LOOPS),
    "universal": (
        "one layer, looped until every position has halted",
        {"layers": 1, "loops": 8, "halt": 0, "halting": "position"},
        LOOPS,
    ),
    "lstm": ("an LSTM instead of the Transformer", {"architecture": "lstm"}, lstm),
}  # fmt: skip
"""For each block a summary, the settings that select it in a config, and its text."""


@dataclass(frozen=True)
class Mechanism:
    """A positional encoding, an attention mechanism or another building block.

    Attributes:
        name: its name.
        group: its group.
        summary: one line about it.
        text: its formula, paper and caveats.
        changes: the settings that select it in a config.
    """

    name: str
    group: Group
    summary: str
    text: str
    changes: dict[str, Any] = field(default_factory=dict)

    @property
    def setting(self) -> str:
        """The settings that select it, as arguments of `preset`."""
        return ", ".join(f"{key}={value!r}" for key, value in self.changes.items())


def mechanisms() -> list[Mechanism]:
    """All mechanisms: positions, attentions, then other blocks."""
    return [
        *(_position(name) for name in POSITIONS),
        *(_attention(name) for name in ATTENTIONS),
        *(
            Mechanism(name, "blocks", summary, _text(source), changes)
            for name, (summary, changes, source) in BLOCKS.items()
        ),
    ]


def mechanism(name: str, others: tuple[str, ...] = ()) -> Mechanism:
    """Return a mechanism by name; `others` are further names to suggest if it is unknown."""
    known = {entry.name.lower(): entry for entry in mechanisms()}
    if name.lower() not in known:
        for kind in ("position", "attention"):
            if exists(kind, name) and kind == _kind_of(name, kind):
                return _position(name) if kind == "position" else _attention(name)
        names = [*(entry.name for entry in known.values()), *others]
        raise unknown_name(f"there is no mechanism '{name}'", name, names)
    return known[name.lower()]


def _kind_of(name: str, kind: str) -> str:
    return kind_in_file(name, ("position", "attention")) if reference(name).in_file else kind


def _position(name: str) -> Mechanism:
    if name == "none":
        text = NONE
    elif name == "randomised":
        text = _text(randomised)
    else:
        text = _text_of(encoding_class(name))
    return Mechanism(name, "positions", _first(text), text, {"position": name})


def _attention(name: str) -> Mechanism:
    text = _text_of(mechanism_class(name))
    return Mechanism(name, "attentions", _first(text), text, {"attention": name})


def _text_of(kind: type) -> str:
    """The docstring of a mechanism's module; of the class, if the module has none."""
    return inspect.getdoc(inspect.getmodule(kind)) or inspect.getdoc(kind) or ""


def _text(source: str | ModuleType) -> str:
    return source if isinstance(source, str) else inspect.getdoc(source) or ""


def _first(text: str) -> str:
    return text.partition("\n")[0].rstrip(".:")


@dataclass(frozen=True)
class Parameters:
    """The number of parameters of a model, by where they are.

    Attributes:
        tokens: token embedding, and output projection unless it is tied.
        positions: positional encodings, shared by all layers.
        attention: heads with their biases, and the parameters of their mechanism.
        feed_forward: feed-forwards.
        canon: Canon layers.
        norms: norms.
        recurrent: the layers of an LSTM.
    """

    tokens: int
    positions: int
    attention: int
    feed_forward: int
    canon: int
    norms: int
    recurrent: int = 0

    @property
    def total(self) -> int:
        """The number of all parameters."""
        return self.tokens + self.positions + self.layers

    @property
    def layers(self) -> int:
        """Without embeddings and positions, as papers often count a model's size."""
        blocks = self.attention + self.feed_forward + self.canon + self.norms
        return blocks + self.recurrent


def parameters_of(config: TransformerConfig) -> Parameters:
    """Count the parameters of a model without allocating them.

    Example:
        >>> from weft.models import preset
        >>> from weft.models.catalogue import parameters_of
        >>> parameters_of(preset("154m")).layers
        154166272
    """
    with torch.device("meta"):
        model = build_model(config)
    counts = dict.fromkeys(Parameters.__dataclass_fields__, 0)
    for name, parameter in model.named_parameters():
        part = "recurrent" if config.architecture == "lstm" and "layers" in name else _part(name)
        counts[part] += parameter.numel()
    return Parameters(**counts)


def check_memory(config: TransformerConfig, device: torch.device) -> None:
    """Refuse to train a model that does not fit into memory, before allocating any of it.

    Weights, gradients and AdamW's two moments are four values per parameter; activations are not
    counted.
    """
    total = parameters_of(config).total
    needed = 4 * total * torch.finfo(getattr(torch, config.dtype)).bits // 8
    if device.type == "cuda":
        available = torch.cuda.get_device_properties(device).total_memory
    else:
        available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > available:
        raise WeftError(
            f"the model has {total:,} parameters: training it takes {needed / 1e9:,.0f} GB, and "
            f"{device.type} has {available / 1e9:,.0f} GB",
            remedy="Make it smaller: model.width, model.hidden, model.layers",
        )


def _part(name: str) -> str:
    """The part of the model that a parameter belongs to, by its name."""
    parts = name.split(".")
    if parts[0] in ("embedding", "unembedding"):
        return "tokens"
    if parts[0] == "position":
        return "positions"
    if parts[-1] == "gain" or "norms" in parts or parts[0] in ("norm", "encoder_norm"):
        return "norms"
    if "canon" in parts or "canons" in parts:
        return "canon"
    return "feed_forward" if "feed_forward" in parts else "attention"
