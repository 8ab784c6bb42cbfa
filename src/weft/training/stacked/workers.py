"""Batches of a stack, drawn ahead of time by processes.

Drawing a batch takes about as long as a small model's step, so for many models on a GPU it takes
several processes. Each draws the batches of some places of the stack into memory that it shares
with this process: a ring of ticks. A thread of this process moves a tick that is complete to pinned
memory, from where it is copied to the GPU at once.

Processes read messages, one JSON value per line: a ring to fill, a run for a place, the release of
a tick. They answer with a line per tick, and with the error of a run whose batches cannot be drawn.
"""

from __future__ import annotations

import json
import mmap
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from weft.errors import WeftError
from weft.training.config import training_config
from weft.training.stacked.batches import Source, TickArrays, TickShape, idle, tick_bytes
from weft.training.stacked.learner import IDLE, RunColumns, StackedLearner, StepBatch
from weft.training.stacked.shape import Member

RING = 16
"""Number of ticks that are drawn ahead of time."""
RELEASED = 4
"""Number of ticks whose memory is released at a time."""
WORKER = "from weft.training.stacked.workers import serve; serve()"
SHARED_MEMORY = Path("/dev/shm")
"""Where files are in memory, on Linux."""


@dataclass
class Tick:
    """A tick for the learner.

    Attributes:
        arrays: its batches and bookkeeping; valid until the next tick is taken.
        batch: the batches as the learner takes them.
        errors: why batches could not be drawn, by the serial number of the run.
    """

    arrays: TickArrays
    batch: StepBatch
    errors: dict[int, WeftError] = field(default_factory=dict)

    def drop(self, places: Any) -> None:
        """Let the models in some places take no step."""
        self.batch.columns[torch.as_tensor(places)] = torch.from_numpy(IDLE)


def _columns(tick: TickArrays, runs: Mapping[int, RunColumns]) -> Any:
    """The columns of a tick for the learner."""
    columns = np.tile(IDLE, (len(tick.serial), 1))
    for place, serial in enumerate(tick.serial.tolist()):
        if serial:
            columns[place] = runs[serial](int(tick.step[place]))
            columns[place, -1] = tick.target_count[place]
    return columns


class InlineFeed:
    """The ticks of a stack, drawn in this process when they are asked for."""

    def __init__(self, learner: StackedLearner) -> None:
        self.learner = learner
        shape = learner.tick_shape
        self.arrays = TickArrays.over(bytearray(tick_bytes(shape)), shape)
        self.sources: dict[int, Source] = {}
        self.columns: dict[int, RunColumns] = {}
        self.batches: dict[int, StepBatch] = {}

    def assign(
        self, place: int, member: Member, serial: int, step: int = 0, random: bytes = b""
    ) -> None:
        """Draw the batches of a run for a place, after a step."""
        self.columns[serial] = RunColumns(member.config)
        self.sources[place] = Source.of(member, serial, step, random)

    def release(self, place: int) -> None:
        """Draw nothing for a place."""
        self.sources.pop(place, None)

    def take(self) -> Tick:
        """The next tick."""
        errors = {}
        for place in range(self.learner.places):
            source = self.sources.get(place)
            try:
                idle(self.arrays, place) if source is None else source.fill(self.arrays, place)
            except WeftError as error:
                assert source is not None
                errors[source.serial] = error
                self.release(place)
                idle(self.arrays, place)
        width = self.learner.width_for(int(self.arrays.width.max()))
        if width not in self.batches:
            self.batches[width] = self.learner.host_batch(width)
        batch = self.batches[width]
        batch.load(self.arrays, _columns(self.arrays, self.columns), width)
        return Tick(self.arrays, batch, errors)

    def sent(self) -> None:
        """The batches of the tick are on their way to the device."""
        if self.learner.device.type == "cuda":
            torch.cuda.current_stream().synchronize()  # the next tick uses the same memory

    def close(self) -> None:
        """Stop drawing batches."""


