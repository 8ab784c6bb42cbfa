"""PaTH in Triton, forward and backward, with memory linear in the length.

    s_ij = q_i^T H_i ... H_{j+1} k_j scale    H_l = I - beta_l w_l w_l^T

Tokens are cut into chunks of 64. With Q, K, W those of a chunk as rows, b = diag(beta) and
T = (I + tril(b W W^T, -1))^-1 b, for all chunks at once (`triton_path_chunks`; in plain PyTorch for
float32 and wide heads):

    Q' = Q - tril(Q W^T) T W                      queries, moved to the start of their chunk
    K' = K - tril(W K^T, -1)^T T^T W              keys, moved to the end of theirs
    R  = -W^T T W                                 the product over a chunk is I + R
    S  = tril(Q K^T) - tril(Q W^T) T tril(W K^T, -1)   scores within a chunk

Between chunks, for i in chunk a and j in c,

    s_ij = q'_i^T (I + R_{a-1}) ... (I + R_{c+1}) k'_j scale

**Forward.** A program processes a block of queries and goes through the chunks from right to left:
scores with a chunk's keys, a step of online softmax, then the queries are moved past the chunk,
q += q R. Queries are kept in float32, so that only increments are rounded: R, not I + R, has the
precision of the tensors.

**Backward.** Gradients of the queries come from the left, where the forward pass ends, and each
step needs the queries as they were there; they cannot be recomputed backwards, since I + R may be
singular. So a program goes once from right to left and stores its queries at each chunk in its own
buffer, and then from left to right. As many programs are started as run at once, each with many
blocks of queries in turn, so that buffers grow with the length only. Gradients of a chunk (dK', dV,
dR) are summed in float32 by atomic additions, in nondeterministic order.
"""
# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-def,untyped-decorator"
# mypy: allow-untyped-calls

from __future__ import annotations

import math
from typing import Any

import torch
import triton
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from weft.models.kernels.triton_path_chunks import path_chunks
from weft.models.kernels.triton_path_kernels import CHUNK, backward_kernel, forward_kernel
from weft.models.kernels.triton_tiles import (
    empty_heads,
    empty_like_heads,
    first_keys,
    interpreting,
    launched,
    rowed,
    shapes,
    sizes,
    widened,
)

LOG2E = math.log2(math.e)
MIN_WIDTH = 32
"""Of float32 heads: with a width of 16 and eight warps, code compiled by Triton 3.6 may read out of
bounds."""

_INPUTS = (
    "Tensor query, Tensor key, Tensor value, Tensor turns, Tensor inner, float scale,"
    " Tensor? queries, Tensor? keys"
)


@torch.library.custom_op("weft::path", mutates_args=(), schema=f"({_INPUTS}) -> (Tensor, Tensor)")
def _path(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    turns: Tensor,
    inner: Tensor,
    scale: float,
    queries: Tensor | None,
    keys: Tensor | None,
) -> tuple[Tensor, Tensor]:
    query, key, value = rowed([query, key, value])
    out, logs = _results(query, key, value)
    forward_kernel[launched(query)](
        query, query.stride(), key, key.stride(), value, value.stride(),
        turns.contiguous(), inner.contiguous(), out, out.stride(), logs,
        queries, keys, first_keys(queries, keys), scale * LOG2E,
        *sizes(query), **shapes(query, value, queries),
    )  # fmt: skip
    return out, logs


