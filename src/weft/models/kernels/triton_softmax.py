"""Softmax attention with a bias on keys, fused in Triton: FoX, slopes, windows, documents.

    o_i = sum_j P_ij v_j    P_i = softmax_j( scale q_i · k_j + u_i - u_j )    u_t = c_t - slope_h t

over first_i <= j <= i. c (b h l, float32) are sums of logarithms of gates; `firsts` (b l) say where
the window or the document of a query begins. u_i is the same for a whole row and falls out of the
softmax; it is kept because u_i - u_j is small where weights are not.

The bias costs one addition per score: each pass fixes a block of queries or of keys, takes u
relative to one token of it, and adds the keys' part as a vector over columns. c is subtracted in
float32 before anything else is done with it: it reaches thousands, and what counts is differences
of neighbours. Scores are in units of log2, for exp2. The passes:

    forward   a block of queries, over keys, with running maximum and sum: o, and L_i, the log2 of
              the sum of 2^(scores with u_i), so that P_ij can be had again from i and j alone
    rows      D_i = sum_d do_id o_id, and L_i without u_i as seen from a token nearby
    dkv       a block of keys, over queries: dv_j = sum_i P_ij do_i,
              dS_ij = P_ij (do_i · v_j - D_i), dk_j = scale sum_i dS_ij q_i and
              dc_j = -sum_i dS_ij, which is nearly free here. Scores are transposed (keys by
              queries), so that P and dS multiply without leaving registers
    dq        a block of queries, over keys: dq_i = scale sum_j dS_ij k_j

Rows of dS sum to 0, so c has no gradient by way of u_i. The dkv pass also adds up dq, by atomic
additions in float32, which costs 5 products where two passes cost 7; the order of additions differs
between runs. Where PyTorch is told to be deterministic, the dq pass computes it instead.

Blocks that nobody sees are skipped, and only those at the edges (diagonal, window, document) are
masked: each pass loops over them and over the rest separately. A key whose c is +inf (padding) is
seen by nobody; a row that sees nothing is 0 and has L = +inf. Nothing of size l x l is written.

Triton is imported at once: import this module where it is used.
"""
# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-def,untyped-decorator"

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from weft.models.kernels.triton_tiles import SHORT, empty_heads, interpreting, widened

LOG2E = tl.constexpr(1.4426950408889634)
WIDEST = 128
"""Heads that are wider do not fit."""
LARGEST = 128
"""The largest block; a length that is a multiple needs no masks at the end."""

FILLING = 2**16
"""How many rows of queries it takes to keep a GPU busy."""
GROUP = 64
"""What L of a query is relative to in the pass over queries; a multiple of that pass's blocks."""


def _configs(*choices: tuple[int, int, int, int]) -> list[Any]:
    """Queries and keys of a tile, warps and stages to choose from; the interpreter takes one."""
    if interpreting():
        choices = ((32, 16, 4, 1),)
    return [
        triton.Config({"ROWS": rows, "COLS": cols}, num_warps=warps, num_stages=stages)
        for rows, cols, warps, stages in choices
    ]


def _fitting(configs: Sequence[Any], arguments: dict[str, Any], **_: Any) -> list[Any]:
    """Those worth trying: small tiles for wide heads and float32, one for little work."""
    query: Tensor = arguments["Q"]
    sizes = [config.kwargs["ROWS"] * config.kwargs["COLS"] for config in configs]
    most = max(sizes)
    if query.element_size() == 4:
        most = min(sizes)
    elif query.shape[-1] > 64:
        most = max(min(sizes), 64 * 64)
    fitting = [config for config, size in zip(configs, sizes, strict=True) if size <= most]
    return fitting if _bucket(query) else fitting[:1]


def _clear(arguments: dict[str, Any], reset_only: bool = False) -> None:
    """Forget what trials have added to dq."""
    if arguments["DQuery"] is not None:
        arguments["DQuery"].zero_()


