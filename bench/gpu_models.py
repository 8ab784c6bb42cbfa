"""Mechanisms on one GPU: speed in training, memory, and how far fast paths are from the formulas.

    PYTHONPATH=src python bench/gpu_models.py train [VARIANT ...]
    PYTHONPATH=src python bench/gpu_models.py errors [VARIANT ...]
    PYTHONPATH=src python bench/gpu_models.py memory [VARIANT ...]

`train` times whole steps: forward, backward, clipping and AdamW, in bfloat16 autocast with float32
weights, layers compiled. FLOPs are counted as 6 a weight and token, and 12 layers length width / 2
for causal attention, whatever a mechanism really computes. A variant may name another size, as in
`none:small:1024:64`: preset, length and rows.
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from weft.models import Transformer, initialise, preset
from weft.models.context import make_context

VARIANTS: dict[str, dict[str, Any]] = {
    "none": {},
    "learned": {"position": "learned"},
    "sinusoidal": {"position": "sinusoidal"},
    "rotary": {"position": "rotary"},
    "alibi": {"position": "alibi"},
    "nape": {"position": "nape"},
    "t5": {"position": "t5"},
    "fire": {"position": "fire"},
    "swan": {"attention": "swan"},
    "log-scaled": {"attention": "log-scaled"},
    "forgetting": {"attention": "forgetting"},
    "stick-breaking": {"attention": "stick-breaking"},
    "entmax": {"attention": "entmax"},
    "entmax-nape": {"attention": "entmax", "position": "nape"},
    "path": {"attention": "path"},
    "canon": {"canon": "ABCD"},
}


def peak() -> float:
    """FLOPs a second of a large bfloat16 product of random numbers."""
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    for _ in range(5):
        a @ b
    return 30 * 2 * 8192**3 / seconds(lambda: [a @ b for _ in range(30)])


def seconds(action: Callable[[], Any]) -> float:
    """How long the GPU takes."""
    begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
    torch.cuda.synchronize()
    begin.record()
    action()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 1000


class Training:
    """A model in training on random tokens."""

    def __init__(self, model: Transformer, length: int, rows: int) -> None:
        self.model, self.count = model, rows * length
        self.optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
        self.tokens = torch.randint(128, (rows, length + 1), device="cuda")
        self.loss = torch.zeros(())

    def forward(self) -> None:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = self.model(self.tokens[:, :-1]).logits.flatten(0, 1).float()
        self.loss = torch.nn.functional.cross_entropy(logits, self.tokens[:, 1:].flatten())

    def backward(self) -> None:
        self.loss.backward()

    def update(self) -> None:
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)

    def step(self) -> None:
        self.forward()
        self.backward()
        self.update()


def train(names: list[str]) -> None:
    """Tokens a second of every variant."""
    most = peak()
    print(f"a large product reaches {most / 1e12:.0f} TFLOP/s")
    print(
        "variant          size  length   training   of peak   forward  backward    memory  1st step"
    )
    for name in names or list(VARIANTS):
        parts = name.split(":")
        name, size, length, rows = parts if len(parts) == 4 else (name, "154m", "4096", "16")
        torch._dynamo.reset()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        try:
            print(_trained(name, size, int(length), int(rows), most), flush=True)
        except Exception as error:
            what = " ".join(str(error).split())[:160]
            print(
                f"{name:16s} {size:5s} {length:>6s} failed: {type(error).__name__}: {what}",
                flush=True,
            )


def _trained(name: str, size: str, length: int, rows: int, most: float) -> str:
    config = preset(size, vocabulary=128, **VARIANTS[name])
    model = initialise(Transformer(config)).cuda().compile_layers()
    training = Training(model, length, rows)
    begin = time.perf_counter()
    training.step()
    torch.cuda.synchronize()
    first = time.perf_counter() - begin
    for _ in range(3):
        training.step()
    rate = 8 * training.count / seconds(lambda: [training.step() for _ in range(8)])
    forward, backward = seconds(training.forward), seconds(training.backward)
    weights = sum(p.numel() for n, p in model.named_parameters() if "embedding" not in n)
    flops = 6 * weights + 12 * config.layers * length * config.width / 2
    return (
        f"{name:16s} {size:5s} {length:6d} {rate / 1e3:8.1f}k/s {100 * rate * flops / most:7.1f}% "
        f"{training.count / forward / 1e3:8.0f}k/s {training.count / backward / 1e3:6.0f}k/s "
        f"{torch.cuda.max_memory_allocated() / 2**30:6.1f} GiB {first:6.0f} s"
    )


def errors(names: list[str]) -> None:
    """The heads of a layer against the formula in float64: worst relative errors.

    Beside them those of the formula itself in the same precision, as it stands: what rounding of
    inputs and products costs any implementation.
    """
    print("worst of lengths 200 and 1000          fast path              formula, same precision")
    print("variant          dtype         result   gradients       result   gradients")
    for name in names or list(VARIANTS):
        for kind in (torch.float32, torch.bfloat16):
            found = [_errors(name, kind, length) for length in (200, 1000)]
            worst = [max(pair) for pair in zip(*found, strict=True)]
            shown = "   ".join(f"{value:9.1e}" for value in worst)
            print(f"{name:16s} {str(kind)[6:]:9s} {shown}", flush=True)


def _errors(name: str, kind: torch.dtype, length: int) -> tuple[float, float, float, float]:
    torch.manual_seed(length)
    variant = {"canon": "B"} if name == "canon" else VARIANTS[name]
    config = preset("micro", vocabulary=16, heads=2, **variant)
    model = initialise(Transformer(config), "gpt2").cuda()
    heads = model.layers[1].attention
    with torch.no_grad():  # larger than at the start, so that attention is not flat
        for weight in (heads.query, heads.key, heads.value, heads.output):
            weight.mul_(8)
    model = model.to(kind)
    stream = torch.randn(2, length, config.width, device="cuda").to(kind)
    wanted = torch.randn(2, length, config.width, device="cuda").to(kind)
    exact = copy.deepcopy(model).double()
    mine = _attended(model, stream, wanted, "auto")
    plain = _attended(model, stream, wanted, "dense")
    right = _attended(exact, stream.double(), wanted.double(), "dense")
    return (
        _distance(mine[:1], right[:1]),
        _distance(mine[1:], right[1:]),
        _distance(plain[:1], right[:1]),
        _distance(plain[1:], right[1:]),
    )


def _attended(model: Transformer, stream: Tensor, wanted: Tensor, backend: str) -> list[Tensor]:
    """What a layer's heads add, and the gradients of its stream and weights."""
    tokens = torch.zeros(stream.shape[:2], dtype=torch.long, device="cuda")
    context = replace(make_context(model.config, tokens, backend=backend), backend=backend)
    stream = stream.clone().requires_grad_()
    layer = model.layers[1].attention
    position = model.position
    out = layer(stream, context, position, position.bias(context))
    weights = [stream, *layer.parameters()]
    found = torch.autograd.grad(out, weights, wanted, allow_unused=True)
    return [out, *(g for g in found if g is not None)]


