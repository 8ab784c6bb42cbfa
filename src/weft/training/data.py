"""Batches as tensors. For a GPU they are made ahead of time in a thread, so that no step waits.

On a CPU a thread would take from the step the core that it computes on, and small models would take
a tenth longer than the batch itself.

What a batch holds follows from the seed and the step alone, so a run that continues has the batches
that it would have had.
"""

from __future__ import annotations

import inspect
import queue
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.errors import Location, WeftError
from weft.models.config import TransformerConfig
from weft.tasks import Batch, Task
from weft.tasks.task import TRAIN
from weft.training.config import TrainingConfig
from weft.training.distributed import Group

AHEAD = 4


@dataclass(frozen=True, kw_only=True)
class Tensors:
    """A batch for a model, or one process's part of it.

    Attributes:
        tokens: b l.
        targets: b l.
        lengths: b; None where the model needs none.
        source: b l, for an encoder-decoder.
        source_lengths: b; None where all are full.
        asked: how many targets the whole batch has, at least 1; a tensor in a CUDA graph.
        read: how many tokens the whole batch has, padding left out.
    """

    tokens: Tensor
    targets: Tensor
    lengths: Tensor | None = None
    source: Tensor | None = None
    source_lengths: Tensor | None = None
    asked: int | Tensor = 1
    read: int = 0

    def to(self, device: torch.device) -> Tensors:
        """The same on a device."""
        return self.each(lambda tensor: tensor.to(device, non_blocking=True))

    def pinned(self) -> Tensors:
        """The same in memory that a GPU can fetch from."""
        return self.each(lambda tensor: tensor.pin_memory())

    def each(self, change: Callable[[Tensor], Tensor]) -> Tensors:
        """The same with every tensor changed."""
        values: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        changed: dict[str, Any] = {
            k: change(v) if isinstance(v, Tensor) else v for k, v in values.items()
        }
        return replace(self, **changed)


def tensors_of(batch: Batch, config: TransformerConfig, group: Group | None = None) -> Tensors:
    """A batch as tensors, with the lengths that a model needs.

    What is to the right of a token never matters to a decoder, so it needs none; unless positions
    depend on the length, or it halts when all positions have: padding is none of them.
    """
    read = int(batch.lengths.sum())
    if batch.source_lengths is not None:
        read += int(batch.source_lengths.sum())
    asked = max(1, int((batch.targets >= 0).sum()))
    if group is not None and group.size > 1:
        batch = batch.take(slice(group.rank, None, group.size))
    moved = "randomised" in config.encodings or config.example_offsets
    always = moved or config.halt is not None
    return Tensors(
        tokens=_tensor(batch.tokens),
        targets=_tensor(batch.targets),
        lengths=_tensor(batch.lengths) if always or not config.causal else None,
        source=None if batch.source is None else _tensor(batch.source),
        source_lengths=None if batch.source_lengths is None else _tensor(batch.source_lengths),
        asked=asked,
        read=read,
    )


def _tensor(array: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64))


@contextmanager
def blaming(task: Task) -> Iterator[None]:
    """Make a `WeftError` of any error that a task's own code raises, with its line."""
    try:
        yield
    except WeftError:
        raise
    except Exception as error:
        said = f": {error}" if str(error) else ""
        raise WeftError(
            f"its examples cannot be drawn: {type(error).__name__}{said}",
            subject=f"task {task.name}",
            where=_line_of(task, error),
            remedy="Correct the task",
        ) from error


def _line_of(task: Task, error: Exception) -> Location | None:
    """The innermost line of the task's own file at which an error arose."""
    file = inspect.getsourcefile(type(task))
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
             if frame.filename == file]  # fmt: skip
    return Location(file, lines[-1]) if file and lines and lines[-1] else None


class Feed:
    """The batches of a run from a step on; to be closed."""

    def __init__(
        self,
        task: Task,
        config: TrainingConfig,
        model: TransformerConfig,
        *,
        first: int,
        pinned: bool = False,
        group: Group | None = None,
    ) -> None:
        self.task, self.config, self.model = task, config, model
        self.pinned, self.group = pinned, group
        self._ready: queue.Queue[Tensors | BaseException] = queue.Queue(AHEAD)
        self._closed = threading.Event()
        self._first = first
        self._thread: threading.Thread | None = None
        if pinned:
            self._thread = threading.Thread(target=self._make, args=(first,), daemon=True)
            self._thread.start()

    def __iter__(self) -> Iterator[Tensors]:
        if self._thread is None:
            yield from map(self._batch, range(self._first, self.config.steps + 1))
            return
        while True:
            found = self._ready.get()
            if isinstance(found, BaseException):
                raise found
            yield found

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        while self._thread is not None and self._thread.is_alive():
            try:
                self._ready.get(timeout=0.01)
            except queue.Empty:
                continue

    def _make(self, first: int) -> None:
        try:
            for step in range(first, self.config.steps + 1):
                self._put(self._batch(step))
                if self._closed.is_set():
                    return
        except BaseException as error:
            self._put(error)

    def _batch(self, step: int) -> Tensors:
        batch = self._drawn(step)
        if not (self.config.fused or self.config.graphed):  # these want one width
            batch = batch.trimmed()
        found = tensors_of(batch, self.model, self.group)
        return found.pinned() if self.pinned else found

    def _drawn(self, step: int) -> Batch:
        with blaming(self.task):
            return self.task.batch(TRAIN, self.config.seed, step, self.config.batch)

    def _put(self, value: Tensors | BaseException) -> None:
        while not self._closed.is_set():
            try:
                self._ready.put(value, timeout=0.1)
                return
            except queue.Full:
                continue
