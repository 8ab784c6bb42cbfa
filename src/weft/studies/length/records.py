"""The results of a length study, run by run, in one small file.

Training may happen on a machine that has neither a plotting library nor the theory's parser, and
from which only a few files come back. `collect_records` reads the run folders there and keeps all
that reports need: the config, how each seed ended, correct answers and tests by split and by
length, and what its heads do with positions. Files of several machines are merged by run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from weft.errors import WeftError
from weft.files import read_json, write_json
from weft.statistics import Share
from weft.studies.results import Curve, curves_of, machine
from weft.studies.study import NOTHING, Study
from weft.tasks.task import TRAIN, VALIDATION
from weft.training.callbacks import GOOD
from weft.training.evaluation import test_sets
from weft.training.stacked.trainer import cores
from weft.training.store import Run
from weft.training.supervision import task_of

FORMAT = 1
"""Of the file."""
AXES = ("length", "gap")
"""The axes whose curves are kept."""
IN_RANGE = 0.99
"""Smallest accuracy on the tests in distribution of a run that fits."""
MAX_PROCESSES = 16
RUNS_PER_PROCESS = 4
"""A process takes seconds to start, and the heads of a run take about one."""


@dataclass(frozen=True, kw_only=True)
class HeadRole:
    """What one head of a trained model does with learned positions.

    Attributes:
        layer: the layer, from 1.
        head: the head, from 1.
        description: in words: `uniform`, `prefers i - 1`, `period 3`, ...
        spread: standard deviation of the position products over the keys of a query, in logits.
        distance: the distance i - j that the products prefer; None if they prefer none.
        period: the period that fits best; 1 if there is none.
        misfit: the share of the variance that is neither local nor periodic.
    """

    layer: int
    head: int
    description: str
    spread: float
    distance: int | None
    period: int
    misfit: float

    def __str__(self) -> str:
        return f"head {self.layer}.{self.head}: {self.description}"


@dataclass(frozen=True, kw_only=True)
class SeedRecord:
    """One run.

    Attributes:
        run: its name, the hash of its config.
        seed: its seed.
        status: how it ended, or `unfinished`.
        step: how many steps it made; of an unfinished run, until its last evaluation.
        seconds: how long it trained.
        best: the highest accuracy on the validation set in distribution; None if it was not
            evaluated, as in runs that do not stop early.
        accuracy: by split, at that step; empty if the run was never evaluated.
        curves: by axis, accuracy at each of its values.
        heads: what its heads do with positions; empty without learned positions.
    """

    run: str
    seed: int
    status: str
    step: int
    seconds: float
    best: float | None
    accuracy: Mapping[str, Share]
    curves: Mapping[str, Curve]
    heads: tuple[HeadRole, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the run ended well."""
        return self.status in GOOD

    @property
    def kept(self) -> bool:
        """Whether it fits in distribution."""
        share = self.accuracy.get(TRAIN)
        return self.complete and share is not None and fits_in_range(self.best, share.share)

    def as_dict(self) -> dict[str, Any]:
        """The record for JSON."""
        return {
            **vars(self),
            "accuracy": {split: [s.right, s.count] for split, s in self.accuracy.items()},
            "curves": {axis: curve_text(curve) for axis, curve in self.curves.items()},
            "heads": [vars(head) for head in self.heads],
        }


def fits_in_range(best: float | None, tested: float) -> bool:
    """Whether a run fits in distribution.

    Args:
        best: its accuracy on the validation set, which must be 1; None if it has none.
        tested: its final accuracy on the tests in distribution, which must be at least 0.99.
    """
    return (best is None or best >= 1) and tested >= IN_RANGE


@dataclass(frozen=True, kw_only=True)
class RowRecords:
    """A row of a study with its runs, by seed.

    Attributes:
        labels: the labels of the row.
        config: the config of its runs, without the seed.
        seeds: the runs.
    """

    labels: tuple[str, ...]
    config: Mapping[str, Any]
    seeds: tuple[SeedRecord, ...]

    @property
    def complete(self) -> tuple[SeedRecord, ...]:
        """The runs that ended well."""
        return tuple(seed for seed in self.seeds if seed.complete)

    @property
    def kept(self) -> tuple[SeedRecord, ...]:
        """The runs that fit in distribution."""
        return tuple(seed for seed in self.seeds if seed.kept)


