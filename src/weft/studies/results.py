"""What came of a study: for every row its runs' accuracies, by split and by axis.

Results are plain values, kept as JSON beside the report that is made from them, with the command,
the commit and the machine that they came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weft.studies.study import NOTHING, Row, Study
from weft.training.evaluating import Predictions
from weft.training.files import read_json, write_json
from weft.training.store import Run
from weft.training.watching import GOOD

Curve = dict[int, float]
"""A share for every value of an axis."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row with all that its runs gave.

    Attributes:
        labels: of the row.
        paper: what the paper reports in each column.
        runs: the names of the runs, one a seed.
        statuses: how they ended; `unfinished` where they have not.
        steps: how many each made.
        seconds: how long each was learning.
        accuracy: for each column, that of every run that came to its end.
        curves: for each axis, the mean accuracy at each of its values, over what is drawn.
        chosen: for each axis, the mean of the classes that were chosen, where there are two.
    """

    labels: tuple[str, ...]
    paper: dict[str, float]
    runs: tuple[str, ...]
    statuses: tuple[str, ...]
    steps: tuple[int, ...]
    seconds: tuple[float, ...]
    accuracy: dict[str, tuple[float, ...]]
    curves: dict[str, Curve]
    chosen: dict[str, Curve]

    def mean(self, column: str) -> float | None:
        """The mean over runs; None where none has ended."""
        found = self.accuracy.get(column, ())
        return sum(found) / len(found) if found else None


@dataclass(frozen=True, kw_only=True)
class Results:
    """A study's results at a scale, with where they came from."""

    study: str
    scale: str
    command: str
    commits: tuple[str, ...]
    machines: tuple[str, ...]
    lines: tuple[Line, ...]

    @property
    def finished(self) -> int:
        """How many runs came to their end."""
        return sum(status in GOOD for line in self.lines for status in line.statuses)

    def save(self, path: Path) -> None:
        """Write them as JSON."""
        write_json(path, asdict(self))


def load_results(path: Path) -> Results:
    """Results that were saved."""
    values = read_json(path)
    lines = tuple(Line(**_line(line)) for line in values.pop("lines"))
    for name in ("commits", "machines"):
        values[name] = tuple(values[name])
    return Results(**values, lines=lines)


def _line(values: dict[str, Any]) -> dict[str, Any]:
    """The values of a line as they were: JSON knows neither tuples nor keys that are numbers."""
    for name in ("labels", "runs", "statuses", "steps", "seconds"):
        values[name] = tuple(values[name])
    values["accuracy"] = {name: tuple(found) for name, found in values["accuracy"].items()}
    for name in ("curves", "chosen"):
        values[name] = {axis: _numbered(curve) for axis, curve in values[name].items()}
    return values


def _numbered(curve: Mapping[str, float]) -> Curve:
    return {int(value): share for value, share in curve.items()}


def collect(
    study: Study, scale: str, runs: Path, command: str, given: Mapping[str, Any] = NOTHING
) -> Results:
    """Read what the runs of a study have given so far."""
    rows: dict[int, tuple[Row, list[Run]]] = {}
    for row, cell in study.cells(scale, given):
        rows.setdefault(id(row), (row, []))[1].append(Run(runs / cell.config.hash))
    found = [run for _, several in rows.values() for run in several if run.folder.is_dir()]
    places = [read_json(run.folder / "environment.json") for run in found]
    return Results(
        study=study.name,
        scale=scale,
        command=command,
        commits=tuple(sorted({str(place["commit"]) for place in places if place["commit"]})),
        machines=tuple(sorted({_machine(place) for place in places})),
        lines=tuple(_collected(study, row, several) for row, several in rows.values()),
    )


def _machine(place: Mapping[str, Any]) -> str:
    return f"{place['device']}, Python {place['python']}, torch {place['torch']}"


def _collected(study: Study, row: Row, runs: list[Run]) -> Line:
    ended = [run for run in runs if run.status in GOOD]
    tables = [_predictions(study, run) for run in ended]
    axes = sorted({axis for found in tables for one in found for axis in one.batch.axes})
    results = [run.result for run in runs]
    return Line(
        labels=row.labels,
        paper=dict(row.paper),
        runs=tuple(run.name for run in runs),
        statuses=tuple(run.status for run in runs),
        steps=tuple(0 if result is None else result.step for result in results),
        seconds=tuple(0.0 if result is None else result.seconds for result in results),
        accuracy={
            column: tuple(run.result.accuracy[column] for run in ended if run.result is not None)
            for column in study.columns
        },
        curves={axis: _curve(tables, axis, _right) for axis in axes},
        chosen={axis: _curve(tables, axis, _chosen) for axis in axes if _binary(tables)},
    )


def _predictions(study: Study, run: Run) -> list[Predictions]:
    """What a run chose, by split."""
    there = {path.stem for path in (run.folder / "predictions").glob("*.npz")}
    return [run.predictions(split) for split in study.drawn or study.columns if split in there]


def _right(found: Predictions) -> np.ndarray[Any, Any]:
    return found.right.astype(np.float64)


def _chosen(found: Predictions) -> np.ndarray[Any, Any]:
    """The mean class that is chosen where an answer is asked for, example by example."""
    asked = found.batch.targets >= 0
    total = np.where(asked, found.chosen, 0).sum(1) / np.maximum(asked.sum(1), 1)
    return np.asarray(total, dtype=np.float64)


def _binary(tables: list[list[Predictions]]) -> bool:
    """Whether all answers are 0 or 1."""
    return all(one.batch.targets.max() <= 1 for found in tables for one in found)


def _curve(tables: list[list[Predictions]], axis: str, value: Any) -> Curve:
    """The mean of something at every value of an axis, over splits and runs."""
    places = [one.batch.axes[axis] for found in tables for one in found]
    values = [value(one) for found in tables for one in found]
    if not places:
        return {}
    where, what = np.concatenate(places), np.concatenate(values)
    return {int(at): round(float(what[where == at].mean()), 4) for at in np.unique(where)}
