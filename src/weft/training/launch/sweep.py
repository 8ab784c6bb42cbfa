"""Sweeps: all combinations of some values, as runs in processes of their own.

A sweep is a TOML file: a task, what all cells share, and a grid.

    task = "parity"

    [all]
    steps = 2000
    "optimiser.lr" = 1e-3

    [grid]
    "model.position" = ["none", "nape", "rotary"]
    seed = [0, 1, 2]

Each cell is a run like any other, in a folder named by its config: a sweep that is started again
goes on where it was, and cells that it shares with another are not run twice.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.config import override
from weft.errors import Interrupted, WeftError, did_you_mean
from weft.files import read_text, reason
from weft.training.callbacks import GOOD
from weft.training.config import TrainingConfig
from weft.training.interrupts import SIGNALS, Interrupts
from weft.training.store import UNFINISHED, Run

PARTS = ("task", "all", "grid")


@dataclass(frozen=True)
class Cell:
    """One combination: what it varies, written as `key=value`, and the run that it is."""

    varied: tuple[str, ...]
    changes: tuple[str, ...]
    config: TrainingConfig


def read_sweep(path: Path) -> list[Cell]:
    """The cells of a sweep's file, in the order of its grid; the last key varies fastest."""
    try:
        values = tomllib.loads(read_text(path, "Give a TOML file"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise WeftError(f"{path} is not TOML: {reason(error)}", remedy="Correct it") from None
    for key in values:
        if key not in PARTS:
            remedy = did_you_mean(key, list(PARTS)).capitalize()
            raise WeftError(f"{path} has an unknown part '{key}'", remedy=remedy)
    if not isinstance(values.get("task"), str):
        raise WeftError(f"{path} names no task", remedy='Write task = "parity", say, at its top')
    for key in ("all", "grid"):
        if not isinstance(values.get(key, {}), dict):
            raise WeftError(f"{path}: '{key}' is not a table", remedy=f"Write [{key}] above it")
    for key, value in values.get("all", {}).items():
        if isinstance(value, dict):
            raise WeftError(
                f"{path}: '{key}' of [all] is a table",
                remedy=f'Write keys with dots in quotes, as in "{key}.lr" = 0.001',
            )
    grid = _grid(path, values.get("grid", {}))
    return cells(values["task"], values.get("all", {}), grid)


def _grid(path: Path, grid: Mapping[str, Any]) -> dict[str, list[Any]]:
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise WeftError(
                f"{path}: '{key}' of the grid is no list of values",
                remedy="Write it as in seed = [0, 1, 2], and keys with dots in quotes",
            )
    return dict(grid)


def cells(task: str, shared: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> list[Cell]:
    """All combinations of a grid's values.

    Example:
        >>> from weft.training import cells
        >>> [cell.varied for cell in cells("parity", {"steps": 9}, {"seed": [0, 1]})]
        [('seed=0',), ('seed=1',)]
    """
    common = tuple(f"{key}={written(value)}" for key, value in shared.items())
    found = []
    for values in itertools.product(*grid.values()):
        varied = tuple(f"{key}={written(value)}" for key, value in zip(grid, values, strict=True))
        changes = (*common, *varied)
        found.append(Cell(varied, changes, override(TrainingConfig(task=task), changes)))
    return found


def written(value: Any) -> str:
    """A value as one writes it on the command line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(map(written, value)) + "," * (len(value) == 1)
    return str(value)


def sweep(
    found: Sequence[Cell],
    *,
    runs: Path,
    jobs: int = 1,
    device: str = "auto",
    ended: Callable[[Cell, str], None] = lambda cell, status: None,
) -> dict[str, str]:
    """Run all cells that are not finished, a few at a time, each on one thread.

    Signals (Ctrl-C and SIGTERM) are passed on to the runs under way, which save themselves; no
    other is started, and when all have ended, `Interrupted` is raised.

    Args:
        found: the cells.
        runs: the folder of all runs.
        jobs: how many processes at a time.
        device: where they compute.
        ended: called with each cell and its status, as they end.

    Returns:
        The status of every cell, by the name of its run.
    """

    workers = _Workers()

    def one(cell: Cell) -> tuple[str, str]:
        status = Run(runs / cell.config.hash).status
        if status not in GOOD:
            status = _trained(workers, cell, runs, device)
        ended(cell, status)
        return cell.config.hash, status

    with (
        Interrupts(workers.send) as interrupts,
        interrupts.held(),
        ThreadPoolExecutor(jobs) as pool,
    ):
        statuses = dict(pool.map(one, found))
    if interrupts.number:
        finished = sum(status in GOOD for status in statuses.values())
        raise Interrupted(
            interrupts.number,
            f"interrupted; {finished} of {len(statuses)} runs in {runs} are finished, and those "
            "under way are saved; the same command resumes them",
        )
    return statuses


class _Workers:
    """The processes that runs are made in."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # of threads that start processes, and not of the main one
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def run(self, command: Sequence[str], env: Mapping[str, str]) -> tuple[str, str, int] | None:
        """What a process writes to its two outputs, and its exit code; None after a signal."""
        with self._lock:
            if self._stopped:
                return None
            child = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
            )
            self._running.add(child)
        try:
            said, errors = child.communicate()
        finally:
            with self._lock:
                self._running.discard(child)
        return said, errors, child.returncode

    def send(self, number: int) -> None:
        """Pass a signal on to all that run, and start no more."""
        with self._lock:
            self._stopped = True
            for child in self._running:
                child.send_signal(number)


def _trained(workers: _Workers, cell: Cell, runs: Path, device: str) -> str:
    """The status of a run in a process of its own; what it said where it has none."""
    command = [sys.executable, "-m", "weft", "train", cell.config.task, *cell.changes]
    command += ["--runs", str(runs), "--device", device, "--json"]
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = workers.run(command, {**os.environ, **threads})
    if done is None or _is_signal(done[2]):
        return UNFINISHED
    said, errors, code = done
    try:
        return str(json.loads(said)["status"])
    except (json.JSONDecodeError, KeyError):
        lines = errors.strip().splitlines()
        return f"failed: {lines[-1] if lines else f'exit code {code}'}"


def _is_signal(code: int) -> bool:
    """Whether a process that exited so was ended by one of the signals that runs are saved at."""
    return any(code in (-number, 128 + number) for number in SIGNALS)
