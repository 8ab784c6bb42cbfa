"""Softmax attention.

    A_ij = exp(s_ij) / sum_l exp(s_il)    s_ij = q_i · k_j / sqrt(D) + bias

With a sink, the sum has one more summand, exp of a number that each head has: a head that finds
nothing attends to nothing.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from weft.models.attentions.base import Mixing, weighed
from weft.models.bias import Bias
from weft.models.context import Scene
from weft.models.kernels import softmax_attention


class Softmax(Mixing):
    """Weights by the exponential of the score."""

    def weights(
        self, query: Tensor, key: Tensor, extra: Any, bias: Bias | None, scene: Scene
    ) -> Tensor:
        return weighed(self.scores(query, key, bias, scene), self.seen(scene))

    def fast(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        extra: Any,
        bias: Bias | None,
        scene: Scene,
    ) -> Tensor | None:
        return softmax_attention(query, key, value, self.scale, bias, scene, self.window)


def with_sink(scores: Tensor, sink: Tensor) -> Tensor:
    """Softmax over keys and a sink (h), whose own weight is left out."""
    if not scores.shape[-1]:
        return scores  # an input without tokens
    sink = sink.to(scores.dtype)[None, :, None, None]
    most = torch.maximum(scores.amax(-1, keepdim=True), sink)
    powers = (scores - most).exp()
    return powers / (powers.sum(-1, keepdim=True) + (sink - most).exp())
