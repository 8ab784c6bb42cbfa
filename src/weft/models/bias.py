"""What is added to the scores of a query and a key because of where they stand."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from weft.models.context import Scene


@dataclass(frozen=True)
class Bias:
    """A bias in one of a few forms, from which kernels choose what they can use.

    Attributes:
        slopes: h; minus the slope for every step of distance.
        table: h distances; a bias for every distance from 0 on, the last for all beyond.
        pairs: (b) h l m; anything.
    """

    slopes: Tensor | None = None
    table: Tensor | None = None
    pairs: Tensor | None = None

    def dense(self, scene: Scene, dtype: torch.dtype) -> Tensor | None:
        """All of it, h l m or b h l m."""
        total: Tensor | None = self.pairs
        if self.slopes is not None:
            distances = _headed(scene.distances().abs())
            total = _plus(total, -self.slopes.to(dtype)[:, None, None] * distances)
        if self.table is not None:
            distances = scene.distances().abs().clamp(max=self.table.shape[1] - 1)
            found = self.table[:, distances]  # h l m, or h b l m
            total = _plus(total, found if found.dim() == 3 else found.transpose(0, 1))
        return None if total is None else total.to(dtype)


def _headed(distances: Tensor) -> Tensor:
    """Distances (l m or b l m) with an axis for heads."""
    return distances.unsqueeze(-3)


def _plus(one: Tensor | None, other: Tensor) -> Tensor:
    return other if one is None else one + other
