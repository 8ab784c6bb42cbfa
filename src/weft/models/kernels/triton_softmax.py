"""Softmax attention with a bias, fused in Triton: FoX, slopes, T5's table, windows, documents.

    o_i = sum_j P_ij v_j    P_i = softmax_j( scale q_i · k_j + u_i - u_j + t_h[i - j] )
    u_t = c_t - slope_h t

over first_i <= j <= i. c (b h l, float32) are cumulative sums of log gates; `firsts` (b l) say
where the window or the document of a query begins. u_i is constant along a row and cancels in the
softmax; it is kept because u_i - u_j is small for pairs with large weights.

Distances beyond a table share its last bias, which may be taken as 0: only the few blocks near the
diagonal look up t. dS of near pairs is stored, a row per query and a column per distance, and
summed afterwards: atomic additions to so few numbers would serialise.

The bias on keys costs one addition per score: each pass fixes a block of queries or of keys, takes
u relative to one token of it, and adds the keys' part as a vector over columns. Differences of c
are taken in float32 first: c reaches thousands, and only differences of neighbours matter. Scores
are in units of log2, for exp2. The passes:

    forward   a block of queries, over keys, with running maximum and sum: o, and L_i, the log2 of
              the sum of 2^(scores with u_i), so that P_ij can be recomputed from i and j
    rows      D_i = sum_d do_id o_id, and L_i without u_i as seen from a token nearby
    dkv       a block of keys, over queries: dv_j = sum_i P_ij do_i,
              dS_ij = P_ij (do_i · v_j - D_i), dk_j = scale sum_i dS_ij q_i and
              dc_j = -sum_i dS_ij, which is nearly free here. Scores are transposed (keys by
              queries), so that P and dS multiply without leaving registers
    dq        a block of queries, over keys: dq_i = scale sum_j dS_ij k_j

Rows of dS sum to 0, so c should have no gradient through u_i. In bfloat16 they do not quite, since
D is computed from rounded o and P. A gate's gradient is a sum of dc over all later tokens, in which
these remainders would add up to a fifth of it. So if there are gates, the rounding error of o is
stored too, and the remaining sums are subtracted for groups of rows together: sums per row took a
quarter of the whole pass, sums per group are a by-product of dc.

The dkv pass also sums dq, by atomic additions in float32, which costs 5 products where two passes
cost 7, in nondeterministic order. If PyTorch is set to be deterministic, the dq pass computes it
instead, and the sums of rows.

Masked blocks are skipped, and only those at the edges (diagonal, window, document) need masks: each
pass loops over them and over the rest separately. A key whose c is +inf (padding) is masked for
all; a row without visible keys is 0 and has L = +inf. Nothing of size l x l is stored.

This module imports Triton: import it where it is used.
"""
# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-def,untyped-decorator"
# mypy: allow-untyped-calls

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor

from weft.models.context import document_starts
from weft.models.kernels.triton_softmax_kernels import (
    dkv_kernel,
    dq_kernel,
    forward_kernel,
    rows_kernel,
)
from weft.models.kernels.triton_softmax_parts import GROUP, LARGEST, LOG2E, bucket_of
from weft.models.kernels.triton_tiles import empty_heads, empty_like_heads, widened


@torch.library.custom_op("weft::biased_attention", mutates_args=())
def _forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    sums: Tensor | None,
    slopes: Tensor | None,
    table: Tensor | None,
    firsts: Tensor | None,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """o (b h l v), L (b h l), and the rounding error of o, if there are gates."""
    query, key, value = _dense(query), _dense(key), _dense(value)
    result: tuple[Tensor, Tensor, Tensor] = _forward_shapes(query, key, value, sums)
    out, logs, rest = result
    heads, length = query.shape[1:3]
    forward_kernel[_grid("ROWS", query)](
        query, key, value, sums, slopes, table, firsts, out, _some(rest), logs,
        *_strides(query, key, value, out), *_pair(sums), _first_stride(firsts),
        heads, length, scale * LOG2E.value, bucket_of(query), **_constants(query, value, table),
    )  # fmt: skip
    return result


@_forward.register_fake
def _forward_shapes(
    query: Tensor, key: Tensor, value: Tensor, sums: Tensor | None, *_: Any
) -> tuple[Tensor, Tensor, Tensor]:
    logs = query.new_empty(query.shape[:3], dtype=torch.float32)
    rounded = sums is not None and query.dtype != torch.float32
    rest = empty_heads(query, value.shape[-1]) if rounded else query.new_empty(0)
    return empty_heads(query, value.shape[-1]), logs, rest


