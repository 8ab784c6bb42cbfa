"""The figures of the study of program traces: training, hazards, kinds of errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from weft.ptg.first_errors import CATEGORIES
from weft.statistics import Interval, Share
from weft.studies.experiment import Drawing
from weft.studies.plotting import (
    LOOKS,
    Look,
    add_legend,
    draw_line,
    estimate,
    panels,
    percent_axis,
)
from weft.studies.ptg.analysis import total_errors
from weft.studies.ptg.hazards import AXES, Hazards, merged
from weft.studies.ptg.records import TraceRecords, TraceRow
from weft.studies.ptg.report import analyses, name_of
from weft.studies.ptg.rows import MAIN, SPLITS
from weft.studies.results import Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (2.1, 1.8)
MOST_LINES = 6
"""How many rows a figure compares, which is how many looks there are."""
POINTS = 12
"""About how many points a hazard curve has."""
AXIS_LABELS = {
    "step": "step of the trace",
    "line": "line of the program",
    "list length": "length of the written list",
    "variables": "bound variables",
}
SHADES = (
    "#08306b", "#2171b5", "#6baed6", "#c6dbef", "#7f2704", "#d94801", "#fd8d3c", "#fdd0a2",
    "#00441b", "#41ab5d", "#c7e9c0",
)  # fmt: skip


def drawings_of(records: TraceRecords) -> tuple[Drawing, ...]:
    """The figures that have something to show."""
    rows = [row for row in records.rows if row.labels[1] == MAIN and row.complete]
    drawings = []
    trained = rows[:MOST_LINES]
    if trained:
        drawings.append(
            Drawing(
                name="training",
                caption="Right traces on each split during training",
                draw=lambda: draw_training(trained),
            )
        )
    hazards = hazards_by_row(rows)
    if hazards:
        drawings.append(
            Drawing(
                name="hazards",
                caption="Hazard of a first error against sizes of the state, over all splits",
                draw=lambda: draw_hazards(hazards),
            )
        )
    errors = {
        name_of(row): {name: sum(kinds.values()) for name, kinds in found.items()}
        for row in rows
        if (found := total_errors([each for _, each in analyses(row)]))
    }
    if errors:
        drawings.append(
            Drawing(
                name="errors",
                caption="First errors by category, over all splits",
                draw=lambda: draw_errors(errors),
            )
        )
    return tuple(drawings)


def hazards_by_row(rows: Sequence[TraceRow]) -> dict[str, Hazards]:
    """The hazards over all splits of the first rows whose figures count."""
    found = {
        name_of(row): merged([each.hazards for _, each in analyses(row)])
        for row in rows
        if any(True for _ in analyses(row))
    }
    return dict(list(found.items())[:MOST_LINES])


def draw_training(rows: Sequence[TraceRow]) -> Figure:
    """Accuracy by step, a panel per split and a line per row."""
    figure, axes = panels(len(SPLITS), size=SIZE, columns=4)
    looks = {name_of(row): look for row, look in zip(rows, LOOKS, strict=False)}
    for panel, (split, title) in zip(axes, SPLITS.items(), strict=True):
        for row in rows:
            steps: dict[int, list[Share]] = {}
            for run in row.complete:
                for checkpoint in run.checkpoints:
                    if split in checkpoint.right:
                        steps.setdefault(checkpoint.step, []).append(checkpoint.right[split])
            line = {step / 1000: estimate(shares) for step, shares in sorted(steps.items())}
            draw_line(panel, line, looks[name_of(row)])
        panel.set_title(title, fontsize=8)
        percent_axis(panel)
    figure.supxlabel("training step (thousands)", fontsize=10)
    figure.supylabel("right traces (%)", fontsize=10)
    add_legend(figure, looks)
    return figure


def draw_hazards(hazards: Mapping[str, Hazards]) -> Figure:
    """Hazards against each axis, a line per name."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(5.6, 4.2), layout="constrained")
    axes = figure.subplots(2, 2).flatten()
    looks: dict[str, Look] = dict(zip(hazards, LOOKS, strict=False))
    for panel, axis in zip(axes, AXES, strict=True):
        for name, found in hazards.items():
            draw_line(panel, in_bins(found.curves[axis]), looks[name])
        panel.set_xlabel(AXIS_LABELS[axis], fontsize=9)
        panel.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        panel.set_ylim(bottom=0)
    figure.supylabel("first errors per 1,000 steps", fontsize=10)
    add_legend(figure, looks)
    return figure


def in_bins(curve: Curve) -> dict[float, tuple[float, Interval]]:
    """A hazard curve with few points, in errors per 1,000 steps: bins of equally many steps."""
    total = sum(share.count for share in curve.values())
    per_bin = max(1, total // POINTS)
    line: dict[float, tuple[float, Interval]] = {}
    values: list[int] = []
    errors = steps = 0
    weighted = 0.0
    for value, share in sorted(curve.items()):
        values.append(value)
        errors, steps = errors + share.right, steps + share.count
        weighted += value * share.count
        if steps >= per_bin or value == max(curve):
            found = Share(errors, steps)
            low, high = found.interval.low * 1000, found.interval.high * 1000
            line[weighted / steps] = (found.share * 1000, Interval(low, high))
            values, errors, steps, weighted = [], 0, 0, 0.0
    return line


def draw_errors(errors: Mapping[str, Mapping[str, int]]) -> Figure:
    """Categories of first errors as stacked bars, one per name."""
    from matplotlib.figure import Figure

    height = 0.9 + 0.32 * len(errors)
    figure = Figure(figsize=(6.6, height), layout="constrained")
    panel = figure.subplots()
    used = [name for name in CATEGORIES if any(name in each for each in errors.values())]
    hatches = ("", "", "", "", "//", "//", "//", "//", "..", "..", "..")
    for number, counts in enumerate(errors.values()):
        total, left = sum(counts.values()), 0.0
        for category in used:
            share = counts.get(category, 0) / total
            place = CATEGORIES.index(category)
            panel.barh(
                number, share, left=left, height=0.7, color=SHADES[place], edgecolor="white",
                linewidth=0.4, hatch=hatches[place], label=category if not number else None,
            )  # fmt: skip
            left += share
        panel.text(1.01, number, f"n = {total:,}", va="center", fontsize=8)
    panel.set_yticks(range(len(errors)), list(errors))
    panel.set_xlim(0, 1)
    panel.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100"])
    panel.set_xlabel("first errors (%)")
    panel.invert_yaxis()
    panel.grid(axis="y", visible=False)
    figure.legend(loc="outside upper center", ncols=min(4, len(used)), fontsize=8)
    figure.set_figheight(height + 0.2 * -(-len(used) // 4))
    return figure
