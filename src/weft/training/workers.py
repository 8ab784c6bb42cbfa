"""Worker processes that make training batches beside training.

Generating examples in Python holds the lock that launching kernels needs, too, so a thread is not
enough for a task whose examples are programs and their traces. Batches follow from the seed and the
step alone: worker i of n makes the steps first + i, first + i + n, and so on, and the run is the
same for any number of workers. If a worker ends unexpectedly, its batches are made in this process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from io import BufferedIOBase
from typing import Any, cast

from weft.tasks import Batch, Task
from weft.tasks.worker import read_batch
from weft.training.config import TrainingConfig, refuse
from weft.training.data import preparation_of

MOST_WORKERS = 64
AUTOMATIC = 4
"""The largest number of workers that are started unasked."""
CODE = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from weft.tasks.worker import main; main()"
)


def worker_count(workers: int | None, task: Task, *, on_gpu: bool) -> int:
    """The number of worker processes for a run.

    By default there are none, unless examples are slow to make (`Task.slow`) and a GPU must not
    wait for them.
    """
    if workers is None:
        return min(AUTOMATIC, _cores() - 1) if on_gpu and task.slow else 0
    if not 0 <= workers <= MOST_WORKERS:
        refuse(f"workers is {workers}", f"Give a number from 0 to {MOST_WORKERS}")
    return workers


class Workers:
    """Worker processes of a run; `batch` must be asked for the steps in order. To be closed."""

    def __init__(self, config: TrainingConfig, count: int, steps: Sequence[int]) -> None:
        """Start `count` processes for consecutive steps."""
        self.first = steps[0] if steps else 0
        self.processes: list[subprocess.Popen[bytes] | None] = []
        for place in range(min(count, len(steps))):
            given = {
                "task": config.task,
                "parameters": config.as_dict()["parameters"],
                "preparation": asdict(preparation_of(config)),
                "first": self.first + place,
                "last": steps[-1],
                "stride": min(count, len(steps)),
            }
            self.processes.append(_started(given))

    def batch(self, step: int) -> Batch | None:
        """The batch of a step; None if its worker has ended."""
        place = (step - self.first) % len(self.processes) if self.processes else 0
        process = self.processes[place] if self.processes else None
        if process is None:
            return None
        found = read_batch(cast(BufferedIOBase, process.stdout))
        if found is None:
            _end(process)
            self.processes[place] = None
        return found

    def close(self) -> None:
        """End the processes."""
        for process in self.processes:
            if process is not None:
                _end(process)
        self.processes = []


def _cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _started(given: dict[str, Any]) -> subprocess.Popen[bytes]:
    """A worker process; signals of the terminal do not reach it."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **threads},
        start_new_session=True,
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(given).encode() + b"\n")
        process.stdin.close()
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
