"""`weft study recursion`: what is learned of structural recursion, and by which supervision.

Small Transformers reach almost 100% on the binary successor and on tree traversals and fail where
recursion is deep or carries run through a whole number ("Transformer-Based Models Are Not Yet
Perfect At Learning to Emulate Structural Recursion", arXiv 2401.12947). The study trains such
models, and models that learn atomic steps or a program's traces, and measures all of them by
recursion depth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from weft.studies.experiment import Execution, ExperimentReport
from weft.studies.recursion.figure import figures_of
from weft.studies.recursion.machine_records import has_machines, machines_file, measure_machines
from weft.studies.recursion.records import (
    RecursionRecords,
    collect_runs,
    is_iterated,
    iterated_file,
    load_runs,
    measure_iterated,
    merged_runs,
)
from weft.studies.recursion.report import notes_of, tables_of
from weft.studies.recursion.rows import ROWS, SCALES, SOURCE, RecursionRow, at_scale
from weft.studies.study import Scale, reseeded, rows_with
from weft.training.callbacks import GOOD
from weft.training.store import Run

MEASUREMENTS = (
    (is_iterated, iterated_file, measure_iterated),
    (has_machines, machines_file, measure_machines),
)
"""What is measured after training: of which runs, the file with the result, and what writes it."""


@dataclass(frozen=True)
class RecursionStudy:
    """The study; see the module. Its cells are runs, and files in `runs/recursion`.

    Attributes:
        rows: its rows.
        seeds: the first seed and how many, if the user gave them.
        files: records to report instead of runs; empty to train.
        name: its name on the command line.
        title: the title of the report.
        source: the paper.
    """

    rows: tuple[RecursionRow, ...] = ROWS
    seeds: tuple[int, int] | None = None
    files: tuple[Path, ...] = ()
    name: str = "recursion"
    title: str = "What is learned of structural recursion"
    source: str = SOURCE

    @property
    def scales(self) -> Mapping[str, Scale]:
        """The scales by name."""
        return SCALES if self.seeds is None else reseeded(SCALES, *self.seeds)

    def only(self, wanted: Sequence[str]) -> Self:
        """The study with only the rows that have these labels."""
        return replace(self, rows=rows_with(self.rows, wanted, self.name)) if wanted else self

    def with_seeds(self, first: int, count: int) -> Self:
        """The study with these seeds in every scale, for all rows."""
        return replace(self, seeds=(first, count))

    def from_files(self, files: Sequence[Path]) -> Self:
        """The study that reports these records, merged, and trains nothing."""
        return replace(self, files=tuple(files))

    def compute(self, scale: str, execution: Execution) -> None:
        """Train all runs that are not finished, and measure what needs their models.

        Models of atomic steps are iterated; models of values are compared with machines.
        """
        if self.files:
            return
        rows = at_scale(self.rows, scale)
        cells = [cell for row in rows for cell in row.cells(scale, self.seeds, execution.given)]
        try:
            execution.train(cells)
        finally:  # what is finished is measured even if time is over
            done = [Run(execution.runs / cell.config.hash) for cell in cells]
            missing = [
                (run, measure)
                for run in done
                if run.status in GOOD
                for applies, file, measure in MEASUREMENTS
                if applies(run) and not file(execution.runs, run.name).exists()
            ]
            if missing:
                execution.started(len(missing))
            for run, measure in missing:
                measure(run, execution.runs, execution.device)
                execution.progress(1)

    def report(self, scale: str, execution: Execution) -> ExperimentReport:
        """The results so far."""
        records = self._records(scale, execution)
        return ExperimentReport(
            study=self.name,
            scale=records.scale,
            title=self.title,
            introduction=_introduction(self.scales[records.scale], records),
            tables=tables_of(records.rows),
            figures=figures_of(records.rows),
            notes=notes_of(records.rows),
            values=records.as_dict(),
            places=records.places,
            complete=self._complete(scale, execution, records),
        )

    def _records(self, scale: str, execution: Execution) -> RecursionRecords:
        if not self.files:
            rows = at_scale(self.rows, scale)
            return collect_runs(rows, scale, execution.runs, self.seeds, execution.given)
        found = merged_runs(load_runs(path) for path in self.files)
        wanted = {row.labels for row in self.rows}
        return replace(found, rows=tuple(row for row in found.rows if row.labels in wanted))

    def _complete(self, scale: str, execution: Execution, records: RecursionRecords) -> bool:
        if self.files:
            return True
        ended = sum(run.complete for row in records.rows for run in row.runs)
        rows = at_scale(self.rows, scale)
        return ended == sum(len(row.cells(scale, self.seeds, execution.given)) for row in rows)


def _introduction(scale: Scale, records: RecursionRecords) -> tuple[str, ...]:
    seeds = sorted({run.seed for row in records.rows for run in row.runs})
    listed = ", ".join(map(str, seeds)) or "none so far"
    return (
        f"Phenomena of {SOURCE}, in our runs at the scale `{records.scale}`: {scale.description}. "
        f"Seeds: {listed}; rows that vary one thing have one seed. The paper's sizes and "
        "accuracies are not used here: its statements are, in words, in the notes below.",
        "Exact match in %. In square brackets is the 95% Wilson interval over the n tests of a "
        "split, or, of several seeds, the 95% t interval over seeds. Edge cases of which there is "
        "one input per length, such as `all-carry`, have few tests by nature.",
    )


RECURSION = RecursionStudy()
