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
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import WeftError, did_you_mean
from weft.files import read_text, reason
from weft.training.config import TrainingConfig
from weft.training.overriding import override
from weft.training.store import Run
from weft.training.watching import GOOD

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
    device: str = "cpu",
    ended: Callable[[Cell, str], None] = lambda cell, status: None,
) -> dict[str, str]:
    """Run all cells that are not finished, a few at a time, each on one thread.

    Args:
        found: the cells.
        runs: the folder of all runs.
        jobs: how many processes at a time.
        device: where they compute.
        ended: called with each cell and its status, as they end.

    Returns:
        The status of every cell, by the name of its run.
    """

    def one(cell: Cell) -> tuple[str, str]:
        status = Run(runs / cell.config.hash).status
        if status not in GOOD:
            status = _trained(cell, runs, device)
        ended(cell, status)
        return cell.config.hash, status

    with ThreadPoolExecutor(jobs) as pool:
        return dict(pool.map(one, found))


def _trained(cell: Cell, runs: Path, device: str) -> str:
    """The status of a run in a process of its own; what it said where it has none."""
    command = [sys.executable, "-m", "weft", "train", cell.config.task, *cell.changes]
    command += ["--runs", str(runs), "--device", device, "--json"]
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **threads}
    )
    try:
        return str(json.loads(done.stdout)["status"])
    except (json.JSONDecodeError, KeyError):
        said = done.stderr.strip().splitlines()
        return f"failed: {said[-1] if said else f'exit code {done.returncode}'}"
