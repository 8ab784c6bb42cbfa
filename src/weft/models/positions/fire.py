"""FIRE: functional interpolation for relative positions (Li et al. 2023).

    s_ij + f_h( psi(i - j) / psi(max(L, i)) )    psi(x) = log(c x + 1)

f is a small network, 1 - 32 - H with ReLU; c and the threshold L are learned and kept positive. The
normaliser is at least psi(L), so that short sequences are not stretched. Ratios are computed in
float32 at least. Encoders use |i - j|. The bias depends on the pair, so it is stored in full, once
for all layers: H T^2 numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from weft.models.bias import ScoreBias
from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext
from weft.models.init import Initialisation, normal
from weft.models.positions.base import PositionalEncoding

HIDDEN = 32
THRESHOLD = 512.0
EPSILON = 1e-6


class Fire(PositionalEncoding):
    """A learned function of the ratio of distance to position."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.first = nn.Parameter(torch.zeros(HIDDEN))
        self.first_bias = nn.Parameter(torch.zeros(HIDDEN))
        self.second = nn.Parameter(torch.zeros(config.heads, HIDDEN))
        self.second_bias = nn.Parameter(torch.zeros(config.heads))
        self.c = nn.Parameter(torch.tensor(0.1))
        self.threshold = nn.Parameter(torch.tensor(1.0))

    def bias(self, context: AttentionContext) -> ScoreBias | None:
        wide = torch.float64 if self.c.dtype == torch.float64 else torch.float32
        distances = context.distances().abs().to(wide)
        place = context.positions.to(wide)[..., :, None]
        place = torch.maximum(place, (THRESHOLD * self.threshold).abs().to(wide))
        ratio = self._psi(distances) / (self._psi(place) + EPSILON)
        if torch.is_grad_enabled():  # recompute the hidden layer rather than keep it
            return ScoreBias(pairs=checkpoint(self._of_ratio, ratio, use_reentrant=False))
        return ScoreBias(pairs=self._of_ratio(ratio))

    def _of_ratio(self, ratio: Tensor) -> Tensor:
        """The network, on every pair: (b) h l m."""
        hidden = (ratio.to(self.first.dtype)[..., None] * self.first + self.first_bias).relu()
        return (hidden @ self.second.T + self.second_bias).movedim(-1, -3)

    def _psi(self, x: Tensor) -> Tensor:
        return (self.c.abs() * x + 1).log()

    def init_weights(self, init: Initialisation) -> None:
        normal(self.first, 1.0)
        nn.init.zeros_(self.first_bias)
        normal(self.second, 0.02)
        nn.init.zeros_(self.second_bias)
        nn.init.constant_(self.c, 0.1)
        nn.init.ones_(self.threshold)
