"""How many recursion examples a second are made, on one core, laid out as a model takes them."""

from __future__ import annotations

import time

import numpy as np

from measure import Figure
from weft.tasks import task
from weft.tasks.recursion.terms import BLOCK

SIZE = 1024  # examples of a batch
STEPS = 20
TREES = {"definition": "in-order", "notation": "flat", "shortest": 1, "length": 20, "longer": 24}


def figures() -> list[Figure]:
    return [
        Figure("binary successor: examples", _rate(), "a second", least=100_000),
        Figure("atomic steps of the successor: examples", _rate(part="step"), "a second"),
        Figure("traces of the successor: examples", _rate(part="trace"), "a second"),
        Figure("in-order traversal: examples from the pool", _rate(**TREES), "a second",
               least=20_000),
        Figure("in-order traversal: examples made anew", _made(**TREES), "a second"),
        Figure("steps of in-order traversal: examples made anew", _made(part="step", **TREES),
               "a second"),
    ]  # fmt: skip


def _rate(**parameters: object) -> float:
    """Examples per second of processor time, the best of several measurements."""
    made = task("recursion", **parameters)
    for step in range(60):  # the pool is made once
        made.batch("train", 0, step, 64)
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        for step in range(STEPS):
            made.batch("train", 0, step, SIZE)
        best = min(best, time.process_time() - start)
    return STEPS * SIZE / best


def _made(**parameters: object) -> float:
    """Examples per second of processor time, sampled, evaluated and written."""
    made = task("recursion", pool=BLOCK, **parameters)
    start = time.process_time()
    made.draw("train", np.random.default_rng(0), 1)
    return BLOCK / (time.process_time() - start)
