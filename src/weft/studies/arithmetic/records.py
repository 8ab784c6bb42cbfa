"""The results of the arithmetic study, run by run, in one small file.

Training may happen on a machine from which only a few files come back. Of every run is kept: how it
ended, exact match by number of digits at every checkpoint, and the agreement of the trained model
with the truncated function. The agreement needs the model; it is measured once, after training, and
stored beside the runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from weft.errors import WeftError
from weft.files import read_json, write_json
from weft.statistics import Share
from weft.studies.arithmetic.rows import DIGITS
from weft.studies.length.records import curve_text, text_curve
from weft.studies.results import Curve, curve_from, pairs_of
from weft.studies.study import NOTHING, Study
from weft.tasks.arithmetic import Arithmetic
from weft.tasks.task import TRAIN
from weft.training.callbacks import GOOD
from weft.training.store import Run
from weft.training.supervision import task_of

FORMAT = 1
FITTED = 0.99
"""Smallest accuracy in distribution at which predictions are about a model."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """An evaluation: the step, accuracy in distribution, and exact match by number of digits."""

    step: int
    train: Share
    exact: Curve

    def as_dict(self) -> dict[str, Any]:
        """The evaluation for JSON."""
        return {
            "step": self.step,
            "train": [self.train.right, self.train.count],
            "exact": curve_text(self.exact),
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Checkpoint:
        """The evaluation that `as_dict` wrote."""
        return Checkpoint(
            step=values["step"], train=Share(*values["train"]), exact=text_curve(values["exact"])
        )


@dataclass(frozen=True, kw_only=True)
class ArithmeticRun:
    """One run.

    Attributes:
        run: its name, the hash of its config.
        seed: its seed.
        status: how it ended, or `unfinished`.
        seconds: how long it trained.
        checkpoints: its evaluations, by step.
        truncated: agreement of the trained model with the truncated function by number of digits;
            empty if the run has not ended well.
    """

    run: str
    seed: int
    status: str
    seconds: float
    checkpoints: tuple[Checkpoint, ...]
    truncated: Curve

    @property
    def complete(self) -> bool:
        """Whether the run ended well."""
        return self.status in GOOD and bool(self.checkpoints)

    @property
    def last(self) -> Checkpoint:
        """Its last evaluation."""
        if not self.checkpoints:
            raise WeftError(f"the run {self.run} was never evaluated", remedy="Train it further")
        return self.checkpoints[-1]

    @property
    def fits(self) -> bool:
        """Whether it is right on at least 99% of the tests in distribution."""
        return self.complete and self.last.train.share >= FITTED

    def as_dict(self) -> dict[str, Any]:
        """The run for JSON."""
        return {
            **vars(self),
            "checkpoints": [each.as_dict() for each in self.checkpoints],
            "truncated": curve_text(self.truncated),
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> ArithmeticRun:
        """The run that `as_dict` wrote."""
        return ArithmeticRun(
            run=values["run"],
            seed=values["seed"],
            status=values["status"],
            seconds=values["seconds"],
            checkpoints=tuple(Checkpoint.from_dict(each) for each in values["checkpoints"]),
            truncated=text_curve(values["truncated"]),
        )


@dataclass(frozen=True, kw_only=True)
class RowRuns:
    """A row of the study with its runs.

    Attributes:
        labels: the labels of the row.
        config: the config of its runs, without the seed.
        runs: the runs, by seed.
    """

    labels: tuple[str, ...]
    config: Mapping[str, Any]
    runs: tuple[ArithmeticRun, ...]

    @property
    def complete(self) -> tuple[ArithmeticRun, ...]:
        """The runs that ended well."""
        return tuple(run for run in self.runs if run.complete)

    def as_dict(self) -> dict[str, Any]:
        """The row for JSON."""
        return {
            "labels": list(self.labels),
            "config": dict(self.config),
            "runs": [run.as_dict() for run in self.runs],
        }


@dataclass(frozen=True, kw_only=True)
class ArithmeticRecords:
    """The runs of the study at one scale.

    Attributes:
        scale: the scale.
        rows: the rows that have runs.
        places: the environments of the runs.
    """

    scale: str
    rows: tuple[RowRuns, ...]
    places: tuple[Mapping[str, Any], ...]

    def as_dict(self) -> dict[str, Any]:
        """The records for JSON."""
        return {
            "format": FORMAT,
            "rows": [row.as_dict() for row in self.rows],
            "places": [dict(place) for place in self.places],
        }


def agreement_file(runs: Path, name: str) -> Path:
    """Where the agreement of a run with the truncated function is stored."""
    return runs / "arithmetic" / f"{name}.json"


def measure_agreement(run: Run, runs: Path, device: str) -> None:
    """Measure how often a trained model gives the truncated function's answer, and store it.

    The model is evaluated on the same questions with the truncated answers as targets: a model that
    is right at every position with those fed back generates exactly them.
    """
    from weft.training.environment import device_of
    from weft.training.evaluation import evaluate, test_sets

    config = run.config
    task = arithmetic_task(config.task, config.parameters)
    sets = test_sets(task, tuple(DIGITS), config.evaluation.size)
    targets = {split: task.truncated(batch) for split, batch in sets.items()}
    model = run.model(str(device_of(device)))
    found = evaluate(model, targets, batch=config.evaluation.batch)
    curve = {int(DIGITS[split]): table.share for split, table in found.items()}
    path = agreement_file(runs, run.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, pairs_of(curve))


def arithmetic_task(name: str, parameters: Mapping[str, Any]) -> Arithmetic:
    """An arithmetic task by its name."""
    from weft.tasks import task

    made = task(name, **parameters)
    if not isinstance(made, Arithmetic):
        raise WeftError(f"'{name}' is not an arithmetic task")
    return made


def collect_runs(
    study: Study, scale: str, runs: Path, given: Mapping[str, Any] = NOTHING
) -> ArithmeticRecords:
    """The runs of a study so far, from their folders; those that have not started are left out."""
    rows: dict[tuple[str, ...], tuple[dict[str, Any], list[ArithmeticRun]]] = {}
    places: list[Mapping[str, Any]] = []
    counts: dict[str, dict[str, int]] = {}
    for row, cell in study.cells(scale, given):
        run = Run(runs / cell.config.hash)
        if not run.folder.is_dir():
            continue
        plain = cell.config.as_dict()
        plain.pop("seed")
        key = " ".join(row.labels)
        if key not in counts:
            counts[key] = _test_counts(run)
        record = _record(run, cell.config.seed, runs, counts[key])
        rows.setdefault(row.labels, (plain, []))[1].append(record)
        if (run.folder / "environment.json").exists():
            places.append(read_json(run.folder / "environment.json"))
    return ArithmeticRecords(
        scale=scale,
        rows=tuple(
            RowRuns(labels=labels, config=config, runs=tuple(several))
            for labels, (config, several) in rows.items()
        ),
        places=tuple({str(place): place for place in places}.values()),
    )


def _record(run: Run, seed: int, runs: Path, counts: Mapping[str, int]) -> ArithmeticRun:
    evaluations = [] if run.problem else run.evaluations()
    metrics = [] if run.problem else run.metrics()
    stored = agreement_file(runs, run.name)
    measured = stored.exists() and run.status in GOOD
    return ArithmeticRun(
        run=run.name,
        seed=seed,
        status=run.status,
        seconds=round(float(metrics[-1]["seconds"]), 1) if metrics else 0.0,
        checkpoints=tuple(_checkpoint(each, counts) for each in evaluations),
        truncated=curve_from(read_json(stored)) if measured else {},
    )


def _checkpoint(evaluation: Mapping[str, Any], counts: Mapping[str, int]) -> Checkpoint:
    shares = {
        split: Share.recovered(value, counts[split])
        for split, value in evaluation["accuracy"].items()
        if split in counts
    }
    return Checkpoint(
        step=int(evaluation["step"]),
        train=shares[TRAIN],
        exact={int(DIGITS[split]): share for split, share in shares.items() if split in DIGITS},
    )


def _test_counts(run: Run) -> dict[str, int]:
    """How many tests each split of a run has; few digits make few questions."""
    from weft.training.evaluation import test_sets

    config = run.config
    sets = test_sets(task_of(config), config.evaluation.splits, config.evaluation.size)
    return {split: len(batch) for split, batch in sets.items()}


def load_runs(path: Path) -> ArithmeticRecords:
    """Records from a file that `weft study arithmetic --records FILE` wrote."""
    values = read_json(path)
    if (
        not isinstance(values, dict)
        or values.get("study") != "arithmetic"
        or values.get("format") != FORMAT
        or "rows" not in values
    ):
        raise WeftError(
            f"{path} does not hold the records of the arithmetic study",
            remedy="Give a file that `weft study arithmetic --records FILE` wrote",
        )
    return ArithmeticRecords(
        scale=values["scale"],
        rows=tuple(
            RowRuns(
                labels=tuple(row["labels"]),
                config=row["config"],
                runs=tuple(ArithmeticRun.from_dict(run) for run in row["runs"]),
            )
            for row in values["rows"]
        ),
        places=tuple(values["places"]),
    )


def merged_runs(several: Iterable[ArithmeticRecords]) -> ArithmeticRecords:
    """The records of one scale from several files; of a run, the first that is complete counts."""
    parts: Sequence[ArithmeticRecords] = list(several)
    if not parts:
        raise WeftError("there are no results to merge", remedy="Give at least one file")
    if len({part.scale for part in parts}) > 1:
        scales = ", ".join(sorted({part.scale for part in parts}))
        raise WeftError(f"the files are of different scales: {scales}", remedy="Give one scale's")
    rows: dict[tuple[str, ...], RowRuns] = {}
    for part in parts:
        for row in part.rows:
            before = rows.get(row.labels)
            rows[row.labels] = row if before is None else _joined(before, row)
    places = {str(place): place for part in parts for place in part.places}
    return replace(parts[0], rows=tuple(rows.values()), places=tuple(places.values()))


def _joined(one: RowRuns, other: RowRuns) -> RowRuns:
    if one.config != other.config:
        raise WeftError(
            f"two files have different settings for the row {' '.join(one.labels)}",
            remedy="Report them separately",
        )
    runs = {run.run: run for run in one.runs}
    for run in other.runs:
        if run.run not in runs or not runs[run.run].complete:
            runs[run.run] = run
    return replace(one, runs=tuple(sorted(runs.values(), key=lambda run: run.seed)))
