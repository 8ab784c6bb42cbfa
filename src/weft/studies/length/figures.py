"""The figure of a length study: accuracy by length, a panel per task and a line per encoding."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.studies.plotting import (
    LOOKS,
    add_legend,
    axis_label,
    binned,
    draw_line,
    panels,
    percent_axis,
    save,
    shade_training,
    style,
)
from weft.studies.study import Study

if TYPE_CHECKING:
    from weft.studies.length.report import LengthRow

LINES = ("positions", "penalty")
"""Columns whose labels tell lines apart; the others tell panels apart."""
AXIS = "length"


def draw_lengths(
    study: Study, rows: Sequence[LengthRow], folder: Path, stem: str
) -> list[tuple[Path, str]]:
    """Draw accuracy by length; returns the file with its caption, or nothing without results."""
    drawn = [each for each in rows if any(seed.curves.get(AXIS) for seed in each.counted)]
    if not drawn:
        return []
    lines = [place for place, column in enumerate(study.header) if column in LINES]
    groups: dict[tuple[str, ...], list[LengthRow]] = {}
    for each in drawn:
        key = tuple(label for place, label in enumerate(each.row.labels) if place not in lines)
        groups.setdefault(key, []).append(each)
    names = list(dict.fromkeys(_line_name(study, each, lines) for each in drawn))
    looks = dict(zip(names, LOOKS, strict=False))
    with style():
        figure, axes = panels(len(groups))
        bounds = study.training.get(AXIS)
        for panel, (key, several) in zip(axes, groups.items(), strict=True):
            shade_training(panel, bounds)
            for each in several:
                if (name := _line_name(study, each, lines)) in looks:
                    curves = [seed.curves[AXIS] for seed in each.counted if AXIS in seed.curves]
                    draw_line(panel, binned(curves, bounds and bounds[1]), looks[name])
            panel.set_title(", ".join(key))
            percent_axis(panel)
        figure.supxlabel(axis_label(AXIS), fontsize=10)
        figure.supylabel("accuracy (%)", fontsize=10)
        add_legend(figure, looks, training=bounds is not None)
        return [(save(figure, folder, f"{stem}-{AXIS}"), "Accuracy by length")]


def _line_name(study: Study, each: LengthRow, lines: Sequence[int]) -> str:
    """The name of a line, such as `absolute positions, penalty 1e-4`."""
    parts = []
    for place in lines:
        column, label = study.header[place], each.row.labels[place]
        if column == "penalty":
            parts += [] if label == "0" and len(lines) > 1 else [f"penalty {label}"]
        else:
            parts.append({"none": "no positions"}.get(label, f"{label} positions"))
    return ", ".join(parts)
