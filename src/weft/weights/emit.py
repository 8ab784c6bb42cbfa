"""Constructed layers become a Transformer: shared or separate, causal or not.

A list of one layer with `loops` is a shared layer, as the compiler makes it; a list of several
layers has weights of its own for each. All layers of a `Transformer` have the same sizes, so layers
with fewer heads, narrower keys, fewer offsets or smaller feed-forwards are padded to the largest.
Padding never changes what a layer computes (`pad_attention`, `pad_feed_forward`).

Attention is softmax over q · k + bias, not divided by the root of the key width.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import torch

from weft.errors import WeftError
from weft.language.vocabulary import Vocabulary
from weft.models.config import Activation, DType, TransformerConfig
from weft.models.slots import Layout
from weft.models.text import TextFormat
from weft.models.transformer import DTYPES, Transformer
from weft.weights.layers import (
    FeedForwardMatrices,
    LayerMatrices,
    Matrix,
    pad_attention,
    pad_feed_forward,
)

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class EmbeddingTables:
    """What surrounds the layers.

    Attributes:
        embedding: what each token puts into the stream.
        unembedding: the logits, as a linear function of the last stream.
        positions: what each position adds to the first stream; None for no absolute positions.
        others: further parameters by their name in `Transformer`, such as `norm.gain`.
    """

    embedding: Float[Matrix, "tokens d"]
    unembedding: Float[Matrix, "outputs d"]
    positions: Float[Matrix, "positions d"] | None = None
    others: Mapping[str, Matrix] = field(default_factory=dict)


def emit(
    layers: Sequence[LayerMatrices],
    tables: EmbeddingTables,
    *,
    loops: int = 1,
    causal: bool = False,
    activation: Activation = "clipped",
    dtype: str = "float32",
    layout: Layout | None = None,
    halt: int | None = None,
    max_length: int | None = None,
    vocabulary: Vocabulary | None = None,
    text: TextFormat | None = None,
    **settings: Any,
) -> Transformer:
    """A frozen Transformer with these weights.

    Args:
        layers: the layers in order; at least one.
        tables: embedding, unembedding and positions.
        loops: how often the list of layers is run.
        causal: whether positions see only themselves and what is to their left.
        activation: of the feed-forwards.
        dtype: `float32`, `float64` or `bfloat16`; weights are rounded to it.
        layout: which dimensions of the stream hold which variable.
        halt: the dimension that is 1 when a position has halted; for one shared layer only.
        max_length: the longest input, beyond which the model refuses to run.
        vocabulary: the names of its tokens.
        text: how it reads and writes text.
        settings: further fields of `TransformerConfig`, such as `norm`.

    Example:
        >>> import numpy as np, torch
        >>> from weft.weights.layers import AttentionMatrices, LayerMatrices, no_feed_forward
        >>> ones = np.array([[[0.0], [1.0]]])  # reads dimension 1: is the token a 1?
        >>> mean = AttentionMatrices(0 * ones, 0 * ones, ones, np.array([[[1.0, 0.0]]]))
        >>> tables = EmbeddingTables(np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0]]))
        >>> model = emit([LayerMatrices(mean, no_feed_forward(2))], tables, causal=True)
        >>> model(torch.tensor([[1, 0, 0, 1]])).logits[0, :, 0]  # the share of ones so far
        tensor([1.0000, 0.5000, 0.3333, 0.5000])
    """
    width = tables.embedding.shape[1]
    _check(layers, tables)
    attentions = [layer.attention for layer in layers]
    windows = [a.window for a in attentions if a.window is not None]
    config = TransformerConfig(
        vocabulary=len(tables.embedding),
        outputs=len(tables.unembedding),
        width=width,
        heads=max(a.heads for a in attentions),
        key_width=max(a.query.shape[2] for a in attentions),
        value_width=max(a.value.shape[2] for a in attentions),
        hidden=_hidden([layer.feed_forward for layer in layers], activation),
        activation=activation,
        layers=len(layers),
        loops=loops,
        kind="decoder" if causal else "encoder",
        position="none" if tables.positions is None else "learned",
        positions=None if tables.positions is None else len(tables.positions),
        offsets=max(windows, default=None),
        scaled=False,
        sink=any(a.sink is not None for a in attentions),
        halt=halt,
        max_length=max_length,
        dtype=cast(DType, dtype),  # checked by the config
        **settings,
    )
    model = Transformer(config, layout, vocabulary=vocabulary, text=text)
    wanted = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    weights = dict(_weights(layers, tables, config))
    for name in sorted({*wanted, *weights}):
        given = weights[name].shape if name in weights else None
        if given != wanted.get(name):
            raise WeftError(
                f"{name} is {_shown(given)}, and the model has {_shown(wanted.get(name))}",
                subject="emit",
                remedy="Give every parameter of the config in its shape, and no other",
            )
    model.load_state_dict(
        {name: torch.from_numpy(array).to(DTYPES[dtype]) for name, array in weights.items()}
    )
    return model.requires_grad_(False).eval()


def _hidden(given: Sequence[FeedForwardMatrices], activation: Activation) -> tuple[int, ...]:
    """Hidden widths with room for every layer, and for what shallower ones carry through."""
    depths = {len(layer.hidden) for layer in given}
    if len(depths) > 1 and (0 in depths or activation not in ("relu", "clipped")):
        raise WeftError(
            "feed-forwards with different numbers of hidden layers cannot be padded to one number",
            subject="emit",
            remedy="Give each at least one hidden layer, and use 'relu' or 'clipped'",
        )
    return tuple(
        max(layer.hidden[min(place, len(layer.hidden) - 1)] for layer in given)
        for place in range(max(depths))
    )


def _weights(
    layers: Sequence[LayerMatrices], tables: EmbeddingTables, config: TransformerConfig
) -> Iterator[tuple[str, Matrix]]:
    """All parameters by their name in the model, padded."""
    yield "embedding", tables.embedding
    if not config.tied:
        yield "unembedding", tables.unembedding
    if tables.positions is not None:
        yield "position.parts.learned.table", tables.positions
    yield from tables.others.items()
    for number, layer in enumerate(layers):
        attention = pad_attention(
            layer.attention,
            heads=config.heads,
            key_width=config.key_width,
            value_width=config.value_width,
            window=config.offsets,
            sink=config.sink,
        )
        for name in ("query", "key", "value", "output", "bias", "sink"):
            if (matrix := getattr(attention, name)) is not None:
                yield f"layers.{number}.attention.{name}", matrix
        padded = pad_feed_forward(layer.feed_forward, config.hidden)
        for place, (weight, bias) in enumerate(zip(padded.weights, padded.biases, strict=True)):
            yield f"layers.{number}.feed_forward.weights.{place}", weight
            yield f"layers.{number}.feed_forward.biases.{place}", bias
        for name, matrix in layer.others.items():
            yield f"layers.{number}.{name}", matrix


def _check(layers: Sequence[LayerMatrices], tables: EmbeddingTables) -> None:
    """Refuse matrices that do not fit together, before anything is padded."""
    width = tables.embedding.shape[1]
    if not layers:
        raise WeftError("there are no layers", subject="emit", remedy="Give at least one")
    for number, layer in enumerate(layers):
        attention, feed_forward = layer.attention, layer.feed_forward
        heads, k, v = attention.heads, attention.query.shape[-1], attention.value.shape[-1]
        shapes: dict[str, tuple[Matrix, tuple[int, ...]]] = {
            "query": (attention.query, (heads, width, k)),
            "key": (attention.key, (heads, width, k)),
            "value": (attention.value, (heads, width, v)),
            "output": (attention.output, (heads, v, width)),
        }
        if attention.bias is not None:
            offsets = max(3, attention.bias.shape[-1] | 1)
            shapes["bias"] = (attention.bias, (heads, offsets))
        if attention.sink is not None:
            shapes["sink"] = (attention.sink, (heads,))
        if len(feed_forward.weights) != len(feed_forward.biases):
            raise WeftError(
                f"layer {number}: the feed-forward has {len(feed_forward.weights)} matrices and "
                f"{len(feed_forward.biases)} biases",
                subject="emit",
                remedy="Give one bias per matrix",
            )
        sizes = [width, *feed_forward.hidden, width]
        for place, weight in enumerate(feed_forward.weights):
            shapes[f"weights[{place}]"] = (weight, (sizes[place + 1], sizes[place]))
            shapes[f"biases[{place}]"] = (feed_forward.biases[place], (sizes[place + 1],))
        for name, (matrix, shape) in shapes.items():
            if matrix.shape != shape:
                raise WeftError(
                    f"layer {number}: {name} is {_shown(matrix.shape)}, not {_shown(shape)}",
                    subject="emit",
                    remedy=f"The stream has {width} dimensions",
                )


def _shown(shape: tuple[int, ...] | None) -> str:
    return "missing" if shape is None else " x ".join(map(str, shape))
