"""Alpha-entmax attention (Peters et al. 2019): weights that can be exactly zero.

    A_ij = [ (alpha - 1) s_ij - tau_i ]_+ ^ (1 / (alpha - 1))    tau_i such that the row sums to 1

alpha is 1.5 by default; towards 1 it becomes softmax, 2 is sparsemax. tau is found by Newton's
method, which approaches the root from below without overshooting if it starts below. With
z = (alpha - 1) s, it starts at the larger of max z - 1 and mean z - n^(1 - alpha), the mean taken
over the n keys with z > max z - 1; the second is near the root of flat rows, for which the first is
far off. 12 steps reach float64's precision on rows of 16,384, flat or not. The gradient needs no
steps: with u = A^(2 - alpha) on the support,

    dL/ds = u * (g - <u, g> / sum u)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from weft.models.attentions.base import AttentionMechanism, masked_weights
from weft.models.bias import ScoreBias
from weft.models.context import AttentionContext
from weft.models.kernels import entmax_attention

if TYPE_CHECKING:
    from jaxtyping import Float

NEWTON_STEPS = 12


class _Entmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, alpha: float) -> Tensor:
        power = 1 / (alpha - 1)
        scaled = scores * (alpha - 1)
        scaled = scaled - scaled.amax(-1, keepdim=True)
        tau = _lower_bound(scaled, alpha)
        for _ in range(NEWTON_STEPS):
            above = (scaled - tau).clamp(min=0)
            total = above.pow(power).sum(-1, keepdim=True) - 1
            slope = power * above.pow(power - 1).where(above > 0, 0.0).sum(-1, keepdim=True)
            tau = tau + total / slope
        weights = (scaled - tau).clamp(min=0).pow(power)
        weights = weights / weights.sum(-1, keepdim=True)
        ctx.save_for_backward(weights)
        ctx.alpha = alpha
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (weights,) = ctx.saved_tensors
        shares = weights.pow(2 - ctx.alpha).where(weights > 0, 0.0)
        mean = (shares * gradient).sum(-1, keepdim=True) / shares.sum(-1, keepdim=True)
        return shares * (gradient - mean), None


def _lower_bound(scaled: Tensor, alpha: float) -> Tensor:
    """A start below the threshold tau, for scores whose largest is 0."""
    near = scaled > -1
    count = near.sum(-1, keepdim=True).to(scaled.dtype)
    mean = scaled.where(near, 0.0).sum(-1, keepdim=True) / count
    return (mean - count ** (1 - alpha)).clamp(min=-1)


def entmax(
    scores: Float[Tensor, "*batch keys"], alpha: float = 1.5
) -> Float[Tensor, "*batch keys"]:
    """Alpha-entmax over the last axis; minus infinity has no weight."""
    weights: Tensor = _Entmax.apply(scores, alpha)  # type: ignore[no-untyped-call]
    return weights


class Entmax(AttentionMechanism):
    """Sparse weights: keys below a threshold get none."""

    def weights(
        self,
        query: Tensor,
        key: Tensor,
        extra: Any,
        bias: ScoreBias | None,
        context: AttentionContext,
    ) -> Tensor:
        scores = self.scores(query, key, bias, context)
        return masked_weights(
            scores, self.visible(context), lambda rows: entmax(rows, self.config.alpha)
        )

    def fast(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        extra: Any,
        bias: ScoreBias | None,
        context: AttentionContext,
    ) -> Tensor | None:
        return entmax_attention(query, key, value, self.config.alpha, self.scale, bias, context)
