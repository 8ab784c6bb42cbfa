"""The Triton kernels of entmax attention; `triton_entmax` describes what they compute."""
# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-def,untyped-decorator"
# mypy: allow-untyped-calls

from __future__ import annotations

import triton
import triton.language as tl

from weft.models.kernels.triton_tiles import (
    NEVER,
    read_tile,
    tuned,
    write_tile,
)

MAX_STEPS = tl.constexpr(16)
"""Passes for tau."""

MAX_ERROR = tl.constexpr(1.0e-2)
"""Of a sum that should be 1, before the last step."""

FORWARD = ((64, 64, 4, 3), (128, 64, 8, 3), (128, 128, 8, 2), (64, 32, 4, 4))
BACKWARD_QUERIES = ((64, 64, 4, 3), (128, 64, 8, 2), (128, 32, 4, 3), (64, 32, 4, 3))
BACKWARD_KEYS = ((64, 64, 4, 2), (64, 128, 8, 2), (32, 128, 8, 3), (32, 64, 4, 3))


@triton.jit
def _scores(
    q, k, slope, here, there, mine, theirs, visible, scale,
    SLOPED: tl.constexpr, DOCUMENTS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """x of rows of q and k, at positions `here` and `there`; their numbers are `mine`, `theirs`."""
    x = tl.dot(q, tl.trans(k), input_precision=PRECISION) * scale
    if SLOPED:
        x -= slope * tl.abs(here[:, None] - there[None, :])
    if DOCUMENTS:
        visible = visible & (mine[:, None] == theirs[None, :])
    return tl.where(visible, x, NEVER)


@triton.jit
def _details(
    positions, positions_at, numbers, batch, places, length,
    SLOPED: tl.constexpr, DOCUMENTS: tl.constexpr,
):  # fmt: skip
    """Positions and numbers of some tokens; arbitrary if not used."""
    inside = places < length
    position = places
    number = places
    if SLOPED:
        position = tl.load(positions + batch * positions_at + places, mask=inside, other=0.0)
    if DOCUMENTS:
        number = tl.load(numbers + batch * length + places, mask=inside, other=0)
    return position, number


@triton.jit
def _block(
    q, here, mine, rows, slope, key, key_at, positions, positions_at, numbers, batch, head, place,
    length, scale, KEYS: tl.constexpr, WIDTH: tl.constexpr,
    SLOPED: tl.constexpr, DOCUMENTS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """x of a block of queries and the block of keys at `place`, and the keys."""
    columns = place + tl.arange(0, KEYS)
    k = read_tile(key, key_at, batch, head, columns, length, WIDTH)
    there, theirs = _details(
        positions, positions_at, numbers, batch, columns, length, SLOPED, DOCUMENTS
    )
    visible = columns[None, :] <= rows[:, None]
    x = _scores(
        q, k, slope, here, there, mine, theirs, visible, scale, SLOPED, DOCUMENTS, PRECISION
    )
    return x, k, columns


@triton.jit
def _halley(tau, lower, upper, ones, sums, squares):
    """An improved tau between bounds, the bounds, and the error of the sum of squares."""
    excess = squares - 1.0
    sums = tl.maximum(sums, 1.0e-20)
    lower = tl.maximum(lower, tau + 0.5 * excess / sums)
    upper = tl.where(excess < 0.0, tl.minimum(upper, tau), upper)
    slope = tl.maximum(4.0 * sums * sums - excess * ones, sums * sums)
    better = tl.maximum(tau + 2.0 * excess * sums / slope, lower)
    better = tl.where(better > upper, 0.5 * (lower + upper), better)
    return better, lower, upper, tl.abs(excess)


@tuned(FORWARD)
@triton.jit(do_not_specialize=["long"])
def forward_kernel(
    query, query_at, key, key_at, value, value_at, out, out_at, taus, stop,
    slopes, positions, positions_at, query_numbers, key_numbers, first,
    scale, heads, length, long,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, SLOPED: tl.constexpr, DOCUMENTS: tl.constexpr,
    PRECISION: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Write the output, and per query tau and where its support begins."""
    start = (tl.num_programs(0) - 1 - tl.program_id(0)) * QUERIES  # longest rows first
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    rows = start + tl.arange(0, QUERIES)
    inside = rows < length
    q = read_tile(query, query_at, batch, head, rows, length, WIDTH)
    here, mine = _details(
        positions, positions_at, query_numbers, batch, rows, length, SLOPED, DOCUMENTS
    )
    slope = 0.0
    if SLOPED:
        slope = tl.load(slopes + head) * 0.5
    low = 0
    if DOCUMENTS:
        firsts = tl.load(first + batch * length + rows, mask=inside, other=length)
        low = tl.min(firsts) // KEYS * KEYS
    blocks = tl.cdiv(tl.minimum(start + QUERIES, length) - low, KEYS)
    high = low + blocks * KEYS

    highest = tl.full([QUERIES], NEVER, tl.float32)
    begins = tl.full([QUERIES], 0, tl.int32) + length
    for step in range(blocks):
        place = high - (step + 1) * KEYS
        x, _, _ = _block(
            q, here, mine, rows, slope, key, key_at, positions, positions_at, key_numbers,
            batch, head, place, length, scale, KEYS, WIDTH, SLOPED, DOCUMENTS, PRECISION,
        )  # fmt: skip
        top = tl.max(x, 1)
        highest = tl.maximum(highest, top)
        begins = tl.where(top > highest - 1.0, place, begins)
    low = tl.min(tl.where(inside, begins, length))

    alive = inside & (highest > 0.5 * NEVER)
    lower = highest - 1.0
    upper = highest - tl.rsqrt((rows + 1).to(tl.float32))
    tau = lower
    step = 0
    worst = 1.0
    while (step < MAX_STEPS) & (worst > MAX_ERROR):
        ones = tl.zeros([QUERIES], tl.float32)
        sums = tl.zeros([QUERIES], tl.float32)
        squares = tl.zeros([QUERIES], tl.float32)
        for place in range(low, high, KEYS):
            x, _, _ = _block(
                q, here, mine, rows, slope, key, key_at, positions, positions_at, key_numbers,
                batch, head, place, length, scale, KEYS, WIDTH, SLOPED, DOCUMENTS, PRECISION,
            )  # fmt: skip
            u = tl.maximum(x - tau[:, None], 0.0)
            ones += tl.sum(tl.where(u > 0.0, 1.0, 0.0), 1)
            sums += tl.sum(u, 1)
            squares += tl.sum(u * u, 1)
        tau, lower, upper, excess = _halley(tau, lower, upper, ones, sums, squares)
        worst = tl.max(tl.where(alive, excess, 0.0))
        step += 1
    tau = tl.where(alive, tau, 0.0)

    begins = tl.full([QUERIES], 0, tl.int32) + length
    total = tl.zeros([QUERIES], tl.float32)
    result = tl.zeros([QUERIES, VALUES], tl.float32)
    for place in range(low, high, KEYS):
        x, _, columns = _block(
            q, here, mine, rows, slope, key, key_at, positions, positions_at, key_numbers,
            batch, head, place, length, scale, KEYS, WIDTH, SLOPED, DOCUMENTS, PRECISION,
        )  # fmt: skip
        v = read_tile(value, value_at, batch, head, columns, length, VALUES)
        u = tl.maximum(x - tau[:, None], 0.0)
        weights = u * u
        share = tl.sum(weights, 1)
        total += share
        begins = tl.where(share > 0.0, tl.minimum(begins, place), begins)
        result = tl.dot(weights.to(v.dtype), v, result, input_precision=PRECISION)
    result = result / tl.where(total > 0.0, total, 1.0)[:, None]

    write_tile(out, out_at, batch, head, rows, length, result, VALUES)
    row = tl.program_id(1).to(tl.int64) * length + rows
    tl.store(taus + row, tau, mask=inside)
    tl.store(stop + row, begins, mask=inside)


@tuned(BACKWARD_QUERIES)
@triton.jit(do_not_specialize=["long"])
def queries_kernel(
    query, query_at, key, key_at, value, value_at, d_out, d_out_at, taus, stop, means,
    d_query, d_query_at, slopes, positions, positions_at, query_numbers, key_numbers,
    scale, heads, length, long,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, SLOPED: tl.constexpr, DOCUMENTS: tl.constexpr,
    PRECISION: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Write the means and dq."""
    start = (tl.num_programs(0) - 1 - tl.program_id(0)) * QUERIES
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    rows = start + tl.arange(0, QUERIES)
    inside = rows < length
    q = read_tile(query, query_at, batch, head, rows, length, WIDTH)
    do = read_tile(d_out, d_out_at, batch, head, rows, length, VALUES)
    here, mine = _details(
        positions, positions_at, query_numbers, batch, rows, length, SLOPED, DOCUMENTS
    )
    slope = 0.0
    if SLOPED:
        slope = tl.load(slopes + head) * 0.5
    row = tl.program_id(1).to(tl.int64) * length + rows
    tau = tl.load(taus + row, mask=inside, other=0.0)
    low = tl.min(tl.load(stop + row, mask=inside, other=length)) // KEYS * KEYS
    high = tl.minimum(start + QUERIES, length)

    sums = tl.zeros([QUERIES], tl.float32)
    products = tl.zeros([QUERIES], tl.float32)
    for place in range(low, high, KEYS):
        x, _, columns = _block(
            q, here, mine, rows, slope, key, key_at, positions, positions_at, key_numbers,
            batch, head, place, length, scale, KEYS, WIDTH, SLOPED, DOCUMENTS, PRECISION,
        )  # fmt: skip
        v = read_tile(value, value_at, batch, head, columns, length, VALUES)
        u = tl.maximum(x - tau[:, None], 0.0)
        sums += tl.sum(u, 1)
        products += tl.sum(u * tl.dot(do, tl.trans(v), input_precision=PRECISION), 1)
    mean = products / tl.where(sums > 0.0, sums, 1.0)
    tl.store(means + row, mean, mask=inside)

    dq = tl.zeros([QUERIES, WIDTH], tl.float32)
    for place in range(low, high, KEYS):
        x, k, columns = _block(
            q, here, mine, rows, slope, key, key_at, positions, positions_at, key_numbers,
            batch, head, place, length, scale, KEYS, WIDTH, SLOPED, DOCUMENTS, PRECISION,
        )  # fmt: skip
        v = read_tile(value, value_at, batch, head, columns, length, VALUES)
        u = tl.maximum(x - tau[:, None], 0.0)
        ds = u * (tl.dot(do, tl.trans(v), input_precision=PRECISION) - mean[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision=PRECISION)
    write_tile(d_query, d_query_at, batch, head, rows, length, dq * (2.0 * scale), WIDTH)


@tuned(BACKWARD_KEYS)
@triton.jit(do_not_specialize=["long"])
def keys_kernel(
    query, query_at, key, key_at, value, value_at, d_out, d_out_at, taus, means, ends,
    d_key, d_key_at, d_value, d_value_at,
    slopes, positions, positions_at, query_numbers, key_numbers, scale, heads, length, long,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, SLOPED: tl.constexpr, DOCUMENTS: tl.constexpr,
    PRECISION: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Write dk and dv; tiles are keys by queries."""
    start = tl.program_id(0) * KEYS
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    columns = start + tl.arange(0, KEYS)
    k = read_tile(key, key_at, batch, head, columns, length, WIDTH)
    v = read_tile(value, value_at, batch, head, columns, length, VALUES)
    there, theirs = _details(
        positions, positions_at, key_numbers, batch, columns, length, SLOPED, DOCUMENTS
    )
    slope = 0.0
    if SLOPED:
        slope = tl.load(slopes + head) * 0.5
    of_head = tl.program_id(1).to(tl.int64) * length
    end = tl.max(tl.load(ends + of_head + columns, mask=columns < length, other=0))
    dk = tl.zeros([KEYS, WIDTH], tl.float32)
    dv = tl.zeros([KEYS, VALUES], tl.float32)
    for place in range(start // QUERIES * QUERIES, end, QUERIES):
        rows = place + tl.arange(0, QUERIES)
        inside = rows < length
        q = read_tile(query, query_at, batch, head, rows, length, WIDTH)
        do = read_tile(d_out, d_out_at, batch, head, rows, length, VALUES)
        tau = tl.load(taus + of_head + rows, mask=inside, other=float("inf"))
        mean = tl.load(means + of_head + rows, mask=inside, other=0.0)
        here, mine = _details(
            positions, positions_at, query_numbers, batch, rows, length, SLOPED, DOCUMENTS
        )
        visible = columns[:, None] <= rows[None, :]
        x = _scores(
            k, q, slope, there, here, theirs, mine, visible, scale, SLOPED, DOCUMENTS, PRECISION
        )
        u = tl.maximum(x - tau[None, :], 0.0)
        dv = tl.dot((u * u).to(do.dtype), do, dv, input_precision=PRECISION)
        ds = u * (tl.dot(v, tl.trans(do), input_precision=PRECISION) - mean[None, :])
        dk = tl.dot(ds.to(q.dtype), q, dk, input_precision=PRECISION)
    write_tile(d_key, d_key_at, batch, head, columns, length, dk * (2.0 * scale), WIDTH)
    write_tile(d_value, d_value_at, batch, head, columns, length, dv, VALUES)
