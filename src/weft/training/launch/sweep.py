"""Sweeps: all combinations of some values, each a run of its own.

A sweep is a TOML file with a task, values shared by all cells, and a grid:

    task = "parity"

    [all]
    steps = 2000
    "optimiser.lr" = 1e-3

    [grid]
    "model.position" = ["none", "nape", "rotary"]
    seed = [0, 1, 2]

Each cell is a run like any other, in a folder named by its config: a sweep that is started again
resumes, and cells that it shares with another sweep are not trained twice.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.config import override
from weft.errors import Interrupted, WeftError, check_known
from weft.files import read_text, reason
from weft.training.callbacks import GOOD
from weft.training.config import TrainingConfig
from weft.training.interrupts import Interrupts
from weft.training.launch.executor import Executor, LocalProcesses
from weft.training.store import UNFINISHED, Run

PARTS = ("task", "all", "grid")


@dataclass(frozen=True)
class Cell:
    """One combination of a grid: the values that it varies, by key, and its config."""

    varied: Mapping[str, Any]
    config: TrainingConfig

    @property
    def label(self) -> tuple[str, ...]:
        """The varied values as `key=value`, as on the command line."""
        return tuple(f"{key}={written(value)}" for key, value in self.varied.items())


def read_sweep(path: Path) -> list[Cell]:
    """The cells of a sweep file, in the order of its grid; the last key varies fastest."""
    try:
        values = tomllib.loads(read_text(path, "Give a TOML file"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise WeftError(f"{path} is not TOML: {reason(error)}", remedy="Correct it") from None
    for key in values:
        check_known(key, PARTS, f"{path} has an unknown part '{key}'")
    if not isinstance(values.get("task"), str):
        raise WeftError(
            f"{path} names no task", remedy='Write task = "parity", for example, at the top'
        )
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
                f"{path}: '{key}' of the grid is not a list of values",
                remedy="Write it as in seed = [0, 1, 2], and keys with dots in quotes",
            )
    return dict(grid)


def cells(task: str, shared: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> list[Cell]:
    """All combinations of a grid's values.

    Example:
        >>> from weft.training import cells
        >>> [cell.label for cell in cells("parity", {"steps": 9}, {"seed": [0, 1]})]
        [('seed=0',), ('seed=1',)]
    """
    base = override(TrainingConfig(task=task), shared)
    combinations = (
        dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())
    )
    return [Cell(varied, override(base, varied)) for varied in combinations]


def written(value: Any) -> str:
    """A value as it is written on the command line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(map(written, value)) + "," * (len(value) == 1)
    return str(value)


def sweep(
    grid: Sequence[Cell],
    *,
    runs: Path,
    jobs: int = 1,
    device: str = "auto",
    executor: Executor | None = None,
    ended: Callable[[Cell, str], None] = lambda cell, status: None,
) -> dict[str, str]:
    """Train all cells that are not complete.

    Signals (Ctrl-C and SIGTERM) are passed on to the runs in progress, which save themselves; no
    others are started, and when all have ended, `Interrupted` is raised.

    Args:
        grid: the cells.
        runs: the folder of all runs.
        jobs: the number of processes at a time, if no executor is given.
        device: where they compute, if no executor is given; `auto` uses all GPUs in turn.
        executor: what trains the cells; `LocalProcesses(jobs, [device])` by default.
        ended: called with each cell and its status when it ends.

    Returns:
        The status of every cell, by the name of its run.
    """
    chosen: Executor = executor or LocalProcesses(jobs, [device])

    def finish(cell: Cell) -> tuple[str, str]:
        status = Run(runs / cell.config.hash).status
        if status not in GOOD:
            status = _trained(chosen, cell.config, runs)
        ended(cell, status)
        return cell.config.hash, status

    with (
        Interrupts(chosen.interrupt) as interrupts,
        interrupts.held(),
        ThreadPoolExecutor(chosen.slots) as pool,
    ):
        statuses = dict(pool.map(finish, grid))
    if interrupts.number:
        finished = sum(status in GOOD for status in statuses.values())
        raise Interrupted(
            interrupts.number,
            f"interrupted; {finished} of {len(statuses)} runs in {runs} are finished, and those "
            "in progress are saved; the same command resumes them",
        )
    return statuses


def _trained(executor: Executor, config: TrainingConfig, runs: Path) -> str:
    """The status of a run that an executor trains."""
    try:
        return executor(config, runs).status
    except Interrupted:
        return UNFINISHED
    except WeftError as error:
        return f"failed: {error.line}"
    except Exception as error:  # in a user's own executor
        return f"failed: {type(error).__name__}: {error}"
