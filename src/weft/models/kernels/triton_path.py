"""PaTH in Triton, forward and backward, with memory linear in the length.

    s_ij = q_i^T H_i ... H_{j+1} k_j scale    H_l = I - beta_l w_l w_l^T

Tokens are cut into chunks of 64. With Q, K, W those of a chunk as rows, b = diag(beta) and
T = (I + tril(b W W^T, -1))^-1 b, for all chunks at once (`triton_path_chunks`; in plain PyTorch for
float32 and wide heads):

    Q' = Q - tril(Q W^T) T W                      queries, taken back to the start of their chunk
    K' = K - tril(W K^T, -1)^T T^T W              keys, taken on to the end of theirs
    R  = -W^T T W                                 a whole chunk is I + R
    S  = tril(Q K^T) - tril(Q W^T) T tril(W K^T, -1)   scores within a chunk

Between chunks, for i in chunk a and j in c,

    s_ij = q'_i^T (I + R_{a-1}) ... (I + R_{c+1}) k'_j scale

**Forward.** A program has a block of queries and walks through the chunks from right to left:
scores with a chunk's keys, a step of softmax, and then the queries are taken past the chunk,
q += q R. They are kept in float32, so that only what is added is rounded: R, not I + R, has the
precision of the tensors.

**Backward.** Gradients of the queries come from the left, where the walk ends, and each step needs
the queries as they were there; going back is no option, since I + R may be singular. So a program
walks once from right to left and writes its queries down at each chunk, in a place of its own, and
then from left to right. As many programs are started as run at once, each with many blocks of
queries in turn, so those places grow with the length alone. What belongs to a chunk (dK', dV, dR)
is added up in float32 by atomic additions, in an order that is not fixed.
"""
# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-def,untyped-decorator"
# mypy: allow-untyped-calls

from __future__ import annotations

