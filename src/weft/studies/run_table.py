"""Runs as a table: one row per run, or one per group of runs that differ only in their seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from weft.errors import check_known
from weft.statistics import Mean, Share
from weft.training.config import TrainingConfig
from weft.training.store import Run


@dataclass(frozen=True)
class RunRow:
    """One run, as a row of a table.

    Attributes:
        run: the run.
        date: when it was started.
        task: its task, or the program that the task is made of.
        model: its preset, or the supervision if that is not answers.
    """

    run: Run
    date: datetime
    task: str
    model: str

    @property
    def note(self) -> str:
        """Why the run has no results, if it has none."""
        if self.run.problem:
            return self.run.problem
        result = self.run.result
        if result is None or not result.message:
            return ""
        return f"{result.message} (after {result.step:,} steps)"

    @property
    def shares(self) -> dict[str, Share]:
        """Accuracy by split, for the splits whose number of tests is known."""
        return {} if self.run.problem or not self.run.result else self.run.result.shares


@dataclass(frozen=True)
class RunGroup:
    """Runs of one recipe: the same config but for the seed.

    Attributes:
        rows: the runs, by seed.
        means: by split, mean accuracy over the runs that finished.
    """

    rows: tuple[RunRow, ...]
    means: dict[str, Mean]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the runs that finished."""
        return tuple(row.run.config.seed for row in self.rows if row.shares)


def run_row(run: Run) -> RunRow:
    """A run as a row of a table."""
    date = datetime.fromtimestamp((run.folder / "config.json").stat().st_mtime)
    if run.problem:
        return RunRow(run, date, "", "")
    config = run.config
    task = str(config.parameters.get("program", config.task))
    by = config.supervision.by
    return RunRow(run, date, task, config.preset if by == "answers" else by)


def sorted_rows(runs: Sequence[Run], key: str = "date") -> list[RunRow]:
    """Runs as rows, in ascending order of a key.

    Args:
        runs: the runs.
        key: `date`, `model`, or any key of `Run.values`, such as `seed` or `accuracy.longer`; with
            a minus before it, in descending order. Runs without the key come last.
    """
    name, descending = key.removeprefix("-"), key.startswith("-")
    rows = [run_row(run) for run in runs]
    keyed = [({"date": row.date, "model": row.model, **row.run.values()}, row) for row in rows]
    known = sorted({one for values, _ in keyed for one in values})
    if rows:
        check_known(name, known, f"no run has a value '{name}' to sort by")
    there = [(values[name], row) for values, row in keyed if values.get(name) is not None]
    there.sort(key=lambda pair: _comparable(pair[0]), reverse=descending)
    return [row for _, row in there] + [row for v, row in keyed if v.get(name) is None]


def _comparable(value: Any) -> tuple[bool, Any]:
    """Numbers before text, so that mixed values have an order."""
    simple = isinstance(value, (int, float, datetime))
    return not simple, value if simple else str(value)


def recipe(config: TrainingConfig) -> str:
    """The same for configs that differ only in their seed."""
    return replace(config, seed=0).hash


def grouped(rows: Sequence[RunRow]) -> list[RunGroup]:
    """Rows by recipe, with means over seeds; unreadable runs are left out.

    Example:
        >>> from weft.studies.run_table import grouped
        >>> grouped([])
        []
    """
    groups: dict[str, list[RunRow]] = {}
    for row in rows:
        if not row.run.problem:
            groups.setdefault(recipe(row.run.config), []).append(row)
    return [_group(sorted(some, key=lambda r: r.run.config.seed)) for some in groups.values()]


def _group(rows: list[RunRow]) -> RunGroup:
    splits = dict.fromkeys(split for row in rows for split in row.shares)
    means = {
        split: Mean(tuple(row.shares[split] for row in rows if split in row.shares))
        for split in splits
    }
    return RunGroup(tuple(rows), means)