def _distance(mine: list[Tensor], theirs: list[Tensor]) -> float:
    pairs = zip(mine, theirs, strict=True)
    return max(
        float(((a.double() - b).norm() / b.norm().clamp(min=1e-30)).detach()) for a, b in pairs
    )


def memory(names: list[str]) -> None:
    """Most memory of a layer's heads, forward and backward, one sequence, beyond its weights."""
    print("variant             4096     8192    16384   16384 over 4096 (linear 4, quadratic 16)")
    for name in names or list(VARIANTS):
        found = [_memory(name, length) for length in (4096, 8192, 16384)]
        shown = " ".join(f"{mib:8.0f}" for mib in found)
        print(f"{name:16s} {shown} MiB  {found[-1] / found[0]:5.1f}", flush=True)


def _memory(name: str, length: int) -> float:
    changes = {"positions": length} if name == "learned" else {}
    config = preset("small", vocabulary=16, **VARIANTS[name], **changes)
    model = initialise(Transformer(config)).cuda().bfloat16()
    stream = torch.randn(1, length, config.width, device="cuda", dtype=torch.bfloat16)
    wanted = torch.randn_like(stream)
    try:
        _attended(model, stream, wanted, "auto")
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        _attended(model, stream, wanted, "auto")
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    except torch.OutOfMemoryError:
        return float("nan")


def main() -> None:
    """The part of the bench that is named."""
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    parts = {"train": train, "errors": errors, "memory": memory}
    parts[sys.argv[1]](sys.argv[2:])


if __name__ == "__main__":
    main()
