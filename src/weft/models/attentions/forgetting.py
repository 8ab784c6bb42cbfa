"""Forgetting attention (FoX, Lin et al. 2025).

    A_ij = softmax_j( q_i · k_j / sqrt(D) + sum_{l = j+1 .. i} log f_l )
    f_t = sigmoid(w_h · x_t + b_h)

With c_t = sum_{l <= t} log f_l the bias is c_i - c_j. c_i is constant along a row and cancels in
the softmax, so kernels need only a key bias of -c_j. c is summed in float32 at least: in bfloat16 a
sum over 4,096 tokens is off by up to 8. Sums start anew with each document of a row.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from weft.models.attentions.base import masked_weights, wide_dtype
from weft.models.attentions.softmax import Softmax
from weft.models.bias import ScoreBias
from weft.models.cache import LayerCache, append_to_cache
from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext, document_starts
from weft.models.init import Initialisation, normal
from weft.models.kernels import forgetting_attention


class Forgetting(Softmax):
    """Softmax with a forget gate per head that fades earlier tokens."""

    def __init__(self, config: TransformerConfig, number: int) -> None:
        super().__init__(config, number)
        self.gate = nn.Parameter(torch.zeros(config.heads, config.width))
        self.gate_bias = nn.Parameter(torch.zeros(config.heads))

    def init_weights(self, init: Initialisation) -> None:
        normal(self.gate, 0.02)
        nn.init.zeros_(self.gate_bias)

    def prepare(
        self,
        stream: Tensor,
        query: Tensor,
        key: Tensor,
        context: AttentionContext,
        cache: LayerCache | None,
    ) -> tuple[Tensor, Tensor, Any]:
        wide = wide_dtype(stream)
        gates = nn.functional.linear(stream, self.gate, self.gate_bias).to(wide)
        log_gates = nn.functional.logsigmoid(gates).transpose(1, 2)  # b h l
        if context.documents is not None:
            return query, key, _sums_within(log_gates, context.documents)
        sums = log_gates.cumsum(-1)
        if cache is not None and "sums" in cache:
            sums = sums + cache["sums"][..., -1:]
        return query, key, append_to_cache(cache, "sums", sums, -1)

    def weights(
        self,
        query: Tensor,
        key: Tensor,
        extra: Any,
        bias: ScoreBias | None,
        context: AttentionContext,
    ) -> Tensor:
        sums: Tensor = extra
        query_sums = sums[..., context.keys - context.queries :]
        fading = (query_sums[..., :, None] - sums[..., None, :]).to(sums.dtype)
        scores = self.scores(query, key, bias, context) + fading
        return masked_weights(scores, self.visible(context))

    def fast(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        extra: Any,
        bias: ScoreBias | None,
        context: AttentionContext,
    ) -> Tensor | None:
        return forgetting_attention(query, key, value, extra, self.scale, bias, context)


def _sums_within(log_gates: Tensor, documents: Tensor) -> Tensor:
    """Cumulative sums (b h l) from the start of each document, in the precision of the gates.

    They are taken from sums over the whole row in float64, so that rounding does not depend on
    earlier documents. What is subtracted is constant in a document and has no gradient.
    """
    sums = log_gates.double().cumsum(-1)
    starts = document_starts(documents)[:, None].expand_as(sums)
    before = (sums - log_gates).detach().gather(-1, starts)
    return (sums - before).to(log_gates.dtype)
