"""Triton kernels for mechanisms that PyTorch has no fused kernel for: stick-breaking, entmax, PaTH.

They run on a GPU, or in Triton's interpreter, for causal attention with all tokens given at once.
Everything else is computed by the dense formulas.
"""

from __future__ import annotations

import torch
from torch import Tensor

from weft.models.bias import ScoreBias
from weft.models.context import AttentionContext
from weft.models.kernels.dispatch import MAX_HEAD_WIDTH, triton_available

PRECISIONS = (torch.bfloat16, torch.float16, torch.float32)
MASKED = -(2**31)
"""The document of keys that are masked for all queries."""


def stick_breaking_attention(
    query: Tensor, key: Tensor, value: Tensor, scale: float, context: AttentionContext
) -> Tensor | None:
    """Stick-breaking attention."""
    if not _applies(query, key, value, context):
        return None
    from weft.models.kernels.triton_stick_breaking import triton_stick_breaking

    return triton_stick_breaking(query, key, value, scale, *_document_numbers(context))


def entmax_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    alpha: float,
    scale: float,
    bias: ScoreBias | None,
    context: AttentionContext,
) -> Tensor | None:
    """Entmax attention, for alpha = 1.5 and no bias but fixed slopes."""
    slopes = None if bias is None else bias.slopes
    if bias is not None and (slopes is None or bias.table is not None or bias.pairs is not None):
        return None
    learned = slopes is not None and slopes.requires_grad
    if alpha != 1.5 or learned or not _applies(query, key, value, context):
        return None
    from weft.models.kernels.triton_entmax import triton_entmax

    positions = None
    if slopes is not None:
        slopes, positions = slopes.float(), context.positions.float()
    queries, keys = _document_numbers(context)
    return triton_entmax(query, key, value, scale, slopes, positions, queries, keys)


def path_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    axes: Tensor,
    beta: Tensor,
    scale: float,
    context: AttentionContext,
) -> Tensor | None:
    """PaTH attention."""
    max_width = MAX_HEAD_WIDTH // 2 if query.dtype == torch.float32 else MAX_HEAD_WIDTH
    if not _applies(query, key, value, context, max_width) or axes.dtype != torch.float32:
        return None
    from weft.models.kernels.triton_path import triton_path

    return triton_path(query, key, value, axes, beta, scale, *_document_numbers(context))


def _applies(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    context: AttentionContext,
    max_width: int = MAX_HEAD_WIDTH,
) -> bool:
    """Whether a kernel applies to these tensors."""
    if not triton_available(query, context):
        return False
    same_type = query.dtype == key.dtype == value.dtype and query.dtype in PRECISIONS
    narrow = max(query.shape[-1], value.shape[-1]) <= max_width
    return (
        same_type and narrow and context.causal and context.queries == context.keys == key.shape[2]
    )


def _document_numbers(context: AttentionContext) -> tuple[Tensor | None, Tensor | None]:
    """int32 (b l) for queries and keys: a query attends to keys of its number; None: to all."""
    documents, valid = context.documents, context.valid
    if documents is None:
        if valid is None:
            return None, None
        documents = torch.zeros_like(valid, dtype=torch.int32)
    numbers = documents.to(torch.int32)
    return numbers, numbers if valid is None else numbers.masked_fill(~valid, MASKED)