@dataclass(frozen=True, kw_only=True)
class StudyRecords:
    """The results of a length study at one scale, and where they come from.

    Attributes:
        study: the name of the study.
        scale: the scale.
        command: the command that repeats the runs; several lines if there are several.
        commits: the commits of the code that trained.
        machines: where it ran.
        rows: the rows that have runs.
    """

    study: str
    scale: str
    command: str
    commits: tuple[str, ...]
    machines: tuple[str, ...]
    rows: tuple[RowRecords, ...]

    def row(self, labels: Sequence[str]) -> RowRecords | None:
        """The row with these labels; None if there is none."""
        return next((row for row in self.rows if row.labels == tuple(labels)), None)

    def as_dict(self) -> dict[str, Any]:
        """The results as plain values."""
        rows = [
            {**vars(row), "config": dict(row.config), "seeds": [s.as_dict() for s in row.seeds]}
            for row in self.rows
        ]
        return {"format": FORMAT, **vars(self), "rows": rows}

    def save(self, path: Path) -> None:
        """Write the results as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, self.as_dict())


def load_records(path: Path) -> StudyRecords:
    """Results that `StudyRecords.save` wrote."""
    values = read_json(path)
    if not isinstance(values, dict) or values.get("format") != FORMAT or "rows" not in values:
        raise WeftError(
            f"{path} does not hold the records of a length study",
            remedy="Give a file that `weft study NAME --records FILE` wrote",
        )
    rows = tuple(
        RowRecords(
            labels=tuple(row["labels"]),
            config=row["config"],
            seeds=tuple(_seed(seed) for seed in row["seeds"]),
        )
        for row in values["rows"]
    )
    return StudyRecords(
        study=values["study"],
        scale=values["scale"],
        command=values["command"],
        commits=tuple(values["commits"]),
        machines=tuple(values["machines"]),
        rows=rows,
    )


def _seed(values: dict[str, Any]) -> SeedRecord:
    return SeedRecord(
        **{
            **values,
            "accuracy": {split: Share(*pair) for split, pair in values["accuracy"].items()},
            "curves": {axis: text_curve(text) for axis, text in values["curves"].items()},
            "heads": tuple(HeadRole(**head) for head in values["heads"]),
        }
    )


def curve_text(curve: Curve) -> str:
    """A curve on one line: at every value, correct answers of so many tests.

    Example:
        >>> curve_text({5: Share(2, 3), 6: Share(0, 4)})
        '5:2/3 6:0/4'
    """
    return " ".join(f"{at}:{share.right}/{share.count}" for at, share in curve.items())


def text_curve(text: str) -> Curve:
    """The curve that `curve_text` wrote."""
    parts = (part.replace(":", "/").split("/") for part in text.split())
    return {int(at): Share(int(right), int(count)) for at, right, count in parts}


def merged(several: Iterable[StudyRecords]) -> StudyRecords:
    """The results of one study and scale from several files, by run.

    A run that is in several files is taken from the first in which it is complete.
    """
    parts = list(several)
    if not parts:
        raise WeftError("there are no results to merge", remedy="Give at least one file")
    kinds = {(part.study, part.scale) for part in parts}
    if len(kinds) > 1:
        listed = ", ".join(f"{study} at {scale}" for study, scale in sorted(kinds))
        raise WeftError(f"the files are of different studies: {listed}", remedy="Give one study's")
    rows: dict[tuple[str, ...], RowRecords] = {}
    for part in parts:
        for row in part.rows:
            before = rows.get(row.labels)
            rows[row.labels] = row if before is None else _joined(before, row)
    return replace(
        parts[0],
        command="\n".join(dict.fromkeys(part.command for part in parts)),
        commits=tuple(sorted({commit for part in parts for commit in part.commits})),
        machines=tuple(sorted({machine for part in parts for machine in part.machines})),
        rows=tuple(rows.values()),
    )


def merged_by_study(several: Iterable[StudyRecords]) -> list[StudyRecords]:
    """The results of several studies and scales, each merged from its files."""
    groups: dict[tuple[str, str], list[StudyRecords]] = {}
    for part in several:
        groups.setdefault((part.study, part.scale), []).append(part)
    return [merged(parts) for parts in groups.values()]


def _joined(one: RowRecords, other: RowRecords) -> RowRecords:
    if one.config != other.config:
        raise WeftError(
            f"two files have different settings for the row {' '.join(one.labels)}",
            remedy="Report them separately",
        )
    seeds = {seed.run: seed for seed in one.seeds}
    for seed in other.seeds:
        if seed.run not in seeds or not seeds[seed.run].complete:
            seeds[seed.run] = seed
    return replace(one, seeds=tuple(sorted(seeds.values(), key=lambda seed: seed.seed)))


def collect_records(
    study: Study, scale: str, runs: Path, command: str, given: Mapping[str, Any] = NOTHING
) -> StudyRecords:
    """The results of a study's runs so far, from their folders.

    Runs that have not started are left out; of the others, finished or not, what is known is kept.
    """
    cells = [(row, cell, Run(runs / cell.config.hash)) for row, cell in study.cells(scale, given)]
    started = [(row, cell, run) for row, cell, run in cells if run.folder.is_dir()]
    heads = heads_of([run for _, _, run in started if run.status in GOOD])
    rows: dict[tuple[str, ...], tuple[dict[str, Any], list[SeedRecord]]] = {}
    commits, machines = set(), set()
    for row, cell, run in started:
        plain = cell.config.as_dict()
        plain.pop("seed")
        record = replace(_record(run, cell.config.seed), heads=heads.get(run.name, ()))
        rows.setdefault(row.labels, (plain, []))[1].append(record)
        if (run.folder / "environment.json").exists():
            place = read_json(run.folder / "environment.json")
            commits |= {str(place["commit"])} if place["commit"] else set()
            machines.add(machine(place))
    return StudyRecords(
        study=study.name,
        scale=scale,
        command=command,
        commits=tuple(sorted(commits)),
        machines=tuple(sorted(machines)),
        rows=tuple(
            RowRecords(labels=labels, config=plain, seeds=tuple(seeds))
            for labels, (plain, seeds) in rows.items()
        ),
    )


def _record(run: Run, seed: int) -> SeedRecord:
    result = None if run.problem else run.result
    if result is None or run.status not in GOOD:
        return _interrupted(run, seed)
    tables = [run.predictions(path.stem) for path in _stored(run)]
    tests = [table for table in tables if table.split != VALIDATION]
    return SeedRecord(
        run=run.name,
        seed=seed,
        status=run.status,
        step=result.step,
        seconds=round(result.seconds, 1),
        best=result.best,
        accuracy={table.split: table.share for table in tables},
        curves={axis: curve for axis, curve in curves_of(tests).items() if axis in AXES},
    )


def _interrupted(run: Run, seed: int) -> SeedRecord:
    """What is known of a run that has not ended well: its last evaluation."""
    evaluations = [] if run.problem else run.evaluations()
    last: Mapping[str, Any] = evaluations[-1] if evaluations else {"step": 0, "accuracy": {}}
    counts = _test_counts(run, tuple(last["accuracy"])) if evaluations else {}
    validated = [each["accuracy"].get(VALIDATION) for each in evaluations]
    known = [value for value in validated if value is not None]
    metrics = [] if run.problem else run.metrics()
    return SeedRecord(
        run=run.name,
        seed=seed,
        status=run.status,
        step=int(last["step"]),
        seconds=round(float(metrics[-1]["seconds"]), 1) if metrics else 0.0,
        best=max(known, default=None),
        accuracy={
            split: Share.recovered(value, counts[split])
            for split, value in last["accuracy"].items()
        },
        curves={},
    )


def _test_counts(run: Run, splits: tuple[str, ...]) -> dict[str, int]:
    """How many tests a run has; small languages have fewer than asked for."""
    config = run.config
    sets = test_sets(task_of(config), splits, config.evaluation.size)
    return {split: len(batch.lengths) for split, batch in sets.items()}


def _stored(run: Run) -> list[Path]:
    return sorted((run.folder / "predictions").glob("*.npz"))


def heads_of(runs: Sequence[Run]) -> dict[str, tuple[HeadRole, ...]]:
    """By run, what its heads do with learned positions; several processes if there are many."""
    tabled = [run for run in runs if run.config.model.get("position") == "learned"]
    count = min(MAX_PROCESSES, cores(), len(tabled) // RUNS_PER_PROCESS)
    if count < 2:
        return {run.name: _heads(run.folder) for run in tabled}
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        found = pool.map(_heads, [run.folder for run in tabled])
        return {run.name: heads for run, heads in zip(tabled, found, strict=True)}


def _heads(folder: Path) -> tuple[HeadRole, ...]:
    from weft.models.transformer import Transformer
    from weft.studies.length.roles import head_roles

    model = Run(folder).model()
    return head_roles(model) if isinstance(model, Transformer) else ()
