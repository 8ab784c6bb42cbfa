"""1.5-entmax attention in Triton, forward and backward, with memory linear in the length.

    A_ij = [ x_ij - tau_i ]_+^2    x = s / 2    s = q_i · k_j scale - slope |i - j|

and rows sum to 1.

**Forward.** A program has a block of queries and walks through the keys several times, computing
scores anew each time.

1. From right to left, for the maximum m of each row. tau is at least m - 1, so a block of keys
   counts only if it has a score above that; the leftmost that does is where later walks begin. With
   slopes that is close by.
2. For tau, by Halley's method from m - 1, in brackets. With S_n the sum of [x - tau]_+^n, a walk
   gives f = S_2 - 1, f' = -2 S_1 and f'' = 2 S_0; f is convex, so Newton's step from anywhere is a
   bound from below, and where f < 0 tau itself is one from above. When f is within 1% everywhere
   the last step leaves it within 1e-6: 4 to 6 walks for rows of 4,096.
3. For what is found, normalised. tau is kept, and where the support of each row begins.

**Backward.** With u = [x - tau]_+ and G_ij = do_i · v_j,

    ds = u * (G - mean)    mean = <u, G> / sum u    dv_j = sum_i u_ij^2 do_i

One kernel has blocks of queries: a walk for the means, one for dq. The other has blocks of keys and
walks through the queries that can see them, for dk and dv. No step is repeated, no sum is atomic.
"""
# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-def,untyped-decorator"

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from weft.models.kernels.triton_tiles import (
    NEVER,
    empty_heads,
    first_keys,
    launched,
    read_tile,
    rowed,
    shapes,
    sizes,
    tuned,
    widened,
    write_tile,
)

STEPS = tl.constexpr(16)
"""Walks for tau, at most."""

CLOSE = tl.constexpr(1.0e-2)
"""How far a sum may be from 1 before the last step."""

FORWARD = ((64, 64, 4, 3), (128, 64, 8, 3), (128, 128, 8, 2), (64, 32, 4, 4))
BACKWARD_QUERIES = ((64, 64, 4, 3), (128, 64, 8, 2), (128, 32, 4, 3), (64, 32, 4, 3))
BACKWARD_KEYS = ((64, 64, 4, 2), (64, 128, 8, 2), (32, 128, 8, 3), (32, 64, 4, 3))


