"""Attention with linear biases (ALiBi, Press et al. 2021).

    s_ij - m_h (i - j)    m_h = 2^(-8 h / H), h = 1 .. H

added after scores are scaled. If H is not a power of two, the slopes of the next smaller power come
first, then every other slope of the next larger power. Encoders use |i - j|.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from weft.models.bias import ScoreBias
from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext
from weft.models.positions.base import PositionalEncoding


def alibi_slopes(heads: int) -> list[float]:
    """The slope of every head."""
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * head / power) for head in range(1, power + 1)]
    between = [2 ** (-4 * head / power) for head in range(1, 2 * power + 1, 2)]
    return slopes + between[: heads - power]


class Alibi(PositionalEncoding):
    """A penalty linear in the distance, with a slope per head."""

    slopes: Tensor

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        slopes = torch.tensor(self.schedule(), dtype=torch.float64)
        self.register_buffer("slopes", slopes, persistent=False)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Alibi:
        """Move slopes with the model, but keep them in float32 at least."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        wide = torch.float64 if self.slopes.dtype == torch.float64 else torch.float32
        self.slopes = torch.tensor(self.schedule(), dtype=wide, device=self.slopes.device)
        return self

    def schedule(self) -> list[float]:
        """The slope of every head."""
        return alibi_slopes(self.config.heads)

    def bias(self, context: AttentionContext) -> ScoreBias | None:
        return ScoreBias(slopes=self.slopes)
