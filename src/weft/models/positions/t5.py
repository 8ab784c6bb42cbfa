"""T5's relative bias (Raffel et al. 2020).

    s_ij + b_h[bucket(i - j)]

Distances 0 to 15 have a bucket each; sixteen more, logarithmically spaced, reach to 128; the last
one holds all beyond. An encoder has half of the buckets for each side. The table is learned and
shared by all layers; the encoder of an encoder-decoder has its own. Buckets are computed once, in
float64, since rounding moves a logarithm across the border of two.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from weft.models.bias import ScoreBias
from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext
from weft.models.init import Initialisation, normal
from weft.models.positions.base import PositionalEncoding

BUCKETS = 32
MAX_DISTANCE = 128


def bucket(distance: int, buckets: int = BUCKETS) -> int:
    """The bucket of a distance, from 0."""
    near = buckets // 2
    if distance < near:
        return distance
    grown = math.log(distance / near) / math.log(MAX_DISTANCE / near) * (buckets - near)
    return min(buckets - 1, near + int(grown + 1e-12))


class T5(PositionalEncoding):
    """A learned bias per bucket of distances and head."""

    causal_buckets: Tensor
    side_buckets: Tensor

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.weight = nn.Parameter(torch.zeros(config.heads, BUCKETS))
        if config.kind == "encoder-decoder" and not config.encoder_position:
            self.encoder_weight = nn.Parameter(torch.zeros(config.heads, BUCKETS))
        for name, count in (("causal_buckets", BUCKETS), ("side_buckets", BUCKETS // 2)):
            buckets = [bucket(distance, count) for distance in range(MAX_DISTANCE + 1)]
            self.register_buffer(name, torch.tensor(buckets), persistent=False)

    def bias(self, context: AttentionContext) -> ScoreBias | None:
        if context.causal:
            return ScoreBias(table=self.weight[:, self.causal_buckets])
        weight = getattr(self, "encoder_weight", self.weight)
        distances = context.distances()
        buckets = self.side_buckets[distances.abs().clamp(max=MAX_DISTANCE)]
        pairs = weight[:, torch.where(distances < 0, buckets + BUCKETS // 2, buckets)]
        return ScoreBias(pairs=pairs if pairs.dim() == 3 else pairs.transpose(0, 1))

    def init_weights(self, init: Initialisation) -> None:
        for weight in self.parameters():
            normal(weight, 0.02)
