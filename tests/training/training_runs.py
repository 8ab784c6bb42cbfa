"""What tests of training share: small configs, and runs in processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from weft.training import (
    Callback,
    EvaluationConfig,
    OptimiserConfig,
    Record,
    ScheduleConfig,
    TrainingConfig,
    override,
)

HERE = Path(__file__).parent
TIMES = ("seconds", "tokens_per_second", "waiting")

SMALL = TrainingConfig(
    task="parity",
    parameters={"format": "tag"},
    model={"layers": 1, "width": 16, "heads": 2, "hidden": (32,), "random_offset": 9},
    optimiser=OptimiserConfig(lr=3e-3),
    schedule=ScheduleConfig(warm_up=10),
    steps=60,
    batch=8,
    log_every=7,
    evaluation=EvaluationConfig(every=25, size=32, batch=20),
)


def small(*changes: str, **values: Any) -> TrainingConfig:
    return override(replace(SMALL, **values), changes)


def folder_of(runs: Path, config: TrainingConfig) -> Path:
    return runs / config.hash


def weights(run: Path, file: str = "model") -> dict[str, np.ndarray[Any, Any]]:
    (checkpoint,) = run.glob("checkpoint-*")
    return load_file(checkpoint / f"{file}.safetensors")


def lines(run: Path, name: str = "metrics.jsonl") -> list[dict[str, Any]]:
    """A log without times."""
    records = [json.loads(line) for line in (run / name).read_text().splitlines()]
    return [{k: v for k, v in record.items() if k not in TIMES} for record in records]


def start(code: str, *arguments: str, **more: Any) -> subprocess.Popen[str]:
    """A process with a piece of code that finds the modules beside the tests."""
    path = os.pathsep.join([str(HERE), *sys.path])
    env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env=env, text=True, **more)


@contextmanager
def usual_handlers() -> Iterator[None]:
    """Signals are not ignored, as they are in processes that a shell starts in the background."""
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def send(number: int = signal.SIGINT, times: int = 1) -> None:
    """Send this process a signal, and give Python the time to see it."""
    for _ in range(times):
        os.kill(os.getpid(), number)
        time.sleep(0)


def at(call: int, act: Callable[[], None], inner: Callable[..., Any]) -> Callable[..., Any]:
    """A function that does something else first when it is called for the n-th time."""
    left = [call]

    def changed(*arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            act()
        return inner(*arguments, **named)

    return changed


def same(one: Path, other: Path) -> None:
    """Whether two finished runs wrote the same weights and records."""
    for file in ("model", "ema"):
        mine, its = weights(one, file), weights(other, file)
        assert mine.keys() == its.keys()
        assert all((mine[key] == its[key]).all() for key in mine)
    assert lines(one) == lines(other)
    assert lines(one, "evaluations.jsonl") == lines(other, "evaluations.jsonl")
    results = [json.loads((run / "result.json").read_text()) for run in (one, other)]
    for result in results:
        result.pop("seconds")
    assert results[0] == results[1]
    for name in ("train", "longer", "more-ones"):
        assert (one / f"predictions/{name}.npz").exists()


class Cut(BaseException):
    """Something that nobody catches."""


class Cutting(Callback):
    """Ends a run in the middle of anything."""

    def __init__(self, at: int) -> None:
        self.left = at

    def on_record(self, record: Record) -> None:
        self._count()

    def on_evaluation(self, step: int, shares: object) -> None:
        self._count()

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Cut
