"""Softmax attention by fused kernels.

Without a bias, or with one that is written out, `scaled_dot_product_attention` applies on any
device; on a GPU few tokens have a kernel of their own. Biases on distances, windows and documents
are functions that FlexAttention fuses on a GPU; it cannot train on a CPU, where they are written
out instead.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from weft.models.bias import Bias
from weft.models.context import Scene
from weft.models.kernels.dispatch import HAS_TRITON, is_asked

FEW = 64
"""As many queries and keys fit into one tile."""


def softmax_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    bias: Bias | None,
    scene: Scene,
    window: int | None,
) -> Tensor | None:
    """What softmax attention finds, by a fused kernel."""
    if _is_short(query, key, value, scene, window):
        from weft.models.kernels.triton_short import short_attention

        added = None if bias is None else bias.dense(scene, torch.float32)
        return short_attention(
            query, key, value, scale, bias=added, valid=scene.valid, causal=scene.causal
        )
    if bias is None and window is None and scene.is_plain:
        if not scene.causal or scene.queries == scene.keys:
            return _sdpa(query, key, value, scale, scene.causal)
        if scene.queries == 1:
            return _sdpa(query, key, value, scale, False)
    if bias is not None and _is_told(query, value, bias, scene):
        from weft.models.kernels.triton_softmax import biased_attention

        slopes = None if bias.slopes is None else bias.slopes.float()
        documents = scene.documents
        return biased_attention(
            query, key, value, scale,
            slopes=slopes, table=bias.table, window=window, documents=documents,
        )  # fmt: skip
    if window in scene.blocks and (bias is None or (bias.pairs is None and bias.table is None)):
        from weft.models.kernels.flex import flex_softmax

        return flex_softmax(query, key, value, scale, bias, scene, window)
    added = None if bias is None else bias.dense(scene, query.dtype)
    seen = scene.visible(window)
    if seen is not None:
        hidden = torch.zeros_like(seen, dtype=query.dtype).masked_fill(~seen, float("-inf"))
        added = hidden if added is None else added + hidden
    return scaled_dot_product_attention(query, key, value, attn_mask=added, scale=scale)


def _is_short(query: Tensor, key: Tensor, value: Tensor, scene: Scene, window: int | None) -> bool:
    """Whether a head's pairs fit into one tile; single queries are not worth one."""
    whole = window is None and scene.documents is None and query.dtype != torch.float64
    several = 1 < query.shape[2] <= FEW and key.shape[2] <= FEW
    asked = is_asked(query, scene) and scene.backend in ("auto", "triton")
    return asked and whole and several and max(query.shape[-1], value.shape[-1]) <= 128


def _is_told(query: Tensor, value: Tensor, bias: Bias, scene: Scene) -> bool:
    """Whether the kernel with a bias on distances applies."""
    plain = scene.causal and scene.valid is None and scene.queries == scene.keys
    narrow = max(query.shape[-1], value.shape[-1]) <= 128 and query.dtype != torch.float64
    asked = HAS_TRITON and query.is_cuda and scene.backend == "auto"
    return bias.pairs is None and plain and scene.counted and narrow and asked


def forgetting_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    sums: Tensor,
    scale: float,
    bias: Bias | None,
    scene: Scene,
) -> Tensor | None:
    """What forgetting attention finds; `sums` (b h m) are those of the logarithms of the gates."""
    if _is_fused(query, value, sums, bias, scene):
        from weft.models.kernels.triton_softmax import biased_attention

        fading = _fading_of_keys(sums, bias, scene)
        return biased_attention(query, key, value, scale, sums=fading, documents=scene.documents)
    if query.is_cuda or query.dtype != sums.dtype:
        return None
    added = _fading(sums, bias, scene)
    return scaled_dot_product_attention(query, key, value, attn_mask=added, scale=scale)


def _fading(sums: Tensor, bias: Bias | None, scene: Scene) -> Tensor:
    """What is added to scores, all pairs written out (b h l m)."""
    mine = sums[..., scene.keys - scene.queries :].detach()  # rows of gradients sum to 0
    added = mine[..., :, None] - sums[..., None, :]
    dense = None if bias is None else bias.dense(scene, sums.dtype)
    added = added if dense is None else added + dense
    seen = scene.visible()
    return added if seen is None else added.masked_fill(~seen, float("-inf"))


def _is_fused(query: Tensor, value: Tensor, sums: Tensor, bias: Bias | None, scene: Scene) -> bool:
    """Whether there is a kernel."""
    plain = bias is None or (bias.table is None and bias.pairs is None)
    narrow = max(query.shape[-1], value.shape[-1]) <= 128 and sums.dtype == torch.float32
    alike = scene.causal and scene.queries == scene.keys
    return is_asked(query, scene) and plain and narrow and alike


def _fading_of_keys(sums: Tensor, bias: Bias | None, scene: Scene) -> Tensor:
    """Sums that count slopes too, which fade by the same at every step, and hide padding."""
    if bias is not None and bias.slopes is not None:
        places = scene.key_positions.to(sums.dtype).unsqueeze(-2)  # 1 m, or b 1 m
        sums = sums - bias.slopes.to(sums.dtype)[:, None] * places
    if scene.valid is not None:
        sums = sums.masked_fill(~scene.valid[:, None], float("inf"))
    return sums


def _sdpa(query: Tensor, key: Tensor, value: Tensor, scale: float, causal: bool) -> Tensor:
    return scaled_dot_product_attention(query, key, value, is_causal=causal, scale=scale)
