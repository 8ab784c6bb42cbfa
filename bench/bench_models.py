"""Mechanisms on a CPU: training steps of a small decoder, against NoPE in the same run."""

from __future__ import annotations

import torch

from gpu_models import VARIANTS
from measure import Figure, seconds
from weft.models import Transformer, initialise, preset

ROWS, LENGTH = 4, 256


def figures() -> list[Figure]:
    plain = _step("none")
    found = [Figure("micro decoder, none: training", ROWS * LENGTH / plain / 1e3, "k tokens/s")]
    for name in VARIANTS:
        if name != "none":
            share = 100 * plain / _step(name)
            found.append(Figure(f"micro decoder, {name}: speed, of none", share, "%"))
    return found


def _step(name: str) -> float:
    """Seconds of forward and backward."""
    config = preset("micro", vocabulary=64, **VARIANTS[name])
    model = initialise(Transformer(config))
    tokens = torch.randint(64, (ROWS, LENGTH + 1))

    def step() -> None:
        logits = model(tokens[:, :-1]).logits.flatten(0, 1)
        torch.nn.functional.cross_entropy(logits, tokens[:, 1:].flatten()).backward()
        model.zero_grad(set_to_none=True)

    step()
    return seconds(step, 5)
