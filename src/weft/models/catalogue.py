"""What a model can be made of: every mechanism with its formula, and what it costs in parameters.

A mechanism's text is the docstring of the file that computes it.
"""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Literal

import torch

from weft.errors import WeftError, did_you_mean
from weft.extensions import exists, kind_in_file, reference
from weft.models import attention, canon, dropout, feed_forward, layer, lstm, norms, offsets
from weft.models.attentions import mechanism_class
from weft.models.build import build
from weft.models.config import ATTENTIONS, POSITIONS, TransformerConfig
from weft.models.positions import encoding_class, randomised

Group = Literal["positions", "attentions", "blocks"]

NONE = """\
No positions are told (NoPE).

    s_ij = q_i · k_j / sqrt(D)

A decoder can still find them: how many tokens a query sees depends on where it stands. An encoder
cannot; to it a text is a bag of tokens."""

KINDS = """\
Who sees whom.

    encoder           everybody sees everything
    decoder           query i sees keys j <= i
    encoder-decoder   a decoder that also attends to what an encoder has made of a source"""

LOOPS = """\
Layers that are run through more than once.

    x <- layers(x), `loops` times; with `inject`, layers(x + embedding) from the second time on

A loop has no weights of its own. With `halt`, one layer is looped until a dimension of the stream
is 1: a sequence stops when all its positions have halted, or each position stays as it is from when
it halts, as in the Universal Transformer."""

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
    "clipped": ("min(max(x, 0), 1), of compiled models", {"activation": "clipped"}, feed_forward),
    "relu": ("max(x, 0)", {"activation": "relu"}, feed_forward),
    "gelu": ("x Phi(x)", {"activation": "gelu"}, feed_forward),
    "swiglu": ("silu(gate) * up", {"activation": "swiglu"}, feed_forward),
    "canon-A": ("Canon on the stream before attention", {"canon": "A"}, canon),
    "canon-B": ("Canon on queries, keys and values", {"canon": "B"}, canon),
    "canon-C": ("Canon on the stream before the feed-forward", {"canon": "C"}, canon),
    "canon-D": ("Canon on the hidden layer, before the activation", {"canon": "D"}, canon),
    "encoder": ("everybody sees everything", {"kind": "encoder"}, KINDS),
    "decoder": ("everybody sees what is to the left", {"kind": "decoder"}, KINDS),
    "encoder-decoder": (
        "a decoder that also attends to an encoder", {"kind": "encoder-decoder"}, KINDS,
    ),
    "looped": ("the same layers, run through again", {"loops": 2}, LOOPS),
    "universal": (
        "one layer, looped until every position has halted",
        {"layers": 1, "loops": 8, "halt": 0, "halting": "position"},
        LOOPS,
    ),
    "lstm": ("an LSTM instead of the Transformer", {"architecture": "lstm"}, lstm),
}  # fmt: skip
"""What it is in a few words, what selects it in a config, and where its text stands."""


@dataclass(frozen=True)
class Mechanism:
    """One of the things that a model can be made of.

    Attributes:
        name: what it is called.
        group: what it is one of.
        summary: what it is, in one line.
        text: its formula and what there is to know about it.
        changes: what selects it in a config.
    """

    name: str
    group: Group
    summary: str
    text: str
    changes: dict[str, Any] = field(default_factory=dict)

    @property
    def setting(self) -> str:
        """What selects it, as it is written in a call of `preset`."""
        return ", ".join(f"{key}={value!r}" for key, value in self.changes.items())


def mechanisms() -> list[Mechanism]:
    """All there are: positions, attentions, then the rest."""
    return [
        *(_position(name) for name in POSITIONS),
        *(_attention(name) for name in ATTENTIONS),
        *(
            Mechanism(name, "blocks", summary, _text(source), changes)
            for name, (summary, changes, source) in BLOCKS.items()
        ),
    ]


def mechanism(name: str, others: tuple[str, ...] = ()) -> Mechanism:
    """A mechanism by its name; `others` are names that could have been meant as well."""
    found = {one.name.lower(): one for one in mechanisms()}
    if name.lower() not in found:
        for kind in ("position", "attention"):
            if exists(kind, name) and kind == _kind_of(name, kind):
                return _position(name) if kind == "position" else _attention(name)
        known = [*(one.name for one in found.values()), *others]
        raise WeftError(
            f"there is no mechanism '{name}'", remedy=did_you_mean(name, known).capitalize()
        )
    return found[name.lower()]


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


def _module_of(kind: type) -> ModuleType:
    found = inspect.getmodule(kind)
    assert found is not None
    return found


def _text_of(kind: type) -> str:
    """The docstring of a mechanism's module; of the class, if the module has none."""
    return inspect.getdoc(_module_of(kind)) or inspect.getdoc(kind) or ""


def _text(source: str | ModuleType) -> str:
    return source if isinstance(source, str) else inspect.getdoc(source) or ""


def _first(text: str) -> str:
    return text.partition("\n")[0].rstrip(".:")


@dataclass(frozen=True)
class Parameters:
    """How many parameters a model has, by where they are.

    Attributes:
        tokens: of the token embedding, and of the output projection where it is not tied.
        positions: of whatever tells positions, once for all layers.
        attention: of heads and their biases, with what their mechanism learns.
        feed_forward: of the feed-forwards.
        canon: of Canon layers.
        norms: of norms.
        recurrent: of an LSTM's layers.
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
        """All of them."""
        return self.tokens + self.positions + self.layers

    @property
    def layers(self) -> int:
        """All but embeddings and positions: what papers often mean by a model's size."""
        blocks = self.attention + self.feed_forward + self.canon + self.norms
        return blocks + self.recurrent


def parameters_of(config: TransformerConfig) -> Parameters:
    """How many parameters a model has; none of them is made for it.

    Example:
        >>> from weft.models import preset
        >>> from weft.models.catalogue import parameters_of
        >>> parameters_of(preset("154m")).layers
        154166272
    """
    with torch.device("meta"):
        model = build(config)
    counts = dict.fromkeys(Parameters.__dataclass_fields__, 0)
    for name, parameter in model.named_parameters():
        part = "recurrent" if config.architecture == "lstm" and "layers" in name else _part(name)
        counts[part] += parameter.numel()
    return Parameters(**counts)


def check_memory(config: TransformerConfig, device: torch.device) -> None:
    """Refuse to train a model that cannot fit, before any of it is made.

    Weights, their gradients and AdamW's two moments are four values per parameter; activations come
    on top.
    """
    total = parameters_of(config).total
    needed = 4 * total * torch.finfo(getattr(torch, config.dtype)).bits // 8
    if device.type == "cuda":
        there = torch.cuda.get_device_properties(device).total_memory
    else:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise WeftError(
            f"the model has {total:,} parameters: training it takes {needed / 1e9:,.0f} GB, and "
            f"{device.type} has {there / 1e9:,.0f} GB",
            remedy="Make it smaller: model.width, model.hidden, model.layers",
        )


def _part(name: str) -> str:
    """Where a parameter belongs, by its name in the model."""
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
