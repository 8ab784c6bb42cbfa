"""The results of the recursion study, run by run, in one small file.

Of every run is kept: how it ended, exact match on every split, and by recursion depth; for models
of atomic steps, also what they reach when they are applied to their own outputs, and for models of
values, which machine explains their outputs (`machine_records`). Both need the model; they are
measured once, after training, and stored beside the runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from weft.errors import WeftError
from weft.files import read_json, write_json
from weft.statistics import Share
from weft.studies.recursion.machine_records import MachineRecord, stored_machines
from weft.studies.recursion.rows import RecursionRow
from weft.studies.results import Curve, curve_from, pairs_of
from weft.studies.study import NOTHING
from weft.tasks.recursion import Recursion
from weft.tasks.task import TRAIN
from weft.training.callbacks import GOOD
from weft.training.store import Run

FORMAT = 1
FITTED = 0.99
"""Smallest accuracy in distribution of a run that has learned its training distribution."""
TESTS = 500
"""How many reductions are iterated per split."""


@dataclass(frozen=True, kw_only=True)
class SplitRecord:
    """Exact match on a split: in all, and by recursion depth."""

    share: Share
    depth: Curve

    def as_dict(self) -> dict[str, Any]:
        """The record for JSON."""
        share = [self.share.right, self.share.count]
        return {"share": share, "depth": pairs_of(self.depth)}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> SplitRecord:
        """The record that `as_dict` wrote."""
        return SplitRecord(share=Share(*values["share"]), depth=curve_from(values["depth"]))


@dataclass(frozen=True, kw_only=True)
class IteratedRecord:
    """Whole reductions by a model of atomic steps, on a split.

    Attributes:
        whole: reductions that are right from the call to the value, in all and by depth.
        per_step: right applications among those asked of right terms.
        errors: how many reductions fail first at each application, from 1.
    """

    whole: SplitRecord
    per_step: Share
    errors: Mapping[int, int]

    def as_dict(self) -> dict[str, Any]:
        """The record for JSON."""
        return {
            "whole": self.whole.as_dict(),
            "per_step": [self.per_step.right, self.per_step.count],
            "errors": {str(step): count for step, count in self.errors.items()},
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> IteratedRecord:
        """The record that `as_dict` wrote."""
        return IteratedRecord(
            whole=SplitRecord.from_dict(values["whole"]),
            per_step=Share(*values["per_step"]),
            errors={int(step): count for step, count in values["errors"].items()},
        )


@dataclass(frozen=True, kw_only=True)
class RecursionRun:
    """One run.

    Attributes:
        run: its name, the hash of its config.
        seed: its seed.
        status: how it ended, or `unfinished`.
        step: how many steps it made.
        seconds: how long it trained.
        splits: exact match by split.
        iterated: whole reductions by split, of a model of atomic steps.
        machines: the machines that agree with most outputs, over all inputs and by size.
    """

    run: str
    seed: int
    status: str
    step: int
    seconds: float
    splits: Mapping[str, SplitRecord]
    iterated: Mapping[str, IteratedRecord] = field(default_factory=dict)
    machines: tuple[MachineRecord, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the run ended well."""
        return self.status in GOOD and TRAIN in self.splits

    @property
    def fits(self) -> bool:
        """Whether it is right on at least 99% of the tests in distribution."""
        return self.complete and self.splits[TRAIN].share.share >= FITTED

    def as_dict(self) -> dict[str, Any]:
        """The run for JSON."""
        return {
            **vars(self),
            "splits": {name: each.as_dict() for name, each in self.splits.items()},
            "iterated": {name: each.as_dict() for name, each in self.iterated.items()},
            "machines": [each.as_dict() for each in self.machines],
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> RecursionRun:
        """The run that `as_dict` wrote; records of earlier versions have no machines."""
        parts: dict[str, Any] = {
            "splits": {n: SplitRecord.from_dict(v) for n, v in values["splits"].items()},
            "iterated": {n: IteratedRecord.from_dict(v) for n, v in values["iterated"].items()},
            "machines": tuple(MachineRecord.from_dict(v) for v in values.get("machines", ())),
        }
        return RecursionRun(**{**values, **parts})


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
    runs: tuple[RecursionRun, ...]

    @property
    def name(self) -> str:
        """Its labels as text."""
        return ", ".join(self.labels)

    @property
    def complete(self) -> tuple[RecursionRun, ...]:
        """The runs that ended well."""
        return tuple(run for run in self.runs if run.complete)

    @property
    def solving(self) -> tuple[RecursionRun, ...]:
        """The complete runs of which it is known how they solve whole inputs."""
        step = self.labels[2] == "step"
        return tuple(run for run in self.complete if run.iterated or not step)

    def shares(self, split: str) -> tuple[Share, ...]:
        """Exact match of every complete run on a split."""
        return tuple(run.splits[split].share for run in self.complete if split in run.splits)

    def as_dict(self) -> dict[str, Any]:
        """The row for JSON."""
        return {
            "labels": list(self.labels),
            "config": dict(self.config),
            "runs": [run.as_dict() for run in self.runs],
        }


@dataclass(frozen=True, kw_only=True)
class RecursionRecords:
    """The runs of the study at one scale, and the environments that they come from."""

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


def iterated_file(runs: Path, name: str) -> Path:
    """Where the iterated reductions of a run are stored."""
    return runs / "recursion" / f"{name}.json"


def is_iterated(run: Run) -> bool:
    """Whether a run learns atomic steps, which are iterated after training."""
    return run.config.parameters.get("part") == "step"


def measure_iterated(run: Run, runs: Path, device: str) -> None:
    """Apply a trained model of atomic steps to its own outputs on every split, and store it."""
    from weft.tasks import task
    from weft.training.environment import device_of
    from weft.training.iterated import iterate_steps

    config = run.config
    made = task(config.task, **config.parameters)
    assert isinstance(made, Recursion)
    model = run.model(str(device_of(device)))
    size = min(TESTS, config.evaluation.size)
    found = {}
    for split in made.tested:
        steps = iterate_steps(model, made, split, size)
        record = IteratedRecord(
            whole=SplitRecord(share=steps.share, depth=steps.by("depth")),
            per_step=steps.per_step,
            errors=steps.errors,
        )
        found[split] = record.as_dict()
    path = iterated_file(runs, run.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, found)


def collect_runs(
    rows: Sequence[RecursionRow],
    scale: str,
    runs: Path,
    seeds: tuple[int, int] | None = None,
    given: Mapping[str, Any] = NOTHING,
) -> RecursionRecords:
    """The runs of some rows so far, from their folders; those not started are left out."""
    found, places = [], []
    for row in rows:
        records, plain = [], {}
        for cell in row.cells(scale, seeds, given):
            run = Run(runs / cell.config.hash)
            if not run.folder.is_dir():
                continue
            plain = cell.config.as_dict()
            plain.pop("seed")
            records.append(_record(run, cell.config.seed, runs))
            if (run.folder / "environment.json").exists():
                places.append(read_json(run.folder / "environment.json"))
        if records:
            found.append(RowRuns(labels=row.labels, config=plain, runs=tuple(records)))
    return RecursionRecords(
        scale=scale,
        rows=tuple(found),
        places=tuple({str(place): place for place in places}.values()),
    )


def _record(run: Run, seed: int, runs: Path) -> RecursionRun:
    result = None if run.problem else run.result
    splits = {}
    if result is not None and run.status in GOOD:
        for split in result.accuracy:
            table = run.predictions(split)
            splits[split] = SplitRecord(share=table.share, depth=table.by("depth"))
    stored = iterated_file(runs, run.name)
    iterated = read_json(stored) if stored.exists() and run.status in GOOD else {}
    return RecursionRun(
        run=run.name,
        seed=seed,
        status=run.status,
        step=0 if result is None else result.step,
        seconds=0.0 if result is None else round(float(result.seconds), 1),
        splits=splits,
        iterated={split: IteratedRecord.from_dict(each) for split, each in iterated.items()},
        machines=stored_machines(run, runs) if run.status in GOOD else (),
    )


def load_runs(path: Path) -> RecursionRecords:
    """Records from a file that `weft study recursion --records FILE` wrote."""
    values = read_json(path)
    if (
        not isinstance(values, dict)
        or values.get("study") != "recursion"
        or values.get("format") != FORMAT
        or "rows" not in values
    ):
        raise WeftError(
            f"{path} does not hold the records of the recursion study",
            remedy="Give a file that `weft study recursion --records FILE` wrote",
        )
    return RecursionRecords(
        scale=values["scale"],
        rows=tuple(
            RowRuns(
                labels=tuple(row["labels"]),
                config=row["config"],
                runs=tuple(RecursionRun.from_dict(run) for run in row["runs"]),
            )
            for row in values["rows"]
        ),
        places=tuple(values["places"]),
    )


def merged_runs(several: Iterable[RecursionRecords]) -> RecursionRecords:
    """The records of one scale from several files.

    Of a run, the first record counts that is complete, or the first of these with machines.
    """
    parts: Sequence[RecursionRecords] = list(several)
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
            f"two files have different settings for the row {one.name}",
            remedy="Report them separately",
        )
    runs = {run.run: run for run in one.runs}
    for run in other.runs:
        before = runs.get(run.run)
        if before is None or (run.complete, bool(run.machines)) > (
            before.complete,
            bool(before.machines),
        ):
            runs[run.run] = run
    return replace(one, runs=tuple(sorted(runs.values(), key=lambda run: run.seed)))
