"""Softmax attention.

    A_ij = exp(s_ij) / sum_l exp(s_il)    s_ij = q_i · k_j / sqrt(D) + bias

With an attention sink, the sum has one more term, exp of a learned number per head: a head for
which no key scores high attends to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from weft.models.attentions.base import AttentionMechanism, masked_weights
from weft.models.bias import ScoreBias
from weft.models.context import AttentionContext
from weft.models.kernels import softmax_attention

if TYPE_CHECKING:
    from jaxtyping import Float


class Softmax(AttentionMechanism):
    """Weights by the exponential of the score."""

    def weights(
        self,
        query: Tensor,
        key: Tensor,
        extra: Any,
        bias: ScoreBias | None,
        context: AttentionContext,
    ) -> Tensor:
        return masked_weights(self.scores(query, key, bias, context), self.visible(context))

    def fast(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        extra: Any,
        bias: ScoreBias | None,
        context: AttentionContext,
    ) -> Tensor | None:
        return softmax_attention(query, key, value, self.scale, bias, context, self.window)


def softmax_with_sink(
    scores: Float[Tensor, "batch heads queries keys"], sink: Float[Tensor, " heads"]
) -> Float[Tensor, "batch heads queries keys"]:
    """Softmax over keys and a sink, without the sink's own weight."""
    if not scores.shape[-1]:
        return scores  # an input without tokens
    sink = sink.to(scores.dtype)[None, :, None, None]
    highest = torch.maximum(scores.amax(-1, keepdim=True), sink)
    powers = (scores - highest).exp()
    return powers / (powers.sum(-1, keepdim=True) + (sink - highest).exp())
