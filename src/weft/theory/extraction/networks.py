"""Feed-forwards as functions of the stream: with hidden units to read or, if deep, without.

With one hidden layer, a unit is a test on the stream and its column of W2 is what it writes. With
several, units test other units; such a feed-forward is compared only by what it adds to each state.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weft.errors import WeftError
from weft.interpreter.states import Ints, StateSet
from weft.theory.optimum.reconstruction import Floats

if TYPE_CHECKING:
    from weft.models.feed_forward import FeedForward
    from weft.models.slots import Layout

STATES_AT_ONCE = 1 << 12
"""How many states go through a feed-forward together."""


@dataclass(frozen=True, eq=False)
class HiddenLayer:
    """A feed-forward of one hidden layer as arrays: W2 σ(W1 z + b1) + b2."""

    first: Floats
    bias: Floats
    second: Floats
    output_bias: Floats
    clipped: bool

    @property
    def width(self) -> int:
        """The width of the stream."""
        return len(self.output_bias)

    @property
    def parts(self) -> tuple[Floats, ...]:
        """All weights and biases."""
        return self.first, self.bias, self.second, self.output_bias

    def hidden(self, vectors: Floats) -> Floats:
        """The activations of the units on each row of a stream."""
        return self.activate(vectors @ self.first.T + self.bias)

    def activate(self, before: Floats) -> Floats:
        """σ: ReLU, or ReLU clipped at 1."""
        return np.clip(before, 0.0, 1.0 if self.clipped else None)

    def added(self, vectors: Floats) -> Floats:
        """What the feed-forward adds to each row of a stream."""
        return self.hidden(vectors) @ self.second.T + self.output_bias


@dataclass(frozen=True, eq=False)
class DeepFeedForward:
    """A feed-forward in float64 whose units are not read, and the reason."""

    layer: FeedForward
    reason: str

    @property
    def width(self) -> int:
        """The width of the stream."""
        return int(self.layer.weights[0].shape[1])

    @property
    def parts(self) -> tuple[Floats, ...]:
        """All weights and biases."""
        return tuple(part.detach().numpy() for part in self.layer.parameters())

    def added(self, vectors: Floats) -> Floats:
        """What the feed-forward adds to each row of a stream."""
        import torch

        with torch.no_grad():
            added: Floats = self.layer(torch.from_numpy(vectors)).numpy()
        return added


def unreadable(feed_forward: FeedForward) -> str:
    """Why no rules can be read from a feed-forward; empty if they can.

    Units of a second hidden layer test units of the first and not the stream, and other
    activations have no level that means off.
    """
    depth = len(feed_forward.weights) - 1
    if depth == 1 and feed_forward.activation in ("clipped", "relu"):
        return ""
    layers = "one hidden layer" if depth == 1 else f"{depth} hidden layers"
    return (
        f"rules are read from one hidden layer of ReLUs, and this has {layers} "
        f"of '{feed_forward.activation}'"
    )


def hidden_layer(feed_forward: FeedForward) -> HiddenLayer:
    """The arrays of a feed-forward, which must have one hidden layer of (clipped) ReLUs."""
    if reason := unreadable(feed_forward):
        raise WeftError(
            reason,
            remedy="Train or compile it with activation relu or clipped, one hidden width, and "
            "categorical variables",
        )
    first, second = (weight.detach().double().cpu().numpy() for weight in feed_forward.weights)
    biases = [bias.detach().double().cpu().numpy() for bias in feed_forward.biases]
    bias, last = biases or [np.zeros(len(first)), np.zeros(len(second))]
    return HiddenLayer(first, bias, second, last, feed_forward.activation == "clipped")


def network_of(feed_forward: FeedForward) -> HiddenLayer | DeepFeedForward:
    """A feed-forward with its hidden units, if they can be read."""
    reason = unreadable(feed_forward)
    if not reason:
        return hidden_layer(feed_forward)
    return DeepFeedForward(copy.deepcopy(feed_forward).cpu().double(), reason)


def stream_vectors(layout: Layout, states: StateSet, width: int) -> Iterator[tuple[slice, Floats]]:
    """The vectors of states as a model's stream holds them, some rows at a time."""
    places = dimensions(layout, states)
    for start in range(0, len(states), STATES_AT_ONCE):
        part = slice(start, start + STATES_AT_ONCE)
        rows = states.take(part)
        vectors = np.zeros((len(rows), width))
        vectors[:, places] = rows.one_hot()
        yield part, vectors


def dimensions(layout: Layout, states: StateSet) -> Ints:
    """For each dimension of `StateSet.one_hot`, the dimension of the stream."""
    places: list[int] = []
    for name, variable in states.variables.items():
        slot = layout[name]
        if slot.size != len(variable):
            raise WeftError(
                f"'{name}' has {slot.size} dimensions in this layout and {len(variable)} values "
                "in the program",
                remedy="Give the layout of the same program, compiled at level 0",
            )
        places += range(slot.start, slot.start + slot.size)
    return np.array(places, np.int64)
