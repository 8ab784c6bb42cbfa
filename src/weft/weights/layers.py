"""Constructed layers as values: the matrices of the heads and of the feed-forward, in float64.

Axes: d is the residual stream, k queries and keys, v values; offsets are 2 w + 3.

A bias has one entry per offset from -w to w. One more entry at each end is for all offsets beyond
on that side. Minus infinity hides an offset; with -inf at offset 0, a head does not see its own
position (a strict mask).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from jaxtyping import Float

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AttentionMatrices:
    """All heads of a layer; the score of a query q for a key k at offset o is q · k + bias[o].

    Attributes:
        query: projections of the stream to queries.
        key: projections to keys.
        value: projections to values.
        output: projections of mixed values back to the stream.
        bias: scores that depend on the offset; None for no bias.
        sink: the scores of attending to nothing; None if heads cannot.
    """

    query: Float[Matrix, "heads d k"]
    key: Float[Matrix, "heads d k"]
    value: Float[Matrix, "heads d v"]
    output: Float[Matrix, "heads v d"]
    bias: Float[Matrix, "heads offsets"] | None = None
    sink: Float[Matrix, " heads"] | None = None

    @property
    def heads(self) -> int:
        """The number of heads."""
        return len(self.query)

    @property
    def window(self) -> int | None:
        """The largest offset with a bias of its own; None without a bias."""
        return None if self.bias is None else (self.bias.shape[1] - 3) // 2


@dataclass(frozen=True, eq=False)
class FeedForwardMatrices:
    """The affine maps of a feed-forward, first to last."""

    weights: tuple[Float[Matrix, "after before"], ...]
    biases: tuple[Float[Matrix, " after"], ...]

    @property
    def hidden(self) -> tuple[int, ...]:
        """The widths of the hidden layers."""
        return tuple(len(bias) for bias in self.biases[:-1])


@dataclass(frozen=True, eq=False)
class LayerMatrices:
    """A constructed layer.

    Attributes:
        attention: its heads.
        feed_forward: its feed-forward.
        others: further parameters by their name in `weft.models.layer.Layer`, such as the gain of a
            norm, `norms.0.gain`.
    """

    attention: AttentionMatrices
    feed_forward: FeedForwardMatrices
    others: Mapping[str, Matrix] = field(default_factory=dict)


def no_heads(width: int, *, sink: bool = False) -> AttentionMatrices:
    """Attention without a head, for a layer that is a feed-forward alone."""
    empty = np.zeros((0, width, 1))
    sinks = np.zeros(0) if sink else None
    return AttentionMatrices(empty, empty, empty, np.zeros((0, 1, width)), sink=sinks)


def stack_heads(parts: Sequence[AttentionMatrices], first: AttentionMatrices) -> AttentionMatrices:
    """The heads of several attentions side by side, padded to the widest keys and values.

    Args:
        parts: what to stack.
        first: what they are stacked on, such as `no_heads(width)`.
    """
    parts = [first, *parts]
    windows = [part.window for part in parts if part.window is not None]
    padded = [
        pad_attention(
            part,
            heads=part.heads,
            key_width=max(part.query.shape[2] for part in parts),
            value_width=max(part.value.shape[2] for part in parts),
            window=max(windows, default=None),
            sink=any(part.sink is not None for part in parts),
        )
        for part in parts
    ]

    def stacked(matrices: Iterable[Matrix | None]) -> Matrix | None:
        given = [matrix for matrix in matrices if matrix is not None]
        return np.concatenate(given) if given else None

    return AttentionMatrices(
        query=np.concatenate([part.query for part in padded]),
        key=np.concatenate([part.key for part in padded]),
        value=np.concatenate([part.value for part in padded]),
        output=np.concatenate([part.output for part in padded]),
        bias=stacked(part.bias for part in padded),
        sink=stacked(part.sink for part in padded),
    )


def no_feed_forward(width: int) -> FeedForwardMatrices:
    """A feed-forward that adds nothing, for a layer that is attention alone."""
    return FeedForwardMatrices(
        (np.zeros((0, width)), np.zeros((width, 0))), (np.zeros(0), np.zeros(width))
    )


def as_relu(matrices: FeedForwardMatrices) -> FeedForwardMatrices:
    """The same function with plain ReLUs: min(max(x, 0), 1) = relu(x) - relu(x - 1)."""
    weights, biases = [], []
    for place, (weight, bias) in enumerate(zip(matrices.weights, matrices.biases, strict=True)):
        if place > 0:
            weight = np.concatenate([weight, -weight], axis=1)
        if place < len(matrices.weights) - 1:
            weight = np.concatenate([weight, weight], axis=0)
            bias = np.concatenate([bias, bias - 1])
        weights.append(weight)
        biases.append(bias)
    return FeedForwardMatrices(tuple(weights), tuple(biases))


def pad_attention(
    given: AttentionMatrices,
    *,
    heads: int,
    key_width: int,
    value_width: int,
    window: int | None,
    sink: bool,
) -> AttentionMatrices:
    """The same attention with more heads, wider keys and values, and a wider window of offsets.

    Heads that are added have the value zero, so they add nothing to the stream. If other layers
    have sinks and this one has none, its sinks are minus infinity. Offsets that get an entry of
    their own keep the bias that they shared.
    """
    more = heads - given.heads
    keys, values = key_width - given.query.shape[2], value_width - given.value.shape[2]
    bias = given.bias
    if window is not None:
        bias = np.zeros((given.heads, 3)) if bias is None else bias
        wider = window - (bias.shape[1] - 3) // 2
        bias = np.pad(np.pad(bias, ((0, 0), (wider, wider)), mode="edge"), ((0, more), (0, 0)))
    sinks = np.full(given.heads, -np.inf) if given.sink is None else given.sink
    return AttentionMatrices(
        query=np.pad(given.query, ((0, more), (0, 0), (0, keys))),
        key=np.pad(given.key, ((0, more), (0, 0), (0, keys))),
        value=np.pad(given.value, ((0, more), (0, 0), (0, values))),
        output=np.pad(given.output, ((0, more), (0, values), (0, 0))),
        bias=bias,
        sink=np.pad(sinks, (0, more)) if sink else None,
    )


def pad_feed_forward(given: FeedForwardMatrices, hidden: tuple[int, ...]) -> FeedForwardMatrices:
    """The same feed-forward with more hidden layers, and more units in each.

    Units that are added are zero. Hidden layers that are added copy the one before them, which
    changes nothing: both ReLU and the clipped ReLU leave alone what they have given.
    """
    weights, biases = list(given.weights), list(given.biases)
    while len(biases) <= len(hidden):
        size = weights[-1].shape[1]
        weights.insert(-1, np.eye(size))
        biases.insert(-1, np.zeros(size))
    sizes = [weights[0].shape[1], *hidden, len(weights[-1])]
    for place, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        rows = sizes[place + 1] - weight.shape[0]
        weights[place] = np.pad(weight, ((0, rows), (0, sizes[place] - weight.shape[1])))
        biases[place] = np.pad(bias, (0, rows))
    return replace(given, weights=tuple(weights), biases=tuple(biases))
