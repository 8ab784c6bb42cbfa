"""Canon layers in one pass each way, in Triton.

    y_t = x_t + sum_{k = 0 .. 3} w_k x_{t-k}

    dx_t = g_t + sum_k w_k g_{t+k}        dw_k = sum_t g_t x_{t-k}

over tokens of the same document. A program processes a strip of tokens and a block of channels (b l
c), with the last three tokens in registers, so that everything is read once. (Reading each
neighbour again took three times as long, even from the cache.) The backward pass goes three tokens
further for dx and stores a partial dw per strip; these are summed afterwards, without atomic
additions, so that gradients are deterministic.
"""
# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-def,untyped-decorator"
# mypy: allow-untyped-calls

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from weft.models.kernels import triton_tiles  # noqa: F401  (fixes Triton's interpreter)

TOKENS = 64
CHANNELS = 512
WARPS = 4


@triton.jit
def _row(base, t, length, width, inside):
    """The channels of a token; 0 beyond the ends."""
    there = (t >= 0) & (t < length)
    return tl.load(base + t * width, mask=inside & there, other=0.0).to(tl.float32)


@triton.jit
def _document(documents, t, length, HAS_DOCUMENTS: tl.constexpr):
    """The document of a token; the same for all without documents."""
    if HAS_DOCUMENTS:
        return tl.load(documents + t, mask=(t >= 0) & (t < length), other=-1)
    else:  # else: a return after the test would be compiled too
        return 0


