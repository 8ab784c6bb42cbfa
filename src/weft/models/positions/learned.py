"""Learned absolute positions.

    x_t = E[token_t] + P[t]

Rows of P that training never reaches are noise. With `randomised` positions, or with an offset that
is drawn for every batch while training (`random_offset`), all rows are reached.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weft.models.config import TransformerConfig
from weft.models.context import Scene
from weft.models.drawing import normal
from weft.models.positions.base import Position


class Learned(Position):
    """A learned vector for every position."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        assert config.positions is not None
        self.table = nn.Parameter(torch.zeros(config.positions, config.width))

    def embed(self, stream: Tensor, tokens: Tensor, scene: Scene) -> Tensor:
        return stream + self.table[scene.positions]

    def initialise(self, embedded: float) -> None:
        normal(self.table, embedded)
