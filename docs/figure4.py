"""Draws figure4.svg: figure 4 of the ALTA paper, with Weft's results beside the paper's.

    make docs

The results are those of results/parity-verdict.json. A test draws the figure again and compares.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from weft.studies.plotting import svg_of
from weft.studies.verdicts.report import by_split
from weft.studies.verdicts.verdict import load_verdict

HERE = Path(__file__).parent
FILE = HERE / "figure4.svg"
STAGES = ("compiled", "predicted", "from traces")


def figure() -> Figure:
    """The figure: three programs, on longer strings and on strings with more ones."""
    verdict = load_verdict(HERE / "results" / "parity-verdict.json")
    return by_split(verdict, ("longer", "more-ones"), STAGES)


if __name__ == "__main__":
    FILE.write_text(svg_of(figure()), encoding="utf-8")
