"""`train`: a run from its config to its result, in a folder of plain files.

runs/HASH/config.json           what it is
runs/HASH/environment.json      where it was made
runs/HASH/metrics.jsonl         a record every few steps
runs/HASH/evaluations.jsonl     accuracy and loss of every split
runs/HASH/checkpoint-STEP/      tensors and state, to go on from
runs/HASH/predictions/SPLIT.npz what it chose at the end, with the axes of every example
runs/HASH/model/                the model, for `weft.load` and `weft run`, once the run has ended
runs/HASH/result.json           how it ended; a run that came to an end is never computed again
runs/HASH/traceback.txt         where it failed, if it did

A start that fails before the first step leaves no folder. A run that fails later says why in its
result, keeps its last whole step, and goes on from there when it is started again.
"""

from __future__ import annotations

import math
import shutil
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from weft.config import from_plain
from weft.errors import Interrupted, WeftError
from weft.extensions import copy_files
from weft.files import read_json, write_json
from weft.models.catalogue import check_memory
from weft.tasks import Task
from weft.training import checkpoint
from weft.training.callbacks import RETRIED, Result, Watcher
from weft.training.config import TrainingConfig
from weft.training.distributed import Group, check_batch, joined
from weft.training.environment import device_of, environment
from weft.training.interrupts import Interrupts
from weft.training.learner import NotFinite
from weft.training.loop import Diverged, Loop, check_splits
from weft.training.model_folder import save_run_model
from weft.training.supervising import in_tokens_of_program, task_of

SAVE_EVERY = 60.0
TRACEBACK = "traceback.txt"
MESSAGES = {
    "nan": "the loss or its gradient is not a finite number",
    "diverged": "the loss stays far above that of guessing",
    "out-of-memory": "the device has not enough memory",
}
NO_MEMORY = ("can't allocate memory", "Storage size calculation overflowed")
"""What PyTorch says of tensors that a CPU has no room for."""


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

    Raises:
        Interrupted: a signal ended it (Ctrl-C or SIGTERM); its last whole step is saved.
        WeftError: the config makes no sense, or the run failed on its way.
    """
    folder = Path(runs) / config.hash
    done = finished(folder)
    if done is not None and done.final:
        return done
    with _told(folder), Interrupts() as interrupts:
        where = device_of(device)
        found = task_of(config) if task is None else in_tokens_of_program(config, task)
        check_memory(config.model_config(found), where)  # mistakes show before there is a folder
        check_splits(config, found)
        with (
            joined(where) as group,
            locked(folder, group),
            _kept_if_begun(folder, group),
            _own_random_numbers(where),
            _products(config),
        ):
            check_batch(config.batch, group)
            if group.first:
                with _writing(folder):
                    write_json(folder / "config.json", config.as_dict())
                    copy_files(config.extensions, folder / "code")
                    write_json(folder / "environment.json", environment(where))
            watched = watcher if watcher is not None and group.first else Watcher()
            try:
                result = _run(config, found, folder, where, group, watched, save_every, interrupts)
            finally:
                watched.close()
    if interrupts.number:
        raise Interrupted(interrupts.number, f"interrupted; the run in {folder} had ended")
    return result


def _run(
    config: TrainingConfig,
    task: Task,
    folder: Path,
    device: torch.device,
    group: Group,
    watcher: Watcher,
    save_every: float,
    interrupts: Interrupts,
) -> Result:
    status, loop = "done", None
    try:
        loop = Loop(
            config, task, folder, device, group=group, watcher=watcher, save_every=save_every,
            interrupts=interrupts,
        )  # fmt: skip
        watcher.started(config, loop.learner.model.config, loop.state.step)
        if group.first:
            _forget_failure(folder)
        loop.run()
        status = loop.state.ended or status
    except (NotFinite, Diverged) as error:
        status = "nan" if isinstance(error, NotFinite) else "diverged"
    except Exception as error:
        if not _is_memory(error):
            result = _result("failed", loop, folder)
            if group.first and result.step:
                with interrupts.held():
                    _note_failure(folder, result, loop, error)
                _tell(folder, result, error)
            raise
        status = "out-of-memory"
    finally:
        if loop is not None:
            loop.close()
    result = _result(status, loop, folder)
    with interrupts.held():
        if group.first:
            _write(folder, result, loop)
        watcher.ended(result)
    return result


def _note_failure(folder: Path, result: Result, loop: Loop | None, error: Exception) -> None:
    """Keep why a run failed, and its last whole step; unless nothing can be written at all."""
    why = error.line if isinstance(error, WeftError) else _said(error)
    with suppress(OSError):
        (folder / TRACEBACK).write_text("".join(traceback.format_exception(error)))
        _write(folder, replace(result, message=why), loop)


def _tell(folder: Path, result: Result, error: Exception) -> None:
    """Raise for a run that failed, unless the error says itself what is wrong."""
    if not isinstance(error, WeftError):
        raise WeftError(
            f"it failed after step {result.step:,}: {_said(error)}",
            subject=f"run {folder.name}",
            remedy=f"{folder / TRACEBACK} says where; the same command resumes the run",
        ) from error


def _said(error: Exception) -> str:
    """An error on one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}{': ' if lines else ''}{lines[0] if lines else ''}"


