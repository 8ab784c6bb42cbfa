"""T5's relative bias (Raffel et al. 2020).

    s_ij + b_h[bucket(i - j)]

Distances 0 to 15 have a bucket each; up to 128 sixteen more grow with the logarithm; all beyond
share the last. An encoder has the half of the buckets for each side. The table is learned, and
shared by all layers; the encoder of an encoder-decoder has one of its own. Buckets are found once,
in float64: a logarithm at the border of two rounds otherwise.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from weft.models.bias import Bias
from weft.models.config import TransformerConfig
from weft.models.context import Scene
from weft.models.drawing import normal
from weft.models.positions.base import Position

BUCKETS = 32
FARTHEST = 128


def bucket(distance: int, buckets: int = BUCKETS, farthest: int = FARTHEST) -> int:
    """The bucket of a distance from 0 on."""
    near = buckets // 2
    if distance < near:
        return distance
    grown = math.log(distance / near) / math.log(farthest / near) * (buckets - near)
    return min(buckets - 1, near + int(grown + 1e-12))


class T5(Position):
    """A learned bias for every bucket of distances and every head."""

    places: Tensor
    sides: Tensor

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.weight = nn.Parameter(torch.zeros(config.heads, BUCKETS))
        if config.kind == "encoder-decoder" and not config.encoder_position:
            self.encoder_weight = nn.Parameter(torch.zeros(config.heads, BUCKETS))
        for name, own in (("places", BUCKETS), ("sides", BUCKETS // 2)):
            found = [bucket(distance, own) for distance in range(FARTHEST + 1)]
            self.register_buffer(name, torch.tensor(found), persistent=False)

    def bias(self, scene: Scene) -> Bias | None:
        if scene.causal:
            return Bias(table=self.weight[:, self.places])
        weight = getattr(self, "encoder_weight", self.weight)
        distances = scene.distances()
        found = self.sides[distances.abs().clamp(max=FARTHEST)]
        pairs = weight[:, torch.where(distances < 0, found + BUCKETS // 2, found)]
        return Bias(pairs=pairs if pairs.dim() == 3 else pairs.transpose(0, 1))

    def initialise(self, embedded: float) -> None:
        for weight in self.parameters():
            normal(weight, 0.02)
