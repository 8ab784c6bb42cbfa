"""The figure of the arithmetic study: accuracy by number of digits, a panel per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weft.studies.arithmetic.comparison import UNNAMED, Compared
from weft.studies.arithmetic.reference import LENGTHS, SOURCE
from weft.studies.plotting import (
    BAND_OPACITY,
    METHODS,
    REFERENCE_MARKER,
    add_legend,
    estimate,
    panels,
    percent_axis,
    shade_training,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (1.85, 1.6)
SHORT = {
    "modular addition": "sum mod",
    "modular multiplication": "product mod",
    "addition": "sum",
    "multiplication": "product",
}
USUAL = ("absolute", "published", "mini", *UNNAMED)
"""Labels that panels do not repeat."""
PREDICTED, MEASURED = METHODS["predicted"], METHODS["from answers"]


def draw_figure(rows: Sequence[Compared]) -> Figure:
    """Predicted curves, measured points with intervals, and the paper's figures."""
    figure, axes = panels(len(rows), size=SIZE)
    for panel, each in zip(axes, rows, strict=True):
        trained = [at for at in LENGTHS if each.prediction.row(at).where == "trained"]
        shade_training(panel, (min(trained), max(trained)) if trained else None)
        _draw(panel, each)
        panel.set_title(title_of(each), fontsize=8)
        panel.set_xticks(LENGTHS[::2])
        percent_axis(panel)
    figure.supxlabel("number of digits", fontsize=10)
    figure.supylabel("exact match (%)", fontsize=10)
    published = any(each.paper is not None for each in rows)
    add_legend(
        figure,
        {"predicted": PREDICTED, "measured": MEASURED},
        lines=False,
        training=True,
        reference=SOURCE if published else "",
    )
    return figure


def title_of(each: Compared) -> str:
    """A short name of a row, on two lines.

    Example: `sum mod 150, D3` and, below it, what differs from the usual row.
    """
    task, modulus, domain, *varied = each.row.labels
    head = f"{SHORT[task]} {modulus}" if modulus not in UNNAMED else SHORT[task]
    return f"{head}, {domain}\n{', '.join(label for label in varied if label not in USUAL)}"


def _draw(panel: Axes, each: Compared) -> None:
    known = [at for at in LENGTHS if each.predicted(at).known]
    high = [float(each.predicted(at).expected or 0) for at in known]
    low = [float(each.predicted(at).at_least or 0) for at in known]
    panel.plot(
        known,
        high,
        color=PREDICTED.colour,
        linestyle=PREDICTED.dashes,
        marker=PREDICTED.marker,
        markersize=3,
    )
    panel.fill_between(known, low, high, color=PREDICTED.colour, alpha=BAND_OPACITY, linewidth=0)
    points = {at: estimate(shares) for at in LENGTHS if (shares := each.shares(at))}
    for at, (_, interval) in points.items():
        panel.plot([at, at], [interval.low, interval.high], color=MEASURED.colour, linewidth=1.2)
    panel.plot(
        list(points),
        [mean for mean, _ in points.values()],
        color=MEASURED.colour,
        marker=MEASURED.marker,
        linestyle="none",
        markersize=5,
    )
    if each.paper is not None:
        truth = each.paper.truth
        marker = {**REFERENCE_MARKER, "marker": "_"}
        panel.plot(list(truth), [value / 100 for value in truth.values()], ls="none", **marker)
