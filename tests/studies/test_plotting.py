"""Figures: the same bytes for the same values, no labels over one another, intervals as stated."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from weft.statistics import Mean, Share
from weft.studies import study
from weft.studies.figures import figure_of
from weft.studies.plotting import (
    LOOKS,
    METHODS,
    SHADES,
    binned,
    draw_attention,
    estimate,
    save,
    shade_of,
    style,
    svg_of,
)
from weft.studies.results import load_results
from weft.studies.verdicts.report import by_axis, by_split, figures, short_name
from weft.studies.verdicts.stages import StageName
from weft.studies.verdicts.verdict import Verdict, load_verdict

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    return load_verdict(RESULTS / "parity-verdict.json")


@dataclass(frozen=True)
class Drawn:
    """A figure, its SVG from before it was drawn on a canvas, and all text that a reader sees."""

    figure: Figure
    svg: str
    texts: list[Text]


@pytest.fixture(scope="module")
def drawn(verdict: Verdict) -> dict[str, Drawn]:
    """All figures of the committed results, by file."""
    found = {f"parity-verdict-{name}": figure for name, _, figure in figures(verdict)}
    for name in ("parity", "scan"):
        results = load_results(RESULTS / f"{name}-small.json")
        labels = sorted({label for line in results.lines for label in line.labels})
        one = study(name).only(labels)
        for picture in one.figures:
            figure = figure_of(one, results, picture)
            assert figure is not None
            found[f"{name}-small-{picture.name}"] = figure
    return {name: Drawn(figure, svg_of(figure), texts(figure)) for name, figure in found.items()}


def is_within(value: float, axis: Axis) -> bool:
    low, high = sorted(axis.get_view_interval())
    return low <= value <= high


def texts(figure: Figure) -> list[Text]:
    """All text that a reader sees."""
    FigureCanvasAgg(figure).draw()
    found = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    hidden = [text for axes in figure.axes if not axes.get_visible() for text in axes.findobj(Text)]
    ticks = [
        tick.label1
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis.get_major_ticks()
        if not tick.label1.get_visible() or not is_within(tick.get_loc(), axis)
    ]
    return [text for text in found if not any(text is other for other in (*hidden, *ticks))]


def overlaps(labels: list[Text]) -> list[tuple[str, str]]:
    boxes = [(text.get_text(), text.get_window_extent()) for text in labels]
    return [
        (one, other)
        for (one, box), (other, second) in itertools.combinations(boxes, 2)
        if min(box.x1, second.x1) - max(box.x0, second.x0) > 1
        and min(box.y1, second.y1) - max(box.y0, second.y0) > 1
    ]


def test_labels_do_not_overlap_and_lie_within_the_figure(drawn: dict[str, Drawn]) -> None:
    for name, one in drawn.items():
        assert overlaps(one.texts) == [], name
        width, height = one.figure.canvas.get_width_height()
        for text in one.texts:
            box = text.get_window_extent()
            inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1
            assert inside, (name, text.get_text())


def test_overlaps_are_found() -> None:
    figure = Figure()
    figure.text(0.5, 0.5, "one label")
    figure.text(0.52, 0.5, "and another")
    assert overlaps(texts(figure)) == [("one label", "and another")]


def test_legends_stand_outside_the_data_and_axes_are_labelled(drawn: dict[str, Drawn]) -> None:
    for name, one in drawn.items():
        (legend,) = one.figure.legends
        box = legend.get_window_extent()
        for axes in one.figure.axes:
            assert axes.get_legend() is None
            if axes.get_visible():
                assert not box.overlaps(axes.get_window_extent()), name
        words = [text.get_text() for text in one.texts]
        assert any(word.endswith("(%)") for word in words), name


def test_text_can_be_read_at_half_width(drawn: dict[str, Drawn]) -> None:
    """At half of a text width of 6.9 inches, letters are at least 4 points high."""
    for one in drawn.values():
        scale = min(1.0, 3.45 / one.figure.get_figwidth())
        assert min(text.get_fontsize() for text in one.texts) * scale >= 4


def test_the_same_values_give_the_bytes_that_are_committed(drawn: dict[str, Drawn]) -> None:
    for name, one in drawn.items():
        written = (RESULTS / f"{name}.svg").read_text(encoding="utf-8")
        assert one.svg == written, f"draw {name} anew"
        assert "<dc:date>" not in written
        assert "DejaVuSans" in written


def test_pictures_are_saved_as_svg_and_png(verdict: Verdict, tmp_path: Path) -> None:
    path = save(by_split(verdict), tmp_path, "splits")
    assert path.read_text(encoding="utf-8").startswith("<?xml")
    assert (tmp_path / "splits.png").stat().st_size > 5000


def luminance(colour: str) -> float:
    red, green, blue = to_rgb(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_methods_differ_in_colour_marker_and_dashes() -> None:
    for looks in (LOOKS, tuple(METHODS.values())):
        for one, other in itertools.combinations(looks, 2):
            assert one.colour != other.colour
            assert one.marker != other.marker
            assert str(one.dashes) != str(other.dashes)
    greys = [luminance(shade) for shade in SHADES]
    assert greys == sorted(greys, reverse=True)


def test_bins_end_at_the_training_range_and_add_up() -> None:
    curve = {length: Share(length % 3, 4) for length in range(1, 41)}
    line = binned([curve], boundary=20)
    assert len(line) <= 14
    assert sum(centre <= 20 for centre in line) * 4 >= 20
    assert not any(19.5 < centre < 20.5 + 0.5 for centre in line)  # no bin holds 20 and 21
    first = next(iter(line.items()))
    assert first[0] == 2.5  # bins of four values end at 4, 8, ..., 20
    assert first[1] == estimate([Share(1 + 2 + 0 + 1, 16)])
    assert binned([]) == {}


def test_seeds_are_averaged_with_their_own_interval() -> None:
    shares = (Share(60, 100), Share(64, 100), Share(68, 100))
    line = binned([{5: share} for share in shares])
    assert line == {5.0: (Mean(shares).mean, Mean(shares).interval)}
    assert estimate(shares[:1]) == (0.6, shares[0].interval)


def test_a_stage_has_one_colour_in_every_figure_of_a_verdict(verdict: Verdict) -> None:
    name: StageName = "from traces"
    only = replace(verdict, stages=tuple(s for s in verdict.stages if s.name == name))
    for figure in (by_split(only), by_axis(only, "length"), by_axis(only, "ones")):
        colours = {
            line.get_color()
            for axes in figure.axes
            for line in axes.get_lines()
            if line.get_marker() == METHODS[name].marker
        }
        assert colours == {METHODS[name].colour}


def test_programs_of_a_users_own_have_short_names() -> None:
    assert short_name("/a/long/path/mine.py:Mine") == "Mine"
    assert short_name("parity-absolute(positions=40)") == "parity-absolute"
    assert len(short_name("x" * 99)) == 28


def test_a_map_of_attention_has_a_cell_for_every_weight_but_masked_ones() -> None:
    with style():
        figure = Figure()
        panel = figure.subplots()
        draw_attention(panel, [[1.0, None], [0.5, 0.5]], ["a", "b"])
    areas = {patch.get_facecolor(): 0.0 for patch in panel.patches}
    for patch in panel.patches:
        for corners in patch.get_path().to_polygons():
            (left, top), (right, bottom) = corners.min(0), corners.max(0)
            areas[patch.get_facecolor()] += (right - left) * (bottom - top)
    assert sorted(areas.values()) == [1.0, 2.0]
    assert shade_of(0.0) == 0
    assert shade_of(1.0) == len(SHADES) - 1
