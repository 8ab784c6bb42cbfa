"""Softmax with scores that grow with the logarithm of the length (scalable softmax).

    A_i = softmax_j( s_h log(n_i) q_i · k_j / sqrt(D) + bias )

n_i is how many keys a query sees: i + 1 in a decoder, the length in an encoder. So attention does
not fade as sequences grow: a score that wins among 100 wins among 10,000. s_h is learned.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from weft.models.attentions.softmax import Softmax
from weft.models.cache import Memory
from weft.models.config import TransformerConfig
from weft.models.context import Scene

START = 0.43


class LogScaled(Softmax):
    """Softmax of scores times the logarithm of how many there are."""

    def __init__(self, config: TransformerConfig, number: int) -> None:
        super().__init__(config, number)
        self.growth = nn.Parameter(torch.full((config.heads,), START))

    def prepare(
        self, stream: Tensor, query: Tensor, key: Tensor, scene: Scene, memory: Memory | None
    ) -> tuple[Tensor, Tensor, Any]:
        wide = torch.float64 if query.dtype == torch.float64 else torch.float32
        growth = self.growth.to(wide)[:, None] * self._counts(scene).to(wide).log()[..., None, :]
        return query * growth[..., None].to(query.dtype), key, None

    def _counts(self, scene: Scene) -> Tensor:
        """How many keys each query sees: l, or b l."""
        device = scene.positions.device
        if scene.is_plain and scene.causal:
            return torch.arange(scene.keys - scene.queries, scene.keys, device=device) + 1
        seen = self.seen(scene)
        if seen is None:
            return torch.full((scene.queries,), scene.keys, device=device)
        counts = seen.sum(-1).clamp(min=1)
        return counts if counts.dim() == 1 else counts[:, 0].expand(-1, scene.queries)

    def initialise(self) -> None:
        nn.init.constant_(self.growth, START)