@triton.jit
def _scores(
    q, k, slope, here, there, mine, theirs, seen, scale,
    SLOPED: tl.constexpr, DOCUMENTS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """x of the rows of q and of k, which stand `here` and `there`; numbers are `mine`, `theirs`."""
    x = tl.dot(q, tl.trans(k), input_precision=PRECISION) * scale
    if SLOPED:
        x -= slope * tl.abs(here[:, None] - there[None, :])
    if DOCUMENTS:
        seen = seen & (mine[:, None] == theirs[None, :])
    return tl.where(seen, x, NEVER)


@triton.jit
def _details(
    positions, positions_at, numbers, batch, places, length,
    SLOPED: tl.constexpr, DOCUMENTS: tl.constexpr,
):  # fmt: skip
    """Positions and numbers of some tokens; anything where they are not used."""
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
    seen = columns[None, :] <= rows[:, None]
    x = _scores(q, k, slope, here, there, mine, theirs, seen, scale, SLOPED, DOCUMENTS, PRECISION)
    return x, k, columns


@triton.jit
def _halley(tau, lower, upper, ones, sums, squares):
    """A better tau between bounds, the bounds, and how far the squares are from 1."""
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
def _forward(
    query, query_at, key, key_at, value, value_at, out, out_at, taus, stop,
    slopes, positions, positions_at, query_numbers, key_numbers, first,
    scale, heads, length, long,
    WIDTH: tl.constexpr, VALUES: tl.constexpr, SLOPED: tl.constexpr, DOCUMENTS: tl.constexpr,
    PRECISION: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Write what is found, and per query tau and where its support begins."""
    start = (tl.num_programs(0) - 1 - tl.program_id(0)) * QUERIES  # long walks first
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

    most = tl.full([QUERIES], NEVER, tl.float32)
    begins = tl.full([QUERIES], 0, tl.int32) + length
    for step in range(blocks):
        place = high - (step + 1) * KEYS
        x, _, _ = _block(
            q, here, mine, rows, slope, key, key_at, positions, positions_at, key_numbers,
            batch, head, place, length, scale, KEYS, WIDTH, SLOPED, DOCUMENTS, PRECISION,
        )  # fmt: skip
        top = tl.max(x, 1)
        most = tl.maximum(most, top)
        begins = tl.where(top > most - 1.0, place, begins)
    low = tl.min(tl.where(inside, begins, length))

    alive = inside & (most > 0.5 * NEVER)
    lower = most - 1.0
    upper = most - tl.rsqrt((rows + 1).to(tl.float32))
    tau = lower
    step = 0
    worst = 1.0
    while (step < STEPS) & (worst > CLOSE):
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
    found = tl.zeros([QUERIES, VALUES], tl.float32)
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
        found = tl.dot(weights.to(v.dtype), v, found, input_precision=PRECISION)
    found = found / tl.where(total > 0.0, total, 1.0)[:, None]

    write_tile(out, out_at, batch, head, rows, length, found, VALUES)
    row = tl.program_id(1).to(tl.int64) * length + rows
    tl.store(taus + row, tau, mask=inside)
    tl.store(stop + row, begins, mask=inside)


@tuned(BACKWARD_QUERIES)
@triton.jit(do_not_specialize=["long"])
def _backward_queries(
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
def _backward_keys(
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
        seen = columns[:, None] <= rows[None, :]
        x = _scores(
            k, q, slope, there, here, theirs, mine, seen, scale, SLOPED, DOCUMENTS, PRECISION
        )
        u = tl.maximum(x - tau[None, :], 0.0)
        dv = tl.dot((u * u).to(do.dtype), do, dv, input_precision=PRECISION)
        ds = u * (tl.dot(v, tl.trans(do), input_precision=PRECISION) - mean[None, :])
        dk = tl.dot(ds.to(q.dtype), q, dk, input_precision=PRECISION)
    write_tile(d_key, d_key_at, batch, head, columns, length, dk * (2.0 * scale), WIDTH)
    write_tile(d_value, d_value_at, batch, head, columns, length, dv, VALUES)


_INPUTS = (
    "Tensor query, Tensor key, Tensor value, float scale, Tensor? slopes, Tensor? positions,"
    " Tensor? queries, Tensor? keys"
)


@torch.library.custom_op(
    "weft::entmax15", mutates_args=(), schema=f"({_INPUTS}) -> (Tensor, Tensor, Tensor)"
)
def _entmax(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    slopes: Tensor | None,
    positions: Tensor | None,
    queries: Tensor | None,
    keys: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    query, key, value = rowed([query, key, value])
    out, taus, stop = _results(query, key, value)
    first = None if queries is None or keys is None else first_keys(queries, keys)
    _forward[launched(query)](
        query, query.stride(), key, key.stride(), value, value.stride(), out, out.stride(),
        taus, stop, *_placed(slopes, positions), queries, keys, first, scale / 2,
        *sizes(query), **shapes(query, value, queries), SLOPED=slopes is not None,
    )  # fmt: skip
    return out, taus, stop


@_entmax.register_fake
def _results(query: Tensor, key: Tensor, value: Tensor, *_: Any) -> tuple[Tensor, Tensor, Tensor]:
    taus = query.new_empty(query.shape[:3], dtype=torch.float32)
    stop = query.new_empty(query.shape[:3], dtype=torch.int32)
    return empty_heads(query, value.shape[-1]), taus, stop


@torch.library.custom_op(
    "weft::entmax15_backward",
    mutates_args=(),
    schema=f"(Tensor d_out, Tensor taus, Tensor stop, {_INPUTS}) -> (Tensor, Tensor, Tensor)",
)
def _entmax_backward(
    d_out: Tensor,
    taus: Tensor,
    stop: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    slopes: Tensor | None,
    positions: Tensor | None,
    queries: Tensor | None,
    keys: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    query, key, value, d_out = rowed([query, key, value, d_out])
    d_query, d_key, d_value = _gradients(d_out, taus, stop, query, key, value)
    means = torch.empty_like(taus)
    given = [
        query, query.stride(), key, key.stride(), value, value.stride(), d_out, d_out.stride(), taus
    ]  # fmt: skip
    rest = [*_placed(slopes, positions), queries, keys, scale / 2, *sizes(query)]
    fixed = {**shapes(query, value, queries), "SLOPED": slopes is not None}
    _backward_queries[launched(query)](
        *given, stop, means, d_query, d_query.stride(), *rest, **fixed
    )
    _backward_keys[launched(query, "KEYS")](
        *given, means, _ends(stop), d_key, d_key.stride(), d_value, d_value.stride(),
        *rest, **fixed,
    )  # fmt: skip
    return d_query, d_key, d_value


@_entmax_backward.register_fake
def _gradients(
    d_out: Tensor, taus: Tensor, stop: Tensor, query: Tensor, key: Tensor, value: Tensor, *_: Any
) -> tuple[Tensor, Tensor, Tensor]:
    made = [empty_heads(tensor, tensor.shape[-1]) for tensor in (query, key, value)]
    return made[0], made[1], made[2]


def _placed(slopes: Tensor | None, positions: Tensor | None) -> tuple[Any, Any, int]:
    """Slopes, positions, and how far apart those of two sequences are."""
    shared = positions is None or positions.dim() == 1
    return slopes, positions, 0 if shared or positions is None else positions.stride(0)


def _ends(stop: Tensor) -> Tensor:
    """b h l: behind the last query whose support begins at a key or before it."""
    length = stop.shape[2]
    after = torch.arange(1, length + 1, dtype=torch.int32, device=stop.device).expand_as(stop)
    begins = stop.clamp(max=length - 1).long()
    ends = torch.zeros_like(stop).scatter_reduce_(2, begins, after, "amax")
    return ends.cummax(2).values


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    query, key, value, ctx.scale, *others = inputs
    ctx.save_for_backward(*output[1:], query, key, value, *others)


def _differentiate(ctx: Any, d_out: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
    taus, stop, query, key, value, *others = ctx.saved_tensors
    made = _entmax_backward(d_out, taus, stop, query, key, value, ctx.scale, *others)
    return *made, None, None, None, None, None


_entmax.register_autograd(_differentiate, setup_context=_remember)


def triton_entmax(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    slopes: Tensor | None = None,
    positions: Tensor | None = None,
    queries: Tensor | None = None,
    keys: Tensor | None = None,
) -> Tensor:
    """What 1.5-entmax attention finds, to the left.

    Args:
        query: b h l k.
        key: b h l k.
        value: b h l v.
        scale: what q · k is multiplied by.
        slopes: h float32; minus the slope for every step of distance. No gradient.
        positions: l or b l float32, from which distances are, with slopes.
        queries: b l int32, a number for each token as a query; None where all see all before them.
        keys: b l int32, the same as a key; a query sees the keys with its number.
    """
    found: Tensor = _entmax(
        widened(query), widened(key), widened(value), scale, slopes, positions, queries, keys
    )[0]
    return found[..., : value.shape[-1]]