@torch.library.custom_op("weft::biased_attention_backward", mutates_args=())
def _backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    sums: Tensor | None,
    slopes: Tensor | None,
    table: Tensor | None,
    firsts: Tensor | None,
    out: Tensor,
    logs: Tensor,
    rest: Tensor,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """dq, dk, dv, dc (b h l) and dt (h n); the last two are empty if there is no c or t."""
    grad, query, key, value = _dense(grad), _dense(query), _dense(key), _dense(value)
    grads: tuple[Tensor, Tensor, Tensor, Tensor, Tensor] = _backward_shapes(
        grad, query, key, value, sums, slopes, table
    )
    dq, dk, dv, dc, dt = grads
    delta, relative = _of_rows(out, rest, grad, logs, sums, slopes)
    inputs = (query, key, value, sums, slopes, table, firsts)
    strides = _strides(query, key, value, grad)
    sizes = (*_pair(sums), _first_stride(firsts), query.shape[1], query.shape[2])
    numbers = (scale * LOG2E.value, scale, bucket_of(query))
    constants = _constants(query, value, table)
    fixed = torch.are_deterministic_algorithms_enabled()
    added = None if fixed else _zeros(query, query.shape[2], query.shape[-1])
    groups = None if fixed or sums is None else _zeros(query, _count(query, GROUP), LARGEST.value)
    near = None if table is None else _zeros(query, query.shape[2], table.shape[1])
    dkv_kernel[_grid("COLS", query)](
        *inputs, _lasts(firsts), grad, relative, delta, dk, dv, dc, added, groups, near,
        *strides, *_strides(dk, dv), *sizes, *numbers, **constants, GROUP=GROUP,
    )  # fmt: skip
    if near is not None:
        torch.sum(near, (0, 2), out=dt)
    if added is not None:
        torch.mul(added, scale, out=dq)
        if groups is not None:
            dc.add_(_spread(groups, dc))
        return grads
    row_sums = None if sums is None else torch.empty_like(logs)
    dq_kernel[_grid("ROWS", query)](
        *inputs, grad, logs, delta, dq, row_sums,
        *strides, *_strides(dq), *sizes, *numbers, **constants,
    )  # fmt: skip
    if row_sums is not None:
        dc.add_(row_sums)
    return grads


@_backward.register_fake
def _backward_shapes(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    sums: Tensor | None,
    slopes: Tensor | None,
    table: Tensor | None,
    *_: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    dc = query.new_empty((0,) if sums is None else query.shape[:3], dtype=torch.float32)
    dt = query.new_empty((0,) if table is None else table.shape, dtype=torch.float32)
    return *empty_like_heads(query, key, value), dc, dt


def _setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    *tensors, ctx.scale = inputs
    ctx.save_for_backward(*tensors, *output)
    ctx.set_materialize_grads(False)


def _gradients(ctx: Any, grad: Tensor | None, *_: Tensor | None) -> tuple[Tensor | None, ...]:
    if grad is None:
        return (None,) * 8
    dq, dk, dv, dc, dt = _backward(grad, *ctx.saved_tensors, ctx.scale)
    sums, _, table = ctx.saved_tensors[3:6]
    return dq, dk, dv, None if sums is None else dc, None, None if table is None else dt, None, None


_forward.register_autograd(_gradients, setup_context=_setup)


def biased_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    sums: Tensor | None = None,
    slopes: Tensor | None = None,
    table: Tensor | None = None,
    window: int | None = None,
    documents: Tensor | None = None,
) -> Tensor:
    """Causal softmax attention with scores scale q_i · k_j - slope (i - j) + c_i - c_j + t[i - j].

    Args:
        query: b h l k, in float32, float16 or bfloat16; k and v up to 128.
        key: b h l k.
        value: b h l v.
        scale: factor of q_i · k_j.
        sums: c, b h l in float32; +inf for a masked key. Has a gradient.
        slopes: h, in float32. Has no gradient.
        table: t, h n, for distances from 0; the last is for all beyond. Has a gradient.
        window: attend only to this many tokens, the query's own included.
        documents: b l; tokens attend only within their run of equal numbers.

    Returns:
        The output, b h l v, laid out as b l h v.
    """
    width = value.shape[-1]
    query, key, value = widened(query), widened(key), widened(value)
    if sums is not None and sums.stride(2) != 1:
        sums = sums.contiguous()
    if table is not None:
        table = (table[:, :-1] - table[:, -1:]).float().contiguous()
    firsts = _firsts(query, window, documents)
    result: Tensor = _forward(query, key, value, sums, slopes, table, firsts, scale)[0]
    return result[..., :width]


