"""Stick-breaking attention in Triton, forward and backward, with memory linear in the length.

    log2 A_ij = y_ij - sum_{l = j .. i-1} p_il        y = log2(e) q_i · k_j scale,  j < i
    p = log2(1 + 2^y)

**Forward.** A program processes a block of queries and goes through blocks of keys from right to
left, carrying the sum of p so far for every query. Sums within a block are a product with a
triangle of ones, on the tensor cores: p is split into two numbers of 8 bits each, whose products
with ones are exact, so that the sum has an error of 2^-17; into three for float32, with 2^-25. The
carry is summed in float32.

The rest of the stick is 2^-carry. Once it is below 2^-32 for all queries of a block, it is below
float32's resolution at 1, and the program stops: with initial weights after some dozens of keys. It
stores per query where it stopped and its carry.

**Backward.** With G_ij = do_i · v_j and W = A * G,

    dy_ij = W_ij - sigmoid(y_ij) sum_{l <= j} W_il

The sum runs from the left and is mostly small there: as a difference of sums from the right it
would be lost in rounding. So a program with a block of queries goes from left to right, from where
the forward pass stopped, and computes the sums of p to the right of a block as the total less those
to the left. Queries need the carry along a row, so no program can own a block of keys: dk and dv
are summed in float32 by atomic additions, in nondeterministic order.
"""
# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-def,untyped-decorator"

from __future__ import annotations

import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language.extra.cuda.libdevice import fast_log2f

from weft.models.kernels.triton_tiles import (
    NEVER,
    empty_heads,
    empty_like_heads,
    first_keys,
    interpreting,
    launched,
    part,
    read_tile,
    rowed,
    shapes,
    sizes,
    tile,
    tuned,
    widened,
    write_tile,
)

LOG2E = math.log2(math.e)

ENOUGH = tl.constexpr(32.0)
"""A stick with 2^-32 left is used up."""

STRIDE = tl.constexpr(4)
"""Blocks of keys between checks of whether sticks are used up."""

FORWARD = ((64, 64, 4, 3), (128, 64, 8, 3), (128, 32, 4, 3), (64, 32, 4, 3))
BACKWARD = ((64, 32, 4, 2), (64, 64, 4, 2), (128, 32, 8, 2), (128, 64, 8, 2))


@triton.jit
def _summed(values, triangle, PART: tl.constexpr, FAST: tl.constexpr):
    """values @ triangle of zeros and ones; with 16 bits of each value if fast, else 24."""
    high = values.to(PART)
    rest = values - high.to(tl.float32)
    low = rest.to(PART)
    result = tl.dot(low, triangle, tl.dot(high, triangle))
    if FAST:
        return result
    else:
        return tl.dot((rest - low.to(tl.float32)).to(PART), triangle, result)


@triton.jit
def _softplus(y, FAST: tl.constexpr):
    """log2(1 + 2^y); with an error of 2^-22 if fast."""
    more = 1.0 + tl.exp2(-tl.abs(y))
    if FAST:
        return tl.maximum(y, 0.0) + fast_log2f(more)
    else:
        return tl.maximum(y, 0.0) + tl.log2(more)


