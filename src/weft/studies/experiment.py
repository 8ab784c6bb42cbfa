"""Experiments: studies whose results are more than the accuracies of runs.

A `Study` is a table of accuracies, one run per seed in a cell. An `Experiment` decides itself what
it computes, in small folders that are named by the hash of what determines them, and what its
report shows. Both are started by `weft study NAME`, resume when they are interrupted, and write a
page, its values as JSON, and figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from weft.files import read_json, write_json
from weft.studies.plotting import save, style
from weft.studies.report import markdown_table
from weft.studies.results import machine
from weft.studies.study import NOTHING, Scale
from weft.training.launch.sweep import Cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def trains_nothing(cells: Sequence[Cell]) -> Mapping[str, str]:
    """A `train` for experiments that have no runs."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Where and how an experiment computes.

    Attributes:
        runs: the folder of all runs; cells that are not runs have a folder per study in it.
        device: `cpu`, `cuda`, or `auto`.
        train: trains runs, those that are finished excepted; gives the status of each.
        progress: called with the number of steps of `total` that are done since the last call.
        started: called with the number of steps in all.
        given: settings that the user changed, by key.
    """

    runs: Path
    device: str = "auto"
    train: Callable[[Sequence[Cell]], Mapping[str, str]] = trains_nothing
    started: Callable[[int], None] = lambda total: None
    progress: Callable[[int], None] = lambda steps: None
    given: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A figure of a report: its name, its caption, and what draws it."""

    name: str
    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of a report.

    Attributes:
        title: what it shows.
        header: its columns.
        rows: its cells, as text.
        labels: how many columns, from the left, are labels and not numbers.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int


@dataclass(frozen=True, kw_only=True)
class ExperimentReport:
    """The results of an experiment, for the terminal, a page and a file.

    Attributes:
        study: the name of the experiment.
        scale: the name of its scale.
        title: of the page.
        introduction: paragraphs before the tables.
        tables: the tables.
        figures: the figures.
        notes: what to know about the results, below the figures.
        values: all results as plain values.
        places: the environments that results come from.
        complete: whether all cells are finished.
    """

    study: str
    scale: str
    title: str
    introduction: tuple[str, ...]
    tables: tuple[Table, ...]
    figures: tuple[Drawing, ...]
    notes: tuple[str, ...]
    values: Mapping[str, Any]
    places: tuple[Mapping[str, Any], ...]
    complete: bool

    @property
    def commits(self) -> tuple[str, ...]:
        """The commits of Weft that computed the results."""
        return tuple(sorted({str(place["commit"]) for place in self.places if place["commit"]}))

    @property
    def machines(self) -> tuple[str, ...]:
        """The machines that computed them."""
        return tuple(sorted({machine(place) for place in self.places}))

    def as_dict(self, command: str) -> dict[str, Any]:
        """The results for JSON, with where they come from."""
        return {
            "study": self.study,
            "scale": self.scale,
            "command": command,
            "commits": list(self.commits),
            "machines": list(self.machines),
            **self.values,
        }


class Experiment(Protocol):
    """A study that computes its own cells.

    Attributes:
        name: its name on the command line.
        title: the title of the report.
        source: the paper, and the section in it.
        rows: the rows of its table.
        scales: its scales by name.
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def rows(self) -> Sequence[Any]: ...
    @property
    def scales(self) -> Mapping[str, Scale]: ...

    def only(self, wanted: Sequence[str]) -> Self:
        """The experiment with only the rows that have these labels."""

    def with_seeds(self, first: int, count: int) -> Self:
        """The experiment with these seeds in every scale."""

    def compute(self, scale: str, execution: Execution) -> None:
        """Compute all cells that are not finished."""

    def report(self, scale: str, execution: Execution) -> ExperimentReport:
        """The results so far."""


class RecordedExperiment(Experiment, Protocol):
    """An experiment whose values, as --records writes them, can be reported elsewhere."""

    def from_files(self, files: Sequence[Path]) -> Self:
        """The experiment that reports these files, merged, and computes nothing."""


def place_of(folder: Path) -> list[Mapping[str, Any]]:
    """The environment that a cell was computed in; none if it was not begun."""
    path = folder / "environment.json"
    return [read_json(path)] if path.exists() else []


def markdown(
    report: ExperimentReport, command: str, pictures: Sequence[tuple[str, str]] = ()
) -> str:
    """The page; `pictures` are files with their captions."""
    lines = [f"# {report.title}", ""]
    for paragraph in report.introduction:
        lines += [paragraph, ""]
    for table in report.tables:
        lines += [f"**{table.title}**", "", *markdown_table(table.header, table.rows), ""]
    lines += [f"![{caption}]({file})\n" for file, caption in pictures]
    lines += [f"- {note}" for note in report.notes]
    lines += ["", "Made by:", "", f"    {command}", ""]
    lines.append(f"Commit {', '.join(report.commits) or 'unknown'}; {'; '.join(report.machines)}.")
    return "\n".join(lines) + "\n"


def write_experiment(report: ExperimentReport, command: str, folder: Path) -> list[Path]:
    """Write page, values and figures into a folder; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{report.study}-{report.scale}"
    pictures = []
    for drawing in report.figures:
        with style():
            pictures.append((save(drawing.draw(), folder, f"{stem}-{drawing.name}"), drawing))
    page, values = folder / f"{stem}.md", folder / f"{stem}.json"
    shown = [(path.name, drawing.caption) for path, drawing in pictures]
    page.write_text(markdown(report, command, shown), "utf-8")
    write_json(values, report.as_dict(command))
    return [page, values, *(path for path, _ in pictures)]
