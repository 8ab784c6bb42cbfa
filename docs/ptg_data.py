"""Draws ptg-data.svg: what the splits of program traces are made of, in the small tier.

    make docs

Examples are drawn, parsed and executed anew; a test draws the figure again and compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from weft.studies.plotting import LOOKS, Look, add_legend, style, svg_of
from weft.tasks.program_traces import ProgramTraces
from weft.tasks.program_traces.distribution import Distribution, distribution

FILE = Path(__file__).parent / "ptg-data.svg"
SIZE = 800
SPLITS = ("train", "longer-programs", "longer-traces-1", "longer-traces-2", "more-variables",
          "longer-lists")  # fmt: skip
COLOURS = dict(zip(SPLITS, LOOKS, strict=True))
PANELS = {
    "lines": ("lines of the program", 1),
    "steps": ("steps of the trace", 5),
    "tokens": ("tokens of the document", 50),
    "variables": ("variables", 1),
    "iterations": ("iterations of a loop", 1),
    "written_list": ("length of a list in the trace", 1),
    "value": ("integer in the trace", 1),
}
"""By quantity: its label and the width of a bin."""
VALUES = (-8, 18)
"""The integers that are shown; all others are less than 2% of them."""


def figure() -> Figure:
    """Seven histograms over splits, and the kinds of lines in training."""
    task = ProgramTraces()
    found = {split: distribution(task, split, SIZE) for split in SPLITS}
    with style():
        whole = Figure(figsize=(9.6, 4.6), layout="constrained")
        axes = list(whole.subplots(2, 4).flatten())
        for panel, (name, (label, width)) in zip(axes, PANELS.items(), strict=False):
            for split, look in COLOURS.items():
                _histogram(panel, found[split].numbers[name], width, look)
            panel.set_ylim(bottom=0)
            panel.set_xlabel(label)
        axes[6].set_xlim(*VALUES)
        for panel in axes[::4]:
            panel.set_ylabel("share (%)")
        _kinds(axes[7], found["train"])
        add_legend(whole, COLOURS, intervals=False)
    return whole


def _histogram(panel: Axes, counts: Mapping[int, int], width: int, look: Look) -> None:
    """The share of each bin, as a line with one point per bin."""
    total = sum(counts.values())
    first, last = min(counts) // width, max(counts) // width
    bins = [0] * (last - first + 1)
    for number, count in counts.items():
        bins[number // width - first] += count
    places = [(place + first) * width + (width - 1) / 2 for place in range(len(bins))]
    shares = [100 * count / total for count in bins]
    panel.plot(places, shares, color=look.colour, linestyle=look.dashes, marker=look.marker,
               markersize=2.5, linewidth=1.1)  # fmt: skip


def _kinds(panel: Axes, found: Distribution) -> None:
    """How often each kind of line is written and executed in training."""
    source, trace = (found.kinds[name] for name in ("source", "trace"))
    names = sorted(source, key=lambda name: source[name])
    for shift, counts, look, label in (
        (0.2, source, LOOKS[0], "source"), (-0.2, trace, LOOKS[1], "trace"),
    ):  # fmt: skip
        total = sum(counts.values())
        widths = [100 * counts.get(name, 0) / total for name in names]
        places = [place + shift for place in range(len(names))]
        panel.barh(places, widths, height=0.4, color=look.colour, label=label)
    panel.set_yticks(range(len(names)), names, fontsize=6)
    panel.set_xlabel("share of lines, train (%)")
    panel.grid(axis="y", visible=False)
    panel.legend(loc="lower right", fontsize=7)


if __name__ == "__main__":
    FILE.write_text(svg_of(figure()), encoding="utf-8")
