"""`train`: a run from its config to its result, in a folder of plain files.

runs/HASH/config.json           what it is
runs/HASH/environment.json      where it was made
runs/HASH/metrics.jsonl         a record every few steps
runs/HASH/evaluations.jsonl     accuracy and loss of every split
runs/HASH/checkpoint-STEP/      tensors and state, to go on from
runs/HASH/predictions/SPLIT.npz what it chose at the end, with the axes of every example
runs/HASH/result.json           how it ended; a run that has one is never computed again
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from weft.config import from_plain
from weft.errors import WeftError
from weft.models.catalogue import check_memory
from weft.tasks import Task
from weft.training import checkpoint
from weft.training.config import TrainingConfig
from weft.training.environment import device_of, environment
from weft.training.files import read_json, write_json
from weft.training.learner import NotFinite
from weft.training.loop import Diverged, Loop, check_splits
from weft.training.parallel import Group, check_batch, joined
from weft.training.supervising import in_tokens_of_program, task_of
from weft.training.watching import Result, Watcher

SAVE_EVERY = 60.0
MESSAGES = {
    "nan": "the loss or its gradient is not a finite number",
    "diverged": "the loss stays far above that of guessing",
    "out-of-memory": "the device has not enough memory",
}


def train(
    config: TrainingConfig,
    *,
    runs: str | Path = "runs",
    task: Task | None = None,
    device: str = "auto",
    watcher: Watcher | None = None,
    save_every: float = SAVE_EVERY,
) -> Result:
    """Train a model, or go on where it was left, or say what came of it if it is done.

    Args:
        config: what to do.
        runs: the folder of all runs.
        task: the task itself, where it has no name to be found by.
        device: `cpu`, `cuda`, or the best there is.
        watcher: is told how it goes.
        save_every: after how many seconds it saves itself again.
    """
    folder = Path(runs) / config.hash
    done = finished(folder)
    if done is not None and done.final:
        return done
    where = device_of(device)
    found = task_of(config) if task is None else in_tokens_of_program(config, task)
    check_memory(config.model_config(found), where)  # mistakes show before there is a folder
    check_splits(config, found)
    with (
        joined(where) as group,
        locked(folder, group),
        _own_random_numbers(where),
        _products(config),
    ):
        check_batch(config.batch, group)
        if group.first:
            write_json(folder / "config.json", config.as_dict())
            write_json(folder / "environment.json", environment(where))
        watched = watcher if watcher is not None and group.first else Watcher()
        try:
            return _run(config, found, folder, where, group, watched, save_every)
        finally:
            watched.close()


def _run(
    config: TrainingConfig,
    task: Task,
    folder: Path,
    device: torch.device,
    group: Group,
    watcher: Watcher,
    save_every: float,
) -> Result:
    status, loop = "done", None
    try:
        loop = Loop(
            config, task, folder, device, group=group, watcher=watcher, save_every=save_every
        )
        watcher.started(config, loop.learner.model.config, loop.state.step)
        loop.run()
        status = loop.state.ended or status
    except (NotFinite, Diverged) as error:
        status = "nan" if isinstance(error, NotFinite) else "diverged"
    except (RuntimeError, MemoryError) as error:
        if not _is_memory(error):
            raise
        status = "out-of-memory"
    finally:
        if loop is not None:
            loop.close()
    result = _result(status, loop)
    if group.first:
        _write(folder, result, loop, device)
    watcher.ended(result)
    return result


def _result(status: str, loop: Loop | None) -> Result:
    """How it ended, from what the loop had."""
    if loop is None:
        return Result(
            status=status, step=0, accuracy={}, loss={}, best=None, best_step=0, tokens=0,
            seconds=0.0, parameters=0, message=MESSAGES.get(status, ""),
        )  # fmt: skip
    state, found = loop.state, loop.predictions
    return Result(
        status=status,
        step=state.step,
        accuracy={split: one.accuracy for split, one in found.items()},
        loss={split: one.loss for split, one in found.items()},
        best=state.best if state.best >= 0 else None,
        best_step=state.best_step,
        tokens=state.tokens,
        seconds=round(state.seconds, 3),
        parameters=sum(weight.numel() for weight in loop.learner.model.parameters()),
        message=MESSAGES.get(status, ""),
    )


def _write(folder: Path, result: Result, loop: Loop | None, device: torch.device) -> None:
    """Keep what the run had, its result last."""
    if loop is not None:
        if result.status in ("nan", "diverged"):
            loop.keep()
        (folder / "predictions").mkdir(exist_ok=True)
        for split, found in loop.predictions.items():
            found.save(folder / "predictions" / f"{split}.npz")
    write_json(folder / "result.json", _without_nan(asdict(result)))
    if result.status in ("done", "stopped"):
        checkpoint.without_optimiser(folder)


def _without_nan(value: Any) -> Any:
    """JSON has no word for what is not a number."""
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def finished(folder: Path) -> Result | None:
    """How a run ended; None where it has not."""
    path = folder / "result.json"
    if not path.exists():
        return None
    return from_plain(Result, read_json(path, checkpoint.AGAIN), str(path), checkpoint.AGAIN)


def _is_memory(error: BaseException) -> bool:
    known = isinstance(error, (MemoryError, torch.OutOfMemoryError))
    return known or "can't allocate memory" in str(error)


@contextmanager
def _own_random_numbers(device: torch.device) -> Iterator[None]:
    """Leave the caller's random numbers as they were."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        yield


@contextmanager
def _products(config: TrainingConfig) -> Iterator[None]:
    """How precise products of float32 are, while a run goes on."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if config.tf32 else before)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def locked(folder: Path, group: Group) -> Iterator[None]:
    """Keep others from the same run; the lock goes with the process, however it ends."""
    folder.mkdir(parents=True, exist_ok=True)
    if not group.first:
        yield
        return
    import fcntl

    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WeftError(
                f"the run {folder.name} is being trained by another process",
                remedy="Wait for it, or change the config",
            ) from None
        yield
