"""What no fused kernel of PyTorch can express: stick-breaking, entmax and PaTH, in Triton.

On a GPU, or in Triton's interpreter where the backend is `triton` and TRITON_INTERPRET=1, and for
texts that are read from left to right and all at once. Everywhere else the formulas are computed as
they stand.
"""

from __future__ import annotations

import torch
from torch import Tensor

from weft.models.bias import Bias
from weft.models.context import Scene
from weft.models.kernels.dispatch import is_asked

PRECISIONS = (torch.bfloat16, torch.float16, torch.float32)
WIDEST = 128
"""Of a head; tiles of wider ones do not fit."""

HIDDEN = -(2**31)
"""The number of a key that nobody sees."""


def stick_breaking_attention(
    query: Tensor, key: Tensor, value: Tensor, scale: float, scene: Scene
) -> Tensor | None:
    """What stick-breaking attention finds."""
    if not _applies(query, key, value, scene):
        return None
    from weft.models.kernels.triton_stick_breaking import triton_stick_breaking

    return triton_stick_breaking(query, key, value, scale, *_numbers(scene))


def entmax_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    alpha: float,
    scale: float,
    bias: Bias | None,
    scene: Scene,
) -> Tensor | None:
    """What entmax attention finds, for alpha = 1.5 and no bias but fixed slopes."""
    slopes = None if bias is None else bias.slopes
    if bias is not None and (slopes is None or bias.table is not None or bias.pairs is not None):
        return None
    learned = slopes is not None and slopes.requires_grad
    if alpha != 1.5 or learned or not _applies(query, key, value, scene):
        return None
    from weft.models.kernels.triton_entmax import triton_entmax

    positions = None
    if slopes is not None:
        slopes, positions = slopes.float(), scene.positions.float()
    queries, keys = _numbers(scene)
    return triton_entmax(query, key, value, scale, slopes, positions, queries, keys)


def path_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    axes: Tensor,
    beta: Tensor,
    scale: float,
    scene: Scene,
) -> Tensor | None:
    """What PaTH finds."""
    widest = WIDEST // 2 if query.dtype == torch.float32 else WIDEST
    if not _applies(query, key, value, scene, widest) or axes.dtype != torch.float32:
        return None
    from weft.models.kernels.triton_path import triton_path

    return triton_path(query, key, value, axes, beta, scale, *_numbers(scene))


def _applies(query: Tensor, key: Tensor, value: Tensor, scene: Scene, widest: int = WIDEST) -> bool:
    """Whether there is a kernel for what is asked."""
    if not is_asked(query, scene):
        return False
    alike = query.dtype == key.dtype == value.dtype and query.dtype in PRECISIONS
    narrow = max(query.shape[-1], value.shape[-1]) <= widest
    return alike and narrow and scene.causal and scene.queries == scene.keys == key.shape[2]


def _numbers(scene: Scene) -> tuple[Tensor | None, Tensor | None]:
    """b l int32 for queries and keys: a query sees the keys with its number. None: all of them."""
    documents, valid = scene.documents, scene.valid
    if documents is None:
        if valid is None:
            return None, None
        documents = torch.zeros_like(valid, dtype=torch.int32)
    numbers = documents.to(torch.int32)
    return numbers, numbers if valid is None else numbers.masked_fill(~valid, HIDDEN)