def _firsts(query: Tensor, window: int | None, documents: Tensor | None) -> Tensor | None:
    """The first key of each query (b l, or 1 l for all); None if it is always key 0."""
    if window is None and documents is None:
        return None
    places = torch.arange(query.shape[2], device=query.device)
    firsts = (places - (query.shape[2] if window is None else window) + 1).clamp(min=0)[None]
    if documents is not None:
        firsts = torch.maximum(firsts, document_starts(documents))
    return firsts.int()


def _lasts(firsts: Tensor | None) -> Tensor | None:
    """The last query that attends to each key."""
    if firsts is None:
        return None
    places = torch.arange(firsts.shape[1], device=firsts.device, dtype=torch.int32)
    result = torch.searchsorted(firsts, places.expand_as(firsts).contiguous(), right=True)
    return (result - 1).int()


def _of_rows(
    out: Tensor,
    rest: Tensor,
    grad: Tensor,
    logs: Tensor,
    sums: Tensor | None,
    slopes: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """D, and L relative to groups (b h l)."""
    batch, heads, length, width = out.shape
    delta, relative = torch.empty_like(logs), torch.empty_like(logs)
    rows_kernel[(triton.cdiv(length, GROUP) * batch * heads,)](
        out, _some(rest), grad, logs, sums, slopes, delta, relative,
        *_strides(out, grad), *_pair(sums), heads, length, DV=width, GROUP=GROUP,
    )  # fmt: skip
    return delta, relative


def _some(tensor: Tensor) -> Tensor | None:
    """None for an empty tensor: operators cannot return None."""
    return tensor if tensor.numel() else None


def _zeros(query: Tensor, count: int, width: int) -> Tensor:
    """An accumulator per head (b h count width)."""
    return torch.zeros(*query.shape[:2], count, width, dtype=torch.float32, device=query.device)


def _count(query: Tensor, block: int) -> int:
    """The number of blocks of a sequence."""
    return -(-query.shape[2] // block)


def _spread(groups: Tensor, like: Tensor) -> Tensor:
    """Sums of groups of rows (b h groups n), shared equally among their rows (b h l)."""
    return (groups.sum(-1) / GROUP).repeat_interleave(GROUP, -1)[..., : like.shape[-1]]


def _dense(tensor: Tensor) -> Tensor:
    """The same tensor with contiguous rows aligned to 16 bytes."""
    step = 16 // tensor.element_size()
    aligned = all(stride % step == 0 for stride in tensor.stride()[:3])
    return tensor if tensor.stride(3) == 1 and aligned else tensor.contiguous()


def _strides(*tensors: Tensor) -> tuple[int, ...]:
    return tuple(stride for tensor in tensors for stride in tensor.stride()[:3])


def _pair(sums: Tensor | None) -> tuple[int, int]:
    return (0, 0) if sums is None else (sums.stride(0), sums.stride(1))


def _first_stride(firsts: Tensor | None) -> int:
    """The stride between sequences; 0 if all share one row."""
    return 0 if firsts is None or firsts.shape[0] == 1 else firsts.stride(0)


def _grid(block: str, query: Tensor) -> Any:
    """A program per block of each head, those of one head adjacent."""
    batch, heads, length, _ = query.shape
    return lambda chosen: (triton.cdiv(length, chosen[block]) * batch * heads,)


def _constants(query: Tensor, value: Tensor, table: Tensor | None) -> dict[str, Any]:
    """Compile-time constants of kernels; float32 products are as precise as PyTorch's own."""
    exact = torch.get_float32_matmul_precision() == "highest"
    return {
        "DK": query.shape[-1],
        "DV": value.shape[-1],
        "NEAR": 0 if table is None else table.shape[1],
        "EVEN": query.shape[2] % LARGEST.value == 0,
        "PRECISION": "tf32x3" if exact else "tf32",
    }
