"""Stick-breaking, entmax and PaTH in Triton: right, how fast, and with how much memory.

    PYTHONPATH=src python bench/kernels_sparse.py [stick-breaking] [entmax] [path]

Needs a CUDA device. Errors are ||found - expected|| / ||expected||, with the formula in float64 on
the same rounded inputs; times are medians, beside PyTorch's causal attention of the same size.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize, scaled_dot_product_attention, softplus

from weft.models.attentions.entmax import entmax
from weft.models.attentions.path import path_scores
from weft.models.kernels.triton_entmax import triton_entmax
from weft.models.kernels.triton_path import triton_path
from weft.models.kernels.triton_stick_breaking import triton_stick_breaking

NAMES = ("stick-breaking", "entmax", "path")
SIZES = ((129, 32), (200, 64), (1000, 64))


def seen(length: int, strict: bool = False) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool, device="cuda").tril(-int(strict))


def dense_stick_breaking(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = q @ k.mT * q.shape[-1] ** -0.5
    hidden = ~seen(q.shape[2], strict=True)
    taken = softplus(scores).masked_fill(hidden, 0.0)
    sums = taken.flip(-1).cumsum(-1).flip(-1)
    return (scores - sums).masked_fill(hidden, float("-inf")).exp() @ v


def dense_entmax(q: Tensor, k: Tensor, v: Tensor, slopes: Tensor | None) -> Tensor:
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if slopes is not None:
        places = torch.arange(q.shape[2], device="cuda")
        scores = scores - slopes.double()[:, None, None] * (places[:, None] - places).abs()
    return entmax(scores.masked_fill(~seen(q.shape[2]), float("-inf"))) @ v


def dense_path(q: Tensor, k: Tensor, v: Tensor, axes: Tensor, beta: Tensor) -> Tensor:
    scores = path_scores(q, k, axes, beta) * q.shape[-1] ** -0.5
    return scores.masked_fill(~seen(q.shape[2]), float("-inf")).softmax(-1) @ v


def inputs(
    batch: int, heads: int, length: int, width: int, dtype: torch.dtype, offset: float = 0.0
) -> list[Tensor]:
    """q, k, v as views of projections; scores have a deviation of 1 and a mean of `offset`."""
    made = []
    for _ in range(3):
        wide = torch.randn(batch, length, heads, width, device="cuda")
        made.append(wide.to(dtype).transpose(1, 2))
    if offset:
        made[0][..., 0], made[1][..., 0] = 4.0, offset * width**0.5 / 4
    return made


def turning(batch: int, heads: int, length: int, width: int) -> list[Tensor]:
    """Axes and beta for PaTH."""
    axes = torch.randn(batch, heads, length, width, device="cuda")
    return [normalize(axes, dim=-1), 2 * torch.rand(batch, heads, length, device="cuda")]


def nape(heads: int) -> Tensor:
    """Slopes of half of the heads."""
    steep = [2 ** (-8 * (head + 1) / heads) for head in range(heads // 2)]
    return torch.tensor(steep + [0.0] * (heads - heads // 2), device="cuda")


def pairs(name: str, heads: int, length: int) -> dict[str, tuple[Callable[..., Any], ...]]:
    """By variant: kernel and formula."""
    slopes, places = nape(heads), torch.arange(length, device="cuda").float()
    if name == "stick-breaking":
        return {
            "": (lambda q, k, v: triton_stick_breaking(q, k, v, q.shape[-1] ** -0.5),
                 dense_stick_breaking),
        }  # fmt: skip
    if name == "path":
        return {
            "": (lambda q, k, v, w, b: triton_path(q, k, v, w, b, q.shape[-1] ** -0.5), dense_path),
        }  # fmt: skip
    return {
        "": (lambda q, k, v: triton_entmax(q, k, v, q.shape[-1] ** -0.5),
             lambda q, k, v: dense_entmax(q, k, v, None)),
        " nape": (lambda q, k, v: triton_entmax(q, k, v, q.shape[-1] ** -0.5, slopes, places),
                  lambda q, k, v: dense_entmax(q, k, v, slopes)),
    }  # fmt: skip


def check(name: str, length: int, width: int, dtype: torch.dtype, offset: float) -> None:
    """Print the worst errors of a kernel and its gradients."""
    for variant, (kernel, formula) in pairs(name, 2, length).items():
        given = inputs(2, 2, length, width, dtype, offset)
        given += turning(2, 2, length, width) if name == "path" else []
        d_out = torch.randn_like(given[2])
        exact = [one.double().requires_grad_() for one in given]
        expected = formula(*exact)
        expected.backward(d_out.double())
        expected = expected.detach()
        quick = [one.detach().requires_grad_() for one in given]
        start = time.perf_counter()
        found = kernel(*quick)
        found.backward(d_out)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        both = [(found, expected), *((a.grad, b.grad) for a, b in zip(quick, exact, strict=True))]
        errors = [float((a.detach().double() - b).norm() / b.norm()) for a, b in both]
        print(
            f"{name + variant:16} l {length:5} d {width:3} {str(dtype)[6:]:8} mean {offset:3.0f}"
            f"  out {errors[0]:.1e}  gradients {' '.join(f'{e:.1e}' for e in errors[1:])}"
            f"  ({seconds:.1f} s)"
        )


def timed(work: Callable[[], Any], seconds: float = 0.5) -> float:
    """Median milliseconds by CUDA events."""
    work()
    torch.cuda.synchronize()
    times: list[float] = []
    stop = time.perf_counter() + seconds
    while len(times) < 5 or (time.perf_counter() < stop and len(times) < 50):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def both_ways(kernel: Callable[..., Tensor], given: list[Tensor]) -> tuple[float, float, float]:
    """Milliseconds forward, and forward and backward; GiB at most, beside the inputs."""
    leaves = [one.detach().requires_grad_() for one in given]
    d_out = torch.randn_like(given[2])

    def train() -> None:
        for leaf in leaves:
            leaf.grad = None
        kernel(*leaves).backward(d_out)

    train()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    train()
    peak = (torch.cuda.max_memory_allocated() - before) / 2**30
    with torch.no_grad():
        forward = timed(lambda: kernel(*given))
    return forward, timed(train), peak


def report(label: str, times: tuple[float, float, float], flops: float, base: float) -> None:
    forward, total, peak = times
    print(
        f"{label:32} forward {forward:7.2f} ms {flops / forward / 1e9:6.1f} TFLOP/s   "
        f"both {total:7.2f} ms {3.5 * flops / total / 1e9:6.1f} TFLOP/s  "
        f"{total / base:5.1f} x SDPA  peak {peak:.2f} GiB"
    )


def measure(name: str, batch: int, length: int, heads: int = 16, width: int = 64) -> None:
    """Print times and memory beside SDPA, which computes 2 products of the causal half."""
    flops = 4 * batch * heads * length * length / 2 * width
    given = inputs(batch, heads, length, width, torch.bfloat16)
    base = both_ways(lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=True), given)
    where = f" b {batch} l {length}"
    report("sdpa" + where, base, flops, base[1])
    for variant, (kernel, _) in pairs(name, heads, length).items():
        for offset in (0.0, -8.0) if name == "stick-breaking" else (0.0,):
            given = inputs(batch, heads, length, width, torch.bfloat16, offset)
            given += turning(batch, heads, length, width) if name == "path" else []
            mean = f" mean {offset:.0f}" if offset else ""
            report(name + variant + mean + where, both_ways(kernel, given), flops, base[1])


def chosen() -> None:
    """Print the configs that autotuning has chosen."""
    from weft.models.kernels import (
        triton_entmax_kernels,
        triton_path_kernels,
        triton_stick_breaking,
    )

    for module in (triton_stick_breaking, triton_entmax_kernels, triton_path_kernels):
        for name, kernel in vars(module).items():
            for config, times in (getattr(kernel, "configs_timings", None) or {}).items():
                shown = [round(float(one), 3) for one in times]
                print(f"{module.__name__.split('.')[-1]} {name} {config}: {shown}")


def parts() -> None:
    """Print what of PaTH is spent before its kernel."""
    from weft.models.kernels.triton_path import _chunked, _chunks

    q, k, _ = inputs(4, 16, 4096, 64, torch.bfloat16)
    leaves = [one.contiguous().requires_grad_() for one in (q, k, *turning(4, 16, 4096, 64))]

    def train(way: Callable[..., Any]) -> None:
        made = way(*leaves)
        torch.autograd.grad(made, leaves, [torch.ones_like(one) for one in made])

    for name, way in (("Triton", _chunks), ("PyTorch", _chunked)):
        with torch.no_grad():
            forward = timed(lambda way=way: way(*leaves))
        both = timed(lambda way=way: train(way))
        print(f"path, within chunks, {name}: forward {forward:.2f} ms, both {both:.2f} ms")


def bench(names: tuple[str, ...] = NAMES) -> None:
    torch.manual_seed(int(time.time()))
    for name in names:
        for dtype in (torch.bfloat16, torch.float32):
            for length, width in SIZES:
                for offset in (0.0, -5.0) if name == "stick-breaking" and width > 32 else (0.0,):
                    check(name, length, width, dtype, offset)
    for name in names:
        start = time.perf_counter()
        measure(name, 4, 4096)
        measure(name, 1, 16384)
        print(f"{name}: {time.perf_counter() - start:.0f} s with tuning", flush=True)
    if "path" in names:
        parts()
    chosen()


if __name__ == "__main__":
    bench(tuple(sys.argv[1:]) or NAMES)
