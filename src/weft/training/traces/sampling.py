"""Which states trace supervision draws: as often as they occurred, uniformly, or by their errors.

A program is right on an input only if every state along its run is right. The mean loss hardly
depends on states that are rare among the distinct ones, as those in which addition writes a digit,
so they can stay wrong forever. Drawn by errors, state i of n is drawn with probability

    1 / (2 n)  +  e_i^4 / (2 sum_j e_j^4)

where e_i is the largest error of any dimension after the feed-forward, without noise. Errors are
measured every few steps, on all states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from weft.models.feed_forward import FeedForward
from weft.training.config import SampleBy
from weft.training.traces.vectors import VectorPairs

if TYPE_CHECKING:
    from jaxtyping import Float, Int

POWER = 4
"""Right states have small errors, but there are many of them: this power makes them small."""
LEAST_INTERVAL = 50
"""Errors are measured at most once per this many steps."""
CHUNK = 8192
"""Number of states whose errors are measured at a time."""


class StateSampler:
    """Draws numbers of states.

    Attributes:
        by_errors: whether `measure` has any effect.
        interval: number of steps between measurements of errors. Meanwhile at least half as many
            states are learned from as are measured, so measuring takes less time than learning.
        ends: cumulative probabilities of the states, if they are drawn by errors.
    """

    def __init__(self, pairs: VectorPairs, sample_by: SampleBy, batch: int) -> None:
        self.pairs, self.sample_by = pairs, sample_by
        self.by_errors = sample_by == "errors"
        self.interval = max(LEAST_INTERVAL, pairs.count // (2 * batch))
        uniform = torch.full((pairs.count,), 1 / pairs.count, dtype=torch.float64)
        self.ends = uniform.cumsum(0).to(pairs.device)

    def draw(self, size: int) -> Int[Tensor, " size"]:
        """The numbers of `size` random states."""
        if not self.by_errors:
            return self.pairs.draw(size, by_counts=self.sample_by == "counts")
        drawn = torch.rand(size, dtype=torch.float64, device=self.ends.device) * self.ends[-1]
        return torch.searchsorted(self.ends, drawn, right=True).clamp_(max=self.pairs.count - 1)

    def measure(self, feed_forward: FeedForward) -> None:
        """Set the probabilities by the errors of a feed-forward."""
        weights = largest_errors(feed_forward, self.pairs).double() ** POWER
        weights = 1 / len(weights) + weights / weights.sum().clamp_min(1e-300)
        self.ends.copy_(weights.cumsum(0) / 2)


@torch.no_grad()
def largest_errors(feed_forward: FeedForward, pairs: VectorPairs) -> Float[Tensor, " states"]:
    """For each state, the largest error of any dimension of the residual stream."""
    errors = []
    for index in torch.split(torch.arange(pairs.count, device=pairs.device), CHUNK):
        before, after = pairs.at(index)
        errors.append((before + feed_forward(before) - after).abs().amax(1))
    return torch.cat(errors)
