"""The figures of the recursion study: accuracy by recursion depth, a panel per question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weft.statistics import Share
from weft.studies.experiment import Drawing
from weft.studies.plotting import (
    LOOKS,
    METHODS,
    Look,
    add_legend,
    binned,
    draw_line,
    panels,
    percent_axis,
    shade_training,
)
from weft.studies.recursion.records import RecursionRun, RowRuns
from weft.studies.recursion.report import depth_curve
from weft.studies.recursion.rows import HEADER, TRACES, USUAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (2.3, 1.8)
BEYOND = ("longer", "deeper", "all-carry-longer")
"""Splits with larger sizes."""
SUPERVISION = {
    "evaluate": ("values, end to end", METHODS["from answers"]),
    "step": ("atomic steps, iterated", LOOKS[0]),
    TRACES: ("program traces", METHODS["from traces"]),
}
VARIED = ("positions", "C", "size", "model", "rare cases")
USUAL_LABELS = ("encoder-decoder", "absolute", "1", "2 x 4", USUAL)


def figures_of(rows: Sequence[RowRuns]) -> tuple[Drawing, ...]:
    """The figures that have something to show."""
    finished = [row for row in rows if row.complete]
    functions = list(dict.fromkeys(row.labels[:2] for row in finished))
    found = []
    if functions:
        found.append(
            Drawing(
                name="depth",
                caption="Exact match by recursion depth; beyond the shaded range, larger sizes",
                draw=lambda: draw_supervision(finished, functions),
            )
        )
    varied = [
        (column, function)
        for column in VARIED
        for function in functions
        if len(_varied(finished, column, function)) > 1
    ]
    if varied:
        found.append(
            Drawing(
                name="variations",
                caption="Exact match by recursion depth when one thing varies",
                draw=lambda: draw_variations(finished, varied),
            )
        )
    return tuple(found)


def draw_supervision(rows: Sequence[RowRuns], functions: Sequence[tuple[str, ...]]) -> Figure:
    """A panel per function and order, a line per kind of supervision."""
    figure, axes = panels(len(functions), columns=3, size=SIZE)
    for panel, function in zip(axes, functions, strict=True):
        trained = None
        for row in rows:
            if row.labels[:2] != function or not _is_usual(row):
                continue
            trained = trained or training_depths(row)
            _line(panel, row, SUPERVISION[row.labels[2]][1], trained)
        shade_training(panel, trained)
        panel.set_title(", ".join(function), fontsize=9)
        panel.tick_params(labelbottom=True)
        percent_axis(panel)
    figure.supxlabel("recursion depth", fontsize=10)
    figure.supylabel("exact match (%)", fontsize=10)
    learned = {row.labels[2] for row in rows if _is_usual(row)}
    add_legend(
        figure,
        {name: look for part, (name, look) in SUPERVISION.items() if part in learned},
        training=True,
    )
    return figure


def draw_variations(
    rows: Sequence[RowRuns], varied: Sequence[tuple[str, tuple[str, ...]]]
) -> Figure:
    """A panel per column and function, a line per label, named in the panel."""
    figure, axes = panels(len(varied), columns=2, size=(3.4, 2.2))
    for panel, (column, function) in zip(axes, varied, strict=True):
        trained = None
        for number, (label, row) in enumerate(_varied(rows, column, function).items()):
            trained = trained or training_depths(row)
            _line(panel, row, LOOKS[number % len(LOOKS)], trained, label)
        shade_training(panel, trained)
        panel.set_title(f"{column}: {', '.join(function)}", fontsize=9)
        panel.tick_params(labelbottom=True)
        panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7, handlelength=2.4)
        percent_axis(panel)
    figure.supxlabel("recursion depth", fontsize=10)
    figure.supylabel("exact match (%)", fontsize=10)
    return figure


def _varied(rows: Sequence[RowRuns], column: str, function: tuple[str, ...]) -> dict[str, RowRuns]:
    """The rows from answers that differ in one column at most, by their label in it."""
    place = HEADER.index(column)
    found = {}
    for row in rows:
        others = [n for n in range(3, len(HEADER)) if n != place]
        if row.labels[:3] != (*function, "evaluate"):
            continue
        same = all(
            row.labels[n] in (USUAL_LABELS[n - 3], "–" if column == "model" else "") for n in others
        )
        if same:
            found[row.labels[place]] = row
    return found


def _is_usual(row: RowRuns) -> bool:
    """Whether a row differs from the first ones in its supervision at most."""
    return row.labels[2] == TRACES or row.labels[3:] == USUAL_LABELS


def training_depths(row: RowRuns) -> tuple[int, int] | None:
    """The recursion depths that sizes of the training range have, as tested."""
    depths = [depth for run in row.solving for depth in depth_curve(run)]
    return (min(depths), max(depths)) if depths else None


def _line(
    panel: Axes, row: RowRuns, look: Look, trained: tuple[int, int] | None, label: str = ""
) -> None:
    """Draw a row's accuracy by depth; a label names its line in the panel's own legend."""
    curves: list[dict[int, Share]] = [_curve(run) for run in row.solving]
    line = binned(curves, boundary=trained[1] if trained else None)
    if line:
        draw_line(panel, line, look)
        if label:
            panel.lines[-1].set_label(label)


def _curve(run: RecursionRun) -> dict[int, Share]:
    """Accuracy by depth: on sizes of the training range, and on larger ones at depths beyond."""
    inside = depth_curve(run)
    deepest = max(inside, default=-1)
    beyond = depth_curve(run, BEYOND)
    return {**inside, **{depth: share for depth, share in beyond.items() if depth > deepest}}
