"""Feed-forwards as functions of the stream: with units to read, or, if they are deep, without.

In one hidden layer a unit is a test on the stream, and what it writes is seen in its column. In
several, units test units. Such a feed-forward is only compared by what it adds to each state.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.theory.extraction.guards import Hidden
from weft.theory.extraction.rules import hidden_layer, unreadable
from weft.theory.optimum.reconstruction import Floats

if TYPE_CHECKING:
    from weft.models.feed_forward import FeedForward


@dataclass(frozen=True, eq=False)
class Deep:
    """A feed-forward in float64 whose units are not read, and why."""

    layer: FeedForward
    why: str

    @property
    def width(self) -> int:
        """How many dimensions the stream has."""
        return int(self.layer.weights[0].shape[1])

    @property
    def parts(self) -> tuple[Floats, ...]:
        """All weights and biases."""
        return tuple(part.detach().numpy() for part in self.layer.parameters())

    def added(self, vectors: Floats) -> Floats:
        """What it adds to each row of a stream."""
        import torch

        with torch.no_grad():
            found: Floats = self.layer(torch.from_numpy(vectors)).numpy()
        return found


def net_of(feed_forward: FeedForward) -> Hidden | Deep:
    """A feed-forward with units where they can be read."""
    why = unreadable(feed_forward)
    if not why:
        return hidden_layer(feed_forward)
    return Deep(copy.deepcopy(feed_forward).cpu().double(), why)
