"""The results of the study of program traces, run by run, in one small file.

Of every run is kept: how it ended, how fast it trained, accuracy on all splits at every checkpoint,
and what the trained model does on each split (`analysis`). The latter needs the model; it is
computed once, after training, and stored beside the runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError
from weft.files import read_json, write_json
from weft.statistics import Share
from weft.studies.ptg.analysis import LOOKED_AT, SplitAnalysis, analysis_of
from weft.studies.ptg.heads import head_groups, zeroed_heads
from weft.studies.study import NOTHING, Study
from weft.tasks.task import TRAIN
from weft.training.callbacks import GOOD
from weft.training.store import Run
from weft.training.supervision import task_of

if TYPE_CHECKING:
    from weft.models.factory import Model
    from weft.tasks.program_traces import ProgramTraces
    from weft.training.config import TrainingConfig

FORMAT = 1
FITTED = 0.99
"""Smallest accuracy in distribution at which other figures of a run count."""
WARM = 0.2
"""The share of a run's records, from the start, that are left out of its speed."""
FOLDER = "program-traces"
LEARNED, FEW = 0.5, 3
"""Below this accuracy in distribution few errors are classified: such models write long lines."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """An evaluation: the step, and the share of right traces by split."""

    step: int
    right: Mapping[str, Share]

    def as_dict(self) -> dict[str, Any]:
        """The evaluation for JSON."""
        return {"step": self.step, "right": _pairs(self.right)}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Checkpoint:
        """The evaluation that `as_dict` wrote."""
        return Checkpoint(step=values["step"], right=_shares(values["right"]))


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What a trained model does.

    Attributes:
        splits: its analysis on each split.
        without: by what it is evaluated without, the share of right traces by split.
    """

    splits: Mapping[str, SplitAnalysis]
    without: Mapping[str, Mapping[str, Share]]

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        return {
            "splits": [analysis.as_dict() for analysis in self.splits.values()],
            "without": {name: _pairs(shares) for name, shares in self.without.items()},
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Measured:
        """What `as_dict` wrote."""
        found = [SplitAnalysis.from_dict(each) for each in values["splits"]]
        return Measured(
            splits={analysis.split: analysis for analysis in found},
            without={name: _shares(pairs) for name, pairs in values["without"].items()},
        )


@dataclass(frozen=True, kw_only=True)
class TraceRun:
    """One run.

    Attributes:
        run: its name, the hash of its config.
        seed: its seed.
        status: how it ended, or `unfinished`.
        parameters: the number of its weights; 0 if it has not ended.
        tokens: the number of tokens that it was trained on so far.
        seconds: how long it has trained.
        tokens_per_second: the median speed after the first records.
        waiting: the share of the training time that it waited for data; None if not recorded.
        checkpoints: its evaluations, by step.
        measured: what the trained model does; None if the run has not ended well.
    """

    run: str
    seed: int
    status: str
    parameters: int
    tokens: int
    seconds: float
    tokens_per_second: float
    waiting: float | None
    checkpoints: tuple[Checkpoint, ...]
    measured: Measured | None

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
        return self.complete and self.last.right[TRAIN].share >= FITTED

    def as_dict(self) -> dict[str, Any]:
        """The run for JSON."""
        return {
            **vars(self),
            "checkpoints": [each.as_dict() for each in self.checkpoints],
            "measured": None if self.measured is None else self.measured.as_dict(),
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> TraceRun:
        """The run that `as_dict` wrote."""
        measured = values["measured"]
        return TraceRun(
            **{
                **values,
                "checkpoints": tuple(Checkpoint.from_dict(one) for one in values["checkpoints"]),
                "measured": None if measured is None else Measured.from_dict(measured),
            }
        )


@dataclass(frozen=True, kw_only=True)
class TraceRow:
    """A row of the study with its runs.

    Attributes:
        labels: the labels of the row.
        config: the config of its runs, without the seed.
        runs: the runs, by seed.
    """

    labels: tuple[str, ...]
    config: Mapping[str, Any]
    runs: tuple[TraceRun, ...]

    @property
    def complete(self) -> tuple[TraceRun, ...]:
        """The runs that ended well."""
        return tuple(run for run in self.runs if run.complete)

    @property
    def fitted(self) -> tuple[TraceRun, ...]:
        """The runs whose other figures count."""
        return tuple(run for run in self.runs if run.fits)

    def shares(self, split: str) -> list[Share]:
        """The shares of right traces on a split, of all runs that ended well."""
        return [run.last.right[split] for run in self.complete if split in run.last.right]

    def as_dict(self) -> dict[str, Any]:
        """The row for JSON."""
        return {
            "labels": list(self.labels),
            "config": dict(self.config),
            "runs": [run.as_dict() for run in self.runs],
        }


@dataclass(frozen=True, kw_only=True)
class TraceRecords:
    """The runs of the study at one scale.

    Attributes:
        scale: the scale.
        rows: the rows that have runs.
        places: the environments of the runs.
    """

    scale: str
    rows: tuple[TraceRow, ...]
    places: tuple[Mapping[str, Any], ...]

    def as_dict(self) -> dict[str, Any]:
        """The records for JSON."""
        return {
            "format": FORMAT,
            "rows": [row.as_dict() for row in self.rows],
            "places": [dict(place) for place in self.places],
        }


def _pairs(shares: Mapping[str, Share]) -> dict[str, list[int]]:
    return {name: [share.right, share.count] for name, share in shares.items()}


def _shares(pairs: Mapping[str, Sequence[int]]) -> dict[str, Share]:
    return {name: Share(*pair) for name, pair in pairs.items()}


# Measuring


def measured_file(runs: Path, name: str) -> Path:
    """Where the measurements of a trained model are stored."""
    return runs / FOLDER / f"{name}.json"


def traces_task(config: TrainingConfig) -> ProgramTraces:
    """The task of a run, which must be program traces."""
    from weft.tasks.program_traces import ProgramTraces

    made = task_of(config)
    if not isinstance(made, ProgramTraces):
        raise WeftError(f"'{config.task}' is not the task of program traces")
    return made


def measure(run: Run, runs: Path, device: str) -> Measured:
    """Analyse the trained model of a run on all its splits, and store the result."""
    from weft.training.environment import device_of
    from weft.training.evaluation import evaluate

    config, task = run.config, traces_task(run.config)
    model: Model = run.model(str(device_of(device)), task=task)
    predictions = {split: run.predictions(split) for split in config.evaluation.splits}
    learned = predictions[TRAIN].accuracy >= LEARNED
    splits = {
        split: analysis_of(task, table, model, looked_at=LOOKED_AT if learned else FEW)
        for split, table in predictions.items()
    }
    without: dict[str, dict[str, Share]] = {}
    for name, heads in head_groups(model.config).items():
        with zeroed_heads(model, heads):
            tests = {split: table.batch for split, table in predictions.items()}
            found = evaluate(model, tests, batch=config.evaluation.batch)
            without[name] = {split: table.share for split, table in found.items()}
    measured = Measured(splits=splits, without=without)
    path = measured_file(runs, run.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, measured.as_dict())
    return measured


# Collecting


def collect_runs(
    study: Study, scale: str, runs: Path, given: Mapping[str, Any] = NOTHING
) -> TraceRecords:
    """The runs of a study so far, from their folders; those that have not started are left out."""
    rows: dict[tuple[str, ...], tuple[dict[str, Any], list[TraceRun]]] = {}
    places: list[Mapping[str, Any]] = []
    for row, cell in study.cells(scale, given):
        run = Run(runs / cell.config.hash)
        if not run.folder.is_dir():
            continue
        plain = cell.config.as_dict()
        plain.pop("seed")
        rows.setdefault(row.labels, (plain, []))[1].append(_record(run, runs, cell.config))
        if (run.folder / "environment.json").exists():
            places.append(read_json(run.folder / "environment.json"))
    return TraceRecords(
        scale=scale,
        rows=tuple(
            TraceRow(labels=labels, config=config, runs=tuple(several))
            for labels, (config, several) in rows.items()
        ),
        places=tuple({str(place): place for place in places}.values()),
    )


def _record(run: Run, runs: Path, config: TrainingConfig) -> TraceRun:
    evaluations = [] if run.problem else run.evaluations()
    metrics = [] if run.problem else run.metrics()
    stored = measured_file(runs, run.name)
    measured = stored.exists() and run.status in GOOD
    result = None if run.problem else run.result
    counts = {} if result is None else result.tests
    return TraceRun(
        run=run.name,
        seed=config.seed,
        status=run.status,
        parameters=0 if result is None else result.parameters,
        tokens=int(metrics[-1]["tokens"]) if metrics else 0,
        seconds=round(float(metrics[-1]["seconds"]), 1) if metrics else 0.0,
        tokens_per_second=speed_of(metrics),
        waiting=waiting_of(metrics),
        checkpoints=tuple(_checkpoint(each, counts, config) for each in evaluations),
        measured=Measured.from_dict(read_json(stored)) if measured else None,
    )


def speed_of(metrics: Sequence[Mapping[str, Any]]) -> float:
    """The median of tokens per second, without the first records, which compile; 0 for none.

    Example:
        >>> speed_of([{"tokens_per_second": speed} for speed in (1.0, 80.0, 100.0, 90.0)])
        90.0
    """
    speeds = [float(record["tokens_per_second"]) for record in metrics]
    kept = speeds[max(1, int(WARM * len(speeds))) :] or speeds
    return float(median(kept)) if kept else 0.0


def waiting_of(metrics: Sequence[Mapping[str, Any]]) -> float | None:
    """The mean share of time that was spent waiting for data; None if it was not recorded."""
    shares = [float(record["waiting"]) for record in metrics if "waiting" in record]
    kept = shares[max(1, int(WARM * len(shares))) :] or shares
    return sum(kept) / len(kept) if kept else None


def _checkpoint(
    evaluation: Mapping[str, Any], counts: Mapping[str, int], config: TrainingConfig
) -> Checkpoint:
    """An evaluation; of a run that has not ended, the number of tests is what the config asks."""
    shares = {
        split: Share.recovered(value, counts.get(split, config.evaluation.size))
        for split, value in evaluation["accuracy"].items()
    }
    return Checkpoint(step=int(evaluation["step"]), right=shares)


# Files


def load_runs(path: Path) -> TraceRecords:
    """Records from a file that `weft study ptg --records FILE` wrote."""
    values = read_json(path)
    if (
        not isinstance(values, dict)
        or values.get("study") != "ptg"
        or values.get("format") != FORMAT
        or "rows" not in values
    ):
        raise WeftError(
            f"{path} does not hold the records of the study of program traces",
            remedy="Give a file that `weft study ptg --records FILE` wrote",
        )
    return TraceRecords(
        scale=values["scale"],
        rows=tuple(
            TraceRow(
                labels=tuple(row["labels"]),
                config=row["config"],
                runs=tuple(TraceRun.from_dict(run) for run in row["runs"]),
            )
            for row in values["rows"]
        ),
        places=tuple(values["places"]),
    )


def merged_runs(several: Iterable[TraceRecords]) -> TraceRecords:
    """The records of one scale from several files; of a run, the one with most steps counts."""
    parts: Sequence[TraceRecords] = list(several)
    if not parts:
        raise WeftError("there are no results to merge", remedy="Give at least one file")
    if len({part.scale for part in parts}) > 1:
        scales = ", ".join(sorted({part.scale for part in parts}))
        raise WeftError(f"the files are of different scales: {scales}", remedy="Give one scale's")
    rows: dict[tuple[str, ...], TraceRow] = {}
    for part in parts:
        for row in part.rows:
            before = rows.get(row.labels)
            rows[row.labels] = row if before is None else _joined(before, row)
    places = {str(place): place for part in parts for place in part.places}
    return replace(parts[0], rows=tuple(rows.values()), places=tuple(places.values()))


def _joined(one: TraceRow, other: TraceRow) -> TraceRow:
    if one.config != other.config:
        raise WeftError(
            f"two files have different settings for the row {' '.join(one.labels)}",
            remedy="Report them separately",
        )
    runs: dict[str, TraceRun] = {run.run: run for run in one.runs}
    for run in other.runs:
        if run.run not in runs or _progress(run) > _progress(runs[run.run]):
            runs[run.run] = run
    return replace(one, runs=tuple(sorted(runs.values(), key=lambda run: run.seed)))


def _progress(run: TraceRun) -> tuple[bool, bool, int]:
    return run.complete, run.measured is not None, run.tokens
