"""Softmax attention by FlexAttention, on a GPU: with biases by distance, windows and documents."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from weft.models.bias import ScoreBias
from weft.models.context import AttentionContext


def flex_softmax(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    bias: ScoreBias | None,
    context: AttentionContext,
    window: int | None,
) -> Tensor:
    """Softmax attention; `bias` may only have slopes."""
    from torch.nn.attention.flex_attention import flex_attention

    mask = context.blocks.get(window)
    score_mod = _score_mod(bias, context)
    attend: Callable[..., Tensor] = flex_attention
    if not torch.compiler.is_compiling():
        attend = _compiled()
    return attend(query, key, value, score_mod=score_mod, block_mask=mask, scale=scale)


@lru_cache(maxsize=1)
def _compiled() -> Callable[..., Tensor]:
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention, dynamic=False)


def _score_mod(bias: ScoreBias | None, context: AttentionContext) -> Callable[..., Tensor] | None:
    """The function that adds the bias to a score."""
    if bias is None:
        return None
    positions, consecutive = context.positions, context.consecutive
    batched = positions.dim() == 2

    def distance(b: Tensor, i: Tensor, j: Tensor) -> Tensor:
        if consecutive:
            return (i - j).abs()
        here = positions[b, i] if batched else positions[i]
        there = positions[b, j] if batched else positions[j]
        return (here - there).abs()

    assert bias.slopes is not None
    slopes = bias.slopes.float()

    def sloped(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return score - slopes[h] * distance(b, i, j)

    return sloped


def block_masks(context: AttentionContext, windows: set[int | None]) -> dict[int | None, Any]:
    """Return the block mask for each window of the model's layers.

    They are created before the layers run, since compiled layers cannot create them.
    """
    if context.is_unmasked:
        length, device = context.keys, context.key_positions.device
        return {window: _shared_mask(length, context.causal, window, device) for window in windows}
    return {window: _batch_mask(context, window) for window in windows}


@lru_cache(maxsize=64)
def _shared_mask(length: int, causal: bool, window: int | None, device: torch.device) -> Any:
    """The mask of all sequences without padding or documents."""
    from torch.nn.attention.flex_attention import create_block_mask

    if not causal and window is None:
        return None
    return create_block_mask(_visible(causal, window), None, None, length, length, device=device)


def _batch_mask(context: AttentionContext, window: int | None) -> Any:
    """The mask of sequences with documents or padding."""
    from torch.nn.attention.flex_attention import create_block_mask

    in_order = _visible(context.causal, window)
    documents, valid = context.documents, context.valid

    def visible(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        allowed = in_order(b, h, i, j)
        if documents is not None:
            allowed = allowed & (documents[b, i] == documents[b, j])
        return allowed if valid is None else allowed & valid[b, j]

    rows = documents if documents is not None else valid
    assert rows is not None
    batch, length = rows.shape
    return create_block_mask(visible, batch, None, length, length, device=rows.device)


def _visible(causal: bool, window: int | None) -> Callable[..., Tensor]:
    def visible(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        allowed = i >= j if causal else i == i
        return allowed if window is None else allowed & ((i - j).abs() < window)

    return visible
