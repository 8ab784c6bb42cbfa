"""Softmax with scores that grow with the logarithm of the length (scalable softmax).

    A_i = softmax_j( s_h log(n_i) q_i · k_j / sqrt(D) + bias )

n_i is the number of keys that a query attends to: i + 1 in a decoder, the length in an encoder. So
attention does not fade as sequences grow: a score that wins among 100 wins among 10,000. s_h is
learned.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from weft.models.attentions.base import wide_dtype
from weft.models.attentions.softmax import Softmax
from weft.models.cache import LayerCache
from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext
from weft.models.init import Initialisation

INITIAL_GROWTH = 0.43


class LogScaled(Softmax):
    """Softmax of scores times the logarithm of the number of keys."""

    def __init__(self, config: TransformerConfig, number: int) -> None:
        super().__init__(config, number)
        self.growth = nn.Parameter(torch.full((config.heads,), INITIAL_GROWTH))

    def init_weights(self, init: Initialisation) -> None:
        nn.init.constant_(self.growth, INITIAL_GROWTH)

    def prepare(
        self,
        stream: Tensor,
        query: Tensor,
        key: Tensor,
        context: AttentionContext,
        cache: LayerCache | None,
    ) -> tuple[Tensor, Tensor, Any]:
        wide = wide_dtype(query)
        growth = self.growth.to(wide)[:, None] * self._counts(context).to(wide).log()[..., None, :]
        return query * growth[..., None].to(query.dtype), key, None

    def _counts(self, context: AttentionContext) -> Tensor:
        """The number of keys of each query (l or b l)."""
        device = context.positions.device
        if context.is_unmasked and context.causal:
            return torch.arange(context.keys - context.queries, context.keys, device=device) + 1
        visible = self.visible(context)
        if visible is None:
            return torch.full((context.queries,), context.keys, device=device)
        counts = visible.sum(-1).clamp(min=1)
        return counts if counts.dim() == 1 else counts[:, 0].expand(-1, context.queries)
