"""Rotary positions (RoPE, Su et al. 2021).

    q_t, k_t are rotated: pair m of dimensions by the angle t w_m, w_m = 10000^(-2m / D)

so that the score of i and j depends on i - j. Pairs are halves: dimension m goes with m + D / 2.
Angles, sines and cosines are computed in float32 at least: in bfloat16 angles are meaningless
beyond a few hundred positions.
"""

from __future__ import annotations

import torch
from torch import Tensor

from weft.models.context import AttentionContext
from weft.models.positions.base import PositionalEncoding

BASE = 10_000.0


class Rotary(PositionalEncoding):
    """Rotate queries and keys by angles proportional to the position."""

    def rotate(
        self, query: Tensor, key: Tensor, context: AttentionContext
    ) -> tuple[Tensor, Tensor]:
        wide = torch.float64 if query.dtype == torch.float64 else torch.float32
        half = query.shape[-1] // 2
        steps = torch.arange(half, device=query.device, dtype=wide)
        angles = context.positions[..., None].to(wide) * BASE ** (-steps / half)
        angles = angles if angles.dim() == 2 else angles[:, None]  # l k/2, or b 1 l k/2
        cosine, sine = angles.cos(), angles.sin()
        return _rotate(query, cosine, sine), _rotate(key, cosine, sine)


def _rotate(vectors: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    first, second = vectors.to(cosine.dtype).chunk(2, -1)
    rotated = torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1)
    return rotated.to(vectors.dtype)
