"""1.5-entmax attention in Triton, forward and backward, with memory linear in the length.

    A_ij = [ x_ij - tau_i ]_+^2    x = s / 2    s = q_i · k_j scale - slope |i - j|

and rows sum to 1.

**Forward.** A program processes a block of queries and goes through the keys several times,
recomputing scores each time.

1. From right to left, for the maximum m of each row. tau is at least m - 1, so a block of keys
   matters only if it has a score above that; later passes begin at the leftmost such block, which
   is close if there are slopes.
2. For tau, by Halley's method from m - 1, bracketed. With S_n the sum of [x - tau]_+^n, a pass
   gives f = S_2 - 1, f' = -2 S_1 and f'' = 2 S_0; f is convex, so a Newton step from anywhere is a
   lower bound, and if f < 0 tau itself is an upper bound. Once f is within 1% in all rows, the last
   step brings it within 1e-6: 4 to 6 passes for rows of 4,096.
3. For the output, normalised. tau is stored, and where the support of each row begins.

**Backward.** With u = [x - tau]_+ and G_ij = do_i · v_j,

    ds = u * (G - mean)    mean = <u, G> / sum u    dv_j = sum_i u_ij^2 do_i

One kernel processes blocks of queries: one pass for the means, one for dq. The other processes
blocks of keys and goes through the queries that attend to them, for dk and dv. There are no atomic
additions.
"""
# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-def,untyped-decorator"

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from weft.models.kernels.triton_entmax_kernels import (
    forward_kernel,
    keys_kernel,
    queries_kernel,
)
from weft.models.kernels.triton_tiles import (
    empty_heads,
    empty_like_heads,
    first_keys,
    launched,
    rowed,
    shapes,
    sizes,
    widened,
)

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
    forward_kernel[launched(query)](
        query, query.stride(), key, key.stride(), value, value.stride(), out, out.stride(),
        taus, stop, *_placed(slopes, positions), queries, keys, first_keys(queries, keys),
        scale / 2, *sizes(query), **shapes(query, value, queries), SLOPED=slopes is not None,
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
    queries_kernel[launched(query)](*given, stop, means, d_query, d_query.stride(), *rest, **fixed)
    keys_kernel[launched(query, "KEYS")](
        *given, means, _ends(stop), d_key, d_key.stride(), d_value, d_value.stride(),
        *rest, **fixed,
    )  # fmt: skip
    return d_query, d_key, d_value


@_entmax_backward.register_fake
def _gradients(
    d_out: Tensor, taus: Tensor, stop: Tensor, query: Tensor, key: Tensor, value: Tensor, *_: Any
) -> tuple[Tensor, Tensor, Tensor]:
    return empty_like_heads(query, key, value)


def _placed(slopes: Tensor | None, positions: Tensor | None) -> tuple[Any, Any, int]:
    """Slopes, positions, and the stride of positions between sequences."""
    shared = positions is None or positions.dim() == 1
    return slopes, positions, 0 if shared or positions is None else positions.stride(0)


def _ends(stop: Tensor) -> Tensor:
    """b h l: one past the last query whose support begins at or before each key."""
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
    results = _entmax_backward(d_out, taus, stop, query, key, value, ctx.scale, *others)
    return *results, None, None, None, None, None


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
    """Causal 1.5-entmax attention.

    Args:
        query: b h l k.
        key: b h l k.
        value: b h l v.
        scale: factor of q · k.
        slopes: h float32, subtracted per unit of distance. No gradient.
        positions: l or b l float32, for distances, if there are slopes.
        queries: b l int32, a number per token as a query; None if all attend to all before them.
        keys: b l int32, the same as a key; a query attends to the keys with its number.
    """
    result: Tensor = _entmax(
        widened(query), widened(key), widened(value), scale, slopes, positions, queries, keys
    )[0]
    return result[..., : value.shape[-1]]