@tuned(FORWARD)
@triton.jit(do_not_specialize=["long"])
def _forward(
    query, query_at, key, key_at, value, value_at, out, out_at, total, stop,
    query_numbers, key_numbers, first, scale, heads, length, long,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, DOCUMENTS: tl.constexpr,
    PART: tl.constexpr, FAST: tl.constexpr, PRECISION: tl.constexpr,
    QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Write the output, and per query the total of p and where the pass stopped."""
    start = (tl.num_programs(0) - 1 - tl.program_id(0)) * QUERIES  # longest rows first
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    rows = start + tl.arange(0, QUERIES)
    inside = rows < length
    columns = tl.arange(0, KEYS)
    to_the_right = (columns[:, None] > columns[None, :]).to(PART)
    q = read_tile(query, query_at, batch, head, rows, length, WIDTH)

    low = 0
    begins = tl.zeros([QUERIES], tl.int32)
    if DOCUMENTS:
        mine = tl.load(query_numbers + batch * length + rows, mask=inside, other=0)
        begins = tl.load(first + batch * length + rows, mask=inside, other=length)
        low = tl.min(begins) // KEYS * KEYS
    place = tl.cdiv(tl.minimum(start + QUERIES, length), KEYS) * KEYS
    carry = tl.zeros([QUERIES], tl.float32)
    result = tl.zeros([QUERIES, VALUES], tl.float32)
    lowest = 0.0
    while (place > low) & (lowest < ENOUGH):
        steps = tl.minimum(STRIDE, (place - low) // KEYS)
        for step in range(steps):
            there = place - (step + 1) * KEYS + columns
            k = read_tile(key, key_at, batch, head, there, length, WIDTH)
            v = read_tile(value, value_at, batch, head, there, length, VALUES)
            visible = there[None, :] < rows[:, None]
            if DOCUMENTS:
                theirs = tl.load(key_numbers + batch * length + there, mask=there < length, other=0)
                visible = visible & (mine[:, None] == theirs[None, :])
            y = tl.dot(q, tl.trans(k), input_precision=PRECISION) * scale
            y = tl.where(visible, y, NEVER)
            p = _softplus(y, FAST)
            nearer = _summed(p, to_the_right, PART, FAST) + carry[:, None]
            weights = tl.exp2(y - p - nearer)
            result = tl.dot(weights.to(v.dtype), v, result, input_precision=PRECISION)
            carry += tl.sum(p, 1)
        place -= steps * KEYS
        lowest = tl.min(tl.where(inside & (begins < place), carry, ENOUGH))

    write_tile(out, out_at, batch, head, rows, length, result, VALUES)
    here = tl.program_id(1).to(tl.int64) * length + rows
    tl.store(total + here, carry, mask=inside)
    tl.store(stop + here, place + tl.zeros([QUERIES], tl.int32), mask=inside)


@tuned(BACKWARD, reset=["d_key", "d_value"])
@triton.jit(do_not_specialize=["long"])
def _backward(
    query, query_at, key, key_at, value, value_at, d_out, d_out_at, total, stop,
    query_numbers, key_numbers, d_query, d_query_at, d_key, d_key_at, d_value, d_value_at,
    scale, factor, heads, length, long,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, DOCUMENTS: tl.constexpr,
    PART: tl.constexpr, FAST: tl.constexpr, PRECISION: tl.constexpr,
    QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Write dq and add to dk and dv; `factor` is of q · k, and `scale` the same for powers of 2."""
    start = (tl.num_programs(0) - 1 - tl.program_id(0)) * QUERIES
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    rows = start + tl.arange(0, QUERIES)
    inside = rows < length
    columns = tl.arange(0, KEYS)
    to_the_right = (columns[:, None] > columns[None, :]).to(PART)
    up_to = (columns[:, None] <= columns[None, :]).to(PART)
    q = read_tile(query, query_at, batch, head, rows, length, WIDTH)
    do = read_tile(d_out, d_out_at, batch, head, rows, length, VALUES)
    here = tl.program_id(1).to(tl.int64) * length + rows
    carry = tl.load(total + here, mask=inside, other=0.0)  # the sum of p from here on
    begins = tl.load(stop + here, mask=inside, other=length)
    if DOCUMENTS:
        mine = tl.load(query_numbers + batch * length + rows, mask=inside, other=0)
    weighed = tl.zeros([QUERIES], tl.float32)  # the sum of W so far
    dq = tl.zeros([QUERIES, WIDTH], tl.float32)
    for place in range(tl.min(begins) // KEYS * KEYS, tl.minimum(start + QUERIES, length), KEYS):
        there = place + columns
        k = read_tile(key, key_at, batch, head, there, length, WIDTH)
        v = read_tile(value, value_at, batch, head, there, length, VALUES)
        visible = (there[None, :] < rows[:, None]) & (there[None, :] >= begins[:, None])
        if DOCUMENTS:
            theirs = tl.load(key_numbers + batch * length + there, mask=there < length, other=0)
            visible = visible & (mine[:, None] == theirs[None, :])
        y = tl.dot(q, tl.trans(k), input_precision=PRECISION) * scale
        y = tl.where(visible, y, NEVER)
        p = _softplus(y, FAST)
        carry -= tl.sum(p, 1)
        nearer = _summed(p, to_the_right, PART, FAST) + carry[:, None]
        weights = tl.exp2(y - p - nearer)
        w = weights * tl.dot(do, tl.trans(v), input_precision=PRECISION)
        farther = _summed(w, up_to, PART, FAST) + weighed[:, None]
        weighed += tl.sum(w, 1)
        dy = (w - tl.exp2(y - p) * farther).to(q.dtype)
        dq = tl.dot(dy, k, dq, input_precision=PRECISION)
        dk = tl.dot(tl.trans(dy), q, input_precision=PRECISION) * factor
        dv = tl.dot(tl.trans(weights.to(do.dtype)), do, input_precision=PRECISION)
        within = (there < length)[:, None]
        tl.atomic_add(
            tile(d_key, d_key_at, batch, head, there, WIDTH), dk, mask=within, sem="relaxed"
        )
        tl.atomic_add(
            tile(d_value, d_value_at, batch, head, there, VALUES), dv, mask=within, sem="relaxed"
        )
    write_tile(d_query, d_query_at, batch, head, rows, length, dq * factor, WIDTH)


@torch.library.custom_op(
    "weft::stick_breaking",
    mutates_args=(),
    schema="(Tensor query, Tensor key, Tensor value, float scale, Tensor? queries, Tensor? keys)"
    " -> (Tensor, Tensor, Tensor)",
)
def _stick_breaking(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    queries: Tensor | None,
    keys: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    query, key, value = rowed([query, key, value])
    out, total, stop = _results(query, key, value)
    _forward[launched(query)](
        query, query.stride(), key, key.stride(), value, value.stride(), out, out.stride(),
        total, stop, queries, keys, first_keys(queries, keys), scale * LOG2E,
        *sizes(query), **shapes(query, value, queries), PART=part(), FAST=_fast(query),
    )  # fmt: skip
    return out, total, stop


@_stick_breaking.register_fake
def _results(query: Tensor, key: Tensor, value: Tensor, *_: Any) -> tuple[Tensor, Tensor, Tensor]:
    total = query.new_empty(query.shape[:3], dtype=torch.float32)
    stop = query.new_empty(query.shape[:3], dtype=torch.int32)
    return empty_heads(query, value.shape[-1]), total, stop


@torch.library.custom_op(
    "weft::stick_breaking_backward",
    mutates_args=(),
    schema="(Tensor d_out, Tensor query, Tensor key, Tensor value, Tensor total, Tensor stop,"
    " float scale, Tensor? queries, Tensor? keys) -> (Tensor, Tensor, Tensor)",
)
def _stick_breaking_backward(
    d_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    total: Tensor,
    stop: Tensor,
    scale: float,
    queries: Tensor | None,
    keys: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    query, key, value, d_out = rowed([query, key, value, d_out])
    d_query, d_key, d_value = empty_like_heads(query, key, value)
    sums = d_key.float().zero_(), d_value.float().zero_()
    _backward[launched(query)](
        query, query.stride(), key, key.stride(), value, value.stride(), d_out, d_out.stride(),
        total, stop, queries, keys, d_query, d_query.stride(),
        sums[0], sums[0].stride(), sums[1], sums[1].stride(), scale * LOG2E, scale,
        *sizes(query), **shapes(query, value, queries), PART=part(), FAST=_fast(query),
    )  # fmt: skip
    return d_query, d_key.copy_(sums[0]), d_value.copy_(sums[1])


@_stick_breaking_backward.register_fake
def _(
    d_out: Tensor, query: Tensor, key: Tensor, value: Tensor, *_: Any
) -> tuple[Tensor, Tensor, Tensor]:
    return empty_like_heads(query, key, value)


def _fast(query: Tensor) -> bool:
    return query.dtype != torch.float32 and not interpreting()


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    query, key, value, ctx.scale, queries, keys = inputs
    ctx.save_for_backward(query, key, value, output[1], output[2], queries, keys)


def _differentiate(ctx: Any, d_out: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
    query, key, value, total, stop, queries, keys = ctx.saved_tensors
    results = _stick_breaking_backward(
        d_out, query, key, value, total, stop, ctx.scale, queries, keys
    )
    return *results, None, None, None


_stick_breaking.register_autograd(_differentiate, setup_context=_remember)


def triton_stick_breaking(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    queries: Tensor | None = None,
    keys: Tensor | None = None,
) -> Tensor:
    """Stick-breaking attention.

    Args:
        query: b h l k.
        key: b h l k.
        value: b h l v.
        scale: factor of q · k.
        queries: b l int32, a number per token as a query; None if all attend to all before them.
        keys: b l int32, the same as a key; a query attends to the keys with its number.
    """
    result: Tensor = _stick_breaking(
        widened(query), widened(key), widened(value), scale, queries, keys
    )[0]
    return result[..., : value.shape[-1]]
