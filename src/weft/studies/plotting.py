"""Figures: one style and one palette for everything that Weft draws.

Colours are those of Okabe and Ito (2008), which colour-blind readers can tell apart. Every line has
its own marker and dashes as well, so that figures can be read in greyscale. Text is DejaVu Sans,
embedded as paths, and the same values give the same bytes.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError
from weft.statistics import Interval, Mean, Share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.0,
    "hatch.linewidth": 0.6,
    "svg.fonttype": "path",
    "svg.hashsalt": "weft",
    "figure.dpi": 100,
}

PANEL = (1.7, 1.5)
"""Width and height of one panel, in inches."""
LABELS = 0.5
"""Height for labels and legend, in inches."""
COLUMNS = 4
"""How many panels stand side by side."""
TRAINING_COLOUR = "#f0e9d8"
BAND_OPACITY = 0.22
BINS = 12
"""About how many points a line along an axis has."""


@dataclass(frozen=True)
class Look:
    """How one method looks wherever it is drawn."""

    colour: str
    marker: str
    dashes: Any = "-"


LOOKS = (
    Look("#0072B2", "o", "-"),
    Look("#D55E00", "s", (0, (5, 1.5))),
    Look("#009E73", "^", (0, (3, 1, 1, 1))),
    Look("#CC79A7", "D", (0, (1, 1))),
    Look("#E69F00", "v", (0, (6, 1, 1, 1, 1, 1))),
    Look("#56B4E9", "P", (0, (8, 2))),
)
"""For series that have no method of their own, in order."""

METHODS = {
    "compiled": Look("#000000", "P", (0, (8, 2))),
    "predicted": Look("#0072B2", "o", "-"),
    "from traces": Look("#D55E00", "s", (0, (5, 1.5))),
    "from streams": Look("#CC79A7", "D", (0, (1, 1))),
    "from answers": Look("#009E73", "^", (0, (3, 1, 1, 1))),
}
"""The look of each stage of a verdict."""
REFERENCE_MARKER: dict[str, Any] = {"marker": "|", "markersize": 11, "color": "#444444"}

AXIS_LABELS = {
    "length": "input length (tokens)",
    "ones": "number of ones",
    "digits": "digits per number",
    "depth": "nesting depth",
    "gap": "distance between tokens",
    "carries": "number of carries",
    "chain": "length of the carry chain",
    "words": "number of words",
    "layers": "number of layers",
    "kinds": "kinds of brackets",
}


def axis_label(axis: str) -> str:
    """The label of an axis of a task, with its unit."""
    return AXIS_LABELS.get(axis, axis.replace("_", " "))


@contextmanager
def style() -> Iterator[None]:
    """Matplotlib with the style of this module; figures are made and saved within."""
    try:
        from matplotlib import rc_context
    except ModuleNotFoundError:
        raise WeftError(
            "figures need Matplotlib", remedy="Install it with: pip install 'weftwork[plots]'"
        ) from None
    with rc_context(STYLE):
        yield


def panels(
    count: int,
    *,
    columns: int = COLUMNS,
    size: tuple[float, float] = PANEL,
    share_y: bool = True,
) -> tuple[Figure, list[Axes]]:
    """A figure with panels in a grid that share their axes.

    Args:
        count: how many panels.
        columns: how many side by side.
        size: of one panel, in inches.
        share_y: whether they share their vertical axis, too.
    """
    from matplotlib.figure import Figure

    columns = max(1, min(count, columns))
    rows = math.ceil(count / columns)
    width = max(size[0] * columns + 0.5, 3.4)
    figure = Figure(figsize=(width, size[1] * rows + LABELS), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=share_y)
    grid = axes.flatten()
    used = list(grid[:count])
    for unused in grid[count:]:
        unused.set_visible(False)
    for index, panel in enumerate(used):  # the last panel of a column has its numbers
        panel.tick_params(labelbottom=index + columns >= count)
    return figure, used


def shade_training(panel: Axes, bounds: tuple[int, int] | None) -> None:
    """Shade the values that occur in training."""
    if bounds is not None:
        panel.axvspan(bounds[0] - 0.5, bounds[1] + 0.5, color=TRAINING_COLOUR, zorder=0, lw=0)


def binned(
    curves: Sequence[Mapping[int, Share]], boundary: int | None = None
) -> dict[float, tuple[float, Interval]]:
    """Curves of several seeds as one line: by centre of a bin, the mean and its 95% interval.

    Args:
        curves: a share for every value of an axis, per seed.
        boundary: a value after which a bin ends, such as the end of the training range.
    """
    values = sorted({value for curve in curves for value in curve})
    if not values:
        return {}
    width = max(1, math.ceil((values[-1] - values[0] + 1) / BINS))
    start = boundary if boundary is not None else values[0] - 1
    bins: dict[int, list[int]] = {}
    for value in values:
        bins.setdefault((value - start - 1) // width, []).append(value)
    line = {}
    for members in bins.values():
        shares = tuple(
            Share(
                sum(curve[value].right for value in members if value in curve),
                sum(curve[value].count for value in members if value in curve),
            )
            for curve in curves
        )
        shares = tuple(share for share in shares if share.count)
        mean, interval = estimate(shares)
        line[sum(members) / len(members)] = (mean, interval)
    return line


def estimate(shares: Sequence[Share]) -> tuple[float, Interval]:
    """A share with its Wilson interval, or the mean of several seeds with that over seeds."""
    if len(shares) == 1:
        return shares[0].share, shares[0].interval
    mean = Mean(tuple(shares))
    return mean.mean, mean.interval


def draw_line(panel: Axes, line: Mapping[float, tuple[float, Interval]], look: Look) -> None:
    """A line with a band for its 95% intervals."""
    at = list(line)
    panel.plot(
        at,
        [mean for mean, _ in line.values()],
        color=look.colour,
        marker=look.marker,
        linestyle=look.dashes,
    )
    low = [interval.low for _, interval in line.values()]
    high = [interval.high for _, interval in line.values()]
    panel.fill_between(at, low, high, color=look.colour, alpha=BAND_OPACITY, linewidth=0)


def draw_points(
    panel: Axes, height: float, mean: float, interval: Interval | None, look: Look
) -> None:
    """A point of a dot plot with its 95% interval."""
    if interval is not None:
        panel.plot([interval.low, interval.high], [height] * 2, color=look.colour, linewidth=1.2)
    panel.plot([mean], [height], color=look.colour, marker=look.marker, markersize=5.5)


def percent_axis(panel: Axes, which: str = "y") -> None:
    """An axis of shares from 0 to 100%, with room for markers at both ends."""
    axis = panel.yaxis if which == "y" else panel.xaxis
    (panel.set_ylim if which == "y" else panel.set_xlim)(-0.06, 1.06)
    axis.set_ticks([0, 0.5, 1], ["0", "50", "100"])


def add_legend(
    figure: Figure,
    looks: Mapping[str, Look],
    *,
    lines: bool = True,
    intervals: bool = True,
    training: bool = False,
    reference: str = "",
    reference_line: str = "",
) -> None:
    """A legend above all panels.

    Args:
        figure: the figure.
        looks: by the name of each method.
        lines: whether methods are drawn as lines, rather than as points.
        intervals: whether intervals are drawn.
        training: whether the training range is shaded.
        reference: the source of figures that are drawn as bars across.
        reference_line: the source of figures that are drawn as thin lines.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for name, look in looks.items():
        dashes: Any = look.dashes if lines else "none"
        handles.append(
            Line2D([], [], color=look.colour, marker=look.marker, linestyle=dashes, label=name)
        )
    if reference:
        handles.append(Line2D([], [], linestyle="none", label=reference, **REFERENCE_MARKER))
    if reference_line:
        handles.append(Line2D([], [], color="#444444", linewidth=0.8, label=reference_line))
    if intervals and lines:
        handles.append(Patch(color="#888888", alpha=BAND_OPACITY, label="95% interval"))
    elif intervals:
        handles.append(Line2D([], [], color="#888888", linewidth=1.2, label="95% interval"))
    if training:
        handles.append(Patch(color=TRAINING_COLOUR, label="training range"))
    widest = max(len(handle.get_label()) for handle in handles)
    columns = max(1, min(len(handles), int(figure.get_figwidth() / (0.075 * widest + 0.55))))
    rows = math.ceil(len(handles) / columns)
    figure.set_figheight(figure.get_figheight() + 0.2 * rows)
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=math.ceil(len(handles) / rows),
        handlelength=2.6 if lines else 1.4,
        columnspacing=1.2,
    )


