"""Stick-breaking attention (Tan et al. 2024).

    A_ij = sigmoid(z_ij) prod_{j < l < i} (1 - sigmoid(z_il))    z_ij = q_i · k_j / sqrt(D), j < i

Each query breaks a stick from the right: the nearest key takes its share, the next one a share of
what is left. There is no softmax and no positional encoding: recency is built in. What no key takes
is dropped, so rows sum to at most 1 and the first row is 0. In logarithms

    log A_ij = z_ij - sum_{l = j .. i-1} softplus(z_il)

summed in float32 at least.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from weft.models.attentions.base import AttentionMechanism
from weft.models.bias import ScoreBias
from weft.models.context import AttentionContext
from weft.models.kernels import stick_breaking_attention


class StickBreaking(AttentionMechanism):
    """Every key takes a share of what nearer ones have left."""

    strict = True

    def weights(
        self,
        query: Tensor,
        key: Tensor,
        extra: Any,
        bias: ScoreBias | None,
        context: AttentionContext,
    ) -> Tensor:
        scores = self.scores(query, key, bias, context)
        visible = self.visible(context)
        assert visible is not None
        taken = torch.nn.functional.softplus(scores).masked_fill(~visible, 0.0)
        sums = taken.flip(-1).cumsum(-1).flip(-1)  # from key j on
        return (scores - sums).masked_fill(~visible, float("-inf")).exp()

    def fast(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        extra: Any,
        bias: ScoreBias | None,
        context: AttentionContext,
    ) -> Tensor | None:
        return stick_breaking_attention(query, key, value, self.scale, context)
