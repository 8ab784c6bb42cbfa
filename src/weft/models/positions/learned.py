"""Learned absolute positions.

    x_t = E[token_t] + P[t]

Rows of P that training never reaches stay random. `randomised` positions, or a random offset per
batch (`random_offset`), reach all rows.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext
from weft.models.init import Initialisation, normal
from weft.models.positions.base import PositionalEncoding


class Learned(PositionalEncoding):
    """A learned vector per position."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        assert config.positions is not None
        self.table = nn.Parameter(torch.zeros(config.positions, config.width))

    def embed(self, stream: Tensor, tokens: Tensor, context: AttentionContext) -> Tensor:
        return stream + self.table[context.positions]

    def init_weights(self, init: Initialisation) -> None:
        normal(self.table, init.embedding_std)
