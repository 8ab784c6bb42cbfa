"""Records of a length study as the tests need them: seeds that fit or not, with some accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.statistics import Share
from weft.studies.length.records import HeadRole, RowRecords, SeedRecord, StudyRecords

TESTS = 200


def seed_record(
    seed: int,
    longer: float = 1.0,
    *,
    fits: bool = True,
    status: str = "stopped",
    heads: Sequence[HeadRole] = (),
) -> SeedRecord:
    """A run that is right on a share of the tests of both longer bins."""
    share = Share(round(longer * TESTS), TESTS)
    return SeedRecord(
        run=f"run{seed:09d}",
        seed=seed,
        status=status,
        step=3000,
        seconds=60.0,
        best=1.0 if fits else 0.9,
        accuracy={"train": Share(TESTS if fits else 180, TESTS), "longer": share, "longest": share},
        curves={"length": {5: Share(1, 1), 60: share}},
        heads=tuple(heads),
    )


def row_records(
    labels: tuple[str, ...],
    seeds: Sequence[SeedRecord],
    *,
    task: str = "unique-copy",
    position: str = "learned",
    parameters: Mapping[str, Any] | None = None,
) -> RowRecords:
    """A row of the algorithmic tasks, or of another task."""
    config = {
        "task": task,
        "parameters": dict(parameters or {}),
        "model": {"position": position},
        "optimiser": {"lr": 1e-3},
        "steps": 10,
    }
    return RowRecords(labels=labels, config=config, seeds=tuple(seeds))


def study_records(name: str, rows: Sequence[RowRecords], scale: str = "small") -> StudyRecords:
    """Records of a study."""
    return StudyRecords(
        study=name,
        scale=scale,
        command=f"weft study {name}",
        commits=("abc",),
        machines=("cpu",),
        rows=tuple(rows),
    )
