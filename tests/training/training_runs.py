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
    EvaluationConfig,
    OptimiserConfig,
    ScheduleConfig,
    TrainingConfig,
    override,
)

HERE = Path(__file__).parent
TIMES = ("seconds", "tokens_per_second")

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
