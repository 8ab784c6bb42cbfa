"""Attention with a bias on keys (FoX, slopes) on a GPU: right, how fast, in how much memory.

    PYTHONPATH=src python bench/kernels_softmax.py

Compares output and gradients with the formula in float64, then takes times beside PyTorch's own
kernels without a bias (flash, cuDNN) and beside FlexAttention with slopes.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import logsigmoid, scaled_dot_product_attention

from weft.models.kernels import triton_softmax_kernels
from weft.models.kernels.triton_softmax import biased_attention

HEADS, LENGTH, WIDTH = 16, 4096, 64
NOPE_TOKENS = 352_000
"""Tokens a second of the 154M model with cuDNN's attention, from which shares are foretold."""
LAYERS = 12

Case = dict[str, Any]


def drawn(batch: int, heads: int, length: int, width: int, dtype: torch.dtype) -> list[Tensor]:
    """q, k, v and a gradient, views of projections as in a model; and c of gates near 1."""
    shape = (batch, length, heads, width)
    tensors = [torch.randn(shape, device="cuda").to(dtype).transpose(1, 2) for _ in range(4)]
    gates = torch.randn(batch, heads, length, device="cuda") + 4
    return [*tensors, logsigmoid(gates).cumsum(-1)]


def formula(q: Tensor, k: Tensor, v: Tensor, c: Tensor | None, case: Case) -> Tensor:
    """Softmax over what is seen, written out."""
    places = torch.arange(q.shape[2], device=q.device)
    back = places[:, None] - places[None, :]
    scores = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
    if c is not None:
        scores = scores + c[..., :, None] - c[..., None, :]
    if "slopes" in case:
        scores = scores - case["slopes"].to(scores)[:, None, None] * back
    seen = (back >= 0) & (back < case.get("window", len(places)))
    if "documents" in case:
        seen = seen & (case["documents"][:, None, :, None] == case["documents"][:, None, None, :])
    return scores.masked_fill(~seen, float("-inf")).softmax(-1) @ v


def error(found: Tensor, expected: Tensor) -> float:
    return float((found.detach().double() - expected.detach()).norm() / expected.detach().norm())


def errors(length: int, width: int, dtype: torch.dtype, case: Case) -> dict[str, float]:
    """Of the output and all gradients, relative to the formula in float64."""
    shape = (2, 2) if length < LENGTH else (1, HEADS)
    q, k, v, grad, c = drawn(*shape, length, width, dtype)
    given = [q, k, v] + ([c] if case.get("sums", True) else [])
    mine = [x.clone().requires_grad_() for x in given]
    exact = [x.double().requires_grad_() for x in given]
    options = {name: value for name, value in case.items() if name != "sums"}
    sums = mine[3] if len(mine) > 3 else None
    found = biased_attention(*mine[:3], width**-0.5, sums=sums, **options)
    expected = formula(*exact[:3], exact[3] if len(exact) > 3 else None, case)
    found.backward(grad)
    expected.backward(grad.double())
    named = {"o": error(found, expected)}
    for name, one, other in zip(("dq", "dk", "dv", "dc"), mine, exact, strict=False):
        assert one.grad is not None
        assert other.grad is not None
        named[name] = error(one.grad, other.grad)
    return named


def check() -> None:
    """The worst errors over lengths that fill no block, and of configs chosen for long texts."""
    slopes = torch.tensor([0.7, 0.0], device="cuda")
    documents = (torch.rand(2, 1000, device="cuda") < 0.02).cumsum(-1)
    for dtype in (torch.bfloat16, torch.float32):
        for width in (32, 64):
            found = [errors(length, width, dtype, {}) for length in (129, 200, 1000)]
            report(f"FoX, {dtype}, width {width}, lengths 129, 200, 1000", found)
    case = {"slopes": slopes, "window": 100, "documents": documents}
    report("FoX, slopes, window, documents, bfloat16", [errors(1000, 64, torch.bfloat16, case)])
    long = (LENGTH, WIDTH, torch.bfloat16)
    report("FoX, length 4096, bfloat16", [errors(*long, {})])
    with deterministic():
        report("FoX, length 4096, bfloat16, deterministic", [errors(*long, {})])
    case = {"sums": False, "slopes": nape()}
    report("slopes, length 4096, bfloat16", [errors(*long, case)])