class WorkerPool:
    """Processes that draw batches, for one stack after another."""

    def __init__(self, count: int) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        environment["CUDA_VISIBLE_DEVICES"] = ""
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-c", WORKER],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
                start_new_session=True,  # Ctrl-C is for this process alone
            )
            for _ in range(count)
        ]  # fmt: skip

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self.processes)

    def send(self, number: int, message: Mapping[str, Any]) -> None:
        """Send a message to one process."""
        stream = self.processes[number].stdin
        assert stream is not None
        try:
            stream.write(json.dumps(message) + "\n")
            stream.flush()
        except OSError:
            raise _gone() from None

    def answer(self, number: int) -> dict[str, Any]:
        """The next answer of one process."""
        stream = self.processes[number].stdout
        assert stream is not None
        line = stream.readline()
        if not line:
            raise _gone()
        result: dict[str, Any] = json.loads(line)
        return result

    def close(self) -> None:
        """End all processes."""
        for process in self.processes:
            if process.stdin is not None:
                with suppress(OSError):
                    process.stdin.close()
        for process in self.processes:
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def _gone() -> WeftError:
    return WeftError(
        "a process that draws batches has ended",
        remedy="The same command resumes the runs; see above for its traceback",
    )


class ProcessFeed:
    """The ticks of a stack, drawn ahead of time by a pool of processes."""

    def __init__(self, learner: StackedLearner, pool: WorkerPool) -> None:
        self.learner, self.pool, self.shape = learner, pool, learner.tick_shape
        size = tick_bytes(self.shape)
        folder = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
        number, self.path = tempfile.mkstemp(prefix="weft-stack-", dir=folder)
        with os.fdopen(number, "r+b") as file:
            file.truncate(size * RING)
            self.memory = mmap.mmap(file.fileno(), size * RING)
        self.ring = [TickArrays.over(self.memory, self.shape, size * n) for n in range(RING)]
        self.columns: dict[int, RunColumns] = {}
        self.batches: dict[tuple[int, int], StepBatch] = {}
        self.events: dict[int, Any] = {}
        self._taken = 0
        self._ready: queue.Queue[Any] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        for worker in range(len(pool)):
            places = list(range(worker, self.shape.models, len(pool)))
            ring = {"path": self.path, "shape": asdict(self.shape), "places": places}
            pool.send(worker, {"ring": ring})

    def assign(
        self, place: int, member: Member, serial: int, step: int = 0, random: bytes = b""
    ) -> None:
        """Draw the batches of a run for a place, after a step."""
        self.columns[serial] = RunColumns(member.config)
        run = {"config": member.config.as_dict(), "serial": serial, "step": step}
        self._send(place, {"place": place, "run": {**run, "random": random.hex()}})

    def release(self, place: int) -> None:
        """Draw nothing for a place."""
        self._send(place, {"place": place, "run": None})

    def _send(self, place: int, message: Mapping[str, Any]) -> None:
        with self._lock:
            self.pool.send(place % len(self.pool), message)

    def _free(self, count: int) -> None:
        with self._lock:
            for worker in range(len(self.pool)):
                self.pool.send(worker, {"free": count})

    def take(self) -> Tick:
        """The next tick; the one before may be overwritten."""
        if self._thread is None:
            self._free(RING)
            self._thread = threading.Thread(target=self._collect, daemon=True)
            self._thread.start()
        elif self._taken % RELEASED == 0:
            self._free(RELEASED)
        tick = self._ready.get()
        if isinstance(tick, BaseException):
            raise tick
        self._taken += 1
        result: Tick = tick
        return result

    def sent(self) -> None:
        """The batches of the tick are on their way to the device."""
        if self.learner.device.type == "cuda":
            event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            event.record()
            self.events[(self._taken - 1) % RING] = event

    def _collect(self) -> None:
        """Move ticks that are complete to memory from which the device copies."""
        number = 0
        try:
            while True:
                errors: dict[int, WeftError] = {}
                for worker in range(len(self.pool)):
                    answer = self.pool.answer(worker)
                    while "error" in answer:
                        errors[answer["serial"]] = WeftError(answer["error"])
                        answer = self.pool.answer(worker)
                    if "stopped" in answer:
                        self._drain(worker)
                        return
                self._ready.put(self._loaded(number % RING, errors))
                number += 1
        except BaseException as error:
            self._ready.put(error)

    def _drain(self, stopped: int = -1) -> None:
        """Read all that is left of a ring, up to where the processes left it."""
        for worker in range(len(self.pool)):
            while worker != stopped and "stopped" not in self.pool.answer(worker):
                pass

    def _loaded(self, slot: int, errors: dict[int, WeftError]) -> Tick:
        arrays = self.ring[slot]
        width = self.learner.width_for(int(arrays.width.max()))
        if (slot, width) not in self.batches:
            self.batches[slot, width] = self.learner.host_batch(width)
        batch = self.batches[slot, width]
        if slot in self.events:
            self.events.pop(slot).synchronize()
        batch.load(arrays, _columns(arrays, self.columns), width)
        return Tick(arrays, batch, errors)

    def close(self) -> None:
        """Stop drawing batches and free the memory; the pool may serve another stack."""
        try:
            with self._lock:
                for worker in range(len(self.pool)):
                    self.pool.send(worker, {"stop": 1})
            if self._thread is not None:
                self._thread.join()
            else:
                self._drain()
        finally:
            self.ring.clear()
            Path(self.path).unlink(missing_ok=True)


