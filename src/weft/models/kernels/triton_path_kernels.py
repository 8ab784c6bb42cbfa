"""The Triton kernels of PaTH; `triton_path` describes what they compute."""
# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-def,untyped-decorator"
# mypy: allow-untyped-calls

from __future__ import annotations

import triton
import triton.language as tl

from weft.models.kernels.triton_tiles import (
    NEVER,
    interpreting,
    read_tile,
    tile,
    tuned,
    write_tile,
)

CHUNK = 16 if interpreting() else 64
"""Tokens per chunk, and keys per tile."""

WIDE = (64, CHUNK, 8, 1)
FORWARD = ((64, CHUNK, 4, 3), (128, CHUNK, 8, 3), (64, CHUNK, 4, 2), (128, CHUNK, 8, 2))
BACKWARD = ((64, CHUNK, 4, 2), (128, CHUNK, 8, 2), (64, CHUNK, 4, 1), (128, CHUNK, 8, 1))


@triton.jit
def _scores(
    q, k, inner, row, own, rows, columns, mine, key_numbers, batch, length, scale,
    KEYS: tl.constexpr, NEAR: tl.constexpr, DOCUMENTS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Scores in units of log2. If chunks are NEAR, a query may be in that of the keys: `own`."""
    s = tl.dot(q, tl.trans(k), input_precision=PRECISION) * scale
    if NEAR:
        places = inner + row[:, None] * KEYS + tl.arange(0, KEYS)[None, :]
        within = tl.load(places, mask=own[:, None], other=0.0) * scale
        s = tl.where(own[:, None], within, s)
        s = tl.where(columns[None, :] <= rows[:, None], s, NEVER)
    if DOCUMENTS:
        theirs = tl.load(key_numbers + batch * length + columns)
        s = tl.where(mine[:, None] == theirs[None, :], s, NEVER)
    return s


@triton.jit
def _square(base, chunk, WIDTH: tl.constexpr):
    """Pointers to the R of a chunk."""
    line = tl.arange(0, WIDTH)
    return base + chunk.to(tl.int64) * (WIDTH * WIDTH) + line[:, None] * WIDTH + line[None, :]


@triton.jit
def _forward_step(
    q, highest, total, result, chunk, row, rows, mine, of_head,
    key, key_at, value, value_at, turns, inner, key_numbers, batch, head, length, scale,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, KEYS: tl.constexpr, NEAR: tl.constexpr,
    DOCUMENTS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Attend to a chunk, then move queries past it."""
    columns = chunk * KEYS + tl.arange(0, KEYS)
    k = read_tile(key, key_at, batch, head, columns, length, WIDTH)
    v = read_tile(value, value_at, batch, head, columns, length, VALUES)
    r = tl.load(_square(turns, of_head + chunk, WIDTH))
    narrow = q.to(k.dtype)
    s = _scores(
        narrow, k, inner, row, rows // KEYS == chunk, rows, columns, mine, key_numbers,
        batch, length, scale, KEYS, NEAR, DOCUMENTS, PRECISION,
    )  # fmt: skip
    more = tl.maximum(highest, tl.max(s, 1))
    kept = tl.exp2(highest - more)
    p = tl.exp2(s - more[:, None])
    total = total * kept + tl.sum(p, 1)
    result = tl.dot(p.to(v.dtype), v, result * kept[:, None], input_precision=PRECISION)
    turned = tl.dot(narrow, r, input_precision=PRECISION)
    if NEAR:
        turned = tl.where((rows // KEYS > chunk)[:, None], turned, 0.0)
    return q + turned, more, total, result


@tuned(FORWARD, wide=WIDE)
@triton.jit(do_not_specialize=["long"])
def forward_kernel(
    query, query_at, key, key_at, value, value_at, turns, inner, out, out_at, logs,
    query_numbers, key_numbers, first, scale, heads, length, long,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, DOCUMENTS: tl.constexpr, PRECISION: tl.constexpr,
    QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Write the output, and per query the logarithm of its sum."""
    start = (tl.num_programs(0) - 1 - tl.program_id(0)) * QUERIES  # longest rows first
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    rows = start + tl.arange(0, QUERIES)
    inside = rows < length
    row = tl.program_id(1).to(tl.int64) * length + rows
    of_head = tl.program_id(1) * (length // KEYS)
    q = read_tile(query, query_at, batch, head, rows, length, WIDTH).to(tl.float32)
    low = 0
    mine = rows
    if DOCUMENTS:
        mine = tl.load(query_numbers + batch * length + rows, mask=inside, other=0)
        low = tl.min(tl.load(first + batch * length + rows, mask=inside, other=length)) // KEYS
    own = start // KEYS
    chunks = tl.minimum(start + QUERIES, length) // KEYS
    highest = tl.full([QUERIES], 0.5 * NEVER, tl.float32)
    total = tl.zeros([QUERIES], tl.float32)
    result = tl.zeros([QUERIES, VALUES], tl.float32)
    for step in range(chunks - own):
        q, highest, total, result = _forward_step(
            q, highest, total, result, chunks - 1 - step, row, rows, mine, of_head,
            key, key_at, value, value_at, turns, inner, key_numbers, batch, head, length, scale,
            WIDTH, VALUES, KEYS, True, DOCUMENTS, PRECISION,
        )  # fmt: skip
    for step in range(own - low):
        q, highest, total, result = _forward_step(
            q, highest, total, result, own - 1 - step, row, rows, mine, of_head,
            key, key_at, value, value_at, turns, inner, key_numbers, batch, head, length, scale,
            WIDTH, VALUES, KEYS, False, DOCUMENTS, PRECISION,
        )  # fmt: skip
    total = tl.where(total > 0.0, total, 1.0)
    write_tile(out, out_at, batch, head, rows, length, result / total[:, None], VALUES)
    tl.store(logs + row, highest + tl.log2(total), mask=inside)


@triton.jit
def _backward_step(
    dq, q, do, log, delta, chunk, row, rows, mine, of_head,
    key, key_at, value, value_at, turns, inner, d_key, d_key_at, d_value, d_value_at,
    d_turns, d_inner, key_numbers, batch, head, length, scale, factor,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, KEYS: tl.constexpr, NEAR: tl.constexpr,
    DOCUMENTS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Move dq from the left of a chunk to its right; add to the chunk's gradients."""
    columns = chunk * KEYS + tl.arange(0, KEYS)
    k = read_tile(key, key_at, batch, head, columns, length, WIDTH)
    v = read_tile(value, value_at, batch, head, columns, length, VALUES)
    r = tl.load(_square(turns, of_head + chunk, WIDTH))
    own = rows // KEYS == chunk
    past = rows // KEYS > chunk
    s = _scores(
        q, k, inner, row, own, rows, columns, mine, key_numbers, batch, length, scale,
        KEYS, NEAR, DOCUMENTS, PRECISION,
    )  # fmt: skip
    p = tl.exp2(s - log[:, None])
    ds = p * (tl.dot(do, tl.trans(v), input_precision=PRECISION) - delta[:, None]) * factor
    moved = dq
    if NEAR:
        places = d_inner + row[:, None] * KEYS + tl.arange(0, KEYS)[None, :]
        tl.store(places, ds, mask=own[:, None])
        ds = tl.where(past[:, None], ds, 0.0)
        moved = tl.where(past[:, None], dq, 0.0)
    ds = ds.to(k.dtype)
    moved = moved.to(k.dtype)
    dv = tl.dot(tl.trans(p.to(do.dtype)), do, input_precision=PRECISION)
    tl.atomic_add(tile(d_value, d_value_at, batch, head, columns, VALUES), dv, sem="relaxed")
    dk = tl.dot(tl.trans(ds), q, input_precision=PRECISION)
    tl.atomic_add(tile(d_key, d_key_at, batch, head, columns, WIDTH), dk, sem="relaxed")
    dr = tl.dot(tl.trans(q), moved, input_precision=PRECISION)
    tl.atomic_add(_square(d_turns, of_head + chunk, WIDTH), dr, sem="relaxed")
    dq = tl.dot(moved, tl.trans(r), dq, input_precision=PRECISION)
    return tl.dot(ds, k, dq, input_precision=PRECISION)


@triton.jit
def _past(
    q, kept, chunk, rows, turns, of_head,
    QUERIES: tl.constexpr, KEYS: tl.constexpr, WIDTH: tl.constexpr, NEAR: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """Store queries and move them past a chunk."""
    r = tl.load(_square(turns, of_head + chunk, WIDTH))
    narrow = q.to(r.dtype)
    lines = chunk * QUERIES + tl.arange(0, QUERIES)
    tl.store(kept + lines[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :], narrow)
    turned = tl.dot(narrow, r, input_precision=PRECISION)
    if NEAR:
        turned = tl.where((rows // KEYS > chunk)[:, None], turned, 0.0)
    return q + turned


@tuned(BACKWARD, reset=["d_key", "d_value", "d_turns", "counter"], wide=WIDE)
@triton.jit(do_not_specialize=["long"])
def backward_kernel(
    query, query_at, key, key_at, value, value_at, turns, inner, out, out_at, d_out, d_out_at,
    logs, d_query, d_query_at, d_key, d_key_at, d_value, d_value_at, d_turns, d_inner,
    query_numbers, key_numbers, first, kept, counter, batches, scale, factor, heads, length, long,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, DOCUMENTS: tl.constexpr, PRECISION: tl.constexpr,
    QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Write gradients of queries and of scores within chunks; add to the others."""
    blocks = tl.cdiv(length, QUERIES)
    kept += tl.program_id(0).to(tl.int64) * (length // KEYS) * QUERIES * WIDTH
    item = tl.atomic_add(counter, 1)
    while item < blocks * batches * heads:
        start = (blocks - 1 - item % blocks) * QUERIES
        batch, head = item // blocks // heads, item // blocks % heads
        rows = start + tl.arange(0, QUERIES)
        inside = rows < length
        row = (item // blocks).to(tl.int64) * length + rows
        of_head = item // blocks * (length // KEYS)
        low = 0
        mine = rows
        if DOCUMENTS:
            mine = tl.load(query_numbers + batch * length + rows, mask=inside, other=0)
            firsts = tl.load(first + batch * length + rows, mask=inside, other=length)
            low = tl.min(firsts) // KEYS
        own = start // KEYS
        chunks = tl.minimum(start + QUERIES, length) // KEYS

        q = read_tile(query, query_at, batch, head, rows, length, WIDTH).to(tl.float32)
        for step in range(chunks - own):
            q = _past(
                q, kept, chunks - 1 - step, rows, turns, of_head,
                QUERIES, KEYS, WIDTH, True, PRECISION,
            )  # fmt: skip
        for step in range(own - low):
            q = _past(
                q, kept, own - 1 - step, rows, turns, of_head,
                QUERIES, KEYS, WIDTH, False, PRECISION,
            )  # fmt: skip
        tl.debug_barrier()  # threads read what others wrote

        do = read_tile(d_out, d_out_at, batch, head, rows, length, VALUES)
        o = read_tile(out, out_at, batch, head, rows, length, VALUES)
        delta = tl.sum(do.to(tl.float32) * o.to(tl.float32), 1)
        log = tl.load(logs + row, mask=inside, other=0.0)
        dq = tl.zeros([QUERIES, WIDTH], tl.float32)
        tiled = tl.arange(0, QUERIES)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
        for chunk in range(low, own):
            dq = _backward_step(
                dq, tl.load(kept + chunk * QUERIES * WIDTH + tiled), do, log, delta,
                chunk, row, rows, mine, of_head, key, key_at, value, value_at, turns, inner,
                d_key, d_key_at, d_value, d_value_at, d_turns, d_inner,
                key_numbers, batch, head, length, scale, factor,
                WIDTH, VALUES, KEYS, False, DOCUMENTS, PRECISION,
            )  # fmt: skip
        for chunk in range(own, chunks):
            dq = _backward_step(
                dq, tl.load(kept + chunk * QUERIES * WIDTH + tiled), do, log, delta,
                chunk, row, rows, mine, of_head, key, key_at, value, value_at, turns, inner,
                d_key, d_key_at, d_value, d_value_at, d_turns, d_inner,
                key_numbers, batch, head, length, scale, factor,
                WIDTH, VALUES, KEYS, True, DOCUMENTS, PRECISION,
            )  # fmt: skip
        write_tile(d_query, d_query_at, batch, head, rows, length, dq, WIDTH)
        tl.debug_barrier()
        item = tl.atomic_add(counter, 1)
