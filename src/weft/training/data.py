"""Batches as tensors, and a thread that makes them ahead of time.

A batch follows from the seed and the step alone, so a resumed run gets the batches that it would
have had.
"""

from __future__ import annotations

import inspect
import queue
import threading
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from weft.errors import Location, WeftError
from weft.models.config import TransformerConfig
from weft.tasks import Batch, Task
from weft.tasks.preparation import Preparation
from weft.tasks.task import TRAIN
from weft.training.config import TrainingConfig, refuse
from weft.training.distributed import ALONE, Group

if TYPE_CHECKING:
    from jaxtyping import Bool, Int

QUEUE_SIZE = 4
"""Number of batches that are made ahead of time."""


@dataclass(frozen=True, kw_only=True)
class Tensors:
    """A batch for a model, or one process's share of it.

    Attributes:
        tokens: the input.
        targets: the class at each position, -1 for positions without a target.
        lengths: None if the model does not need them.
        source: the encoder's input, for an encoder-decoder.
        source_lengths: None if all rows are full.
        legal: for label sets, which classes are legal at each position; None otherwise.
        documents: the number of the example that each token belongs to, -1 for padding; None if
            each row is one example.
        target_count: number of targets of the whole batch, at least 1; a tensor in a CUDA graph.
        token_count: number of tokens of the whole batch, without padding.
    """

    tokens: Int[Tensor, "batch length"]
    targets: Int[Tensor, "batch length"]
    lengths: Int[Tensor, " batch"] | None = None
    source: Int[Tensor, "batch source_length"] | None = None
    source_lengths: Int[Tensor, " batch"] | None = None
    legal: Bool[Tensor, "batch length classes"] | None = None
    documents: Int[Tensor, "batch length"] | None = None
    target_count: int | Tensor = 1
    token_count: int = 0

    def to(self, device: torch.device) -> Tensors:
        """The batch on a device."""
        return self.map(lambda tensor: tensor.to(device, non_blocking=True))

    def pinned(self) -> Tensors:
        """The batch in pinned memory."""
        return self.map(lambda tensor: tensor.pin_memory())

    def map(self, function: Callable[[Tensor], Tensor]) -> Tensors:
        """The batch with a function applied to every tensor."""
        values: dict[str, Any] = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        mapped: dict[str, Any] = {
            k: function(v) if isinstance(v, Tensor) else v for k, v in values.items()
        }
        return replace(self, **mapped)


def tensors_of(batch: Batch, config: TransformerConfig, group: Group = ALONE) -> Tensors:
    """A batch as tensors, with lengths if the model needs them.

    A decoder never sees what is to the right of a token, so it does not need lengths; unless its
    positions depend on the length, or it halts when all positions that are not padding have.
    """
    token_count = int(batch.lengths.sum())
    if batch.source_lengths is not None:
        token_count += int(batch.source_lengths.sum())
    target_count = max(1, int(batch.scored.sum()))
    if group.size > 1:
        batch = batch.take(slice(group.rank, None, group.size))
        check_rows(batch, group)
    moved = "randomised" in config.encodings or config.example_offsets
    needs_lengths = not config.causal or moved or config.halt is not None
    return Tensors(
        tokens=_tensor(batch.tokens),
        targets=_tensor(batch.targets),
        lengths=_tensor(batch.lengths) if needs_lengths else None,
        source=None if batch.source is None else _tensor(batch.source),
        source_lengths=None if batch.source_lengths is None else _tensor(batch.source_lengths),
        legal=None if batch.legal is None else torch.from_numpy(np.ascontiguousarray(batch.legal)),
        documents=None if batch.documents is None else _tensor(batch.documents),
        target_count=target_count,
        token_count=token_count,
    )


def check_rows(batch: Batch, group: Group) -> None:
    """Refuse packed batches with fewer rows than processes."""
    if not len(batch):
        refuse(
            f"a packed batch has fewer rows than the {group.size} processes",
            "Make batch larger or pack smaller, or start fewer processes",
        )


def _tensor(array: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64))


@contextmanager
def blaming(task: Task) -> Iterator[None]:
    """Turn any error in a task's own code into a `WeftError` that names its line."""
    try:
        yield
    except WeftError:
        raise
    except Exception as error:
        message = f": {error}" if str(error) else ""
        raise WeftError(
            f"its examples cannot be drawn: {type(error).__name__}{message}",
            subject=f"task {task.name}",
            where=_line_of(task, error),
            remedy="Correct the task",
        ) from error


def _line_of(task: Task, error: Exception) -> Location | None:
    """The innermost line of the task's own file in an error's traceback."""
    file = inspect.getsourcefile(type(task))
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
             if frame.filename == file]  # fmt: skip
    return Location(file, lines[-1]) if file and lines and lines[-1] else None


def drawn(task: Task, config: TrainingConfig, step: int) -> Batch:
    """The training examples of a step."""
    with blaming(task):
        return task.batch(TRAIN, config.seed, step, config.batch)


def prepared(task: Task, config: TrainingConfig, step: int) -> Batch:
    """The training examples of a step, packed or trimmed as the config says."""
    with blaming(task):
        return preparation_of(config).batch(task, step)


def preparation_of(config: TrainingConfig) -> Preparation:
    """How the batches of a run are made."""
    return Preparation(
        seed=config.seed,
        size=config.batch,
        pack=config.pack,
        rows=config.pack_rows,
        packing=config.packing,
        trim=not (config.torch_compile or config.cuda_graphs),  # these want one width
    )


def made_ahead(make: Callable[[int], Any], steps: Sequence[int]) -> Generator[Any]:
    """Yield the batches of some steps, which a thread makes ahead of time; to be closed."""
    ready: queue.Queue[Any] = queue.Queue(QUEUE_SIZE)
    closed = threading.Event()

    def put(value: Any) -> None:
        while not closed.is_set():
            try:
                ready.put(value, timeout=0.1)
                return
            except queue.Full:
                continue

    def make_all() -> None:
        try:
            for step in steps:
                put(make(step))
                if closed.is_set():
                    return
        except BaseException as error:
            put(error)

    thread = threading.Thread(target=make_all, daemon=True)
    thread.start()
    try:
        for _ in steps:
            batch = ready.get()
            if isinstance(batch, BaseException):
                raise batch
            yield batch
    finally:
        closed.set()
        thread.join()