@_path.register_fake
def _results(query: Tensor, key: Tensor, value: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    logs = query.new_empty(query.shape[:3], dtype=torch.float32)
    return empty_heads(query, value.shape[-1]), logs


@torch.library.custom_op(
    "weft::path_backward",
    mutates_args=(),
    schema=f"(Tensor d_out, Tensor out, Tensor logs, {_INPUTS})"
    " -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
)
def _path_backward(
    d_out: Tensor,
    out: Tensor,
    logs: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    turns: Tensor,
    inner: Tensor,
    scale: float,
    queries: Tensor | None,
    keys: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    query, key, value, d_out, out = rowed([query, key, value, d_out, out])
    d_query, d_key, d_value, d_turns, d_inner = _gradients(
        d_out, out, logs, query, key, value, turns, inner
    )
    sums = [tensor.float().zero_() for tensor in (d_key, d_value, d_turns)]
    kept, counter, grid = _places(query)
    backward_kernel[grid](
        query, query.stride(), key, key.stride(), value, value.stride(),
        turns.contiguous(), inner.contiguous(), out, out.stride(), d_out, d_out.stride(), logs,
        d_query, d_query.stride(), sums[0], sums[0].stride(), sums[1], sums[1].stride(),
        sums[2], d_inner, queries, keys, first_keys(queries, keys), kept, counter,
        query.shape[0], scale * LOG2E, scale, *sizes(query), **shapes(query, value, queries),
    )  # fmt: skip
    for tensor, total in zip((d_key, d_value, d_turns), sums, strict=True):
        tensor.copy_(total)
    return d_query, d_key, d_value, d_turns, d_inner


@_path_backward.register_fake
def _gradients(
    d_out: Tensor,
    out: Tensor,
    logs: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    turns: Tensor,
    inner: Tensor,
    *_: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    heads = empty_like_heads(query, key, value)
    return *heads, turns.new_empty(turns.shape), inner.new_empty(inner.shape)


def _places(query: Tensor) -> tuple[Tensor, Tensor, Any]:
    """Buffers for stored queries, a counter of blocks taken, and the number of programs."""
    batch, heads, length, width = query.shape
    rows = batch * heads * triton.cdiv(length, 128) * 128
    if query.is_cuda:
        processors = torch.cuda.get_device_properties(query.device).multi_processor_count
        rows = min(rows, 128 * processors)
    kept = query.new_empty(rows * (length // CHUNK) * width)
    counter = torch.zeros(1, dtype=torch.int32, device=query.device)
    return kept, counter, lambda meta: (rows // meta["QUERIES"],)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    *tensors, ctx.scale, queries, keys = inputs
    ctx.save_for_backward(*output, *tensors, queries, keys)


def _differentiate(ctx: Any, d_out: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
    *tensors, queries, keys = ctx.saved_tensors
    results = _path_backward(d_out, *tensors, ctx.scale, queries, keys)
    return *results, None, None, None


_path.register_autograd(_differentiate, setup_context=_remember)


def _chunks(query: Tensor, key: Tensor, axes: Tensor, beta: Tensor) -> tuple[Tensor, ...]:
    """Q' and K' (b h l k), R (b h chunks k k) and S (b h l chunk); lengths are whole chunks."""
    narrow = query.dtype != torch.float32 or interpreting()
    if narrow and query.shape[-1] <= 64:
        results: tuple[Tensor, ...] = path_chunks(query, key, axes, beta, CHUNK)
    else:  # intermediate results are recomputed in the backward pass
        results = checkpoint(_chunked, query, key, axes, beta, use_reentrant=False)
    return results


def _chunked(
    query: Tensor, key: Tensor, axes: Tensor, beta: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The same, in any precision."""
    q, k, w = (tensor.to(axes.dtype).unflatten(2, (-1, CHUNK)) for tensor in (query, key, axes))
    b = beta.unflatten(2, (-1, CHUNK))
    among = (b[..., None] * (w @ w.mT)).tril(-1)
    solved = torch.linalg.solve_triangular(
        among, torch.diag_embed(b), upper=False, unitriangular=True
    )
    along_axes = (q @ w.mT).tril()
    held = solved @ (w @ k.mT).tril(-1)
    turned = solved @ w
    queries = (q - along_axes @ turned).flatten(2, 3)
    keys = (k - held.mT @ w).flatten(2, 3)
    inner = ((q @ k.mT).tril() - along_axes @ held).flatten(2, 3)
    turns = -(w.mT @ turned)
    return queries.to(query.dtype), keys.to(key.dtype), turns.to(query.dtype), inner


def _whole(tensor: Tensor) -> Tensor:
    """Pad with zeros to whole chunks (b h l k, b h l)."""
    missing = -tensor.shape[2] % CHUNK
    behind = (0, 0) * (tensor.dim() - 3)
    return torch.nn.functional.pad(tensor, (*behind, 0, missing)) if missing else tensor


def triton_path(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    axes: Tensor,
    beta: Tensor,
    scale: float,
    queries: Tensor | None = None,
    keys: Tensor | None = None,
) -> Tensor:
    """PaTH attention.

    Args:
        query: b h l k.
        key: b h l k.
        value: b h l v.
        axes: b h l k float32, of length 1.
        beta: b h l float32.
        scale: factor of scores.
        queries: b l int32, a number per token as a query; None if all attend to all before them.
        keys: b l int32, the same as a key; a query attends to the keys with its number.
    """
    length, width = value.shape[2:]
    lowest = MIN_WIDTH if query.dtype == torch.float32 else 16
    with torch.autocast(query.device.type, enabled=False):
        query, key, value, axes = (
            _whole(widened(tensor, lowest)) for tensor in (query, key, value, axes)
        )
        results = _chunks(query, key, axes, _whole(beta))
        if queries is not None and keys is not None:
            missing = value.shape[2] - length
            queries, keys = (
                torch.nn.functional.pad(tensor, (0, missing)) for tensor in (queries, keys)
            )
        result: Tensor = _path(
            results[0], results[1], value, results[2], results[3], scale, queries, keys
        )[0]
    return result[:, :, :length, :width]
