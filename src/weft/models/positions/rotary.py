"""Rotary positions (RoPE, Su et al. 2021).

    q_t, k_t are turned: pair m of dimensions by the angle t w_m, w_m = 10000^(-2m / D)

so that the score of i and j depends on i - j. Pairs are halves: dimension m goes with m + D / 2.
Angles, sines and cosines are computed in float32 at least: angles in bfloat16 are garbage from a
few hundred positions on.
"""

from __future__ import annotations

import torch
from torch import Tensor

from weft.models.context import Scene
from weft.models.positions.base import Position

BASE = 10_000.0


class Rotary(Position):
    """Queries and keys turned by angles that grow with the position."""

    def turn(self, query: Tensor, key: Tensor, scene: Scene) -> tuple[Tensor, Tensor]:
        wide = torch.float64 if query.dtype == torch.float64 else torch.float32
        half = query.shape[-1] // 2
        steps = torch.arange(half, device=query.device, dtype=wide)
        angles = scene.positions[..., None].to(wide) * BASE ** (-steps / half)
        angles = angles if angles.dim() == 2 else angles[:, None]  # l k/2, or b 1 l k/2
        cosine, sine = angles.cos(), angles.sin()
        return _turned(query, cosine, sine), _turned(key, cosine, sine)


def _turned(vectors: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    first, second = vectors.to(cosine.dtype).chunk(2, -1)
    turned = torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1)
    return turned.to(vectors.dtype)
