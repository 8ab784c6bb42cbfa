"""Softmax attention by fused kernels.

Without a bias, or with a dense one, `scaled_dot_product_attention` applies on any device; on a GPU
short sequences have a kernel of their own. FlexAttention fuses biases by distance, windows and
documents on a GPU; it cannot train on a CPU, where these become dense biases.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from weft.models.bias import ScoreBias
from weft.models.context import AttentionContext
from weft.models.kernels.dispatch import MAX_HEAD_WIDTH, triton_available

MAX_TILE = 64
"""Up to this many queries and keys fit into one tile."""


def softmax_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    bias: ScoreBias | None,
    context: AttentionContext,
    window: int | None,
) -> Tensor | None:
    """Softmax attention by a fused kernel."""
    if _short_kernel_applies(query, key, value, context, window):
        from weft.models.kernels.triton_short import short_attention

        added = None if bias is None else bias.dense(context, torch.float32)
        return short_attention(
            query, key, value, scale, bias=added, valid=context.valid, causal=context.causal
        )
    if bias is None and window is None and context.is_unmasked:
        if not context.causal or context.queries == context.keys:
            return _sdpa(query, key, value, scale, context.causal)
        if context.queries == 1:
            return _sdpa(query, key, value, scale, False)
    if bias is not None and _distance_kernel_applies(query, value, bias, context):
        from weft.models.kernels.triton_softmax import biased_attention

        slopes = None if bias.slopes is None else bias.slopes.float()
        documents = context.documents
        return biased_attention(
            query, key, value, scale,
            slopes=slopes, table=bias.table, window=window, documents=documents,
        )  # fmt: skip
    if window in context.blocks and (bias is None or (bias.pairs is None and bias.table is None)):
        from weft.models.kernels.flex import flex_softmax

        return flex_softmax(query, key, value, scale, bias, context, window)
    added = None if bias is None else bias.dense(context, query.dtype)
    visible = context.visible(window)
    if visible is not None:
        mask = torch.zeros_like(visible, dtype=query.dtype).masked_fill(~visible, float("-inf"))
        added = mask if added is None else added + mask
    return scaled_dot_product_attention(query, key, value, attn_mask=added, scale=scale)


def _short_kernel_applies(
    query: Tensor, key: Tensor, value: Tensor, context: AttentionContext, window: int | None
) -> bool:
    """Whether a head's pairs fit into one tile; single queries are not worth one."""
    if not triton_available(query, context) or context.backend not in ("auto", "triton"):
        return False
    plain = window is None and context.documents is None and query.dtype != torch.float64
    short = 1 < query.shape[2] <= MAX_TILE and key.shape[2] <= MAX_TILE
    return plain and short and max(query.shape[-1], value.shape[-1]) <= MAX_HEAD_WIDTH


def _distance_kernel_applies(
    query: Tensor, value: Tensor, bias: ScoreBias, context: AttentionContext
) -> bool:
    """Whether the kernel with a bias by distance applies."""
    if not triton_available(query, context) or context.backend not in ("auto", "triton"):
        return False
    plain = context.causal and context.valid is None and context.queries == context.keys
    narrow = max(query.shape[-1], value.shape[-1]) <= MAX_HEAD_WIDTH
    wide_type = query.dtype == torch.float64
    return bias.pairs is None and plain and context.consecutive and narrow and not wide_type


def forgetting_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    sums: Tensor,
    scale: float,
    bias: ScoreBias | None,
    context: AttentionContext,
) -> Tensor | None:
    """Forgetting attention; `sums` (b h m) are the cumulative sums of log gates."""
    if _forgetting_kernel_applies(query, value, sums, bias, context):
        from weft.models.kernels.triton_softmax import biased_attention

        fading = _key_fading(sums, bias, context)
        return biased_attention(query, key, value, scale, sums=fading, documents=context.documents)
    if query.is_cuda or query.dtype != sums.dtype:
        return None
    added = _fading(sums, bias, context)
    return scaled_dot_product_attention(query, key, value, attn_mask=added, scale=scale)


def _fading(sums: Tensor, bias: ScoreBias | None, context: AttentionContext) -> Tensor:
    """The bias of all pairs (b h l m)."""
    query_sums = sums[..., context.keys - context.queries :].detach()  # gradient rows sum to 0
    added = query_sums[..., :, None] - sums[..., None, :]
    dense = None if bias is None else bias.dense(context, sums.dtype)
    added = added if dense is None else added + dense
    visible = context.visible()
    return added if visible is None else added.masked_fill(~visible, float("-inf"))


def _forgetting_kernel_applies(
    query: Tensor, value: Tensor, sums: Tensor, bias: ScoreBias | None, context: AttentionContext
) -> bool:
    """Whether the kernel of forgetting attention applies."""
    plain = bias is None or (bias.table is None and bias.pairs is None)
    narrow = max(query.shape[-1], value.shape[-1]) <= MAX_HEAD_WIDTH
    narrow = narrow and sums.dtype == torch.float32
    square = context.causal and context.queries == context.keys
    return triton_available(query, context) and plain and narrow and square


def _key_fading(sums: Tensor, bias: ScoreBias | None, context: AttentionContext) -> Tensor:
    """Sums that also hold slopes, which fade by a constant per step, and that mask padding."""
    if bias is not None and bias.slopes is not None:
        places = context.key_positions.to(sums.dtype).unsqueeze(-2)  # 1 m, or b 1 m
        sums = sums - bias.slopes.to(sums.dtype)[:, None] * places
    if context.valid is not None:
        sums = sums.masked_fill(~context.valid[:, None], float("inf"))
    return sums


def _sdpa(query: Tensor, key: Tensor, value: Tensor, scale: float, causal: bool) -> Tensor:
    return scaled_dot_product_attention(query, key, value, is_causal=causal, scale=scale)
