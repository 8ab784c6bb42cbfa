"""How many terms a second are sampled, evaluated and traced, on one core.

A term of size 20 has 20 constructors: a number of 20 digits, two of 10, a list of 20 letters, or
a tree of 10 branches with its 11 leaves.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from measure import Figure
from weft.recursion import DEFINITIONS, InputSampler, trace_texts

BATCH = 256
INPUTS = (
    ("successor", 20), ("add", 20), ("append", 20), ("in-order", 10), ("mirror", 10),
)  # fmt: skip


def figures() -> list[Figure]:
    found = []
    for name, size in INPUTS:
        found += [
            Figure(
                f"{name}, 20 constructors: sampled and evaluated", _evaluated(name, size),
                "a second", least=20_000,
            ),
            Figure(
                f"{name}, 20 constructors: with text traces", _traced(name, size), "a second",
                least=2_000,
            ),
        ]  # fmt: skip
    found += [
        Figure(
            "in-order, 20 branches: sampled and evaluated", _evaluated("in-order", 20), "a second"
        ),
        Figure("in-order, 20 branches: with text traces", _traced("in-order", 20), "a second"),
        Figure(
            "reverse of 20 letters: sampled and evaluated", _evaluated("reverse", 20), "a second"
        ),
        Figure("reverse of 20 letters: with text traces", _traced("reverse", 20), "a second"),
    ]
    return found


def _evaluated(name: str, size: int) -> float:
    function = DEFINITIONS[name]
    sampler, rng = InputSampler(function), np.random.default_rng(0)

    def batch() -> None:
        for arguments in sampler.sample(rng, BATCH, size=size):
            function.evaluate(*arguments)

    return _rate(batch, repeats=8)


def _traced(name: str, size: int) -> float:
    function = DEFINITIONS[name]
    sampler, rng = InputSampler(function), np.random.default_rng(0)

    def batch() -> None:
        for arguments in sampler.sample(rng, BATCH, size=size):
            trace_texts(function.call(*arguments))

    return _rate(batch, repeats=2)


def _rate(batch: Callable[[], None], repeats: int) -> float:
    """Inputs per second of processor time, the best of several measurements."""
    batch()
    best = float("inf")
    for _ in range(7):
        start = time.process_time()
        for _ in range(repeats):
            batch()
        best = min(best, time.process_time() - start)
    return repeats * BATCH / best
