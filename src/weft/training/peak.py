"""How fast the machine multiplies matrices, and how much of that a run uses.

    a token costs 6 N + 12 L T d operations, forward and backward

where N are the weights that it is multiplied by, and the second part is attention over T tokens,
half of it where tokens see only what is to their left.
"""

from __future__ import annotations

import time

import torch

from weft.models.catalogue import parameters_of
from weft.models.config import TransformerConfig

SECONDS = 0.2


def matmul_peak(device: torch.device, *, bf16: bool = False) -> float:
    """Operations a second of the best of a few large products, in the run's precision."""
    size = 8192 if device.type == "cuda" else 768
    kind = torch.bfloat16 if bf16 else torch.float32
    one = torch.randn(size, size, device=device, dtype=kind)
    one @ one
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        _wait(device)
        began = time.perf_counter()
        one @ one
        _wait(device)
        best = min(best, time.perf_counter() - began)
    return 2 * size**3 / best


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def token_cost(config: TransformerConfig, length: float) -> float:
    """Operations that a token costs while training, in texts of some length.

    The tokens of an encoder-decoder are taken to go through one half each.
    """
    both = config.kind == "encoder-decoder"
    weights = parameters_of(config).layers * config.loops / (2 if both else 1)
    depth = config.layers * config.loops
    inner = config.heads * (config.key_width + config.value_width) / 2
    attention = 12 * depth * length * inner / (2 if config.causal else 1)
    return 6 * (weights + config.outputs * config.width) + attention