Feed = InlineFeed | ProcessFeed


# In a worker process


class _Worker:
    """Fills the places of a ring that belong to this process."""

    def __init__(self, answer: Callable[[Mapping[str, Any]], None]) -> None:
        self.answer = answer
        self.sources: dict[int, Source] = {}
        self.places: list[int] = []
        self.ring: list[TickArrays] = []
        self.free = self.filled = 0

    def receive(self, message: Mapping[str, Any]) -> None:
        """Act on a message."""
        if "ring" in message:
            ring = message["ring"]
            shape = TickShape(**ring["shape"])
            size = tick_bytes(shape)
            with open(ring["path"], "r+b") as file:
                memory = mmap.mmap(file.fileno(), size * RING)
            self.ring = [TickArrays.over(memory, shape, size * n) for n in range(RING)]
            self.places, self.free, self.filled = ring["places"], 0, 0
        elif "free" in message:
            self.free += message["free"]
        elif "stop" in message:
            self.ring, self.sources, self.free = [], {}, 0
            self.answer({"stopped": 1})
        else:
            self._assign(message["place"], message["run"])

    def _assign(self, place: int, run: Mapping[str, Any] | None) -> None:
        from weft.training.supervision import model_config, task_of

        self.sources.pop(place, None)
        if run is not None:
            config = training_config(run["config"])
            task = task_of(config)
            model, random = model_config(config, task), bytes.fromhex(run["random"])
            source = Source(config, task, model, run["serial"], run["step"], random)
            self.sources[place] = source

    def fill(self) -> None:
        """Draw the batches of a tick."""
        tick = self.ring[self.filled % RING]
        for place in self.places:
            source = self.sources.get(place)
            try:
                idle(tick, place) if source is None else source.fill(tick, place)
            except WeftError as error:
                assert source is not None
                self.answer({"error": error.line, "serial": source.serial})
                del self.sources[place]
                idle(tick, place)
        self.filled, self.free = self.filled + 1, self.free - 1
        self.answer({"tick": self.filled})


def serve() -> None:
    """Draw batches as a pool asks, until its end of the pipe is closed."""
    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    sys.stdout = sys.stderr  # whatever a task prints
    messages: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(messages,), daemon=True).start()

    def answer(values: Mapping[str, Any]) -> None:
        print(json.dumps(values), file=answers, flush=True)

    worker = _Worker(answer)
    while True:
        while worker.free and messages.empty():
            worker.fill()
        line = messages.get()
        if not line:
            return
        worker.receive(json.loads(line))


def _listen(messages: queue.Queue[str]) -> None:
    for line in sys.stdin:
        messages.put(line)
    messages.put("")
