"""What came of a study: for every row its runs' accuracies, by split and by axis.

Results are plain values, kept as JSON beside the report that is made from them, with the command,
the commit and the machine that they came from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weft.files import read_json, write_json
from weft.statistics import Interval, Mean, Share
from weft.studies.study import NOTHING, Row, Study
from weft.tasks.arrays import Bools
from weft.tasks.scoring import group_by
from weft.training.callbacks import GOOD
from weft.training.evaluation import Predictions
from weft.training.store import Run

Curve = dict[int, Share]
"""A share for every value of an axis."""


def pairs_of(curve: Curve) -> dict[int, list[int]]:
    """A curve for JSON: how many are right, of how many, at every value."""
    return {at: [share.right, share.count] for at, share in curve.items()}


def curve_from(pairs: Mapping[str, Sequence[int]]) -> Curve:
    """The curve that `pairs_of` wrote."""
    return {int(at): Share(right, count) for at, (right, count) in pairs.items()}


def curves_of(found: Sequence[Predictions]) -> dict[str, Curve]:
    """Accuracy at every value of every axis, over some splits."""
    axes = sorted({axis for one in found for axis in one.batch.axes})
    return {axis: _curve(found, axis, lambda one: one.right) for axis in axes}


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
        accuracy: for each column, that of every run that came to its end, of how many tests.
        curves: for each axis, accuracy at each of its values, over what is drawn and all runs.
        chosen: for each axis, how often the second of two classes was chosen.
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

    def mean(self, column: str) -> float | None:
        """The mean over runs; None where none has ended."""
        found = self.accuracy.get(column, ())
        return Mean(found).mean if found else None

    def interval(self, column: str) -> Interval:
        """At 95%: over the tests of one run, or over the seeds of several."""
        found = self.accuracy[column]
        return found[0].interval if len(found) == 1 else Mean(found).interval

    def as_dict(self) -> dict[str, Any]:
        """The line for JSON; curves as pairs of right ones and tests."""
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

    def as_dict(self) -> dict[str, Any]:
        """All of them as plain values."""
        return {**vars(self), "lines": [line.as_dict() for line in self.lines]}

    def save(self, path: Path) -> None:
        """Write them as JSON."""
        write_json(path, self.as_dict())


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
    values.pop("seeds", None)  # which follows from the rest
    values["accuracy"] = {
        name: tuple(Share.from_dict(one) for one in found)
        for name, found in values["accuracy"].items()
    }
    for name in ("curves", "chosen"):
        values[name] = {axis: curve_from(curve) for axis, curve in values[name].items()}
    return values


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
    tables = [one for run in ended for one in _predictions(study, run)]
    axes = sorted({axis for one in tables for axis in one.batch.axes})
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
    """What a run chose, by split."""
    there = {path.stem for path in (run.folder / "predictions").glob("*.npz")}
    return [run.predictions(split) for split in study.drawn or study.columns if split in there]


def _chosen(found: Predictions) -> Bools:
    """Which examples are answered by the second class, of two."""
    asked = found.batch.targets >= 0
    return np.asarray((np.where(asked, found.chosen, 0) > 0).any(1))


def _binary(tables: Sequence[Predictions]) -> bool:
    """Whether every example asks for one answer that is 0 or 1."""
    return all(
        one.batch.targets.max() <= 1 and ((one.batch.targets >= 0).sum(1) == 1).all()
        for one in tables
    )


def _curve(
    tables: Sequence[Predictions], axis: str, value: Callable[[Predictions], Bools]
) -> Curve:
    """How often something is so at every value of an axis, over splits and runs."""
    if not tables:
        return {}
    values = np.concatenate([one.batch.axes[axis] for one in tables])
    return group_by(values, np.concatenate([value(one) for one in tables]))
