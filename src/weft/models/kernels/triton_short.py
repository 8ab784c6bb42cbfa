"""Softmax attention over short sequences, one tile per head and sequence, fused in Triton.

    o_i = sum_j P_ij v_j    P_i = softmax_j( scale q_i · k_j + a_ij )

a (h l m, or b h l m) is any dense bias, with gradient; keys may be masked as padding (`valid`, b m)
or, if `causal`, to the right of a query. A row without visible keys is 0.

PyTorch's kernels use tiles of 64 and need biases and masks as one aligned tensor over all pairs of
every sequence; for the twenty tokens of a small task that takes most of their time. Here all pairs
of a head fit into registers, so nothing is stored for the backward pass:

    forward    one program per head and sequence
    backward   recomputes P, dS = P (do vᵀ - sum_j P do vᵀ), and dq, dk, dv from one tile. A program
               goes through several sequences and sums dS for a bias that they share; PyTorch adds
               the sums of programs. There are no atomic additions: results are deterministic

This module imports Triton: import it where it is used.
"""
# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-def,untyped-decorator"
# mypy: allow-untyped-calls

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from weft.models.kernels.triton_tiles import (
    NEVER,
    empty_heads,
    empty_like_heads,
    interpreting,
    read_tile,
    rowed,
    widened,
    write_tile,
)

PROGRAMS = 512
"""Approximate number of programs that share a batch when they sum a bias's gradient."""


@triton.jit
def weights_of(
    q, k, bias, valid, strides, valid_stride, batch, head, queries, keys, scale,
    BIASED: tl.constexpr, PADDED: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
    L: tl.constexpr, M: tl.constexpr,
):  # fmt: skip
    """P of a head, L by M; rows without visible keys are 0."""
    rows, columns = tl.arange(0, L), tl.arange(0, M)
    inside = (rows[:, None] < queries) & (columns[None, :] < keys)
    scores = tl.dot(q, tl.trans(k), input_precision=PRECISION) * scale
    visible = inside
    if CAUSAL:
        visible = visible & (columns[None, :] <= rows[:, None] + keys - queries)
    if PADDED:
        real = tl.load(valid + batch.to(tl.int64) * valid_stride + columns, columns < keys, 0)
        visible = visible & (real != 0)[None, :]
    if BIASED:
        start = bias + batch.to(tl.int64) * strides[0] + head.to(tl.int64) * strides[1]
        places = start + rows[:, None] * strides[2] + columns[None, :] * strides[3]
        scores += tl.load(places, inside, 0.0).to(tl.float32)
    scores = tl.where(visible, scores, NEVER)
    powers = tl.where(visible, tl.exp(scores - tl.max(scores, 1)[:, None]), 0.0)
    total = tl.sum(powers, 1)
    return powers / tl.where(total > 0, total, 1.0)[:, None]


@triton.jit
def forward_kernel(
    query, key, value, bias, valid, out,
    q_strides, k_strides, v_strides, bias_strides, valid_stride, out_strides,
    heads, queries, keys, scale,
    BIASED: tl.constexpr, PADDED: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
    L: tl.constexpr, M: tl.constexpr, WIDTH: tl.constexpr, VALUES: tl.constexpr,
):  # fmt: skip
    """o of a head."""
    batch, head = tl.program_id(0) // heads, tl.program_id(0) % heads
    rows, columns = tl.arange(0, L), tl.arange(0, M)
    q = read_tile(query, q_strides, batch, head, rows, queries, WIDTH)
    k = read_tile(key, k_strides, batch, head, columns, keys, WIDTH)
    v = read_tile(value, v_strides, batch, head, columns, keys, VALUES)
    weights = weights_of(
        q, k, bias, valid, bias_strides, valid_stride, batch, head, queries, keys, scale,
        BIASED, PADDED, CAUSAL, PRECISION, L, M,
    )  # fmt: skip
    result = tl.dot(weights.to(v.dtype), v, input_precision=PRECISION)
    write_tile(out, out_strides, batch, head, rows, queries, result, VALUES)


@triton.jit
def backward_kernel(
    grad, query, key, value, bias, valid, dq, dk, dv, sums,
    g_strides, q_strides, k_strides, v_strides, bias_strides, valid_stride,
    dq_strides, dk_strides, dv_strides,
    sequences, programs, heads, queries, keys, scale,
    BIASED: tl.constexpr, PADDED: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
    L: tl.constexpr, M: tl.constexpr, WIDTH: tl.constexpr, VALUES: tl.constexpr,
):  # fmt: skip
    """dq, dk, dv of a head in every n-th sequence, and the sum of their dS."""
    first, head = tl.program_id(0) // heads, tl.program_id(0) % heads
    rows, columns = tl.arange(0, L), tl.arange(0, M)
    total = tl.zeros((L, M), tl.float32)
    for batch in range(first, sequences, programs):
        batch = first * 0 + batch  # a tensor in the interpreter too
        q = read_tile(query, q_strides, batch, head, rows, queries, WIDTH)
        k = read_tile(key, k_strides, batch, head, columns, keys, WIDTH)
        v = read_tile(value, v_strides, batch, head, columns, keys, VALUES)
        do = read_tile(grad, g_strides, batch, head, rows, queries, VALUES)
        weights = weights_of(
            q, k, bias, valid, bias_strides, valid_stride, batch, head, queries, keys, scale,
            BIASED, PADDED, CAUSAL, PRECISION, L, M,
        )  # fmt: skip
        result = tl.dot(tl.trans(weights.to(do.dtype)), do, input_precision=PRECISION)
        write_tile(dv, dv_strides, batch, head, columns, keys, result, VALUES)
        dp = tl.dot(do, tl.trans(v), input_precision=PRECISION)
        ds = weights * (dp - tl.sum(weights * dp, 1)[:, None])
        total += ds
        rounded = ds.to(k.dtype)
        result = tl.dot(rounded, k, input_precision=PRECISION) * scale
        write_tile(dq, dq_strides, batch, head, rows, queries, result, WIDTH)
        result = tl.dot(tl.trans(rounded), q, input_precision=PRECISION) * scale
        write_tile(dk, dk_strides, batch, head, columns, keys, result, WIDTH)
    if BIASED:
        start = sums + tl.program_id(0).to(tl.int64) * queries * keys
        inside = (rows[:, None] < queries) & (columns[None, :] < keys)
        tl.store(start + rows[:, None] * keys + columns[None, :], total, inside)


