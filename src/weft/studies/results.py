"""The results of a study: the accuracies of every row's runs, by split and by axis.

Results are plain values, stored as JSON beside the report that is made from them, with the command,
the commit and the machine that they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weft.files import read_json, write_json
from weft.statistics import Mean, Share
from weft.studies.study import NOTHING, Row, Study
from weft.tasks.arrays import Bools
from weft.tasks.scoring import group_by
from weft.training.callbacks import GOOD
from weft.training.evaluation import Predictions
from weft.training.store import Run

Curve = dict[int, Share]
"""A share for every value of an axis."""


def pairs_of(curve: Curve) -> dict[int, list[int]]:
    """A curve for JSON: correct answers and tests at every value."""
    return {at: [share.right, share.count] for at, share in curve.items()}


def curve_from(pairs: Mapping[str, Sequence[int]]) -> Curve:
    """The curve that `pairs_of` wrote."""
    return {int(at): Share(right, count) for at, (right, count) in pairs.items()}


def curves_of(tables: Sequence[Predictions]) -> dict[str, Curve]:
    """Accuracy at every value of every axis, over some splits."""
    axes = sorted({axis for table in tables for axis in table.batch.axes})
    return {axis: _curve(tables, axis, lambda table: table.right) for axis in axes}


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row of the table with the results of its runs.

    Attributes:
        labels: the labels of the row.
        paper: the accuracy that the paper reports in each column.
        runs: the names of the runs, one per seed.
        statuses: how they ended; `unfinished` if they have not.
        steps: how many steps each made.
        seconds: how long each trained.
        accuracy: for each column, the accuracy of every finished run.
        curves: for each axis, accuracy at each of its values, over the drawn splits and all runs.
        chosen: for each axis, how often the second of two classes was predicted.
    """

    labels: tuple[str, ...]
    paper: dict[str, float]
    runs: tuple[str, ...]
    statuses: tuple[str, ...]
    steps: tuple[int, ...]
    seconds: tuple[float, ...]
    accuracy: dict[str, tuple[Share, ...]]
    curves: dict[str, Curve]
    chosen: dict[str, Curve]

    def as_dict(self) -> dict[str, Any]:
        """The line for JSON; curves as pairs of correct answers and tests."""
        return {
            **vars(self),
            "accuracy": {
                column: [share.as_dict() for share in shares]
                for column, shares in self.accuracy.items()
            },
            "seeds": {
                column: Mean(shares).as_dict()
                for column, shares in self.accuracy.items()
                if len(shares) > 1
            },
            "curves": {axis: pairs_of(curve) for axis, curve in self.curves.items()},
            "chosen": {axis: pairs_of(curve) for axis, curve in self.chosen.items()},
        }


@dataclass(frozen=True, kw_only=True)
class Results:
    """The results of a study at one scale, and where they come from."""

    study: str
    scale: str
    command: str
    commits: tuple[str, ...]
    machines: tuple[str, ...]
    lines: tuple[Line, ...]

    def as_dict(self) -> dict[str, Any]:
        """The results as plain values."""
        return {**vars(self), "lines": [line.as_dict() for line in self.lines]}

    def save(self, path: Path) -> None:
        """Write the results as JSON."""
        write_json(path, self.as_dict())


def load_results(path: Path) -> Results:
    """Results from a file that `Results.save` wrote."""
    values = read_json(path)
    lines = tuple(Line(**_line(line)) for line in values.pop("lines"))
    for name in ("commits", "machines"):
        values[name] = tuple(values[name])
    return Results(**values, lines=lines)


def _line(values: dict[str, Any]) -> dict[str, Any]:
    """The values of a line; JSON has neither tuples nor keys that are numbers."""
    for name in ("labels", "runs", "statuses", "steps", "seconds"):
        values[name] = tuple(values[name])
    values.pop("seeds", None)  # which follows from the rest
    values["accuracy"] = {
        name: tuple(Share.from_dict(share) for share in shares)
        for name, shares in values["accuracy"].items()
    }
    for name in ("curves", "chosen"):
        values[name] = {axis: curve_from(curve) for axis, curve in values[name].items()}
    return values


def collect(
    study: Study, scale: str, runs: Path, command: str, given: Mapping[str, Any] = NOTHING
) -> Results:
    """Collect the results of a study's runs so far."""
    rows: dict[int, tuple[Row, list[Run]]] = {}
    for row, cell in study.cells(scale, given):
        rows.setdefault(id(row), (row, []))[1].append(Run(runs / cell.config.hash))
    started = [run for _, seeds in rows.values() for run in seeds if run.folder.is_dir()]
    places = [read_json(run.folder / "environment.json") for run in started]
    return Results(
        study=study.name,
        scale=scale,
        command=command,
        commits=tuple(sorted({str(place["commit"]) for place in places if place["commit"]})),
        machines=tuple(sorted({machine(place) for place in places})),
        lines=tuple(_collected(study, row, several) for row, several in rows.values()),
    )


def machine(place: Mapping[str, Any]) -> str:
    """The machine of an environment, in words."""
    return f"{place['device']}, Python {place['python']}, torch {place['torch']}"


def _collected(study: Study, row: Row, runs: list[Run]) -> Line:
    ended = [run for run in runs if run.status in GOOD]
    tables = [table for run in ended for table in _predictions(study, run)]
    axes = sorted({axis for table in tables for axis in table.batch.axes})
    results = [run.result for run in runs]
    return Line(
        labels=row.labels,
        paper=dict(row.paper),
        runs=tuple(run.name for run in runs),
        statuses=tuple(run.status for run in runs),
        steps=tuple(0 if result is None else result.step for result in results),
        seconds=tuple(0.0 if result is None else result.seconds for result in results),
        accuracy={
            column: tuple(run.predictions(column).share for run in ended)
            for column in study.columns
        },
        curves=curves_of(tables),
        chosen={axis: _curve(tables, axis, _chosen) for axis in axes if _binary(tables)},
    )


def _predictions(study: Study, run: Run) -> list[Predictions]:
    """The predictions of a run, by split."""
    stored = {path.stem for path in (run.folder / "predictions").glob("*.npz")}
    return [run.predictions(split) for split in study.drawn or study.columns if split in stored]


def _chosen(table: Predictions) -> Bools:
    """Which examples are answered by the second of two classes."""
    has_target = table.batch.targets >= 0
    return np.asarray((np.where(has_target, table.chosen, 0) > 0).any(1))


def _binary(tables: Sequence[Predictions]) -> bool:
    """Whether every example has one target, which is 0 or 1."""
    return all(
        table.batch.targets.max() <= 1 and ((table.batch.targets >= 0).sum(1) == 1).all()
        for table in tables
    )


def _curve(
    tables: Sequence[Predictions], axis: str, value: Callable[[Predictions], Bools]
) -> Curve:
    """How often `value` holds at every value of an axis, over splits and runs."""
    if not tables:
        return {}
    values = np.concatenate([table.batch.axes[axis] for table in tables])
    return group_by(values, np.concatenate([value(table) for table in tables]))
