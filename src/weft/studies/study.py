"""A study: a table of runs, with the figures that a paper reports beside them.

Rows are models, columns are splits of a task. A scale sets the size of the models and the length of
training: `small` takes half an hour on one GPU, `paper` uses the paper's own settings. A cell of
the table is one run per seed, in a folder named by its config, so an interrupted study resumes.

What a paper reports for a single program is a `Reference`: data that stands beside the study it
belongs to (`weft.studies.alta`). A verdict takes those that match its task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeVar

from weft.config import override
from weft.errors import check_known
from weft.tasks import Task
from weft.training.config import TrainingConfig
from weft.training.launch.sweep import Cell

NOTHING: Mapping[str, Any] = MappingProxyType({})
LabelledRow = TypeVar("LabelledRow", bound="Labelled")


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        labels: its cells in the columns of the study's `header`.
        changes: the settings of its runs, as `weft train` takes them.
        paper: the accuracy that the paper reports in each column, between 0 and 1.
    """

    labels: tuple[str, ...]
    changes: Mapping[str, Any]
    paper: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Scale:
    """The size of the models and the length of training.

    Attributes:
        description: in words, for the report.
        changes: the settings that all runs share.
        seeds: how many runs each row has.
        first_seed: the smallest seed.
        adapt: further settings of single rows, by their labels joined by spaces.
    """

    description: str
    changes: Mapping[str, Any]
    seeds: int = 1
    adapt: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    first_seed: int = 0


@dataclass(frozen=True)
class Picture:
    """A figure of the report.

    Attributes:
        name: part of its file's name.
        caption: what it shows, in words.
        kind: accuracy along an axis, the mean class `chosen` along it, or accuracy by `depth`.
        panels: the column of the header by which panels are grouped.
        axis: the axis of the task.
    """

    name: str
    caption: str
    kind: Literal["accuracy", "chosen", "depth"]
    panels: str
    axis: str = ""


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Accuracies that a paper reports.

    Attributes:
        source: the paper, and the table or figure in it.
        task: the task with the parameters of the paper.
        stage: the stage of a verdict that it reports, such as `from traces`.
        program: the program, without parameters.
        accuracy: by split, between 0 and 1.
    """

    source: str
    task: Task
    stage: str
    program: str
    accuracy: Mapping[str, float]

    def matches(self, task: Task, stage: str, program: str) -> bool:
        """Whether it is about this task, stage and program."""
        name = program.partition("(")[0].strip()
        return (self.task, self.stage, self.program) == (task, stage, name)


@dataclass(frozen=True)
class Study:
    """A table of a paper, as runs.

    Attributes:
        name: its name on the command line.
        title: the title of the report.
        source: the paper, and the table or figure in it.
        task: the task that is trained.
        header: the columns that distinguish rows.
        rows: all rows, in the paper's order.
        columns: the other columns of the table: by split, their title.
        scales: the scales by name.
        drawn: the splits that figures are drawn from, which must not overlap; all by default.
        figures: the figures of the report.
        notes: differences from the paper, for the report.
        training: by axis, the smallest and largest value in the training set, for figures.
        given: settings that a user must give, as `key: meaning`, such as the folder of files.
    """

    name: str
    title: str
    source: str
    task: str
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    columns: Mapping[str, str]
    scales: Mapping[str, Scale]
    drawn: tuple[str, ...] = ()
    figures: tuple[Picture, ...] = ()
    notes: tuple[str, ...] = ()
    training: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)

    def scale(self, name: str) -> Scale:
        """A scale by name."""
        check_known(name, self.scales, f"the study {self.name} has no scale '{name}'")
        return self.scales[name]

    def cells(self, scale: str, given: Mapping[str, Any] = NOTHING) -> list[tuple[Row, Cell]]:
        """All runs, with the rows that they belong to."""
        chosen = self.scale(scale)
        return [
            (row, self._cell(row, chosen, seed, given))
            for row in self.rows
            for seed in range(chosen.first_seed, chosen.first_seed + chosen.seeds)
        ]

    def _cell(self, row: Row, scale: Scale, seed: int, given: Mapping[str, Any]) -> Cell:
        varied = {**row.changes, **scale.adapt.get(" ".join(row.labels), {}), "seed": seed}
        changes = {**scale.changes, **varied, **given}
        return Cell(varied, override(TrainingConfig(task=self.task), changes))

    def with_seeds(self, first: int, count: int) -> Study:
        """The study with these seeds in every scale.

        Example:
            >>> from weft.studies import study
            >>> few = study("parity").with_seeds(3, 2)
            >>> [cell.config.seed for _, cell in few.cells("small")][:4]
            [3, 4, 3, 4]
        """
        return replace(self, scales=reseeded(self.scales, first, count))

    def only(self, wanted: Sequence[str]) -> Study:
        """The study with only the rows that have these labels; all rows if none are given."""
        return replace(self, rows=rows_with(self.rows, wanted, self.name))


def reseeded(scales: Mapping[str, Scale], first: int, count: int) -> dict[str, Scale]:
    """The scales with `count` seeds, from `first` on."""
    return {name: replace(scale, first_seed=first, seeds=count) for name, scale in scales.items()}


class Labelled(Protocol):
    """A row of a table that has labels, one per column."""

    @property
    def labels(self) -> tuple[str, ...]: ...


def rows_with(
    rows: Sequence[LabelledRow], wanted: Sequence[str], name: str
) -> tuple[LabelledRow, ...]:
    """The rows that have these labels; all rows if none are given.

    Several labels of one column select the rows with any of them.

    Args:
        rows: the rows of a study.
        wanted: the labels.
        name: the name of the study, for messages.
    """
    known = sorted({label for row in rows for label in row.labels})
    for label in wanted:
        check_known(label, known, f"no row of {name} has the label '{label}'")
    columns = {label: _column(rows, label) for label in wanted}
    return tuple(
        row
        for row in rows
        if all(row.labels[column] in columns for column in set(columns.values()))
    )


def _column(rows: Sequence[Labelled], label: str) -> int:
    """The index of the column that has a label."""
    return next(row.labels.index(label) for row in rows if label in row.labels)
