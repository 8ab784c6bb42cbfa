"""How the paper selects models and seeds, as options of a study.

Huang et al. (2025) train a grid of models for every task, one run each, and choose among those that
reach 100% in distribution the one that is best on lengths 51 to 100; ties go to the simplest. They
then train seeds until five reach 100% in distribution, and average these. So their results are
conditional on fitting, and models are selected by tests. `swept` makes the grid, `select` chooses
from its records, `with_models` puts the chosen models into the study, and `next_round` says which
seeds to train next.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from weft.errors import WeftError
from weft.studies.length.protocol import coefficient_label, size
from weft.studies.length.records import RowRecords, StudyRecords, fits_in_range
from weft.studies.study import NOTHING, Row, Scale, Study
from weft.tasks.task import TRAIN
from weft.training.callbacks import GOOD
from weft.training.launch.sweep import Cell
from weft.training.store import Run

SELECTED_BY = "longer"
"""The split by which models are selected."""
MODEL_COLUMN = "model"
SUFFIX = "-sweep"
"""What the records of a grid have after the study's name."""


@dataclass(frozen=True, order=True)
class Candidate:
    """A model of the grid with its learning rate; simpler ones come first.

    Example:
        >>> print(Candidate(2, 1, 64, 1e-3))
        2l1h64 1e-3
    """

    layers: int
    heads: int
    width: int
    lr: float

    def __str__(self) -> str:
        return f"{self.layers}l{self.heads}h{self.width} {coefficient_label(self.lr)}"

    @property
    def changes(self) -> dict[str, Any]:
        """Its settings."""
        return {**size(self.layers, self.heads, self.width), "optimiser.lr": self.lr}


GRID = tuple(
    Candidate(*each) for each in product((1, 2, 4), (1, 2, 4), (16, 64, 256), (1e-3, 1e-4))
)
"""The paper's grid: 54 models."""
BY_LABEL = {str(each): each for each in GRID}


def swept(study: Study, grid: Collection[Candidate] = GRID) -> Study:
    """A study of the whole grid, one seed of each model in each row."""
    rows = [(row, each) for row in study.rows for each in grid]

    def scale_of(scale: Scale) -> Scale:
        adapt = {
            " ".join((*row.labels, str(each))): {
                **scale.adapt.get(" ".join(row.labels), {}),
                **each.changes,
            }
            for row, each in rows
        }
        return replace(scale, adapt=adapt, seeds=1)

    return replace(
        study,
        name=study.name + SUFFIX,
        title=f"{study.title}: the grid of models",
        header=(*study.header, MODEL_COLUMN),
        rows=tuple(Row((*row.labels, str(each)), row.changes) for row, each in rows),
        scales={name: scale_of(scale) for name, scale in study.scales.items()},
    )


def select(records: StudyRecords) -> dict[tuple[str, ...], Candidate]:
    """The model that the paper's rule chooses for each row of a study.

    Rows of which no model fits in distribution are left out.

    Args:
        records: of the study that `swept` made.
    """
    best: dict[tuple[str, ...], tuple[float, Candidate]] = {}
    for row in records.rows:
        candidate = BY_LABEL.get(row.labels[-1])
        if candidate is None or not records.study.endswith(SUFFIX):
            raise WeftError(
                f"the records of {records.study} are not those of a grid of models",
                remedy="Give the file that `weft study NAME --sweep --records FILE` wrote",
            )
        if (accuracy := _validated(row)) is None:
            continue
        known = best.get(row.labels[:-1])
        if known is None or (-accuracy, candidate) < (-known[0], known[1]):
            best[row.labels[:-1]] = accuracy, candidate
    return {labels: candidate for labels, (_, candidate) in best.items()}


def _validated(row: RowRecords) -> float | None:
    """The accuracy by which a model is selected; None if it does not fit in distribution."""
    shares = [seed.accuracy[SELECTED_BY].share for seed in row.kept if SELECTED_BY in seed.accuracy]
    return shares[0] if shares else None


def with_models(study: Study, chosen: Mapping[tuple[str, ...], Candidate]) -> Study:
    """The study with the chosen models; rows without a chosen model keep theirs."""

    def scale_of(scale: Scale) -> Scale:
        adapt = dict(scale.adapt)
        for labels, candidate in chosen.items():
            key = " ".join(labels)
            adapt[key] = {**adapt.get(key, {}), **candidate.changes}
        return replace(scale, adapt=adapt)

    return replace(study, scales={name: scale_of(scale) for name, scale in study.scales.items()})


def next_round(
    study: Study,
    scale: str,
    runs: Path,
    keep: int,
    given: Mapping[str, Any] = NOTHING,
    tried: Collection[str] = (),
) -> list[Cell]:
    """The runs to train next until `keep` seeds of every row fit in distribution.

    Args:
        study: the study; the seeds of its scale are the limit.
        scale: the scale.
        runs: the folder of all runs.
        keep: how many seeds are to fit.
        given: settings of all runs.
        tried: the names of runs that are not to be tried again.

    Returns:
        For every row the next seeds, as many as fitting ones are missing; empty when there is
        nothing left to train.
    """
    rows: dict[tuple[str, ...], list[Cell]] = {}
    for row, cell in study.cells(scale, given):
        rows.setdefault(row.labels, []).append(cell)
    result: list[Cell] = []
    for cells in rows.values():
        ended = [Run(runs / cell.config.hash) for cell in cells]
        missing = keep - sum(fits(run) for run in ended)
        left = [
            cell
            for cell, run in zip(cells, ended, strict=True)
            if run.status not in GOOD and (run.result is None or not run.result.final)
            if cell.config.hash not in tried
        ]
        result += left[: max(0, missing)]
    return result


def fits(run: Run) -> bool:
    """Whether a run has ended well and fits in distribution."""
    if run.status not in GOOD or run.result is None:
        return False
    return fits_in_range(run.result.best, run.result.accuracy.get(TRAIN, 0.0))
