"""Sinusoidal absolute positions (Vaswani et al. 2017).

    P[t, 2m] = sin(t w_m)    P[t, 2m + 1] = cos(t w_m)    w_m = 10000^(-2m / d)

Their root mean square is 0.7, against 0.02 for embeddings, so they are multiplied by a learned
scale that starts at d^(-1/2). Angles are computed in float32 at least; in bfloat16 they would be
noise.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext
from weft.models.init import Initialisation
from weft.models.positions.base import PositionalEncoding

BASE = 10_000.0


class Sinusoidal(PositionalEncoding):
    """Sines and cosines of many wavelengths, added to the embeddings."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.scale = nn.Parameter(torch.tensor(config.width**-0.5))

    def embed(self, stream: Tensor, tokens: Tensor, context: AttentionContext) -> Tensor:
        wide = torch.float64 if stream.dtype == torch.float64 else torch.float32
        width = self.config.width
        steps = torch.arange(0, width, 2, device=stream.device, dtype=wide)
        angles = context.positions[..., None].to(wide) * BASE ** (-steps / width)
        waves = torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)[..., :width]
        return stream + (self.scale * waves).to(stream.dtype)

    def init_weights(self, init: Initialisation) -> None:
        nn.init.constant_(self.scale, max(init.embedding_std, self.config.width**-0.5))
