"""`weft study ptg`: which mechanism survives longer executions of programs.

Every step of a program's trace is trivial; the number of steps, of variables and of list elements
is not. The study of Sun (2025) compares mechanisms by the share of traces that a trained model
writes without any error, on sizes beyond training. Here all mechanisms are trained with the same
data, evaluated at ten checkpoints, and analysed step by step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from weft.errors import WeftError
from weft.studies.experiment import Execution, ExperimentReport
from weft.studies.ptg.figures import drawings_of
from weft.studies.ptg.records import (
    TraceRecords,
    collect_runs,
    load_runs,
    measure,
    measured_file,
    merged_runs,
)
from weft.studies.ptg.report import introduction, notes_of, tables_of
from weft.studies.ptg.rows import TABLE, covering, main_rows
from weft.studies.study import Row, Scale, Study, reseeded, rows_with
from weft.training.callbacks import GOOD
from weft.training.store import Run

SMOKE, TINY = "smoke", "tiny"


@dataclass(frozen=True)
class TraceStudy:
    """The study; see the module. Its cells are runs, and one file per run in `runs/program-traces`.

    Attributes:
        rows: its rows.
        seeds: the first seed and how many, if the user gave them.
        files: records to report instead of runs; empty to train.
        name: its name on the command line.
        title: the title of the report.
        source: the paper.
    """

    rows: tuple[Row, ...] = TABLE.rows
    seeds: tuple[int, int] | None = None
    files: tuple[Path, ...] = ()
    name: str = TABLE.name
    title: str = TABLE.title
    source: str = TABLE.source

    @property
    def scales(self) -> Mapping[str, Scale]:
        """The scales by name."""
        return TABLE.scales if self.seeds is None else reseeded(TABLE.scales, *self.seeds)

    def only(self, wanted: Sequence[str]) -> Self:
        """The study with only the rows that have these labels."""
        return replace(self, rows=rows_with(self.rows, wanted, self.name))

    def with_seeds(self, first: int, count: int) -> Self:
        """The study with these seeds in every scale."""
        return replace(self, seeds=(first, count))

    def from_files(self, files: Sequence[Path]) -> Self:
        """The study that reports these records, merged, and trains nothing."""
        return replace(self, files=tuple(files))

    def table(self, scale: str) -> Study:
        """The runs of a scale.

        Variations are for the scale tiny; elsewhere they have to be selected. Of all rows, `smoke`
        has one of each kind.
        """
        rows = self.rows
        if rows == TABLE.rows and scale == SMOKE:
            rows = covering(rows)
        elif rows == TABLE.rows and scale != TINY:
            rows = main_rows(rows)
        return replace(TABLE, rows=rows, scales=self.scales)

    def compute(self, scale: str, execution: Execution) -> None:
        """Train all runs that are not finished, and analyse the trained models."""
        if self.files:
            return
        cells = [cell for _, cell in self.table(scale).cells(scale, execution.given)]
        if not cells:
            raise WeftError("no row is selected", remedy="Leave out some --only")
        try:
            execution.train(cells)
        finally:  # what is finished is analysed even if time is over
            done = [Run(execution.runs / cell.config.hash) for cell in cells]
            missing = [
                run
                for run in done
                if run.status in GOOD and not measured_file(execution.runs, run.name).exists()
            ]
            if missing:
                execution.started(len(missing))
            for run in missing:
                measure(run, execution.runs, execution.device)
                execution.progress(1)

    def report(self, scale: str, execution: Execution) -> ExperimentReport:
        """The results so far, beside the paper's figures."""
        records = self._records(scale, execution)
        return ExperimentReport(
            study=self.name,
            scale=records.scale,
            title=self.title,
            introduction=introduction(self.scales[records.scale].description, records),
            tables=tables_of(records),
            figures=drawings_of(records),
            notes=notes_of(records),
            values=records.as_dict(),
            places=records.places,
            complete=self._complete(scale, execution, records),
        )

    def _records(self, scale: str, execution: Execution) -> TraceRecords:
        if not self.files:
            return collect_runs(self.table(scale), scale, execution.runs, execution.given)
        found = merged_runs(load_runs(path) for path in self.files)
        wanted = {row.labels for row in self.rows}
        return replace(found, rows=tuple(row for row in found.rows if row.labels in wanted))

    def _complete(self, scale: str, execution: Execution, records: TraceRecords) -> bool:
        if self.files:
            return True
        ended = sum(run.complete for row in records.rows for run in row.runs)
        return ended == len(self.table(scale).cells(scale, execution.given))


PROGRAM_TRACES = TraceStudy()
