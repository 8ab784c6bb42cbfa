"""Program traces: tokens that one core generates per second, and how long training waits."""

from __future__ import annotations

import time

from measure import Figure
from weft.tasks import pack, task
from weft.tasks.preparation import Preparation
from weft.tasks.program_traces import ProgramTraces
from weft.training import TrainingConfig
from weft.training.data import made_ahead, tensors_of
from weft.training.supervision import model_config
from weft.training.workers import Workers

SIZE = 80  # examples of a batch; packed, about 32,768 tokens of the small tier
STEPS = 12
WARM_UP = 20
SPEED = 1_500_000  # tokens per second of a GPU that trains the small model, an estimate
RICH = {"depth": 2, "else_blocks": True, "data_loops": True, "multiplication": True,
        "variable_index": True}  # fmt: skip
LEAST = 1_000_000


def figures() -> list[Figure]:
    names = {
        "small tier": {},
        "paper tier": {"tier": "paper"},
        "small tier, characters": {"level": "characters"},
        "small tier, every statement": RICH,
    }
    rates = [
        Figure(f"{name}: generated tokens", _rate(**parameters), "a second", least=LEAST)
        for name, parameters in names.items()
    ]
    return [
        *rates,
        Figure("small tier, packed: tokens", _rate(1024, 32), "a second", least=LEAST),
        Figure("paper tier, packed: tokens", _rate(4096, 20, tier="paper"), "a second",
               least=LEAST),
        Figure("packing: tokens", _packing(), "a second"),
        Figure("1,024 tests of every split of the small tier in", _tests(), "s"),
        Figure(f"2 workers beside {SPEED:,} tokens a second: waiting", 100 * _waiting(), "%",
               most=2.0),
    ]  # fmt: skip


def _rate(pack: int = 0, rows: int = 0, **parameters: object) -> float:
    """Tokens per second of processor time, the best of several measurements."""
    made = task("program-traces", **parameters)
    preparation = Preparation(seed=0, size=SIZE, pack=pack, rows=rows)
    preparation.batch(made, 0)  # fills the tables
    best = 0.0
    for _ in range(5):
        start, tokens = time.process_time(), 0
        for step in range(1, STEPS + 1):
            tokens += int(preparation.batch(made, step).lengths.sum())
        best = max(best, tokens / (time.process_time() - start))
    return best


def _packing() -> float:
    """Tokens per second of processor time that are packed, without generating them."""
    drawn, best = ProgramTraces().batch("train", 0, 0, SIZE), 0.0
    for _ in range(20):
        start = time.process_time()
        tokens = int(pack(drawn, 1024).lengths.sum())
        best = max(best, tokens / (time.process_time() - start))
    return best


def _tests() -> float:
    made = ProgramTraces()
    start = time.process_time()
    for split in made.splits:
        made.test_set(split, 1024)
    return time.process_time() - start


def _waiting() -> float:
    """The share of time that a loop waits whose steps take as long as those of a GPU."""
    steps = range(1, 161)
    config = TrainingConfig(
        task="program-traces", batch=SIZE + 5, pack=1024, pack_rows=32, steps=len(steps)
    )
    model = model_config(config, task("program-traces"))
    workers = Workers(config, 2, steps)

    def made(step: int) -> object:
        batch = workers.batch(step)
        assert batch is not None
        return tensors_of(batch, model)

    feed = made_ahead(made, steps)
    try:
        for _ in range(WARM_UP):  # processes have started by then
            next(feed)
        waited, begun = 0.0, time.perf_counter()
        for _ in steps[WARM_UP:]:
            asked = time.perf_counter()
            batch = next(feed)
            waited += time.perf_counter() - asked
            time.sleep(batch.token_count / SPEED)
        return waited / (time.perf_counter() - begun)
    finally:
        feed.close()
        workers.close()
