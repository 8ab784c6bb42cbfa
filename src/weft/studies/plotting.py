"""The figures of studies: accuracy along an axis, and accuracy by the number of layers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError
from weft.studies.results import Curve, Line, Results
from weft.studies.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (4.0, 3.0)
"""Of one panel, in inches."""


def draw(study: Study, results: Results, folder: Path, stem: str) -> list[tuple[Path, str]]:
    """Draw what a study asks for; gives the files with what they show."""
    found: list[tuple[Path, str]] = []
    for wanted in study.figures:
        if wanted.kind == "depth":
            figure = by_depth(study, results, wanted.panels)
        else:
            figure = along(study, results, wanted.axis, wanted.panels, wanted.kind)
        if figure is None:
            continue
        found.append((save(figure, folder, f"{stem}-{wanted.name}"), wanted.shown))
    return found


def along(study: Study, results: Results, axis: str, by: str, kind: str) -> Figure | None:
    """A line for every row, along an axis; a panel for each of its labels in a column."""
    groups = _grouped(study, results, by)
    if not any(_curve(line, axis, kind) for lines in groups.values() for line in lines):
        return None
    figure, axes = panels(len(groups))
    for place, (label, lines) in zip(axes, groups.items(), strict=True):
        for line in lines:
            curve = _curve(line, axis, kind)
            name = _name(study, line, by)
            band(place, curve, "-", label=name)
        told = "average prediction" if kind == "chosen" else "accuracy"
        told += ", 95% interval"
        finish(place, f"{by}: {label}", axis, told)
    return figure


def by_depth(study: Study, results: Results, by: str) -> Figure | None:
    """Accuracy on the last column by the number of layers, with the paper's dashed."""
    column = list(study.columns)[-1]
    groups = _grouped(study, results, by)
    if all(line.mean(column) is None for line in results.lines):
        return None
    figure, axes = panels(len(groups))
    depth = study.header.index("layers")
    for place, (label, lines) in zip(axes, groups.items(), strict=True):
        for number, (name, some) in enumerate(_series(study, lines, by).items()):
            ours = [(int(line.labels[depth]), line.mean(column)) for line in some]
            paper = [(int(line.labels[depth]), line.paper.get(column)) for line in some]
            color = f"C{number}"
            place.plot(*_points(ours), color=color, marker="o", markersize=3, label=name)
            for line in some:
                if line.accuracy.get(column):
                    found = line.interval(column)
                    at = int(line.labels[depth])
                    place.plot([at, at], [found.low, found.high], color=color, linewidth=0.8)
            place.plot(*_points(paper), color=color, linestyle="--", linewidth=0.8)
        deep = sorted({int(line.labels[depth]) for line in lines})
        place.set_xscale("log")
        place.minorticks_off()
        place.set_xticks(deep, [str(layers) for layers in deep])
        place.yaxis.set_major_formatter("{x:.0%}")
        finish(place, f"{by}: {label}", "layers", "accuracy (paper dashed)", top=None)
    return figure


def _series(study: Study, lines: Sequence[Line], by: str) -> dict[str, list[Line]]:
    """Lines that differ in depth alone, by what else they are called."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(_name(study, line, by, "layers"), []).append(line)
    return found


def _points(pairs: Sequence[tuple[int, float | None]]) -> tuple[list[int], list[float]]:
    there = [(x, y) for x, y in pairs if y is not None]
    return [x for x, _ in there], [y for _, y in there]


def band(place: Any, curve: Curve, style: str, *, label: str) -> None:
    """A line of shares with their 95% Wilson intervals over the tests at each value."""
    at, shares = list(curve), [share.share for share in curve.values()]
    (drawn,) = place.plot(at, shares, style, label=label, linewidth=1.2)
    low = [share.interval.low for share in curve.values()]
    high = [share.interval.high for share in curve.values()]
    place.fill_between(at, low, high, color=drawn.get_color(), alpha=0.15, linewidth=0)


def _curve(line: Line, axis: str, kind: str) -> Curve:
    return (line.chosen if kind == "chosen" else line.curves).get(axis, {})


def _grouped(study: Study, results: Results, column: str) -> dict[str, list[Line]]:
    place = study.header.index(column)
    found: dict[str, list[Line]] = {}
    for line in results.lines:
        found.setdefault(line.labels[place], []).append(line)
    return found


def _name(study: Study, line: Line, *without: str) -> str:
    """What a line is called where some columns are said elsewhere."""
    words = {"layers": "{} layers", "shared": "shared: {}", "positions": "{}", "split": "{}"}
    return ", ".join(
        words.get(column, "{}").format(label)
        for column, label in zip(study.header, line.labels, strict=True)
        if column not in without
    )


def panels(count: int) -> tuple[Figure, Sequence[Any]]:
    """A figure with so many panels side by side."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise WeftError(
            "figures need Matplotlib", remedy="Install it with: pip install 'weftwork[plots]'"
        ) from None
    figure = Figure(figsize=(SIZE[0] * count, SIZE[1]), layout="constrained")
    return figure, figure.subplots(1, count, squeeze=False)[0]


def save(figure: Figure, folder: Path, name: str) -> Path:
    """Write a figure as SVG, which is given, and as PNG: the same bytes for the same values."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "weft"}):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    figure.savefig(folder / f"{name}.png", dpi=150)
    return folder / f"{name}.svg"


def finish(
    place: Any, title: str, across: str, up: str, top: float | None = 1.03, beside: int = 1
) -> None:
    """Titles, limits, and a legend, so many names beside each other."""
    place.set_title(title, fontsize=9)
    place.set_xlabel(across)
    place.set_ylabel(up)
    place.set_ylim(-0.03 if top else 0, top)
    if place.get_legend_handles_labels()[0]:
        place.legend(fontsize=6, ncols=beside)
    place.grid(alpha=0.3)
