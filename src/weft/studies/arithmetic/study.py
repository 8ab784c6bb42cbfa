"""`weft study arithmetic`: which digits and moduli carry over, predicted and measured.

A transformer that is perfect on sums of 4 digits modulo p is right on all, a third or a hundredth
of those of 9 digits, depending on p, and the theory of Xu et al. (2025) says on how many. The study
trains the models of the paper and variations of positional encoding, digit order, size, number of
examples and training gaps, and puts the accuracy at 1 to 9 digits beside `weft predict`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from weft.errors import WeftError
from weft.studies.arithmetic.comparison import Compared, cells_of, compared, tallies
from weft.studies.arithmetic.figure import draw_figure
from weft.studies.arithmetic.records import (
    ArithmeticRecords,
    agreement_file,
    collect_runs,
    load_runs,
    measure_agreement,
    merged_runs,
)
from weft.studies.arithmetic.report import notes_of, tables_of
from weft.studies.arithmetic.rows import HEADER, TABLE, covering
from weft.studies.experiment import Drawing, Execution, ExperimentReport
from weft.studies.study import Row, Scale, Study, reseeded, rows_with
from weft.training.callbacks import GOOD
from weft.training.store import Run

SMOKE, TINY = "smoke", "tiny"


@dataclass(frozen=True)
class ArithmeticStudy:
    """The study; see the module. Its cells are runs, and one file per run in `runs/arithmetic`.

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
        """The runs of a scale. Of all rows, `smoke` has one of each kind and `tiny` the nanos."""
        rows = self.rows
        if scale == SMOKE and rows == TABLE.rows:
            rows = covering(rows)
        if scale == TINY:
            rows = tuple(row for row in rows if row.labels[HEADER.index("model")] == "nano")
            if not rows:
                raise WeftError(
                    "the scale tiny has no such row: it is for the model nano",
                    remedy="Select rows with the label nano, or another --scale",
                )
        return replace(TABLE, rows=rows, scales=self.scales)

    def compute(self, scale: str, execution: Execution) -> None:
        """Train all runs that are not finished, and measure what the trained models compute."""
        if self.files:
            return
        cells = [cell for _, cell in self.table(scale).cells(scale, execution.given)]
        try:
            execution.train(cells)
        finally:  # what is finished is measured even if time is over
            done = [Run(execution.runs / cell.config.hash) for cell in cells]
            missing = [
                run
                for run in done
                if run.status in GOOD and not agreement_file(execution.runs, run.name).exists()
            ]
            if missing:
                execution.started(len(missing))
            for run in missing:
                measure_agreement(run, execution.runs, execution.device)
                execution.progress(1)

    def report(self, scale: str, execution: Execution) -> ExperimentReport:
        """The results so far, beside the predictions and the paper's figures."""
        records = self._records(scale, execution)
        rows = compared(records.rows)
        finished = [each for each in rows if each.row.complete]
        return ExperimentReport(
            study=self.name,
            scale=records.scale,
            title=self.title,
            introduction=_introduction(self.scales[records.scale], records),
            tables=tables_of(rows),
            figures=(_drawing(finished),) if finished else (),
            notes=notes_of(rows),
            values={**records.as_dict(), "comparison": _values(rows)},
            places=records.places,
            complete=self._complete(scale, execution, records),
        )

    def _records(self, scale: str, execution: Execution) -> ArithmeticRecords:
        if not self.files:
            return collect_runs(self.table(scale), scale, execution.runs, execution.given)
        found = merged_runs(load_runs(path) for path in self.files)
        wanted = {row.labels for row in self.rows}
        return replace(found, rows=tuple(row for row in found.rows if row.labels in wanted))

    def _complete(self, scale: str, execution: Execution, records: ArithmeticRecords) -> bool:
        if self.files:
            return True
        ended = sum(run.complete for row in records.rows for run in row.runs)
        return ended == len(self.table(scale).cells(scale, execution.given))


def _introduction(scale: Scale, records: ArithmeticRecords) -> tuple[str, ...]:
    seeds = sorted({run.seed for row in records.rows for run in row.runs})
    listed = ", ".join(map(str, seeds)) or "none so far"
    return (
        f"{TABLE.source}, beside our runs at the scale `{records.scale}`: {scale.description}. "
        f"Seeds: {listed}.",
        "Exact match in %. In square brackets is the 95% Wilson interval over the n tests of a "
        "length, or, of several seeds, the 95% t interval over seeds. Predictions are exact, for a "
        "model that is perfect in distribution; nothing in them is fitted to the measurements.",
    )


def _drawing(rows: Sequence[Compared]) -> Drawing:
    return Drawing(
        name="digits",
        caption="Predicted and measured accuracy by number of digits",
        draw=lambda: draw_figure(rows),
    )


def _values(rows: Sequence[Compared]) -> dict[str, Any]:
    """The predictions and how often they came true, for JSON."""
    return {
        "predictions": [
            {"labels": list(each.row.labels), **each.prediction.as_dict()} for each in rows
        ],
        "tallies": [
            {
                "cells": tally.name,
                **tally.share.as_dict(),
                "misses": [str(cell) for cell in tally.misses],
            }
            for tally in tallies(cells_of(rows))
        ],
    }


ARITHMETIC = ArithmeticStudy()
