"""The per-chunk quantities of PaTH, in one kernel for each direction; see `triton_path`.

With A = tril(Q W^T), M = tril(W K^T, -1), N = tril(W W^T, -1), b = diag(beta), X = (I + b N)^-1,
T = X b, Y = T M and Z = T W:

    Q' = Q - A Z    K' = K - Y^T W    R = -W^T Z    S = tril(Q K^T) - A Y

and backward, with d for gradients and everything above recomputed,

    dA = -tril(dQ' Z^T + dS Y^T)    dZ = -A^T dQ' - W dR    dY = -A^T dS - W dK'^T
    dM = tril(T^T dY, -1)           dT = dY M^T + dZ W^T    dN = b dL   dL = -tril(X^T dT b X^T, -1)
    dQ = dQ' + dS K + dA W          dK = dK' + dS^T Q + dM^T W
    dW = T^T dZ + dA^T Q + dM K - Y dK' - Z dR^T + (dN + dN^T) W
    db = columns of X * dT, summed, and rows of N * dL

The inverse is that of four diagonal blocks, by elimination, and from those, with D their inverse
and E = D (b N without them), which has only three powers, X = (I - E) (I + E^2) D. It is computed
close to float32; powers of the full matrix would cancel if axes are similar. Other products use
TF32.
"""
# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-def,untyped-decorator"

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from weft.models.kernels.triton_tiles import empty_like_heads, read_tile, rowed, write_tile

PRECISE = tl.constexpr("tf32x3")
FAST = tl.constexpr("tf32")


@triton.jit
def _inverse(strict, CHUNK: tl.constexpr):
    """(I + strict)^-1, for a matrix that is 0 on the diagonal and above."""
    SIDE: tl.constexpr = CHUNK // 4
    group = tl.arange(0, 4)
    place = tl.arange(0, SIDE)
    same = (group[:, None] == group[None, :])[:, None, :, None]
    blocks = tl.sum(tl.where(same, tl.reshape(strict, (4, SIDE, 4, SIDE)), 0.0), 2)
    inner = tl.where(place[:, None] == place[None, :], 1.0, 0.0)[None, :, :]
    inner = tl.broadcast_to(inner, (4, SIDE, SIDE))
    for step in range(SIDE - 1):
        column = tl.sum(tl.where((place == step)[None, None, :], blocks, 0.0), 2)
        row = tl.sum(tl.where((place == step)[None, :, None], inner, 0.0), 1)
        inner -= column[:, :, None] * row[:, None, :]
    diagonal = tl.where(same, inner[:, :, None, :], 0.0)
    diagonal = tl.reshape(diagonal, (CHUNK, CHUNK))
    line = tl.arange(0, CHUNK) // SIDE
    outer = tl.where(line[:, None] == line[None, :], 0.0, strict)
    power = tl.dot(diagonal, outer, input_precision=PRECISE)
    twice = tl.dot(power, power, input_precision=PRECISE)
    once = diagonal + tl.dot(twice, diagonal, input_precision=PRECISE)
    return once - tl.dot(power, once, input_precision=PRECISE)


@triton.jit
def _mixed(q, k, w, b, CHUNK: tl.constexpr):
    """A, M, N, X, T, Y and Z."""
    line = tl.arange(0, CHUNK)
    below = line[:, None] > line[None, :]
    n = tl.where(below, tl.dot(w, tl.trans(w), input_precision=PRECISE), 0.0)
    x = _inverse(b[:, None] * n, CHUNK)
    t = x * b[None, :]
    along_axes = tl.dot(q, tl.trans(w), input_precision=FAST)
    a = tl.where(line[:, None] >= line[None, :], along_axes, 0.0)
    m = tl.where(below, tl.dot(w, tl.trans(k), input_precision=FAST), 0.0)
    y = tl.dot(t, m, input_precision=FAST)
    z = tl.dot(t, w, input_precision=FAST)
    return a, m, n, x, t, y, z