SHADES = ("#f4f4f4", *("#deebf7", "#c6dbef", "#9ecae1", "#6baed6", "#4292c6", "#2171b5"), "#08306b")
"""Of a map of attention weights: none, then more and more."""


def shade_of(weight: float) -> int:
    """The index of a weight's shade; the square root sets small weights apart."""
    return 0 if weight < 1e-6 else min(len(SHADES) - 1, 1 + int((len(SHADES) - 1) * weight**0.5))


def draw_attention(
    panel: Axes, weights: Sequence[Sequence[float | None]], tokens: Sequence[str]
) -> None:
    """A map of attention weights, queries down and keys across; None is masked and left white."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    runs: dict[int, list[Outline]] = {}
    for row, line in enumerate(weights):
        shades = [None if weight is None else shade_of(weight) for weight in line]
        start = 0
        for end in range(1, len(shades) + 1):
            if end < len(shades) and shades[end] == shades[start]:
                continue
            shade = shades[start]
            if shade is not None:
                corners = [(start, row), (end, row), (end, row + 1), (start, row + 1), (start, row)]
                runs.setdefault(shade, []).append(Outline(corners, closed=True))
            start = end
    for shade, outlines in sorted(runs.items()):
        joined = Outline.make_compound_path(*outlines)
        panel.add_patch(PathPatch(joined, facecolor=SHADES[shade], linewidth=0))
    count = len(tokens)
    panel.set(xlim=(0, count), ylim=(count, 0), aspect="equal", xticks=[], yticks=[])
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7, "in_layout": False}
    for place, token in enumerate(tokens):  # ticks would be laid out again and again
        panel.text(place + 0.5, -0.7, token, **middle)
        panel.text(-0.7, place + 0.5, token, **middle)
    panel.xaxis.set_label_position("top")
    panel.set_xlabel("key (token)", labelpad=11)
    panel.set_ylabel("query (token)", labelpad=11)
    for spine in panel.spines.values():
        spine.set(visible=True, color="#999999", linewidth=0.8)


def add_attention_legend(figure: Figure) -> None:
    """The shades of `draw_attention`, below all panels."""
    from matplotlib.patches import Patch

    edge: dict[str, Any] = {"edgecolor": "#999999", "linewidth": 0.5}
    handles = [
        Patch(facecolor="white", label="masked", **edge),
        Patch(facecolor=SHADES[0], label="0", **edge),
    ]
    for shade in (2, 5, len(SHADES) - 1):
        least = ((shade - 1) / (len(SHADES) - 1)) ** 2
        handles.append(Patch(facecolor=SHADES[shade], label=f"from {least:.2f}", **edge))
    figure.legend(
        handles=handles,
        loc="lower center",
        ncols=len(handles),
        title="attention weight",
        handlelength=1.2,
        columnspacing=1.2,
    )


def save(figure: Figure, folder: Path, name: str) -> Path:
    """Write a figure as SVG, whose path is returned, and as PNG."""
    path = folder / f"{name}.svg"
    path.write_text(svg_of(figure), encoding="utf-8")
    with style():
        figure.savefig(folder / f"{name}.png", dpi=150)
    return path


NUMBER = re.compile(r"\d+\.\d{3,}")
RECTANGLE = re.compile(r"M (\S+) (\S+)\nL (\S+) \2\nL \3 (\S+)\nL \1 \4\nz\s*")


def svg_of(figure: Figure) -> str:
    """A figure as SVG: the same text for the same values, without a date, to 1/100 of a point."""
    file = io.StringIO()
    with style():
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = "\n".join(line.strip() for line in file.getvalue().splitlines()) + "\n"
    text = NUMBER.sub(lambda number: f"{float(number[0]):.2f}", text)
    return RECTANGLE.sub(r"M\1 \2H\3V\4H\1z\n", text)
