"""Compiled models: how small, how long it takes, how fast they run."""

from __future__ import annotations

import random

import paper_listings as listings
import weft
from measure import Figure, seconds
from weft.compiler.execution import input_numbers, run_model
from weft.models import Transformer
from weft.programs.subleq.program import Subleq

REPEATS = 8
"""Of runs alone and in a batch alike: with three, the ratio varied by a tenth."""


def subleq(values: int) -> Subleq:
    return Subleq(16, -(values // 2), values - values // 2 - 1)


def figures() -> list[Figure]:
    parity, addition = weft.program("parity"), weft.program("addition")
    units = {n: weft.compile(subleq(n)).hidden_units for n in (32, 64, 128)}
    parser = weft.compile(listings.figures_16_17(78))
    return [
        Figure("parity: units at level 0", weft.compile(parity, level=0).hidden_units, most=7),
        Figure("parity: units at level 2", weft.compile(parity).hidden_units, most=4),
        Figure("addition: units at level 0", weft.compile(addition, level=0).hidden_units),
        Figure("addition: units at level 2", weft.compile(addition).hidden_units, most=120),
        Figure("addition: compiled in", seconds(lambda: weft.compile(addition)), "s", most=2),
        *(Figure(f"SUBLEQ, {n} values: units at level 2", u) for n, u in units.items()),
        *(Figure(f"SUBLEQ, {n} values: rules", len(subleq(n).rules)) for n in (32, 64)),
        Figure("SUBLEQ: units, 128 values over 32", units[128] / units[32], "times", most=5),
        Figure("SUBLEQ, 32 values: compiled in", _compiling(32), "s", most=10),
        Figure("SUBLEQ, 64 values: compiled in", _compiling(64), "s", most=20),
        Figure("parser, 78 positions: units at level 2", parser.hidden_units),
        Figure("parser: compiled in", parser.seconds, "s"),
        *_throughput(addition),
    ]


def _compiling(values: int) -> float:
    return seconds(lambda: weft.compile(subleq(values)), 1)


def _throughput(program: weft.Program) -> list[Figure]:
    """Sums of ten digits in a batch of 1,000 against one at a time, and against smaller batches."""
    rng = random.Random(0)
    texts = [f"{rng.randrange(10**9, 10**10)}+{rng.randrange(10**9, 10**10)}" for _ in range(4000)]
    numbers = input_numbers(program, [program.encode(text) for text in texts])
    model = weft.compile(program).model
    together = {count: _each(model, numbers[:count]) for count in (250, 1000, 4000)}
    alone = seconds(lambda: [run_model(model, [row]) for row in numbers[:50]], REPEATS) / 50
    full = seconds(lambda: run_model(model, numbers[:1000], plain=True), 1) / 1000
    return [
        Figure("addition, batch of 1,000: a sum in", 1e6 * together[1000], "us"),
        Figure("addition, one at a time: a sum in", 1e6 * alone, "us"),
        Figure(
            "addition: batch of 1,000 over one at a time", alone / together[1000], "times", least=30
        ),
        Figure("addition: zeros left out over all products", full / together[1000], "times"),
        Figure(
            "addition: a sum in a batch of 4,000 over one of 250",
            together[4000] / together[250],
            "times",
            most=1.5,
        ),
    ]


def _each(model: Transformer, numbers: list[list[int]]) -> float:
    return seconds(lambda: run_model(model, numbers), REPEATS) / len(numbers)
