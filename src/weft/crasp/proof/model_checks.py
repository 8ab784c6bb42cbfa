"""What surrounds the layers: config, vocabulary, layout, and the sizes of all numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import numpy as np
import torch

from weft.crasp.program import CraspProgram
from weft.crasp.proof.heads import Embeddings
from weft.language.vocabulary import Vocabulary
from weft.models.config import TransformerConfig
from weft.models.slots import Layout
from weft.models.transformer import DTYPES, Transformer
from weft.proofs.rounding import LARGEST, SMALLEST, Array

SIZES = (
    "vocabulary", "outputs", "width", "heads", "hidden", "key_width", "value_width", "layers",
    "positions", "max_length", "offsets", "sink", "dtype",
)  # fmt: skip
"""Fields of the config that a model may choose; the weights of every choice are proved."""


class Unproved(Exception):
    """A step of the proof that did not go through."""


def check_config(config: TransformerConfig, program: CraspProgram) -> None:
    """Every field is that of a causal Transformer without norms, or one of the sizes."""
    chosen = {name: getattr(config, name) for name in SIZES}
    if type(config.max_length) is not int:
        raise Unproved(
            f"config.max_length is {config.max_length!r}; the proof needs a longest input"
        )
    expected = TransformerConfig(
        kind="decoder",
        activation="relu" if config.activation == "relu" else "clipped",
        position="none" if config.positions is None else "learned",
        scaled=False,
        **chosen,
    )
    for field in fields(TransformerConfig):
        mine, wanted = getattr(config, field.name), getattr(expected, field.name)
        if mine != wanted or type(mine) is not type(wanted):
            raise Unproved(f"config.{field.name} is {mine!r}, should be {wanted!r}")
    symbols = len(program.alphabet)
    outputs = symbols + 1 if program.next_symbols else 2
    for name, mine, wanted in (
        ("vocabulary", config.vocabulary, symbols + 1),
        ("outputs", config.outputs, outputs),
    ):
        if mine != wanted:
            raise Unproved(f"config.{name} is {mine}, the program asks for {wanted}")
    if config.positions is not None and config.positions < config.max_length:
        raise Unproved(
            f"it has {config.positions} positions, for inputs of {config.max_length} tokens"
        )


def check_vocabulary(vocabulary: Vocabulary | None, program: CraspProgram) -> None:
    """The tokens are the symbols of the alphabet in order, then the begin symbol."""
    names = None if vocabulary is None else vocabulary.names
    if names is not None and (names[:-1] != program.alphabet or names[-1] in program.alphabet):
        raise Unproved("the tokens are not the symbols of the program, with the begin symbol last")


def check_layout(layout: Layout | None, config: TransformerConfig, program: CraspProgram) -> Layout:
    """Every line has a dimension of its kind."""
    if layout is None:
        raise Unproved("the model has no layout, so it was not compiled from a program")
    kinds: Mapping[str, str] = {"Boolean": "boolean", "count": "count"}
    for name, kind in program.kinds.items():
        if name not in layout:
            raise Unproved(f"the line '{name}' has no dimension in the stream")
        slot = layout[name]
        if (slot.kind, slot.size) != (kinds[kind], 1) or not 0 <= slot.start < config.width:
            raise Unproved(f"the layout's slot of '{name}' is not that of a {kind}")
    return layout


def read_tensors(model: Transformer) -> dict[str, Array]:
    """The weights in float64: those of the config, all of its number format."""
    tensors = model.state_dict()
    with torch.device("meta"):  # no memory
        wanted = Transformer(model.config).state_dict()
    if {n: t.shape for n, t in tensors.items()} != {n: t.shape for n, t in wanted.items()}:
        raise Unproved("the model has other weights than its config asks for")
    result: dict[str, Array] = {}
    for name, tensor in tensors.items():
        if tensor.dtype != DTYPES[model.config.dtype]:
            raise Unproved(f"{name} is {tensor.dtype}, the config says {model.config.dtype}")
        result[name] = tensor.double().cpu().numpy()
    return result


def embeddings_of(
    tensors: Mapping[str, Array], config: TransformerConfig, count: int
) -> Embeddings:
    """The stream before the first layer, at so many positions."""
    embedding = tensors["embedding"]
    return Embeddings(
        begin=embedding[-1],
        symbols=embedding[:-1],
        positions=None if config.positions is None else tensors["position.parts.learned.table"],
        count=count,
        dtype=config.dtype,
    )


def check_sizes(tensors: Mapping[str, Array], config: TransformerConfig) -> None:
    """Nothing overflows, underflows or is undefined, whatever the input.

    Weights are 0 or of moderate size; biases of offsets and sinks may be minus infinity, if every
    query still has something to attend to.
    """
    for name, array in tensors.items():
        finite = array
        if name.endswith(("attention.bias", "attention.sink")):
            finite = array[array != -np.inf]
        sizes = np.abs(finite[finite != 0])
        if not ((sizes >= SMALLEST) & (sizes <= 1 / SMALLEST)).all():
            raise Unproved(f"{name} has an entry that is not a number, or not of moderate size")
    size = np.abs(tensors["embedding"]).max(0)
    if config.positions is not None:
        size = size + np.abs(tensors["position.parts.learned.table"]).max(0)
    for layer in range(config.layers):
        prefix = f"layers.{layer}"
        part = {
            name: np.abs(tensors[f"{prefix}.attention.{name}"])
            for name in ("query", "key", "value", "output")
        }
        scores = [(size @ q) @ (size @ k) for q, k in zip(part["query"], part["key"], strict=True)]
        for head in range(config.heads):
            _check_visible(tensors, config, layer, head)
        mixed = [(size @ v) @ o for v, o in zip(part["value"], part["output"], strict=True)]
        size = size + 1.01 * sum(mixed, np.zeros_like(size))
        hidden = size
        for place in range(len(config.hidden) + 1):
            weight = np.abs(tensors[f"{prefix}.feed_forward.weights.{place}"])
            hidden = weight @ hidden + np.abs(tensors[f"{prefix}.feed_forward.biases.{place}"])
            if max(hidden.max(initial=0.0), *scores, size.max()) > LARGEST:
                raise Unproved(f"numbers in layer {layer} may overflow")
            if config.activation == "clipped" and place < len(config.hidden):
                hidden = np.minimum(hidden, 1.0)
        size = size + 1.01 * hidden


def _check_visible(
    tensors: Mapping[str, Array], config: TransformerConfig, layer: int, head: int
) -> None:
    prefix = f"layers.{layer}.attention"
    if config.sink and np.isfinite(tensors[f"{prefix}.sink"][head]):
        return
    if config.offsets is not None:
        own = tensors[f"{prefix}.bias"][head][config.offsets + 1]
        if not np.isfinite(own):
            raise Unproved(f"head {head} of layer {layer} may see no position at all")
