"""Records of the arithmetic study as the tests need them: runs with given accuracies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.statistics import Share
from weft.studies.arithmetic.records import (
    ArithmeticRecords,
    ArithmeticRun,
    Checkpoint,
    RowRuns,
)
from weft.studies.arithmetic.rows import TABLE
from weft.studies.study import Row

TESTS = 2000
PLACE = {"commit": "abc", "device": "cpu", "python": "3.12", "torch": "2.6"}


def row_of(*labels: str) -> Row:
    """The row that has these labels in its first columns, and the usual ones in the others."""
    return next(row for row in TABLE.rows if row.labels[: len(labels)] == labels)


def checkpoint(
    exact: Mapping[int, float], *, train: float = 1.0, step: int = 100, tests: int = TESTS
) -> Checkpoint:
    """An evaluation with these shares by number of digits."""
    return Checkpoint(
        step=step,
        train=Share(round(train * tests), tests),
        exact={length: Share(round(share * tests), tests) for length, share in exact.items()},
    )


def run_with(
    *checkpoints: Checkpoint, seed: int = 0, truncated: float = 1.0, status: str = "done"
) -> ArithmeticRun:
    """A run with these evaluations, which agrees so often with the truncated function."""
    last = checkpoints[-1].exact if checkpoints else {}
    return ArithmeticRun(
        run=f"run{seed:09d}",
        seed=seed,
        status=status,
        seconds=60.0,
        checkpoints=checkpoints,
        truncated={at: Share(round(truncated * s.count), s.count) for at, s in last.items()},
    )


def runs_of(row: Row, runs: Sequence[ArithmeticRun]) -> RowRuns:
    """The runs as those of a row, with its config at the scale `small`."""
    config = next(cell for each, cell in TABLE.cells("small") if each is row).config.as_dict()
    config.pop("seed")
    return RowRuns(labels=row.labels, config=config, runs=tuple(runs))


def records_of(*rows: RowRuns, scale: str = "small") -> ArithmeticRecords:
    """Records of some rows."""
    return ArithmeticRecords(scale=scale, rows=rows, places=(PLACE,))
