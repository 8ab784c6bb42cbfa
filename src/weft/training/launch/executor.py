"""Executors: what trains the configs of a sweep or a study, and where.

An executor trains one config per call and returns its result. A sweep calls it from as many threads
as it has slots. `LocalProcesses` runs each config in a process of its own on this machine. Your own
executor, say for a cluster, is a subclass of `Executor`:

    class Queue(Executor):
        slots = 100

        def __call__(self, config, runs):
            job = submit(config.as_dict(), str(runs))      # calls weft.training.train over there
            return Result(**job.wait())

        def interrupt(self, number):
            cancel_all()

    sweep(cells, runs=Path("runs"), executor=Queue())

On the command line, `weft sweep FILE --executor path/file.py:Queue` calls `Queue()`.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import torch

from weft.config import from_plain
from weft.errors import Interrupted, WeftError
from weft.files import read_json, write_json
from weft.training.callbacks import Result
from weft.training.config import TrainingConfig, training_config
from weft.training.environment import device_of
from weft.training.interrupts import SIGNALS

REQUEST, REPLY = "request.json", "reply.json"
WORKER = "import sys; from weft.training.launch.executor import work; sys.exit(work(sys.argv[1]))"


class Executor(ABC):
    """Trains configs, several at a time.

    Attributes:
        slots: the number of configs that may be trained at the same time.
    """

    slots: int = 1

    @abstractmethod
    def __call__(self, config: TrainingConfig, runs: Path) -> Result:
        """Train a config in the folder of runs and return its result; called from any thread.

        Raises:
            Interrupted: the run was interrupted, or was not started because of an interruption.
            WeftError: it failed; the message becomes its status.
        """

    def interrupt(self, number: int) -> None:  # noqa: B027
        """Pass a signal (SIGINT or SIGTERM) on to all runs in progress and start no others.

        It is called in the signal handler. By default runs in progress continue to their end.
        """


class LocalProcesses(Executor):
    """Trains each config in a process of its own on this machine.

    Args:
        processes: the number of processes at a time.
        devices: where they compute: process k of n uses device k modulo their number. `cuda:1` is
            the second visible GPU; a process sees no other GPU. `auto` stands for all visible GPUs,
            or the CPU if there are none.
        threads: CPU threads per process.
    """

    def __init__(
        self, processes: int = 1, devices: Sequence[str] = ("auto",), *, threads: int = 1
    ) -> None:
        self.slots, self.threads = processes, threads
        self.placements = placements(devices)
        self._free: queue.Queue[int] = queue.Queue()
        for slot in range(processes):
            self._free.put(slot)
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def __call__(self, config: TrainingConfig, runs: Path) -> Result:
        slot = self._free.get()
        device, visible = self.placements[slot % len(self.placements)]
        threads = {"OMP_NUM_THREADS": str(self.threads), "MKL_NUM_THREADS": str(self.threads)}
        gpus = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
        try:
            with tempfile.TemporaryDirectory(prefix="weft-run-") as folder:
                request = {"config": config.as_dict(), "runs": str(runs), "device": device}
                write_json(Path(folder) / REQUEST, request)
                errors, code = self._run(folder, {**os.environ, **threads, **gpus})
                return result_of(Path(folder) / REPLY, errors, code)
        finally:
            self._free.put(slot)

    def _run(self, folder: str, environment: dict[str, str]) -> tuple[str, int]:
        """Run a worker; returns what it wrote to standard error, and its exit code."""
        with self._lock:  # held by threads that start processes, never by the main thread for long
            if self._stopped:
                raise Interrupted(0)
            child = subprocess.Popen(
                [sys.executable, "-c", WORKER, folder],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment,
            )  # fmt: skip
            self._running.add(child)
        try:
            _, errors = child.communicate()
        finally:
            with self._lock:
                self._running.discard(child)
        return errors, child.returncode

    def interrupt(self, number: int) -> None:
        with self._lock:
            self._stopped = True
            for child in self._running:
                child.send_signal(number)


def placements(devices: Sequence[str]) -> list[tuple[str, str | None]]:
    """For each device its name within a process, and what CUDA_VISIBLE_DEVICES must be there.

    None leaves the variable as it is.
    """
    count = torch.cuda.device_count()
    names = [f"cuda:{n}" for n in range(count)] if list(devices) == ["auto"] else list(devices)
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    visible = given.split(",") if given else [str(number) for number in range(count)]
    result: list[tuple[str, str | None]] = []
    for name in names or ["cpu"]:
        device = device_of(name)
        if device.type == "cuda":
            result.append(("cuda", visible[device.index or 0]))
        else:
            result.append((device.type, None))
    return result


def result_of(reply: Path, errors: str, code: int) -> Result:
    """The result that a worker left; an error if it left none."""
    if any(code in (-number, 128 + number) for number in SIGNALS):
        raise Interrupted(code if code > 0 else -code)
    if reply.exists():
        values = read_json(reply)
        if "error" in values:
            raise WeftError(values["error"])
        return from_plain(Result, values, "the worker's reply")
    lines = errors.strip().splitlines()
    raise WeftError(lines[-1] if lines else f"the process ended with exit code {code}")


def work(name: str) -> int:
    """Train the config that an executor left in a folder; leaves the result there."""
    from weft.training.trainer import train

    folder = Path(name)
    request = read_json(folder / REQUEST)
    try:
        config = training_config(request["config"])
        result = train(config, runs=request["runs"], device=request["device"])
    except Interrupted as error:
        return error.code
    except WeftError as error:
        write_json(folder / REPLY, {"error": error.line})
        return 1
    write_json(folder / REPLY, result.as_dict())
    return 0
