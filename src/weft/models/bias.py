"""Biases of attention scores that depend on the positions of query and key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from weft.models.context import AttentionContext

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True)
class ScoreBias:
    """A bias in one of three forms; kernels choose by form.

    Attributes:
        slopes: subtracted per unit of distance, for each head.
        table: one bias per distance from 0 on, the last for all beyond.
        pairs: one bias per pair of query and key.
    """

    slopes: Float[Tensor, " heads"] | None = None
    table: Float[Tensor, "heads distances"] | None = None
    pairs: Float[Tensor, "*batch heads queries keys"] | None = None

    def dense(
        self, context: AttentionContext, dtype: torch.dtype
    ) -> Float[Tensor, "*batch heads queries keys"] | None:
        """The bias of every pair."""
        total: Tensor | None = self.pairs
        if self.slopes is not None:
            distances = context.distances().abs().unsqueeze(-3)  # an axis for heads
            total = _plus(total, -self.slopes.to(dtype)[:, None, None] * distances)
        if self.table is not None:
            distances = context.distances().abs().clamp(max=self.table.shape[1] - 1)
            biases = self.table[:, distances]  # h l m, or h b l m
            total = _plus(total, biases if biases.dim() == 3 else biases.transpose(0, 1))
        return None if total is None else total.to(dtype)


def _plus(first: Tensor | None, second: Tensor) -> Tensor:
    return second if first is None else first + second
