"""Figure 4 is drawn from the committed verdict."""

from __future__ import annotations

import runpy
from pathlib import Path

from weft.studies.plotting import svg_of

DOCS = Path(__file__).parent.parent / "docs"


def test_the_figure_is_current() -> None:
    figure = runpy.run_path(str(DOCS / "figure4.py"))["figure"]()
    assert (DOCS / "figure4.svg").read_text(encoding="utf-8") == svg_of(figure), "make docs"
    assert [axes.get_title() for axes in figure.axes] == ["longer", "more-ones"]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:4] == ["compiled", "predicted", "from traces", "ALTA paper, table 2"]
