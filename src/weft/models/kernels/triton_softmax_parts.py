"""Shared by the passes of `triton_softmax`: tile sizes, and the bias on keys."""
# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-def,untyped-decorator"
# mypy: allow-untyped-calls

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from weft.models.kernels.triton_tiles import SHORT, interpreting

LOG2E = tl.constexpr(1.4426950408889634)
LARGEST = tl.constexpr(128)
"""The largest block; a length that is a multiple needs no masks at the end."""

FILLING = 2**16
"""Rows of queries that keep a GPU busy."""
GROUP = 64
"""What L of a query is relative to in the pass over queries; a multiple of that pass's blocks."""


def configs_of(*choices: tuple[int, int, int, int]) -> list[Any]:
    """Tile sizes (queries, keys), warps and stages to tune over; the interpreter takes one."""
    if interpreting():
        choices = ((32, 16, 4, 1),)
    return [
        triton.Config({"ROWS": rows, "COLS": cols}, num_warps=warps, num_stages=stages)
        for rows, cols, warps, stages in choices
    ]


def _fitting(configs: Sequence[Any], arguments: dict[str, Any], **_: Any) -> list[Any]:
    """The configs worth trying: small tiles for wide heads and float32, one for little work."""
    query: Tensor = arguments["Q"]
    sizes = [config.kwargs["ROWS"] * config.kwargs["COLS"] for config in configs]
    largest = max(sizes)
    if query.element_size() == 4:
        largest = min(sizes)
    elif query.shape[-1] > 64:
        largest = max(min(sizes), 64 * 64)
    fitting = [config for config, size in zip(configs, sizes, strict=True) if size <= largest]
    return fitting if bucket_of(query) else fitting[:1]


def clear_dq(arguments: dict[str, Any], reset_only: bool = False) -> None:
    """Clear accumulators after tuning trials."""
    for name in ("DQuery", "DGroups"):
        if arguments[name] is not None:
            arguments[name].zero_()


TUNED: dict[str, Any] = {
    "key": ["bucket", "DK", "DV", "NEAR", "EVEN"],
    "prune_configs_by": {"early_config_prune": _fitting},
}
FORWARD = ((128, 64, 4, 3), (128, 128, 8, 3), (128, 64, 8, 3), (64, 64, 4, 3), (64, 64, 4, 2))
DKV = ((64, 128, 8, 2), (64, 128, 8, 3), (64, 64, 4, 2), (64, 64, 4, 3), (32, 64, 4, 3))
DQ = ((128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 2), (64, 64, 4, 3), (64, 32, 4, 3))


def bucket_of(query: Tensor) -> int:
    """The tuning key of a length; 0 if there is too little work to tune."""
    batch, heads, length, _ = query.shape
    if length < SHORT or batch * heads * length < FILLING:
        return 0
    return min(length.bit_length(), 14)


