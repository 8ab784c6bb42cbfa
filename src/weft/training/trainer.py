"""`train`: from a config to its result, in a folder of plain files.

runs/HASH/config.json           the config
runs/HASH/environment.json      versions, device and commit
runs/HASH/metrics.jsonl         a record every few steps
runs/HASH/evaluations.jsonl     accuracy and loss of every split
runs/HASH/checkpoint-STEP/      tensors and state, to resume from
runs/HASH/predictions/SPLIT.npz final predictions, with the axes of every example
runs/HASH/model/                the model, for `weft.load` and `weft run`, once the run has ended
runs/HASH/result.json           how the run ended; complete runs are never computed again
runs/HASH/traceback.txt         the traceback of a run that failed

A run that fails before its first step leaves no folder. A run that fails later records why in its
result, keeps its last complete step, and resumes from there if it is started again.
"""

from __future__ import annotations

import shutil
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import torch

from weft.config import from_plain
from weft.errors import Interrupted, WeftError
from weft.extensions import copy_files
from weft.files import read_json, write_json
from weft.models.catalogue import check_memory
from weft.tasks import Task
from weft.training import checkpoint
from weft.training.callbacks import RETRIED, Callback, Result
from weft.training.config import TrainingConfig
from weft.training.distributed import Group, check_batch, joined
from weft.training.environment import device_of, environment
from weft.training.interrupts import Interrupts
from weft.training.learner import NotFinite
from weft.training.loop import Diverged, Loop, check_splits
from weft.training.model_folder import save_run_model
from weft.training.supervision import in_program_tokens, model_config, task_of
from weft.training.workers import worker_count

SAVE_EVERY = 60.0
TRACEBACK = "traceback.txt"
MESSAGES = {
    "nan": "the loss or its gradient is not finite",
    "diverged": "the loss stays far above that of a uniform guess",
    "out-of-memory": "the device is out of memory",
}
NO_MEMORY = ("can't allocate memory", "Storage size calculation overflowed")
"""PyTorch's messages about tensors that do not fit into memory."""


def train(
    config: TrainingConfig,
    *,
    runs: str | Path = "runs",
    task: Task | None = None,
    device: str = "auto",
    callbacks: Sequence[Callback] = (),
    save_every: float = SAVE_EVERY,
    workers: int | None = None,
) -> Result:
    """Train a model, resume an interrupted run, or return the result of a complete one.

    Args:
        config: the run.
        runs: the folder of all runs.
        task: the task itself, if it cannot be found by name.
        device: `cpu`, `cuda`, or `auto` for a GPU if there is one.
        callbacks: follow the run; see `weft.training.callbacks`.
        save_every: seconds between checkpoints.
        workers: number of processes that make batches beside training; the run is the same for any
            number. By default there are none, unless examples are slow to make and a GPU trains.

    Raises:
        Interrupted: a signal ended the run (Ctrl-C or SIGTERM); its last complete step is saved.
        WeftError: the config is invalid, or the run failed.
    """
    folder = Path(runs) / config.hash
    done = finished(folder)
    if done is not None and done.final:
        return done
    with _explained(folder), Interrupts() as interrupts:
        where = device_of(device)
        learned = task_of(config) if task is None else in_program_tokens(config, task)
        check_memory(model_config(config, learned), where)  # fail before there is a folder
        check_splits(config, learned)
        count = worker_count(workers, learned, on_gpu=where.type == "cuda")
        if task is not None:  # a worker can make a task by its name only
            count = 0
        with (
            joined(where) as group,
            locked(folder, group),
            removed_unless_begun(folder, group),
            torch.random.fork_rng(devices=[where] if where.type == "cuda" else []),
            matmul_precision(config.tf32),
        ):
            check_batch(config.batch, group)
            if group.first:
                prepare_folder(config, folder, where)
            callbacks = tuple(callbacks) if group.first else ()
            try:
                result = _run(
                    config, learned, folder, where, group, callbacks, save_every, interrupts, count
                )
            finally:
                for callback in callbacks:
                    callback.close()
    if interrupts.number:
        raise Interrupted(interrupts.number, f"interrupted; the run in {folder} had ended")
    return result


def prepare_folder(config: TrainingConfig, folder: Path, device: torch.device) -> None:
    """Write what a run's folder has before its first step: config, environment, user's code."""
    with _writing(folder):
        write_json(folder / "config.json", config.as_dict())
        copy_files(config.extensions, folder / "code")
        write_json(folder / "environment.json", environment(device))


def _run(
    config: TrainingConfig,
    task: Task,
    folder: Path,
    device: torch.device,
    group: Group,
    callbacks: Sequence[Callback],
    save_every: float,
    interrupts: Interrupts,
    workers: int,
) -> Result:
    status, loop = "done", None
    try:
        loop = Loop.start(
            config, task, folder, device, group=group, callbacks=callbacks, save_every=save_every,
            interrupts=interrupts, workers=workers,
        )  # fmt: skip
        for callback in callbacks:
            callback.on_start(config, loop.learner.model.config, loop.state.step)
        if group.first:
            forget_failure(folder)
        loop.run()
        status = loop.state.ended or status
    except (NotFinite, Diverged) as error:
        status = "nan" if isinstance(error, NotFinite) else "diverged"
    except Exception as error:
        if not is_out_of_memory(error):
            result = loop_result("failed", loop, folder)
            if group.first and result.step:
                with interrupts.held():
                    record_failure(folder, result, loop, error)
                _raise_failure(folder, result, error)
            raise
        status = "out-of-memory"
    finally:
        if loop is not None:
            loop.close()
    result = loop_result(status, loop, folder)
    with interrupts.held():
        if group.first:
            write_result(folder, result, loop)
        for callback in callbacks:
            callback.on_end(result)
    return result