def _forget_failure(folder: Path) -> None:
    """A run that goes on has not failed."""
    for name in ("result.json", TRACEBACK):
        (folder / name).unlink(missing_ok=True)


def _result(status: str, loop: Loop | None, folder: Path) -> Result:
    """How it ended, from what the loop had; or what was saved, if there was none yet."""
    if loop is None:
        return Result(
            status=status, step=checkpoint.newest_step(folder), accuracy={}, loss={}, best=None,
            best_step=0, tokens=0, seconds=0.0, parameters=0, message=MESSAGES.get(status, ""),
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
        tests={split: len(one.batch) for split, one in found.items()},
    )


def _write(folder: Path, result: Result, loop: Loop | None) -> None:
    """Keep what the run had, its result last; of a start that failed there is nothing."""
    if result.status in RETRIED and not result.step:
        return
    if loop is not None:
        if result.status in ("nan", "diverged"):
            loop.keep()
        (folder / "predictions").mkdir(exist_ok=True)
        for split, found in loop.predictions.items():
            found.save(folder / "predictions" / f"{split}.npz")
        if result.status in ("done", "stopped"):
            save_run_model(folder, loop.learner.evaluated, loop.config, loop.task, result)
    write_json(folder / "result.json", _without_nan(asdict(result)))
    if result.status in ("done", "stopped"):
        checkpoint.without_optimiser(folder)
    if result.status in RETRIED and loop is not None:
        loop.rescue()


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
    return known or any(words in str(error) for words in NO_MEMORY)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """Say what there is of a run that is interrupted before it makes a step."""
    try:
        yield
    except Interrupted as error:
        if error.what:
            raise
        begun = bool(checkpoint.found(folder))
        left = f"{folder} is as it was; the same command resumes the run"
        what = f"interrupted; {left if begun else 'no step was made, and nothing is kept'}"
        raise Interrupted(error.number, what) from None


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
def _writing(folder: Path) -> Iterator[None]:
    """Say that a folder cannot be written, and why."""
    try:
        yield
    except OSError as error:
        raise WeftError(
            f"{folder} cannot be written: {error.strerror}",
            remedy="Choose another folder of runs",
        ) from None


@contextmanager
def _kept_if_begun(folder: Path, group: Group) -> Iterator[None]:
    """Remove the folder of a run that has nothing to go on from, and no result."""
    try:
        yield
    finally:
        begun = checkpoint.found(folder) or (folder / "result.json").exists()
        if group.first and not begun:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def locked(folder: Path, group: Group) -> Iterator[None]:
    """Keep others from the same run; the lock goes with the process, however it ends."""
    if not group.first:
        yield
        return
    import fcntl

    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        opened = (folder / ".lock").open("w")
    with opened as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WeftError(
                f"the run {folder.name} is being trained by another process",
                remedy="Wait for it, or change the config",
            ) from None
        yield