@torch.library.custom_op("weft::short_attention", mutates_args=())
def _forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    valid: Tensor | None,
    causal: bool,
    scale: float,
) -> Tensor:
    """o (b h l v)."""
    query, key, value = rowed((query, key, value))
    out: Tensor = _result(query, key, value)
    batch, heads, queries, _ = query.shape
    forward_kernel[(batch * heads,)](
        query, key, value, bias, valid, out,
        _strides(query), _strides(key), _strides(value), _of_bias(bias), _of_valid(valid),
        _strides(out), heads, queries, key.shape[2], scale,
        **_constants(query, key, value, bias, valid, causal),
    )  # fmt: skip
    return out


@_forward.register_fake
def _result(query: Tensor, key: Tensor, value: Tensor, *_: Any) -> Tensor:
    return empty_heads(query, value.shape[-1])


@torch.library.custom_op("weft::short_attention_backward", mutates_args=())
def _backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    valid: Tensor | None,
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """dq, dk, dv, and the bias's gradient, which is empty if there is no bias."""
    grad, query, key, value = rowed((grad, query, key, value))
    grads: tuple[Tensor, Tensor, Tensor, Tensor] = _results(grad, query, key, value, bias)
    dq, dk, dv, summed = grads
    batch, heads, queries, _ = query.shape
    keys = key.shape[2]
    shared = bias is not None and bias.dim() == 3
    programs = min(batch, max(1, PROGRAMS // heads)) if shared else batch
    sums = summed
    if shared:
        sums = summed.new_empty(programs, heads, queries, keys)
    backward_kernel[(programs * heads,)](
        grad, query, key, value, bias, valid, dq, dk, dv, sums,
        _strides(grad), _strides(query), _strides(key), _strides(value), _of_bias(bias),
        _of_valid(valid), _strides(dq), _strides(dk), _strides(dv),
        batch, programs, heads, queries, keys, scale,
        **_constants(query, key, value, bias, valid, causal),
    )  # fmt: skip
    if shared:
        torch.sum(sums, 0, out=summed)
    return grads


@_backward.register_fake
def _results(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, *_: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    summed = query.new_empty((0,) if bias is None else bias.shape, dtype=torch.float32)
    return *empty_like_heads(query, key, value), summed


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    *tensors, ctx.causal, ctx.scale = inputs
    ctx.save_for_backward(*tensors)


def _gradients(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    dq, dk, dv, summed = _backward(grad, *ctx.saved_tensors, ctx.causal, ctx.scale)
    bias = ctx.saved_tensors[3]
    return dq, dk, dv, None if bias is None else summed.to(bias.dtype), None, None, None


_forward.register_autograd(_gradients, setup_context=_setup)


def short_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    *,
    bias: Tensor | None = None,
    valid: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """Softmax attention over short sequences, with all keys in one tile.

    Args:
        query: b h l k; the last query is at the position of the last key.
        key: b h m k.
        value: b h m v.
        scale: factor of scores.
        bias: h l m or b h l m, added to scores.
        valid: b m, false for padding.
        causal: whether keys to the right are masked.
    """
    width = value.shape[-1]
    query, key, value = widened(query), widened(key), widened(value)
    result: Tensor = _forward(query, key, value, bias, valid, causal, scale)
    return result[..., :width]


def _strides(tensor: Tensor) -> tuple[int, ...]:
    return tensor.stride()[:3]


def _of_bias(bias: Tensor | None) -> tuple[int, ...]:
    """Strides b h l m; all sequences share a bias of three axes."""
    if bias is None:
        return (0, 0, 0, 0)
    return bias.stride() if bias.dim() == 4 else (0, *bias.stride())


def _of_valid(valid: Tensor | None) -> int:
    return 0 if valid is None else valid.stride(0)


def _constants(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    valid: Tensor | None,
    causal: bool,
) -> dict[str, Any]:
    """Compile-time constants of kernels; float32 products are as precise as PyTorch's own."""
    exact = torch.get_float32_matmul_precision() == "highest"
    rows, columns = (max(16, triton.next_power_of_2(x.shape[2])) for x in (query, key))
    return {
        "BIASED": bias is not None,
        "PADDED": valid is not None,
        "CAUSAL": causal,
        "PRECISION": "tf32x3" if exact and not interpreting() else "tf32",
        "L": rows,
        "M": columns,
        "WIDTH": query.shape[-1],
        "VALUES": value.shape[-1],
        "num_warps": 4 if rows * columns > 1024 else 2,
    }
