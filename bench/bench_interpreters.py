"""The batched interpreter against the reference, on the same inputs."""

from __future__ import annotations

import random

import weft
from measure import Figure, seconds
from weft.language import Program


def figures() -> list[Figure]:
    rng = random.Random(0)
    bits = ["".join(rng.choices("01", k=40)) for _ in range(1000)]
    sums = [f"{rng.randrange(10**19, 10**20)}+{rng.randrange(10**19, 10**20)}" for _ in range(100)]
    return [
        *_compare("1,000 parities of 40 bits", weft.program("parity"), bits, 200),
        *_compare("100 sums of 20 digits", weft.program("addition"), sums, 50),
    ]


def _compare(name: str, program: Program, inputs: list[str], least: float) -> list[Figure]:
    def reference() -> list[object]:
        return [weft.run(program, text).outputs for text in inputs]

    def batched() -> list[tuple[object, ...]]:
        return weft.run_batch(program, inputs).outputs

    assert batched() == reference()
    slow, fast = seconds(reference, 1), seconds(batched, 5)
    return [
        Figure(f"{name}: batched over reference", slow / fast, "times", least=least),
        Figure(f"{name}: batched", fast * 1000, "ms"),
    ]
