"""The figures of studies: accuracy along an axis of the task, and by the number of layers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from weft.studies.plotting import (
    LOOKS,
    add_legend,
    axis_label,
    binned,
    draw_line,
    estimate,
    panels,
    percent_axis,
    save,
    shade_training,
    style,
)
from weft.studies.results import Curve, Line, Results
from weft.studies.study import Picture, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = {("shared", "yes"): "shared", ("shared", "no"): "separate"}
"""By column and label, how figures write it."""


def draw(study: Study, results: Results, folder: Path, stem: str) -> list[tuple[Path, str]]:
    """Draw the figures of a study; returns the files, each with its caption."""
    written: list[tuple[Path, str]] = []
    for picture in study.figures:
        figure = figure_of(study, results, picture)
        if figure is not None:
            written.append((save(figure, folder, f"{stem}-{picture.name}"), picture.caption))
    return written


def figure_of(study: Study, results: Results, picture: Picture) -> Figure | None:
    """One figure of a study; None if there are no results to draw."""
    with style():
        if picture.kind == "depth":
            return _by_depth(study, results, picture.panels)
        return _along_axis(study, results, picture)


def _along_axis(study: Study, results: Results, picture: Picture) -> Figure | None:
    """A panel for every row of the table; a colour for each label of the picture's column."""
    groups = _grouped(study, results, picture.panels)
    lines = [(label, line) for label, some in groups.items() for line in some]
    if not any(_curve(line, picture) for _, line in lines):
        return None
    looks = dict(zip(groups, LOOKS, strict=False))
    columns = max(len(some) for some in groups.values())
    figure, axes = panels(len(lines), columns=min(columns, 4))
    bounds = study.training.get(picture.axis)
    for panel, (label, line) in zip(axes, lines, strict=True):
        shade_training(panel, bounds)
        curve = _curve(line, picture)
        draw_line(panel, binned([curve], bounds and bounds[1]), looks[label])
        panel.set_title(_name(study, line, picture.panels))
        percent_axis(panel)
    figure.supxlabel(axis_label(picture.axis), fontsize=10)
    share = "strings predicted as 1 (%)" if picture.kind == "chosen" else "accuracy (%)"
    figure.supylabel(share, fontsize=10)
    named = {f"{label} {picture.panels}": look for label, look in looks.items()}
    add_legend(figure, named, training=bounds is not None)
    return figure


def _by_depth(study: Study, results: Results, column: str) -> Figure | None:
    """Accuracy on the last split by the number of layers; thin lines show the paper's figures."""
    split = list(study.columns)[-1]
    if not any(line.accuracy.get(split) for line in results.lines):
        return None
    groups = _grouped(study, results, column)
    depth = study.header.index("layers")
    names = list(dict.fromkeys(_name(study, ln, column, "layers") for ln in results.lines))
    looks = dict(zip(names, LOOKS, strict=False))
    figure, axes = panels(len(groups), size=(2.3, 2.1))
    depths = sorted({int(line.labels[depth]) for line in results.lines})
    for panel, (label, lines) in zip(axes, groups.items(), strict=True):
        for name, look in looks.items():
            series = [ln for ln in lines if _name(study, ln, column, "layers") == name]
            at = [int(line.labels[depth]) for line in series]
            ours = {
                float(x): estimate(shares)
                for x, line in zip(at, series, strict=True)
                if (shares := line.accuracy.get(split))
            }
            draw_line(panel, ours, look)
            paper = [(x, ln.paper[split]) for x, ln in zip(at, series, strict=True) if ln.paper]
            panel.plot(*zip(*paper, strict=True), color=look.colour, linewidth=0.8)
        panel.set_title(f"{column}: {label}")
        panel.set_xscale("log")
        panel.minorticks_off()
        panel.set_xticks(depths, [str(layers) for layers in depths])
        panel.set_ylim(bottom=0)
        panel.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g}")
    figure.supxlabel(axis_label("layers"), fontsize=10)
    figure.supylabel(f"{study.columns[split]} accuracy (%)", fontsize=10)
    add_legend(figure, looks, reference_line=f"thin: {study.source.partition(',')[0]}")
    return figure


def _curve(line: Line, picture: Picture) -> Curve:
    return (line.chosen if picture.kind == "chosen" else line.curves).get(picture.axis, {})


def _grouped(study: Study, results: Results, column: str) -> dict[str, list[Line]]:
    index = study.header.index(column)
    groups: dict[str, list[Line]] = {}
    for line in results.lines:
        groups.setdefault(line.labels[index], []).append(line)
    return groups


def _name(study: Study, line: Line, *without: str) -> str:
    """The labels of a row in words, without some columns."""
    return ", ".join(
        _word(column, label)
        for column, label in zip(study.header, line.labels, strict=True)
        if column not in without
    )


def _word(column: str, label: str) -> str:
    return WORDS.get((column, label), f"{label} layers" if column == "layers" else label)