@triton.jit
def head_at(base, head, heads, stride_b, stride_h):
    """The pointer to a head; `head` counts over all sequences."""
    return base + (head // heads).to(tl.int64) * stride_b + (head % heads).to(tl.int64) * stride_h


@triton.jit
def read_rows(base, places, stride, length, WIDTH: tl.constexpr, MASKED: tl.constexpr):
    """Some rows of a matrix, 0 past the end."""
    at = base + places[:, None] * stride + tl.arange(0, WIDTH)[None, :]
    if MASKED:
        return tl.load(at, mask=places[:, None] < length, other=0.0)
    else:
        return tl.load(at)


@triton.jit
def add_rows(base, places, length, tile, WIDTH: tl.constexpr, MASKED: tl.constexpr):
    """Add to some rows of a contiguous matrix."""
    at = base + places[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    if MASKED:
        tl.atomic_add(at, tile, mask=places[:, None] < length, sem="relaxed")
    else:
        tl.atomic_add(at, tile, sem="relaxed")


@triton.jit
def put_rows(base, places, stride, length, tile, WIDTH: tl.constexpr, MASKED: tl.constexpr):
    """Store some rows of a matrix."""
    at = base + places[:, None] * stride + tl.arange(0, WIDTH)[None, :]
    if MASKED:
        tl.store(at, tile.to(base.dtype.element_ty), mask=places[:, None] < length)
    else:
        tl.store(at, tile.to(base.dtype.element_ty))


@triton.jit
def read_numbers(base, places, length, other, MASKED: tl.constexpr):
    """One number for each of some tokens."""
    if MASKED:
        return tl.load(base + places, mask=places < length, other=other)
    else:
        return tl.load(base + places)


@triton.jit
def origin_of(sums, place):
    """c of the token that others are relative to."""
    if sums is None:
        return tl.full([], 0.0, tl.float32)
    else:
        c = tl.load(sums + place)
        return tl.where(c < float("inf"), c, 0.0)


@triton.jit
def bias_of_keys(c, slope, places, origin, at):
    """-u of keys, relative to that of the origin; -inf for masked keys."""
    if c is None:
        bias = slope * (places - at)
    elif slope is None:
        bias = origin - c
    else:
        bias = origin - c + slope * (places - at)
    return bias * LOG2E


@triton.jit
def bias_of_near(table, rows, cols, NEAR: tl.constexpr):
    """The bias of near pairs, queries (down) by keys (across)."""
    back = rows[:, None] - cols[None, :]
    near = (back >= 0) & (back < NEAR)
    return tl.load(table + back, mask=near, other=0.0) * LOG2E


@triton.jit
def put_near(base, rows, cols, ds, length, NEAR: tl.constexpr):
    """Store dS of near pairs: a row per query, a column per distance."""
    back = rows[:, None] - cols[None, :]
    near = (back >= 0) & (back < NEAR) & (rows[:, None] < length)
    tl.store(base + rows[:, None] * NEAR + back, ds, mask=near)


@triton.jit
def bias_of_queries(sums, slope, places, origin, at, length, MASKED: tl.constexpr):
    """u of queries, relative to that of the origin; padding counts as the origin."""
    bias = tl.zeros_like(places).to(tl.float32)
    if sums is not None:
        c = read_numbers(sums, places, length, float("inf"), MASKED)
        bias = tl.where(c < float("inf"), c - origin, 0.0)
    if slope is not None:
        bias -= slope * (places - at)
    return bias * LOG2E


@triton.jit
def is_seen(rows, cols, first):
    """The mask of queries (down) and keys (across)."""
    visible = rows[:, None] >= cols[None, :]
    if first is not None:
        visible = visible & (cols[None, :] >= first[:, None])
    return visible


@triton.jit
def key_range(firsts, start, length, NEAR: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    """For a block of queries: where its keys begin, where no mask is needed, and the diagonal.

    Near pairs, which look up a table, count as the diagonal.
    """
    diagonal = start // COLS * COLS
    if NEAR > 0:
        diagonal = tl.maximum(start - NEAR + 1, 0) // COLS * COLS
    if firsts is None:
        return 0, 0, diagonal
    else:
        low = tl.load(firsts + start) // COLS * COLS
        highest = tl.load(firsts + tl.minimum(start + ROWS, length) - 1)
        return low, tl.minimum(tl.cdiv(highest, COLS) * COLS, diagonal), diagonal


@triton.jit
def query_range(lasts, start, length, NEAR: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    """For a block of keys: where queries begin, leave the diagonal, need masks again, and end."""
    low = start // ROWS * ROWS
    below = tl.cdiv(start + COLS, ROWS) * ROWS
    if NEAR > 0:
        below = tl.cdiv(start + COLS + NEAR - 1, ROWS) * ROWS
    if lasts is None:
        return low, below, length, length
    else:
        end = tl.load(lasts + tl.minimum(start + COLS, length) - 1) + 1
        everybody = (tl.load(lasts + start) + 1) // ROWS * ROWS
        return low, below, tl.maximum(everybody, below), end
