"""A learned bias per exact distance.

    s_ij + b_h[min(i - j, N - 1)]    N = positions

The table b is learned and shared by all layers; distances from N - 1 on share its last entry. An
encoder has a table per side, with distance 0 on the left; the encoder of an encoder-decoder has its
own. This is T5's bias without buckets, the most general bias that depends on the distance alone: a
head can single out "the token 37 back". It is the position term of the limit transformer (Huang et
al. 2025).

The table starts at zero, and entries that training never reaches stay there: at such distances a
head attends as if there were no bias. Choose N so that training reaches the last entry, which
stands for everything beyond, or above the longest test, so that none is needed. On a GPU the
gradient of the table takes H T min(N, T) numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weft.models.bias import ScoreBias
from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext
from weft.models.init import Initialisation
from weft.models.positions.base import PositionalEncoding


class DistanceBias(PositionalEncoding):
    """A learned bias per distance and head."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        assert config.positions is not None
        sides = 2 if config.kind == "encoder" else 1
        self.weight = nn.Parameter(torch.zeros(config.heads, sides * config.positions))
        if config.kind == "encoder-decoder" and not config.encoder_position:
            self.encoder_weight = nn.Parameter(torch.zeros(config.heads, 2 * config.positions))

    def bias(self, context: AttentionContext) -> ScoreBias | None:
        if context.causal:
            return ScoreBias(table=self.weight[:, : self._reach(context)])
        weight: Tensor = getattr(self, "encoder_weight", self.weight)
        distances, size = context.distances(), weight.shape[1] // 2
        entries = distances.abs().clamp(max=size - 1)
        pairs = weight[:, torch.where(distances < 0, entries + size, entries)]
        return ScoreBias(pairs=pairs if pairs.dim() == 3 else pairs.transpose(0, 1))

    def _reach(self, context: AttentionContext) -> int:
        """How many entries can be needed: a power of two, since kernels are compiled for each."""
        size = self.weight.shape[1]
        if not context.consecutive:
            return size
        return min(size, 1 << max(0, context.keys - 1).bit_length())

    def init_weights(self, init: Initialisation) -> None:
        for weight in self.parameters():
            nn.init.zeros_(weight)