TUNED: dict[str, Any] = {
    "key": ["bucket", "DK", "DV", "EVEN"],
    "prune_configs_by": {"early_config_prune": _fitting},
}
FORWARD = ((128, 64, 4, 3), (128, 128, 8, 3), (128, 64, 8, 3), (64, 64, 4, 3), (64, 64, 4, 2))
DKV = ((64, 128, 8, 2), (64, 128, 8, 3), (64, 64, 4, 2), (64, 64, 4, 3), (32, 64, 4, 3))
DQ = ((128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 2), (64, 64, 4, 3), (64, 32, 4, 3))


@triton.jit
def _head(base, head, heads, stride_b, stride_h):
    """Where a head begins; `head` counts those of all sequences."""
    return base + (head // heads).to(tl.int64) * stride_b + (head % heads).to(tl.int64) * stride_h


@triton.jit
def _tile(base, places, stride, length, WIDTH: tl.constexpr, MASKED: tl.constexpr):
    """Some rows of a matrix, 0 past the end."""
    at = base + places[:, None] * stride + tl.arange(0, WIDTH)[None, :]
    if MASKED:
        return tl.load(at, mask=places[:, None] < length, other=0.0)
    else:
        return tl.load(at)


@triton.jit
def _add(base, places, length, tile, WIDTH: tl.constexpr, MASKED: tl.constexpr):
    """Add to some rows of a matrix whose rows follow each other."""
    at = base + places[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    if MASKED:
        tl.atomic_add(at, tile, mask=places[:, None] < length, sem="relaxed")
    else:
        tl.atomic_add(at, tile, sem="relaxed")


@triton.jit
def _put(base, places, stride, length, tile, WIDTH: tl.constexpr, MASKED: tl.constexpr):
    """Store some rows of a matrix."""
    at = base + places[:, None] * stride + tl.arange(0, WIDTH)[None, :]
    if MASKED:
        tl.store(at, tile.to(base.dtype.element_ty), mask=places[:, None] < length)
    else:
        tl.store(at, tile.to(base.dtype.element_ty))


@triton.jit
def _numbers(base, places, length, other, MASKED: tl.constexpr):
    """One number for each of some tokens."""
    if MASKED:
        return tl.load(base + places, mask=places < length, other=other)
    else:
        return tl.load(base + places)


@triton.jit
def _origin(sums, place):
    """c of the token that others are relative to."""
    if sums is None:
        return tl.full([], 0.0, tl.float32)
    else:
        c = tl.load(sums + place)
        return tl.where(c < float("inf"), c, 0.0)


@triton.jit
def _of_keys(c, slope, places, origin, at):
    """-u of keys, relative to that of the origin; -inf where nobody sees them."""
    if c is None:
        bias = slope * (places - at)
    elif slope is None:
        bias = origin - c
    else:
        bias = origin - c + slope * (places - at)
    return bias * LOG2E


@triton.jit
def _of_queries(sums, slope, places, origin, at, length, MASKED: tl.constexpr):
    """u of queries, relative to that of the origin; padding counts as the origin."""
    bias = tl.zeros_like(places).to(tl.float32)
    if sums is not None:
        c = _numbers(sums, places, length, float("inf"), MASKED)
        bias = tl.where(c < float("inf"), c - origin, 0.0)
    if slope is not None:
        bias -= slope * (places - at)
    return bias * LOG2E


@triton.jit
def _seen(rows, cols, first):
    """Whether queries (down) see keys (across)."""
    seen = rows[:, None] >= cols[None, :]
    if first is not None:
        seen = seen & (cols[None, :] >= first[:, None])
    return seen


@triton.jit
def _key_range(firsts, start, length, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Of a block of queries: where its keys begin, where all see all, where the diagonal begins."""
    diagonal = start // COLS * COLS
    if firsts is None:
        return 0, 0, diagonal
    else:
        low = tl.load(firsts + start) // COLS * COLS
        highest = tl.load(firsts + tl.minimum(start + ROWS, length) - 1)
        return low, tl.minimum(tl.cdiv(highest, COLS) * COLS, diagonal), diagonal


@triton.jit
def _query_range(lasts, start, length, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Of a block of keys: where queries begin, leave the diagonal, no longer see all, and end."""
    low = start // ROWS * ROWS
    below = tl.cdiv(start + COLS, ROWS) * ROWS
    if lasts is None:
        return low, below, length, length
    else:
        end = tl.load(lasts + tl.minimum(start + COLS, length) - 1) + 1
        everybody = (tl.load(lasts + start) + 1) // ROWS * ROWS
        return low, below, tl.maximum(everybody, below), end


@triton.jit
def _attend(
    acc, most, total, q, K, V, k_l, v_l, sums, slope, origin, start, rows, first, low, high,
    length, factor,
    COLS: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, MASKED: tl.constexpr,
    EVEN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The forward pass over keys from `low` to `high`."""
    ENDS: tl.constexpr = MASKED and not EVEN
    for col in tl.range(low, high, COLS):
        cols = col + tl.arange(0, COLS)
        k = _tile(K, cols, k_l, length, DK, ENDS)
        scores = tl.dot(q, tl.trans(k), input_precision=PRECISION) * factor
        if sums is not None or slope is not None:
            c = None
            if sums is not None:
                c = _numbers(sums, cols, length, float("inf"), ENDS)
            scores += _of_keys(c, slope, cols, origin, start)[None, :]
        if MASKED:
            scores = tl.where(_seen(rows, cols, first), scores, float("-inf"))
        higher = tl.maximum(most, tl.max(scores, 1))
        shift = tl.where(higher > float("-inf"), higher, 0.0)
        weights = tl.exp2(scores - shift[:, None])
        fading = tl.exp2(most - shift)
        total = total * fading + tl.sum(weights, 1)
        v = _tile(V, cols, v_l, length, DV, ENDS)
        acc = tl.dot(weights.to(v.dtype), v, acc * fading[:, None], input_precision=PRECISION)
        most = higher
    return acc, most, total


@triton.autotune(configs=_configs(*FORWARD), **TUNED)
@triton.jit(do_not_specialize=["bucket"])
def _forward_kernel(
    Q, K, V, Sums, Slopes, Firsts, Out, Logs,
    q_b, q_h, q_l, k_b, k_h, k_l, v_b, v_h, v_l, o_b, o_h, o_l, c_b, c_h, f_b,
    heads, length, factor, bucket,
    DK: tl.constexpr, DV: tl.constexpr, EVEN: tl.constexpr, PRECISION: tl.constexpr,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    """o and L of a block of queries; those with most keys come first."""
    blocks = tl.cdiv(length, ROWS)
    head = tl.program_id(0) // blocks
    start = (blocks - 1 - tl.program_id(0) % blocks) * ROWS
    rows = start + tl.arange(0, ROWS)
    sums, slope, firsts, first = Sums, Slopes, Firsts, None
    if Sums is not None:
        sums = _head(Sums, head, heads, c_b, c_h)
    if Slopes is not None:
        slope = tl.load(Slopes + head % heads)
    if Firsts is not None:
        firsts = _head(Firsts, head, heads, f_b, 0)
        first = _numbers(firsts, rows, length, 0, not EVEN)
    origin = _origin(sums, start)
    q = _tile(_head(Q, head, heads, q_b, q_h), rows, q_l, length, DK, not EVEN)
    K = _head(K, head, heads, k_b, k_h)
    V = _head(V, head, heads, v_b, v_h)
    acc = tl.zeros([ROWS, DV], tl.float32)
    most = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    low, everybody, diagonal = _key_range(firsts, start, length, ROWS, COLS)
    if firsts is not None:
        acc, most, total = _attend(
            acc, most, total, q, K, V, k_l, v_l, sums, slope, origin, start, rows, first,
            low, everybody, length, factor, COLS, DK, DV, True, EVEN, PRECISION,
        )  # fmt: skip
    acc, most, total = _attend(
        acc, most, total, q, K, V, k_l, v_l, sums, slope, origin, start, rows, first,
        everybody, diagonal, length, factor, COLS, DK, DV, False, EVEN, PRECISION,
    )  # fmt: skip
    acc, most, total = _attend(
        acc, most, total, q, K, V, k_l, v_l, sums, slope, origin, start, rows, first,
        diagonal, tl.minimum(start + ROWS, length), length, factor,
        COLS, DK, DV, True, EVEN, PRECISION,
    )  # fmt: skip
    some = total > 0
    acc = acc / tl.where(some, total, 1.0)[:, None]
    _put(_head(Out, head, heads, o_b, o_h), rows, o_l, length, acc, DV, not EVEN)
    own = _of_queries(sums, slope, rows, origin, start, length, not EVEN)
    logs = tl.where(some, most + tl.log2(tl.where(some, total, 1.0)) + own, float("inf"))
    tl.store(Logs + head.to(tl.int64) * length + rows, logs, mask=rows < length)


@triton.jit
def _rows_kernel(
    Out, Grad, Logs, Sums, Slopes, Delta, Relative, o_b, o_h, o_l, g_b, g_h, g_l, c_b, c_h,
    heads, length, DV: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """D_i, and L_i without u_i as seen from the first token of a group."""
    blocks = tl.cdiv(length, GROUP)
    head = tl.program_id(0) // blocks
    start = tl.program_id(0) % blocks * GROUP
    rows = start + tl.arange(0, GROUP)
    sums, slope = Sums, Slopes
    if Sums is not None:
        sums = _head(Sums, head, heads, c_b, c_h)
    if Slopes is not None:
        slope = tl.load(Slopes + head % heads)
    out = _tile(_head(Out, head, heads, o_b, o_h), rows, o_l, length, DV, True)
    grad = _tile(_head(Grad, head, heads, g_b, g_h), rows, g_l, length, DV, True)
    at = head.to(tl.int64) * length + rows
    delta = tl.sum(out.to(tl.float32) * grad.to(tl.float32), 1)
    tl.store(Delta + at, delta, mask=rows < length)
    logs = tl.load(Logs + at, mask=rows < length, other=0.0)
    logs -= _of_queries(sums, slope, rows, _origin(sums, start), start, length, True)
    tl.store(Relative + at, logs, mask=rows < length)


@triton.jit
def _gather_keys(
    dk, dv, dc, k, v, Q, G, q_l, g_l, Logs, Delta, DQuery, sums, slope, c, cols, firsts,
    low, high, length, factor,
    ROWS: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, GROUP: tl.constexpr,
    MASKED: tl.constexpr, EVEN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The pass for dk, dv and dc over queries from `low` to `high`; scores are transposed."""
    coming = _origin(sums, tl.minimum(low, length - 1) // GROUP * GROUP)
    for row in tl.range(low, high, ROWS):
        rows = row + tl.arange(0, ROWS)
        q = _tile(Q, rows, q_l, length, DK, not EVEN)
        scores = tl.dot(k, tl.trans(q), input_precision=PRECISION) * factor
        if sums is not None or slope is not None:
            scores += _of_keys(c, slope, cols, coming, row // GROUP * GROUP)[:, None]
            coming = _origin(sums, tl.minimum(row + ROWS, length - 1) // GROUP * GROUP)
        if MASKED:
            first = None
            if firsts is not None:
                first = _numbers(firsts, rows, length, 0, not EVEN)
            scores = tl.where(tl.trans(_seen(rows, cols, first)), scores, float("-inf"))
        logs = _numbers(Logs, rows, length, float("inf"), not EVEN)
        weights = tl.exp2(scores - logs[None, :])
        g = _tile(G, rows, g_l, length, DV, not EVEN)
        dv = tl.dot(weights.to(g.dtype), g, dv, input_precision=PRECISION)
        delta = _numbers(Delta, rows, length, 0.0, not EVEN)
        ds = weights * (tl.dot(v, tl.trans(g), input_precision=PRECISION) - delta[None, :])
        if sums is not None:
            dc -= tl.sum(ds, 1)
        ds = ds.to(q.dtype)
        dk = tl.dot(ds, q, dk, input_precision=PRECISION)
        if DQuery is not None:
            dq = tl.dot(tl.trans(ds), k, input_precision=PRECISION)
            _add(DQuery, rows, length, dq, DK, not EVEN)
    return dk, dv, dc


@triton.autotune(configs=_configs(*DKV), pre_hook=_clear, **TUNED)
@triton.jit(do_not_specialize=["bucket"])
def _dkv_kernel(
    Q, K, V, Sums, Slopes, Firsts, Lasts, Grad, Logs, Delta, DKey, DValue, DSums, DQuery,
    q_b, q_h, q_l, k_b, k_h, k_l, v_b, v_h, v_l, g_b, g_h, g_l,
    dk_b, dk_h, dk_l, dv_b, dv_h, dv_l, c_b, c_h, f_b,
    heads, length, factor, scale, bucket,
    DK: tl.constexpr, DV: tl.constexpr, EVEN: tl.constexpr, PRECISION: tl.constexpr,
    GROUP: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    """dk, dv and dc of a block of keys."""
    blocks = tl.cdiv(length, COLS)
    head = tl.program_id(0) // blocks
    start = tl.program_id(0) % blocks * COLS
    cols = start + tl.arange(0, COLS)
    sums, slope, firsts, lasts, c = Sums, Slopes, Firsts, Lasts, None
    if Sums is not None:
        sums = _head(Sums, head, heads, c_b, c_h)
        c = _numbers(sums, cols, length, float("inf"), not EVEN)
    if Slopes is not None:
        slope = tl.load(Slopes + head % heads)
    if Firsts is not None:
        firsts = _head(Firsts, head, heads, f_b, 0)
        lasts = _head(Lasts, head, heads, f_b, 0)
    k = _tile(_head(K, head, heads, k_b, k_h), cols, k_l, length, DK, not EVEN)
    v = _tile(_head(V, head, heads, v_b, v_h), cols, v_l, length, DV, not EVEN)
    Q = _head(Q, head, heads, q_b, q_h)
    Grad = _head(Grad, head, heads, g_b, g_h)
    Logs += head.to(tl.int64) * length
    Delta += head.to(tl.int64) * length
    if DQuery is not None:
        DQuery += head.to(tl.int64) * length * DK
    dk = tl.zeros([COLS, DK], tl.float32)
    dv = tl.zeros([COLS, DV], tl.float32)
    dc = tl.zeros([COLS], tl.float32)
    low, below, everybody, end = _query_range(lasts, start, length, ROWS, COLS)
    dk, dv, dc = _gather_keys(
        dk, dv, dc, k, v, Q, Grad, q_l, g_l, Logs, Delta, DQuery, sums, slope, c, cols, firsts,
        low, tl.minimum(below, end), length, factor,
        ROWS, DK, DV, GROUP, True, EVEN, PRECISION,
    )  # fmt: skip
    dk, dv, dc = _gather_keys(
        dk, dv, dc, k, v, Q, Grad, q_l, g_l, Logs, Delta, DQuery, sums, slope, c, cols, firsts,
        below, tl.minimum(everybody, end), length, factor,
        ROWS, DK, DV, GROUP, False, EVEN, PRECISION,
    )  # fmt: skip
    if lasts is not None:
        dk, dv, dc = _gather_keys(
            dk, dv, dc, k, v, Q, Grad, q_l, g_l, Logs, Delta, DQuery, sums, slope, c, cols, firsts,
            everybody, end, length, factor,
            ROWS, DK, DV, GROUP, True, EVEN, PRECISION,
        )  # fmt: skip
    _put(_head(DKey, head, heads, dk_b, dk_h), cols, dk_l, length, dk * scale, DK, not EVEN)
    _put(_head(DValue, head, heads, dv_b, dv_h), cols, dv_l, length, dv, DV, not EVEN)
    if sums is not None:
        tl.store(DSums + head.to(tl.int64) * length + cols, dc, mask=cols < length)


@triton.jit
def _gather_queries(
    dq, q, g, K, V, k_l, v_l, logs, delta, sums, slope, origin, start, rows, first,
    low, high, length, factor,
    COLS: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, MASKED: tl.constexpr,
    EVEN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The pass for dq over keys from `low` to `high`."""
    ENDS: tl.constexpr = MASKED and not EVEN
    for col in tl.range(low, high, COLS):
        cols = col + tl.arange(0, COLS)
        k = _tile(K, cols, k_l, length, DK, ENDS)
        scores = tl.dot(q, tl.trans(k), input_precision=PRECISION) * factor
        if sums is not None or slope is not None:
            c = None
            if sums is not None:
                c = _numbers(sums, cols, length, float("inf"), ENDS)
            scores += _of_keys(c, slope, cols, origin, start)[None, :]
        if MASKED:
            scores = tl.where(_seen(rows, cols, first), scores, float("-inf"))
        weights = tl.exp2(scores - logs[:, None])
        v = _tile(V, cols, v_l, length, DV, ENDS)
        ds = weights * (tl.dot(g, tl.trans(v), input_precision=PRECISION) - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision=PRECISION)
    return dq


@triton.autotune(configs=_configs(*DQ), **TUNED)
@triton.jit(do_not_specialize=["bucket"])
def _dq_kernel(
    Q, K, V, Sums, Slopes, Firsts, Grad, Logs, Delta, DQuery,
    q_b, q_h, q_l, k_b, k_h, k_l, v_b, v_h, v_l, g_b, g_h, g_l, dq_b, dq_h, dq_l, c_b, c_h, f_b,
    heads, length, factor, scale, bucket,
    DK: tl.constexpr, DV: tl.constexpr, EVEN: tl.constexpr, PRECISION: tl.constexpr,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    """dq of a block of queries; those with most keys come first."""
    blocks = tl.cdiv(length, ROWS)
    head = tl.program_id(0) // blocks
    start = (blocks - 1 - tl.program_id(0) % blocks) * ROWS
    rows = start + tl.arange(0, ROWS)
    sums, slope, firsts, first = Sums, Slopes, Firsts, None
    if Sums is not None:
        sums = _head(Sums, head, heads, c_b, c_h)
    if Slopes is not None:
        slope = tl.load(Slopes + head % heads)
    if Firsts is not None:
        firsts = _head(Firsts, head, heads, f_b, 0)
        first = _numbers(firsts, rows, length, 0, not EVEN)
    origin = _origin(sums, start)
    q = _tile(_head(Q, head, heads, q_b, q_h), rows, q_l, length, DK, not EVEN)
    g = _tile(_head(Grad, head, heads, g_b, g_h), rows, g_l, length, DV, not EVEN)
    K = _head(K, head, heads, k_b, k_h)
    V = _head(V, head, heads, v_b, v_h)
    delta = _numbers(Delta + head.to(tl.int64) * length, rows, length, 0.0, not EVEN)
    logs = _numbers(Logs + head.to(tl.int64) * length, rows, length, float("inf"), not EVEN)
    logs -= _of_queries(sums, slope, rows, origin, start, length, not EVEN)
    dq = tl.zeros([ROWS, DK], tl.float32)
    low, everybody, diagonal = _key_range(firsts, start, length, ROWS, COLS)
    if firsts is not None:
        dq = _gather_queries(
            dq, q, g, K, V, k_l, v_l, logs, delta, sums, slope, origin, start, rows, first,
            low, everybody, length, factor, COLS, DK, DV, True, EVEN, PRECISION,
        )  # fmt: skip
    dq = _gather_queries(
        dq, q, g, K, V, k_l, v_l, logs, delta, sums, slope, origin, start, rows, first,
        everybody, diagonal, length, factor, COLS, DK, DV, False, EVEN, PRECISION,
    )  # fmt: skip
    dq = _gather_queries(
        dq, q, g, K, V, k_l, v_l, logs, delta, sums, slope, origin, start, rows, first,
        diagonal, tl.minimum(start + ROWS, length), length, factor,
        COLS, DK, DV, True, EVEN, PRECISION,
    )  # fmt: skip
    _put(_head(DQuery, head, heads, dq_b, dq_h), rows, dq_l, length, dq * scale, DK, not EVEN)


@torch.library.custom_op("weft::biased_attention", mutates_args=())
def _forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    sums: Tensor | None,
    slopes: Tensor | None,
    firsts: Tensor | None,
    scale: float,
) -> tuple[Tensor, Tensor]:
    """o (b h l v) and L (b h l)."""
    query, key, value = _dense(query), _dense(key), _dense(value)
    out, logs = _forward_shapes(query, key, value, sums, slopes, firsts, scale)
    heads, length = query.shape[1:3]
    _forward_kernel[_grid("ROWS", query)](
        query, key, value, sums, slopes, firsts, out, logs,
        *_strides(query, key, value, out), *_pair(sums), _first_stride(firsts),
        heads, length, scale * LOG2E.value, _bucket(query), **_constants(query, value),
    )  # fmt: skip
    return out, logs


@_forward.register_fake
def _forward_shapes(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    sums: Tensor | None,
    slopes: Tensor | None,
    firsts: Tensor | None,
    scale: float,
) -> tuple[Tensor, Tensor]:
    logs = query.new_empty(query.shape[:3], dtype=torch.float32)
    return empty_heads(query, value.shape[-1]), logs


@torch.library.custom_op("weft::biased_attention_backward", mutates_args=())
def _backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    sums: Tensor | None,
    slopes: Tensor | None,
    firsts: Tensor | None,
    out: Tensor,
    logs: Tensor,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """dq, dk, dv and dc (b h l; empty where there is no c)."""
    grad, query, key, value = _dense(grad), _dense(query), _dense(key), _dense(value)
    grads: tuple[Tensor, Tensor, Tensor, Tensor] = _backward_shapes(
        grad, query, key, value, sums, slopes, firsts, out, logs, scale
    )
    dq, dk, dv, dc = grads
    delta, relative = _of_rows(out, grad, logs, sums, slopes)
    inputs = (query, key, value, sums, slopes, firsts)
    strides = _strides(query, key, value, grad)
    rest = (*_pair(sums), _first_stride(firsts), query.shape[1], query.shape[2])
    numbers = (scale * LOG2E.value, scale, _bucket(query))
    constants = _constants(query, value)
    added = None if torch.are_deterministic_algorithms_enabled() else _added(query)
    _dkv_kernel[_grid("COLS", query)](
        *inputs, _lasts(firsts), grad, relative, delta, dk, dv, dc, added,
        *strides, *_strides(dk, dv), *rest, *numbers, **constants, GROUP=GROUP,
    )  # fmt: skip
    if added is not None:
        torch.mul(added, scale, out=dq)
        return grads
    _dq_kernel[_grid("ROWS", query)](
        *inputs, grad, logs, delta, dq, *strides, *_strides(dq), *rest, *numbers, **constants
    )
    return grads


@_backward.register_fake
def _backward_shapes(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    sums: Tensor | None,
    slopes: Tensor | None,
    firsts: Tensor | None,
    out: Tensor,
    logs: Tensor,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    dq, dk = empty_heads(query, query.shape[-1]), empty_heads(query, query.shape[-1])
    dc = logs.new_empty((0,) if sums is None else logs.shape)
    return dq, dk, empty_heads(query, value.shape[-1]), dc


def _setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    *tensors, ctx.scale = inputs
    ctx.save_for_backward(*tensors, *output)
    ctx.set_materialize_grads(False)


def _gradients(ctx: Any, grad: Tensor | None, _: Tensor | None) -> tuple[Tensor | None, ...]:
    if grad is None:
        return (None,) * 7
    dq, dk, dv, dc = _backward(grad, *ctx.saved_tensors, ctx.scale)
    return dq, dk, dv, dc if ctx.saved_tensors[3] is not None else None, None, None, None


_forward.register_autograd(_gradients, setup_context=_setup)


def biased_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    sums: Tensor | None = None,
    slopes: Tensor | None = None,
    window: int | None = None,
    documents: Tensor | None = None,
) -> Tensor:
    """Causal softmax attention with scores scale q_i · k_j - slope (i - j) + c_i - c_j.

    Args:
        query: b h l k, in float32, float16 or bfloat16; k and v up to `WIDEST`.
        key: b h l k.
        value: b h l v.
        scale: what q_i · k_j is multiplied by.
        sums: c, b h l in float32; +inf for a key that nobody may see. Has a gradient.
        slopes: h, in float32. Has no gradient.
        window: only the last so many tokens are seen, itself included.
        documents: b l; tokens see only their own run of equal numbers.

    Returns:
        What is found, b h l v, laid out as b l h v.
    """
    width = value.shape[-1]
    query, key, value = widened(query), widened(key), widened(value)
    if sums is not None and sums.stride(2) != 1:
        sums = sums.contiguous()
    firsts = _firsts(query, window, documents)
    found: Tensor = _forward(query, key, value, sums, slopes, firsts, scale)[0]
    return found[..., :width]


def _firsts(query: Tensor, window: int | None, documents: Tensor | None) -> Tensor | None:
    """The first key that each query sees (b l, or 1 l for all); None for the very first."""
    if window is None and documents is None:
        return None
    places = torch.arange(query.shape[2], device=query.device)
    firsts = (places - (query.shape[2] if window is None else window) + 1).clamp(min=0)[None]
    if documents is not None:
        begins = torch.zeros_like(documents, dtype=torch.bool)
        begins[:, 1:] = documents[:, 1:] != documents[:, :-1]
        firsts = torch.maximum(firsts, (begins * places).cummax(-1).values)
    return firsts.int()


def _lasts(firsts: Tensor | None) -> Tensor | None:
    """The last query that sees each key."""
    if firsts is None:
        return None
    places = torch.arange(firsts.shape[1], device=firsts.device, dtype=torch.int32)
    found = torch.searchsorted(firsts, places.expand_as(firsts).contiguous(), right=True)
    return (found - 1).int()


def _of_rows(
    out: Tensor, grad: Tensor, logs: Tensor, sums: Tensor | None, slopes: Tensor | None
) -> tuple[Tensor, Tensor]:
    """D, and L relative to groups (b h l)."""
    batch, heads, length, width = out.shape
    delta, relative = torch.empty_like(logs), torch.empty_like(logs)
    _rows_kernel[(triton.cdiv(length, GROUP) * batch * heads,)](
        out, grad, logs, sums, slopes, delta, relative, *_strides(out, grad), *_pair(sums),
        heads, length, DV=width, GROUP=GROUP,
    )  # fmt: skip
    return delta, relative


def _added(query: Tensor) -> Tensor:
    """Where blocks of keys add up dq."""
    return torch.zeros(query.shape, dtype=torch.float32, device=query.device)


def _dense(tensor: Tensor) -> Tensor:
    """The same with rows whose numbers lie side by side and begin at multiples of 16 bytes."""
    step = 16 // tensor.element_size()
    aligned = all(stride % step == 0 for stride in tensor.stride()[:3])
    return tensor if tensor.stride(3) == 1 and aligned else tensor.contiguous()


def _strides(*tensors: Tensor) -> tuple[int, ...]:
    return tuple(stride for tensor in tensors for stride in tensor.stride()[:3])


def _pair(sums: Tensor | None) -> tuple[int, int]:
    return (0, 0) if sums is None else (sums.stride(0), sums.stride(1))


def _first_stride(firsts: Tensor | None) -> int:
    """0 where all sequences share one row."""
    return 0 if firsts is None or firsts.shape[0] == 1 else firsts.stride(0)


def _grid(block: str, query: Tensor) -> Any:
    """A program for each block of each head, those of one head next to each other."""
    batch, heads, length, _ = query.shape
    return lambda chosen: (triton.cdiv(length, chosen[block]) * batch * heads,)


def _bucket(query: Tensor) -> int:
    """For which lengths configs are chosen anew; 0 where there is too little work to tell."""
    batch, heads, length, _ = query.shape
    if length < SHORT or batch * heads * length < FILLING:
        return 0
    return min(length.bit_length(), 14)


def _constants(query: Tensor, value: Tensor) -> dict[str, Any]:
    """What kernels are compiled for; float32 products are as precise as PyTorch's own."""
    exact = torch.get_float32_matmul_precision() == "highest"
    return {
        "DK": query.shape[-1],
        "DV": value.shape[-1],
        "EVEN": query.shape[2] % LARGEST == 0,
        "PRECISION": "tf32x3" if exact else "tf32",
    }
