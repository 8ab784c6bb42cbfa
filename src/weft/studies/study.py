"""What a study is: a table of runs with the figures that a paper reports beside them.

A study has rows, which are models, and columns, which are splits of tasks. Its scales say how large
models are and how long they learn: `small` fits half an hour of one GPU, `paper` is the setting of
the paper in full. A cell of the table is a run for every seed, in a folder named by its config: a
study that is started again goes on where it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from weft.config import override
from weft.errors import WeftError, did_you_mean
from weft.training.config import TrainingConfig
from weft.training.launch.sweep import Cell, written

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Row:
    """A line of the table.

    Attributes:
        labels: what it says in the columns of the study's `header`.
        changes: what is different about its runs, as `weft train` takes it.
        paper: what the paper reports in each column of the table, as shares.
    """

    labels: tuple[str, ...]
    changes: Mapping[str, Any]
    paper: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Scale:
    """How large and how long.

    Attributes:
        description: in words, for the report.
        changes: what all runs share.
        seeds: how many runs each row has.
        adapt: what else rows need at this scale, by their labels joined by spaces.
    """

    description: str
    changes: Mapping[str, Any]
    seeds: int = 1
    adapt: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Picture:
    """A figure of the report.

    Attributes:
        name: part of its file's.
        shown: what it shows, in words.
        kind: accuracy along an axis, the mean class `chosen` along it, or accuracy by `depth`.
        panels: the column of the header that tells panels apart.
        axis: the axis of the task.
    """

    name: str
    shown: str
    kind: Literal["accuracy", "chosen", "depth"]
    panels: str
    axis: str = ""


@dataclass(frozen=True)
class Study:
    """A table of a paper, as runs.

    Attributes:
        name: on the command line.
        title: of the report.
        source: the table or figure of the paper.
        task: what is learned.
        header: what rows are told apart by.
        rows: all of them, in the paper's order.
        columns: of the table: the name of a split, and what it is called.
        scales: by name.
        drawn: the splits that figures are drawn from, none within another; all if left out.
        figures: of the report.
        notes: what differs from the paper, for the report.
        given: what a user must give to run it, as `key: what it is`, such as where files are.
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
    given: Mapping[str, str] = field(default_factory=dict)

    def scale(self, name: str) -> Scale:
        """A scale by name."""
        if name not in self.scales:
            remedy = did_you_mean(name, list(self.scales)).capitalize()
            raise WeftError(f"the study {self.name} has no scale '{name}'", remedy=remedy)
        return self.scales[name]

    def cells(self, scale: str, given: Mapping[str, Any] = NOTHING) -> list[tuple[Row, Cell]]:
        """All runs, with the rows that they belong to."""
        chosen = self.scale(scale)
        return [
            (row, self._cell(row, chosen, seed, given))
            for row in self.rows
            for seed in range(chosen.seeds)
        ]

    def _cell(self, row: Row, scale: Scale, seed: int, given: Mapping[str, Any]) -> Cell:
        varied = {**row.changes, **scale.adapt.get(" ".join(row.labels), {}), "seed": seed}
        changes = _lines({**scale.changes, **varied, **given})
        return Cell(_lines(varied), changes, override(TrainingConfig(task=self.task), changes))

    def only(self, wanted: Sequence[str]) -> Study:
        """The same with those rows alone that have some of these labels, or all where none is."""
        known = sorted({label for row in self.rows for label in row.labels})
        for label in wanted:
            if label not in known:
                remedy = did_you_mean(label, known).capitalize()
                raise WeftError(f"no row of {self.name} has the label '{label}'", remedy=remedy)
        places = {label: _place(self, label) for label in wanted}
        kept = [row for row in self.rows if _has(row, places)]
        return replace(self, rows=tuple(kept))


def _place(study: Study, label: str) -> int:
    """The column of the header that a label stands in."""
    return next(place for row in study.rows for place, one in enumerate(row.labels) if one == label)


def _has(row: Row, places: Mapping[str, int]) -> bool:
    """Whether in every column that is asked about, the row has one of the labels."""
    asked = set(places.values())
    return all(row.labels[place] in places for place in asked)


def _lines(values: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(f"{key}={written(value)}" for key, value in values.items())