@contextmanager
def deterministic() -> Iterator[None]:
    """Without atomic additions; what else is not deterministic may stay so."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    with warnings.catch_warnings(action="ignore"):
        yield
    torch.use_deterministic_algorithms(False)


def report(name: str, found: list[dict[str, float]]) -> None:
    worst = {key: max(one[key] for one in found) for key in found[0]}
    print(f"{name}: " + ", ".join(f"{key} {value:.1e}" for key, value in worst.items()), flush=True)


def milliseconds(action: Callable[[], Any], repeats: int = 20) -> float:
    """The median time, by events."""
    for _ in range(3):
        action()
    times = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        action()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def measure(name: str, attend: Callable[..., Tensor], batch: int) -> tuple[float, float]:
    """Forward alone, and with backward; printed."""
    q, k, v, grad, c = drawn(batch, HEADS, LENGTH, WIDTH, torch.bfloat16)
    inputs = [x.requires_grad_() for x in (q, k, v, c)]

    def both() -> None:
        for x in inputs:
            x.grad = None
        attend(*inputs).backward(grad)

    with torch.no_grad():
        forward = milliseconds(lambda: attend(*inputs))
    whole = milliseconds(both)
    work = 4 * batch * HEADS * LENGTH**2 / 2 * WIDTH / 1e9
    print(
        f"  {name:28} forward {forward:7.3f} ms {work / forward:4.0f} TFLOP/s, "
        f"with backward {whole:7.3f} ms {3.5 * work / whole:4.0f} TFLOP/s",
        flush=True,
    )
    return forward, whole


def plain(backend: SDPBackend) -> Callable[..., Tensor]:
    def attend(q: Tensor, k: Tensor, v: Tensor, c: Tensor) -> Tensor:
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v, is_causal=True)

    return attend


def fading(q: Tensor, k: Tensor, v: Tensor, c: Tensor) -> Tensor:
    return biased_attention(q, k, v, WIDTH**-0.5, sums=c)


def nape() -> Tensor:
    """The slopes of NaPE's local heads, and 0 for the others."""
    local = 2.0 ** -(torch.arange(1, HEADS // 2 + 1) / 2)
    return torch.cat([local, torch.zeros(HEADS // 2)]).cuda()


def sloping(slopes: Tensor) -> Callable[..., Tensor]:
    return lambda q, k, v, c: biased_attention(q, k, v, WIDTH**-0.5, slopes=slopes)


def flexible(slopes: Tensor) -> Callable[..., Tensor]:
    """FlexAttention with the same slopes."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def causal(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return i >= j

    def score(s: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return s - slopes[h] * (i - j)

    mask = create_block_mask(causal, None, None, LENGTH, LENGTH, device="cuda")
    attend = torch.compile(flex_attention, dynamic=False)
    return lambda q, k, v, c: attend(q, k, v, score_mod=score, block_mask=mask)


def tried(name: str, kernel: Any) -> None:
    """How long each config took when the last choice was made."""
    timings = getattr(kernel, "configs_timings", {})
    for config, times in sorted(timings.items(), key=lambda pair: pair[1][0]):
        sizes = f"{config.kwargs['ROWS']} x {config.kwargs['COLS']}"
        print(f"    {name} {sizes}, {config.num_warps} warps, {config.num_stages} stages: "
              f"{times[0]:.3f} ms")  # fmt: skip


def speed() -> None:
    for batch in (4, 16):
        print(f"batch {batch}, {HEADS} heads, length {LENGTH}, width {WIDTH}, bfloat16")
        measure("no bias, flash", plain(SDPBackend.FLASH_ATTENTION), batch)
        _, least = measure("no bias, cuDNN", plain(SDPBackend.CUDNN_ATTENTION), batch)
        _, whole = measure("FoX", fading, batch)
        foretell(least, whole, batch)
        if batch == 4:
            tried("forward", triton_softmax_kernels.forward_kernel)
            tried("dkv with dq", triton_softmax_kernels.dkv_kernel)
            with deterministic():
                measure("FoX, deterministic", fading, batch)
            tried("dkv", triton_softmax_kernels.dkv_kernel)
            tried("dq", triton_softmax_kernels.dq_kernel)
        measure("slopes", sloping(nape()), batch)
        if batch == 4:
            measure("slopes, FlexAttention", flexible(nape()), batch)


def foretell(least: float, whole: float, batch: int) -> None:
    """What share of NoPE's tokens per second the 154M model would keep, gates not counted."""
    tokens = batch * LENGTH
    seconds = tokens / NOPE_TOKENS
    share = seconds / (seconds + LAYERS * (whole - least) / 1000)
    print(f"    {whole / least:.2f} times cuDNN's time; foretold share of NoPE's speed {share:.0%}")


def memory() -> None:
    for length in (4096, 16384):
        q, k, v, grad, c = drawn(1, HEADS, length, WIDTH, torch.bfloat16)
        inputs = [x.requires_grad_() for x in (q, k, v, c)]
        fading(*inputs).backward(grad)  # chooses configs
        for x in inputs:
            x.grad = None
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        fading(*inputs).backward(grad)
        peak = torch.cuda.max_memory_allocated() - before
        print(f"peak memory beyond inputs, length {length}, batch 1: {peak / 2**20:.0f} MiB")


def bench() -> None:
    """All of it."""
    torch.manual_seed(time.time_ns() % 2**31)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    for part in (speed, check, memory):  # configs are chosen for the sizes that are timed
        start = time.perf_counter()
        part()
        print(f"[{part.__name__}: {time.perf_counter() - start:.1f} s]", flush=True)


if __name__ == "__main__":
    bench()
