"""How many arithmetic examples a second are made, on one core, laid out as a model takes them."""

from __future__ import annotations

import time

from measure import Figure, seconds
from weft.tasks import Task, task
from weft.tasks.arithmetic import Arithmetic, answers_of, score_outputs

SIZE = 1024  # examples of a batch
STEPS = 20
PUBLISHED = {"domain": "D5", "longer": 9, "width": 20, "reverse_result": True}


def figures() -> list[Figure]:
    return [
        Figure("addition of 5 digits: examples", _rate("addition"), "a second", least=500_000),
        Figure("addition on D_5: examples", _rate("addition", domain="D5", longer=9), "a second"),
        Figure("addition on D_5, padded: examples", _rate("addition", **PUBLISHED), "a second"),
        Figure(
            "addition with carries written out: examples",
            _rate("addition", scratchpad="carries"), "a second",
        ),
        Figure("subtraction of 5 digits: examples", _rate("subtraction"), "a second"),
        Figure("multiplication of 3 digits: examples", _rate("multiplication"), "a second"),
        Figure(
            "modular addition of 4 digits: examples",
            _rate("modular-addition", digits=4, modulus=150), "a second",
        ),
        Figure(
            "modular multiplication of 3 digits: examples",
            _rate("modular-multiplication", digits=3, modulus=150), "a second",
        ),
        Figure(
            "addition of 4 digits without carries: examples",
            _rate("addition", domain="D4", restrict="no-carries"), "a second",
        ),
        Figure("a pool of 100,000 examples in", _pool(), "s"),
        Figure("10,000 outputs of 9 digits scored in", 1000 * _scoring(), "ms"),
    ]  # fmt: skip


def _rate(name: str, **parameters: object) -> float:
    """Examples per second of processor time, the best of several measurements."""
    made = task(name, **parameters)
    made.batch("train", 0, 0, SIZE)  # what is made once
    best = float("inf")
    for _ in range(7):
        start = time.process_time()
        for step in range(STEPS):
            made.batch("train", 0, step, SIZE)
        best = min(best, time.process_time() - start)
    return STEPS * SIZE / best


def _pool() -> float:
    def made() -> Task:
        result = task("addition", domain="D4", pool=100_000)
        result.batch("train", 0, 0, 1)
        return result

    return seconds(made)


def _scoring() -> float:
    made = task("addition", domain="D4", longer=9, width=20)
    assert isinstance(made, Arithmetic)
    tests = made.test_set("digits-9", 10_000)
    return seconds(lambda: score_outputs(made, tests, answers_of(tests)))