import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from weft.models.kernels.triton_path_chunks import path_chunks
from weft.models.kernels.triton_tiles import (
    NEVER,
    empty_heads,
    first_keys,
    interpreting,
    launched,
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

CHUNK = 16 if interpreting() else 64
"""Tokens of a chunk, and keys of a tile."""

WIDE = (64, CHUNK, 8, 1)
FORWARD = ((64, CHUNK, 4, 3), (128, CHUNK, 8, 3), (64, CHUNK, 4, 2), (128, CHUNK, 8, 2))
BACKWARD = ((64, CHUNK, 4, 2), (128, CHUNK, 8, 2), (64, CHUNK, 4, 1), (128, CHUNK, 8, 1))


@triton.jit
def _scores(
    q, k, inner, row, own, rows, columns, mine, key_numbers, batch, length, scale,
    KEYS: tl.constexpr, NEAR: tl.constexpr, DOCUMENTS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Scores for powers of 2. Where chunks are NEAR, a query may be in that of the keys: `own`."""
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
    q, most, total, found, chunk, row, rows, mine, of_head,
    key, key_at, value, value_at, turns, inner, key_numbers, batch, head, length, scale,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, KEYS: tl.constexpr, NEAR: tl.constexpr,
    DOCUMENTS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Attend to a chunk, then go past it."""
    columns = chunk * KEYS + tl.arange(0, KEYS)
    k = read_tile(key, key_at, batch, head, columns, length, WIDTH)
    v = read_tile(value, value_at, batch, head, columns, length, VALUES)
    r = tl.load(_square(turns, of_head + chunk, WIDTH))
    narrow = q.to(k.dtype)
    s = _scores(
        narrow, k, inner, row, rows // KEYS == chunk, rows, columns, mine, key_numbers,
        batch, length, scale, KEYS, NEAR, DOCUMENTS, PRECISION,
    )  # fmt: skip
    more = tl.maximum(most, tl.max(s, 1))
    kept = tl.exp2(most - more)
    p = tl.exp2(s - more[:, None])
    total = total * kept + tl.sum(p, 1)
    found = tl.dot(p.to(v.dtype), v, found * kept[:, None], input_precision=PRECISION)
    turned = tl.dot(narrow, r, input_precision=PRECISION)
    if NEAR:
        turned = tl.where((rows // KEYS > chunk)[:, None], turned, 0.0)
    return q + turned, more, total, found


@tuned(FORWARD, wide=WIDE)
@triton.jit(do_not_specialize=["long"])
def _forward(
    query, query_at, key, key_at, value, value_at, turns, inner, out, out_at, logs,
    query_numbers, key_numbers, first, scale, heads, length, long,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, DOCUMENTS: tl.constexpr, PRECISION: tl.constexpr,
    QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Write what is found, and per query the logarithm of its sum."""
    start = (tl.num_programs(0) - 1 - tl.program_id(0)) * QUERIES  # long walks first
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
    most = tl.full([QUERIES], 0.5 * NEVER, tl.float32)
    total = tl.zeros([QUERIES], tl.float32)
    found = tl.zeros([QUERIES, VALUES], tl.float32)
    for step in range(chunks - own):
        q, most, total, found = _forward_step(
            q, most, total, found, chunks - 1 - step, row, rows, mine, of_head,
            key, key_at, value, value_at, turns, inner, key_numbers, batch, head, length, scale,
            WIDTH, VALUES, KEYS, True, DOCUMENTS, PRECISION,
        )  # fmt: skip
    for step in range(own - low):
        q, most, total, found = _forward_step(
            q, most, total, found, own - 1 - step, row, rows, mine, of_head,
            key, key_at, value, value_at, turns, inner, key_numbers, batch, head, length, scale,
            WIDTH, VALUES, KEYS, False, DOCUMENTS, PRECISION,
        )  # fmt: skip
    total = tl.where(total > 0.0, total, 1.0)
    write_tile(out, out_at, batch, head, rows, length, found / total[:, None], VALUES)
    tl.store(logs + row, most + tl.log2(total), mask=inside)


@triton.jit
def _backward_step(
    dq, q, do, log, delta, chunk, row, rows, mine, of_head,
    key, key_at, value, value_at, turns, inner, d_key, d_key_at, d_value, d_value_at,
    d_turns, d_inner, key_numbers, batch, head, length, scale, factor,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, KEYS: tl.constexpr, NEAR: tl.constexpr,
    DOCUMENTS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Take dq from left of a chunk to right of it; add to what the chunk has."""
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
    """Write queries down and take them past a chunk."""
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
def _backward(
    query, query_at, key, key_at, value, value_at, turns, inner, out, out_at, d_out, d_out_at,
    logs, d_query, d_query_at, d_key, d_key_at, d_value, d_value_at, d_turns, d_inner,
    query_numbers, key_numbers, first, kept, counter, batches, scale, factor, heads, length, long,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, DOCUMENTS: tl.constexpr, PRECISION: tl.constexpr,
    QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Write the gradients of queries and of scores within chunks, add to the others."""
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
        tl.debug_barrier()  # what some threads wrote others read

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
    _forward[launched(query)](
        query, query.stride(), key, key.stride(), value, value.stride(),
        turns.contiguous(), inner.contiguous(), out, out.stride(), logs,
        queries, keys, _first(queries, keys), scale * LOG2E,
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
    _backward[grid](
        query, query.stride(), key, key.stride(), value, value.stride(),
        turns.contiguous(), inner.contiguous(), out, out.stride(), d_out, d_out.stride(), logs,
        d_query, d_query.stride(), sums[0], sums[0].stride(), sums[1], sums[1].stride(),
        sums[2], d_inner, queries, keys, _first(queries, keys), kept, counter,
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
    heads = [empty_heads(tensor, tensor.shape[-1]) for tensor in (query, key, value)]
    contiguous = [tensor.new_empty(tensor.shape, dtype=tensor.dtype) for tensor in (turns, inner)]
    return heads[0], heads[1], heads[2], contiguous[0], contiguous[1]


def _places(query: Tensor) -> tuple[Tensor, Tensor, Any]:
    """Room for queries on their way, a counter of blocks taken, and how many programs there are."""
    batch, heads, length, width = query.shape
    rows = batch * heads * triton.cdiv(length, 128) * 128
    if query.is_cuda:
        processors = torch.cuda.get_device_properties(query.device).multi_processor_count
        rows = min(rows, 128 * processors)
    kept = query.new_empty(rows * (length // CHUNK) * width)
    counter = torch.zeros(1, dtype=torch.int32, device=query.device)
    return kept, counter, lambda meta: (rows // meta["QUERIES"],)


def _first(queries: Tensor | None, keys: Tensor | None) -> Tensor | None:
    return None if queries is None or keys is None else first_keys(queries, keys)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    *tensors, ctx.scale, queries, keys = inputs
    ctx.save_for_backward(*output, *tensors, queries, keys)


def _differentiate(ctx: Any, d_out: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
    *tensors, queries, keys = ctx.saved_tensors
    made = _path_backward(d_out, *tensors, ctx.scale, queries, keys)
    return *made, None, None, None


_path.register_autograd(_differentiate, setup_context=_remember)


def _chunks(query: Tensor, key: Tensor, axes: Tensor, beta: Tensor) -> tuple[Tensor, ...]:
    """Q' and K' (b h l k), R (b h chunks k k) and S (b h l chunk); lengths are whole chunks."""
    narrow = query.dtype != torch.float32 or interpreting()
    if narrow and query.shape[-1] <= 64:
        made: tuple[Tensor, ...] = path_chunks(query, key, axes, beta, CHUNK)
    else:  # what is between is made anew for the way back
        made = checkpoint(_chunked, query, key, axes, beta, use_reentrant=False)
    return made


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
    asked = (q @ w.mT).tril()
    held = solved @ (w @ k.mT).tril(-1)
    turned = solved @ w
    queries = (q - asked @ turned).flatten(2, 3)
    keys = (k - held.mT @ w).flatten(2, 3)
    inner = ((q @ k.mT).tril() - asked @ held).flatten(2, 3)
    turns = -(w.mT @ turned)
    return queries.to(query.dtype), keys.to(key.dtype), turns.to(query.dtype), inner


def _whole(tensor: Tensor) -> Tensor:
    """With zeros up to a whole number of chunks (b h l k, b h l)."""
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
    """What PaTH finds.

    Args:
        query: b h l k.
        key: b h l k.
        value: b h l v.
        axes: b h l k float32, of length 1.
        beta: b h l float32.
        scale: what scores are multiplied by.
        queries: b l int32, a number for each token as a query; None where all see all before them.
        keys: b l int32, the same as a key; a query sees the keys with its number.
    """
    length, width = value.shape[2:]
    with torch.autocast(query.device.type, enabled=False):
        query, key, value, axes = (_whole(widened(one)) for one in (query, key, value, axes))
        made = _chunks(query, key, axes, _whole(beta))
        if queries is not None and keys is not None:
            missing = value.shape[2] - length
            queries, keys = (torch.nn.functional.pad(one, (0, missing)) for one in (queries, keys))
        found: Tensor = _path(made[0], made[1], value, made[2], made[3], scale, queries, keys)[0]
    return found[:, :, :length, :width]