def record_failure(folder: Path, result: Result, loop: Loop | None, error: Exception) -> None:
    """Write why a run failed, and its last complete step, if anything can be written at all."""
    why = error.line if isinstance(error, WeftError) else _summary(error)
    with suppress(OSError):
        (folder / TRACEBACK).write_text("".join(traceback.format_exception(error)))
        write_result(folder, replace(result, message=why), loop)


def _raise_failure(folder: Path, result: Result, error: Exception) -> None:
    """Raise a `WeftError` for a run that failed, unless the error is one already."""
    if not isinstance(error, WeftError):
        raise WeftError(
            f"it failed after step {result.step:,}: {_summary(error)}",
            subject=f"run {folder.name}",
            remedy=f"{folder / TRACEBACK} has the traceback; the same command resumes the run",
        ) from error


def _summary(error: Exception) -> str:
    """An error on one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}{': ' if lines else ''}{lines[0] if lines else ''}"


def forget_failure(folder: Path) -> None:
    """Delete the traces of an earlier failure of a run that resumes."""
    for name in ("result.json", TRACEBACK):
        (folder / name).unlink(missing_ok=True)


def loop_result(status: str, loop: Loop | None, folder: Path) -> Result:
    """The result of a loop; of the checkpoint, if there is no loop yet."""
    if loop is None:
        return Result(
            status=status, step=checkpoint.newest_step(folder), accuracy={}, loss={}, best=None,
            best_step=0, tokens=0, seconds=0.0, parameters=0, message=MESSAGES.get(status, ""),
        )  # fmt: skip
    state, predictions = loop.state, loop.predictions
    return Result(
        status=status,
        step=state.step,
        accuracy={split: table.accuracy for split, table in predictions.items()},
        loss={split: table.loss for split, table in predictions.items()},
        best=state.best if state.best >= 0 else None,
        best_step=state.best_step,
        tokens=state.tokens,
        seconds=round(state.seconds, 3),
        parameters=sum(weight.numel() for weight in loop.learner.model.parameters()),
        message=MESSAGES.get(status, ""),
        tests={split: table.batch.example_count for split, table in predictions.items()},
    )


def write_result(folder: Path, result: Result, loop: Loop | None) -> None:
    """Write predictions and result, the result last; nothing of a run that took no step."""
    if result.status in RETRIED and not result.step:
        return
    if loop is not None:
        if result.status in ("nan", "diverged"):
            loop.save_finite()
        (folder / "predictions").mkdir(exist_ok=True)
        for split, table in loop.predictions.items():
            table.save(folder / "predictions" / f"{split}.npz")
        if result.status in ("done", "stopped"):
            save_run_model(folder, loop.learner.evaluated, loop.config, loop.task, result)
    write_json(folder / "result.json", result.as_dict())
    if result.status in ("done", "stopped"):
        checkpoint.without_optimiser(folder)
    if result.status in RETRIED and loop is not None:
        loop.rescue()


def finished(folder: Path) -> Result | None:
    """How a run ended; None if it has not."""
    path = folder / "result.json"
    if not path.exists():
        return None
    return from_plain(Result, read_json(path, checkpoint.AGAIN), str(path), checkpoint.AGAIN)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error is about memory."""
    known = isinstance(error, (MemoryError, torch.OutOfMemoryError))
    return known or any(words in str(error) for words in NO_MEMORY)


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Say what is left of a run that is interrupted before its first step."""
    try:
        yield
    except Interrupted as error:
        if error.what:
            raise
        begun = bool(checkpoint.checkpoints(folder))
        left = f"{folder} is as it was; the same command resumes the run"
        what = f"interrupted; {left if begun else 'no step was taken, and nothing is kept'}"
        raise Interrupted(error.number, what) from None


@contextmanager
def matmul_precision(tf32: bool) -> Iterator[None]:
    """Set the precision of float32 matmuls for a run."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if tf32 else before)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Turn errors about a folder that cannot be written into a `WeftError`."""
    try:
        yield
    except OSError as error:
        raise WeftError(
            f"{folder} cannot be written: {error.strerror}",
            remedy="Choose another folder of runs",
        ) from None


@contextmanager
def removed_unless_begun(folder: Path, group: Group) -> Iterator[None]:
    """Remove the folder of a run that has neither a checkpoint nor a result."""
    try:
        yield
    finally:
        begun = checkpoint.checkpoints(folder) or (folder / "result.json").exists()
        if group.first and not begun:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def locked(folder: Path, group: Group) -> Iterator[None]:
    """Keep other processes from the same run; the lock ends with the process, however it ends."""
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
