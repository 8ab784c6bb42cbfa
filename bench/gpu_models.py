"""Mechanisms on one GPU: tokens per second in training, memory, and share of the matmul peak.

    PYTHONPATH=src python bench/gpu_models.py [SECONDS] [VARIANT ...]

A whole step is timed: forward, backward, clipping and AdamW, in bfloat16 autocast with float32 weights,
layers compiled. FLOPs are counted as 6 a weight and token, and 12 layers length width / 2 for causal
attention, whatever a mechanism really computes.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import torch

from weft.models import Transformer, initialise, preset

VARIANTS: dict[str, dict[str, Any]] = {
    "none": {},
    "nape": {"position": "nape"},
    "rotary": {"position": "rotary"},
    "alibi": {"position": "alibi"},
    "t5": {"position": "t5"},
    "learned": {"position": "learned"},
    "swan": {"attention": "swan"},
    "canon": {"canon": "ABCD"},
    "log-scaled": {"attention": "log-scaled"},
    "forgetting": {"attention": "forgetting"},
    "stick-breaking": {"attention": "stick-breaking"},
    "path": {"attention": "path"},
    "entmax": {"attention": "entmax"},
    "fire": {"position": "fire"},
}


def peak() -> float:
    """FLOPs a second of a large bfloat16 product of random numbers."""
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    for _ in range(5):
        a @ b
    begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
    begin.record()
    for _ in range(30):
        a @ b
    end.record()
    torch.cuda.synchronize()
    return 30 * 2 * 8192**3 / (begin.elapsed_time(end) / 1000)


def measure(name: str, size: str, length: int, rows: int, most: float) -> None:
    """Print one line of the table."""
    torch._dynamo.reset()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    try:
        config = preset(size, vocabulary=128, **VARIANTS[name])
        model = initialise(Transformer(config)).cuda().fused()
        rate, first = trained(model, length, rows)
    except Exception as error:
        print(f"{name:16s} {size:5s} {length:6d} failed: {type(error).__name__}: {str(error)[:300]}", flush=True)
        return
    weights = sum(p.numel() for n, p in model.named_parameters() if "embedding" not in n)
    flops = 6 * weights + 12 * config.layers * length * config.width / 2
    memory = torch.cuda.max_memory_allocated() / 2**30
    print(
        f"{name:16s} {size:5s} {length:6d} {rate / 1e3:8.1f}k tokens/s  {100 * rate * flops / most:5.1f}% of "
        f"peak  {memory:6.1f} GiB  first step {first:.0f} s, in all {time.perf_counter() - began:.0f} s",
        flush=True,
    )


def trained(model: Transformer, length: int, rows: int) -> tuple[float, float]:
    """Tokens a second, and the seconds of the first step."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(128, (rows, length + 1), device="cuda")

    def step() -> None:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(tokens[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1).float(), tokens[:, 1:].flatten()
        )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    begin = time.perf_counter()
    step()
    torch.cuda.synchronize()
    first = time.perf_counter() - begin
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    begin, count = time.perf_counter(), 8
    for _ in range(count):
        step()
    torch.cuda.synchronize()
    return count * rows * length / (time.perf_counter() - begin), first


def main() -> None:
    """All variants that fit into the time given."""
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else 500.0
    names = sys.argv[2:] or list(VARIANTS)
    began, most = time.perf_counter(), peak()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, peak {most / 1e12:.0f} TFLOP/s")
    for name in names:
        if time.perf_counter() - began > limit:
            print("out of time")
            return
        size, length, rows = ("154m", 4096, 16)
        if ":" in name:
            name, size, length, rows = (*name.split(":")[:2], *map(int, name.split(":")[2:]))
        measure(name, size, length, rows, most)


if __name__ == "__main__":
    main()
