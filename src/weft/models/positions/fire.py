"""FIRE: functional interpolation for relative positions (Li et al. 2023).

    s_ij + f_h( psi(i - j) / psi(max(L, i)) )    psi(x) = log(c x + 1)

f is a small network, 1 - 32 - H with ReLU; c and the threshold L are learned and kept positive. The
normaliser is at least psi(L): short sequences are not stretched. Shares are computed in float32 at
least. In an encoder |i - j| counts. The bias is a function of pairs and is written out in full,
once for all layers: H T^2 numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from weft.models.bias import Bias
from weft.models.config import TransformerConfig
from weft.models.context import Scene
from weft.models.drawing import normal
from weft.models.positions.base import Position

HIDDEN = 32
THRESHOLD = 512.0
LEAST = 1e-6


class Fire(Position):
    """A learned function of the distance as a share of the position."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.first = nn.Parameter(torch.zeros(HIDDEN))
        self.first_bias = nn.Parameter(torch.zeros(HIDDEN))
        self.second = nn.Parameter(torch.zeros(config.heads, HIDDEN))
        self.second_bias = nn.Parameter(torch.zeros(config.heads))
        self.c = nn.Parameter(torch.tensor(0.1))
        self.threshold = nn.Parameter(torch.tensor(1.0))

    def bias(self, scene: Scene) -> Bias | None:
        wide = torch.float64 if self.c.dtype == torch.float64 else torch.float32
        distances = scene.distances().abs().to(wide)
        place = scene.positions.to(wide)[..., :, None]
        place = torch.maximum(place, (THRESHOLD * self.threshold).abs().to(wide))
        share = self._psi(distances) / (self._psi(place) + LEAST)
        if torch.is_grad_enabled():  # the hidden layer is computed again rather than kept
            return Bias(pairs=checkpoint(self._of_share, share, use_reentrant=False))
        return Bias(pairs=self._of_share(share))

    def _of_share(self, share: Tensor) -> Tensor:
        """The network, on every pair: (b) h l m."""
        hidden = (share.to(self.first.dtype)[..., None] * self.first + self.first_bias).relu()
        return (hidden @ self.second.T + self.second_bias).movedim(-1, -3)

    def _psi(self, x: Tensor) -> Tensor:
        return (self.c.abs() * x + 1).log()

    def initialise(self, embedded: float) -> None:
        normal(self.first, 1.0)
        nn.init.zeros_(self.first_bias)
        normal(self.second, 0.02)
        nn.init.zeros_(self.second_bias)
        nn.init.constant_(self.c, 0.1)
        nn.init.ones_(self.threshold)
