"""Softmax attention by PyTorch's fused kernels.

Without a bias, or with one that is written out, `scaled_dot_product_attention` applies on any
device. Biases on distances, windows and documents are functions that FlexAttention fuses on a GPU;
it cannot train on a CPU, where they are written out instead.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from weft.models.bias import Bias
from weft.models.scene import Scene


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
    if bias is None and window is None and scene.is_plain:
        if not scene.causal or scene.queries == scene.keys:
            return _sdpa(query, key, value, scale, scene.causal)
        if scene.queries == 1:
            return _sdpa(query, key, value, scale, False)
    if query.is_cuda and scene.queries == scene.keys and (bias is None or bias.pairs is None):
        from weft.models.kernels.flex import flex_softmax

        return flex_softmax(query, key, value, scale, bias, scene, window)
    added = None if bias is None else bias.dense(scene, query.dtype)
    seen = scene.visible(window)
    if seen is not None:
        hidden = torch.zeros_like(seen, dtype=query.dtype).masked_fill(~seen, float("-inf"))
        added = hidden if added is None else added + hidden
    return scaled_dot_product_attention(query, key, value, attn_mask=added, scale=scale)


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
    return None


def _sdpa(query: Tensor, key: Tensor, value: Tensor, scale: float, causal: bool) -> Tensor:
    return scaled_dot_product_attention(query, key, value, is_causal=causal, scale=scale)