@triton.jit
def _forward_kernel(
    stream, taps, documents, out, length, width,
    HAS_DOCUMENTS: tl.constexpr, T: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(2).to(tl.int64)
    first = tl.program_id(0) * T
    c = tl.program_id(1) * C + tl.arange(0, C)
    inside = c < width
    stream += batch * length * width + c
    out += batch * length * width + c
    documents += batch * length
    w0 = 1.0 + tl.load(taps + c, mask=inside, other=0.0).to(tl.float32)
    w1 = tl.load(taps + width + c, mask=inside, other=0.0).to(tl.float32)
    w2 = tl.load(taps + 2 * width + c, mask=inside, other=0.0).to(tl.float32)
    w3 = tl.load(taps + 3 * width + c, mask=inside, other=0.0).to(tl.float32)
    x1 = _row(stream, first - 1, length, width, inside)
    x2 = _row(stream, first - 2, length, width, inside)
    x3 = _row(stream, first - 3, length, width, inside)
    d1 = _document(documents, first - 1, length, HAS_DOCUMENTS)
    d2 = _document(documents, first - 2, length, HAS_DOCUMENTS)
    d3 = _document(documents, first - 3, length, HAS_DOCUMENTS)
    for t in range(first, tl.minimum(first + T, length)):
        x0 = _row(stream, t, length, width, inside)
        if HAS_DOCUMENTS:
            d0 = _document(documents, t, length, HAS_DOCUMENTS)
            x1 = tl.where(d1 == d0, x1, 0.0)
            x2 = tl.where(d2 == d0, x2, 0.0)
            x3 = tl.where(d3 == d0, x3, 0.0)
            d3, d2, d1 = d2, d1, d0
        total = w0 * x0 + w1 * x1 + w2 * x2 + w3 * x3
        tl.store(out + t * width, total.to(out.dtype.element_ty), mask=inside)
        x3, x2, x1 = x2, x1, x0


@triton.jit
def _backward_kernel(
    grad, stream, taps, documents, out, parts, length, width,
    HAS_DOCUMENTS: tl.constexpr, T: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(2).to(tl.int64)
    first = tl.program_id(0) * T
    last = tl.minimum(first + T, length)
    c = tl.program_id(1) * C + tl.arange(0, C)
    inside = c < width
    grad += batch * length * width + c
    stream += batch * length * width + c
    out += batch * length * width + c
    documents += batch * length
    w0 = 1.0 + tl.load(taps + c, mask=inside, other=0.0).to(tl.float32)
    w1 = tl.load(taps + width + c, mask=inside, other=0.0).to(tl.float32)
    w2 = tl.load(taps + 2 * width + c, mask=inside, other=0.0).to(tl.float32)
    w3 = tl.load(taps + 3 * width + c, mask=inside, other=0.0).to(tl.float32)
    x1 = _row(stream, first - 1, length, width, inside)
    x2 = _row(stream, first - 2, length, width, inside)
    x3 = _row(stream, first - 3, length, width, inside)
    d1 = _document(documents, first - 1, length, HAS_DOCUMENTS)
    d2 = _document(documents, first - 2, length, HAS_DOCUMENTS)
    d3 = _document(documents, first - 3, length, HAS_DOCUMENTS)
    none = tl.zeros([C], tl.float32)
    y1, y2, y3 = none, none, none  # dx of the last three tokens so far
    a0, a1, a2, a3 = none, none, none, none
    for t in range(first, last + 3):
        g0 = _row(grad, t, length, width, inside)
        g1, g2, g3 = g0, g0, g0  # as the last three tokens see it
        if HAS_DOCUMENTS:
            d0 = _document(documents, t, length, HAS_DOCUMENTS)
            x1, g1 = tl.where(d1 == d0, x1, 0.0), tl.where(d1 == d0, g0, 0.0)
            x2, g2 = tl.where(d2 == d0, x2, 0.0), tl.where(d2 == d0, g0, 0.0)
            x3, g3 = tl.where(d3 == d0, x3, 0.0), tl.where(d3 == d0, g0, 0.0)
            d3, d2, d1 = d2, d1, d0
        if t < last:
            x0 = _row(stream, t, length, width, inside)
            a0 += g0 * x0
            a1 += g0 * x1
            a2 += g0 * x2
            a3 += g0 * x3
            x3, x2, x1 = x2, x1, x0
        done = y3 + w3 * g3
        if t - 3 >= first:
            tl.store(out + (t - 3) * width, done.to(out.dtype.element_ty), mask=inside)
        y3, y2, y1 = y2 + w2 * g2, y1 + w1 * g1, w0 * g0
    parts += (batch * tl.num_programs(0) + tl.program_id(0)) * 4 * width + c
    tl.store(parts, a0, mask=inside)
    tl.store(parts + width, a1, mask=inside)
    tl.store(parts + 2 * width, a2, mask=inside)
    tl.store(parts + 3 * width, a3, mask=inside)


@torch.library.custom_op("weft::canon", mutates_args=())
def _forward(stream: Tensor, taps: Tensor, documents: Tensor | None) -> Tensor:
    stream = stream.contiguous()
    out = torch.empty_like(stream)
    _, length, width = stream.shape
    _forward_kernel[_grid(stream)](
        stream, taps, stream if documents is None else documents, out, length, width,
        documents is not None, TOKENS, CHANNELS, num_warps=WARPS,
    )  # fmt: skip
    return out


@_forward.register_fake
def _(stream: Tensor, taps: Tensor, documents: Tensor | None) -> Tensor:
    return torch.empty(stream.shape, dtype=stream.dtype, device=stream.device)


@torch.library.custom_op("weft::canon_backward", mutates_args=())
def _backward(
    grad: Tensor, stream: Tensor, taps: Tensor, documents: Tensor | None
) -> tuple[Tensor, Tensor]:
    grad, stream = grad.contiguous(), stream.contiguous()
    out = torch.empty_like(stream)
    batch, length, width = stream.shape
    grid = _grid(stream)
    parts = torch.empty(batch * grid[0], 4, width, dtype=torch.float32, device=stream.device)
    _backward_kernel[grid](
        grad, stream, taps, stream if documents is None else documents, out, parts, length, width,
        documents is not None, TOKENS, CHANNELS, num_warps=WARPS,
    )  # fmt: skip
    return out, parts.sum(0).to(taps.dtype)


@_backward.register_fake
def _(
    grad: Tensor, stream: Tensor, taps: Tensor, documents: Tensor | None
) -> tuple[Tensor, Tensor]:
    same = torch.empty(stream.shape, dtype=stream.dtype, device=stream.device)
    return same, torch.empty_like(taps)


def _grid(stream: Tensor) -> tuple[int, int, int]:
    batch, length, width = stream.shape
    return -(-length // TOKENS), -(-width // CHANNELS), batch


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    stream, taps, documents = inputs
    ctx.save_for_backward(stream, taps, documents)


def _gradients(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
    stream, taps, documents = ctx.saved_tensors
    result, of_taps = _backward(grad, stream, taps, documents)
    return result, of_taps, None


_forward.register_autograd(_gradients, setup_context=_setup)


def canon(stream: Tensor, taps: Tensor, documents: Tensor | None) -> Tensor:
    """Canon on a stream (b l c); taps are 4 by c."""
    result: Tensor = _forward(stream, taps, documents)
    return result