@triton.jit
def _forward(
    query, query_at, key, key_at, axes, axes_at, beta, beta_at,
    queries, keys, keys_at, turns, inner, heads, length,
    CHUNK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Write Q', K', R and S of a chunk."""
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    line = tl.arange(0, CHUNK)
    rows = tl.program_id(0) * CHUNK + line
    q = read_tile(query, query_at, batch, head, rows, length, WIDTH).to(tl.float32)
    k = read_tile(key, key_at, batch, head, rows, length, WIDTH).to(tl.float32)
    w = read_tile(axes, axes_at, batch, head, rows, length, WIDTH)
    b = tl.load(beta + batch * beta_at[0] + head * beta_at[1] + rows * beta_at[2])
    a, _, _, _, _, y, z = _mixed(q, k, w, b, CHUNK)

    turned = q - tl.dot(a, z, input_precision=FAST)
    write_tile(queries, keys_at, batch, head, rows, length, turned, WIDTH)
    moved = k - tl.dot(tl.trans(y), w, input_precision=FAST)
    write_tile(keys, keys_at, batch, head, rows, length, moved, WIDTH)
    s = tl.where(line[:, None] >= line[None, :], tl.dot(q, tl.trans(k), input_precision=FAST), 0.0)
    s -= tl.dot(a, y, input_precision=FAST)
    row = tl.program_id(1).to(tl.int64) * length + rows
    tl.store(inner + row[:, None] * CHUNK + line[None, :], s)
    r = -tl.dot(tl.trans(w), z, input_precision=FAST)
    tl.store(_square(turns, length, CHUNK, WIDTH), r.to(turns.dtype.element_ty))


@triton.jit
def _square(base, length, CHUNK: tl.constexpr, WIDTH: tl.constexpr):
    """Pointers to the R of the program's chunk."""
    chunk = tl.program_id(1).to(tl.int64) * (length // CHUNK) + tl.program_id(0)
    side = tl.arange(0, WIDTH)
    return base + chunk * (WIDTH * WIDTH) + side[:, None] * WIDTH + side[None, :]


@triton.jit
def _backward(
    query, query_at, key, key_at, axes, axes_at, beta, beta_at,
    d_queries, d_queries_at, d_keys, d_keys_at, d_turns, d_inner,
    d_query, d_key, d_axes, d_at, d_beta, d_beta_at, heads, length,
    CHUNK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Write dQ, dK, dW and db of a chunk."""
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    line = tl.arange(0, CHUNK)
    rows = tl.program_id(0) * CHUNK + line
    below = line[:, None] > line[None, :]
    q = read_tile(query, query_at, batch, head, rows, length, WIDTH).to(tl.float32)
    k = read_tile(key, key_at, batch, head, rows, length, WIDTH).to(tl.float32)
    w = read_tile(axes, axes_at, batch, head, rows, length, WIDTH)
    b = tl.load(beta + batch * beta_at[0] + head * beta_at[1] + rows * beta_at[2])
    a, m, n, x, t, y, z = _mixed(q, k, w, b, CHUNK)

    d_turned = read_tile(d_queries, d_queries_at, batch, head, rows, length, WIDTH).to(tl.float32)
    row = tl.program_id(1).to(tl.int64) * length + rows
    ds = tl.load(d_inner + row[:, None] * CHUNK + line[None, :])
    ds = tl.where(line[:, None] >= line[None, :], ds, 0.0)
    da = tl.dot(d_turned, tl.trans(z), input_precision=FAST)
    da = tl.dot(ds, tl.trans(y), da, input_precision=FAST)
    da = tl.where(line[:, None] >= line[None, :], -da, 0.0)
    dq = tl.dot(ds, k, d_turned, input_precision=FAST)
    dq = tl.dot(da, w, dq, input_precision=FAST)
    write_tile(d_query, d_at, batch, head, rows, length, dq, WIDTH)

    dr = tl.load(_square(d_turns, length, CHUNK, WIDTH)).to(tl.float32)
    d_moved = read_tile(d_keys, d_keys_at, batch, head, rows, length, WIDTH).to(tl.float32)
    dz = -tl.dot(tl.trans(a), d_turned, input_precision=FAST)
    dz -= tl.dot(w, dr, input_precision=FAST)
    dy = -tl.dot(tl.trans(a), ds, input_precision=FAST)
    dy -= tl.dot(w, tl.trans(d_moved), input_precision=FAST)
    dm = tl.where(below, tl.dot(tl.trans(t), dy, input_precision=FAST), 0.0)
    dw = tl.dot(y, d_moved, input_precision=FAST)
    dw = tl.dot(z, tl.trans(dr), dw, input_precision=FAST)
    dw = tl.dot(tl.trans(da), q, -dw, input_precision=FAST)
    dw = tl.dot(tl.trans(t), dz, dw, input_precision=FAST)
    dw = tl.dot(dm, k, dw, input_precision=FAST)
    dk = tl.dot(tl.trans(ds), q, d_moved, input_precision=FAST)
    dk = tl.dot(tl.trans(dm), w, dk, input_precision=FAST)
    write_tile(d_key, d_at, batch, head, rows, length, dk, WIDTH)

    dt = tl.dot(dy, tl.trans(m), input_precision=FAST)
    dt = tl.dot(dz, tl.trans(w), dt, input_precision=FAST)
    dl = tl.dot(tl.trans(x), dt * b[None, :], input_precision=FAST)
    dl = tl.dot(dl, tl.trans(x), input_precision=FAST)
    dl = tl.where(below, -dl, 0.0)
    db = tl.sum(n * dl, 1)
    places = d_beta + batch * d_beta_at[0] + head * d_beta_at[1] + rows * d_beta_at[2]
    tl.store(places, db + tl.sum(tl.trans(x * dt), 1))
    dn = dl * b[:, None]
    dw = tl.dot(dn + tl.trans(dn), w, dw, input_precision=FAST)
    write_tile(d_axes, d_at, batch, head, rows, length, dw, WIDTH)


@torch.library.custom_op(
    "weft::path_chunks",
    mutates_args=(),
    schema="(Tensor query, Tensor key, Tensor axes, Tensor beta, int chunk)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
)
def path_chunks(
    query: Tensor, key: Tensor, axes: Tensor, beta: Tensor, chunk: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Q' and K' (b h l k), R (b h chunks k k) and S (b h l chunk) of whole chunks.

    Args:
        query: b h l k.
        key: b h l k.
        axes: b h l k float32, of length 1.
        beta: b h l float32.
        chunk: tokens per chunk.
    """
    query, key, axes = rowed([query, key, axes])
    queries, keys, turns, inner = _results(query, key, axes, beta, chunk)
    batch, heads, length, width = query.shape
    _forward[(length // chunk, batch * heads)](
        query, query.stride(), key, key.stride(), axes, axes.stride(), beta, beta.stride(),
        queries, keys, keys.stride(), turns, inner, heads, length,
        CHUNK=chunk, WIDTH=width, num_warps=4,
    )  # fmt: skip
    return queries, keys, turns, inner


@path_chunks.register_fake
def _results(
    query: Tensor, key: Tensor, axes: Tensor, beta: Tensor, chunk: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    batch, heads, length, width = query.shape
    turns = query.new_empty(batch, heads, length // chunk, width, width)
    inner = query.new_empty(batch, heads, length, chunk, dtype=torch.float32)
    return query.new_empty(query.shape), key.new_empty(key.shape), turns, inner


@torch.library.custom_op(
    "weft::path_chunks_backward",
    mutates_args=(),
    schema="(Tensor query, Tensor key, Tensor axes, Tensor beta, int chunk, Tensor d_queries,"
    " Tensor d_keys, Tensor d_turns, Tensor d_inner) -> (Tensor, Tensor, Tensor, Tensor)",
)
def _path_chunks_backward(
    query: Tensor,
    key: Tensor,
    axes: Tensor,
    beta: Tensor,
    chunk: int,
    d_queries: Tensor,
    d_keys: Tensor,
    d_turns: Tensor,
    d_inner: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    query, key, axes, d_queries, d_keys = rowed([query, key, axes, d_queries, d_keys])
    d_query, d_key, d_axes, d_beta = _gradients(query, key, axes, beta)
    batch, heads, length, width = query.shape
    _backward[(length // chunk, batch * heads)](
        query, query.stride(), key, key.stride(), axes, axes.stride(), beta, beta.stride(),
        d_queries, d_queries.stride(), d_keys, d_keys.stride(),
        d_turns.contiguous(), d_inner.contiguous(),
        d_query, d_key, d_axes, d_axes.stride(), d_beta, d_beta.stride(), heads, length,
        CHUNK=chunk, WIDTH=width, num_warps=4,
    )  # fmt: skip
    return d_query, d_key, d_axes, d_beta


@_path_chunks_backward.register_fake
def _gradients(
    query: Tensor, key: Tensor, axes: Tensor, beta: Tensor, *_: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return *empty_like_heads(query, key, axes), beta.new_empty(beta.shape)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    *tensors, ctx.chunk = inputs
    ctx.save_for_backward(*tensors)


def _differentiate(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
    results = _path_chunks_backward(*ctx.saved_tensors, ctx.chunk, *gradients)
    return *results, None


path_chunks.register_autograd(_differentiate, setup_context=_remember)
