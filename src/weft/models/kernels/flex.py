"""Softmax attention by FlexAttention, on a GPU: biases, windows and documents as functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from weft.models.bias import Bias
from weft.models.context import Scene


def flex_softmax(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    bias: Bias | None,
    scene: Scene,
    window: int | None,
) -> Tensor:
    """What softmax attention finds; `bias` has slopes alone."""
    from torch.nn.attention.flex_attention import flex_attention

    mask = scene.blocks.get(window)
    scoring = _scoring(bias, scene)
    attend: Callable[..., Tensor] = flex_attention
    if not torch.compiler.is_compiling():
        attend = _compiled()
    return attend(query, key, value, score_mod=scoring, block_mask=mask, scale=scale)


@lru_cache(maxsize=1)
def _compiled() -> Callable[..., Tensor]:
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention, dynamic=False)


def _scoring(bias: Bias | None, scene: Scene) -> Callable[..., Tensor] | None:
    """What is added to a score, as a function of its place."""
    if bias is None:
        return None
    positions, counted = scene.positions, scene.counted
    batched = positions.dim() == 2

    def distance(b: Tensor, i: Tensor, j: Tensor) -> Tensor:
        if counted:
            return (i - j).abs()
        here = positions[b, i] if batched else positions[i]
        there = positions[b, j] if batched else positions[j]
        return (here - there).abs()

    assert bias.slopes is not None
    slopes = bias.slopes.float()

    def sloped(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return score - slopes[h] * distance(b, i, j)

    return sloped


def blocks_of(scene: Scene, windows: set[int | None]) -> dict[int | None, Any]:
    """Which blocks of pairs there are to compute, for every window that some layer has.

    Made before the layers run, since compiled layers cannot make them.
    """
    if scene.is_plain:
        length, device = scene.keys, scene.key_positions.device
        return {window: _plain_blocks(length, scene.causal, window, device) for window in windows}
    return {window: _own_blocks(scene, window) for window in windows}


@lru_cache(maxsize=64)
def _plain_blocks(length: int, causal: bool, window: int | None, device: torch.device) -> Any:
    """The same for all sequences."""
    from torch.nn.attention.flex_attention import create_block_mask

    if not causal and window is None:
        return None
    return create_block_mask(_seeing(causal, window), None, None, length, length, device=device)


def _own_blocks(scene: Scene, window: int | None) -> Any:
    """Where sequences have documents or padding of their own."""
    from torch.nn.attention.flex_attention import create_block_mask

    seeing = _seeing(scene.causal, window)
    documents, valid = scene.documents, scene.valid

    def seen(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        found = seeing(b, h, i, j)
        if documents is not None:
            found = found & (documents[b, i] == documents[b, j])
        return found if valid is None else found & valid[b, j]

    some = documents if documents is not None else valid
    assert some is not None
    batch, length = some.shape
    return create_block_mask(seen, batch, None, length, length, device=some.device)


def _seeing(causal: bool, window: int | None) -> Callable[..., Tensor]:
    def seen(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        found = i >= j if causal else i == i
        return found if window is None else found & ((i - j).abs() < window)

    return seen
