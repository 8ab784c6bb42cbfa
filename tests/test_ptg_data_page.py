"""The figure of docs/ptg-data.md is drawn from the examples that the task draws today."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from weft.studies.plotting import svg_of
from weft.tasks.program_traces import ProgramTraces

DOCS = Path(__file__).parent.parent / "docs"
COLUMNS = ("lines", "steps", "variables", "list_length", "trips", "tokens")


@pytest.mark.slow
def test_the_figure_is_current() -> None:
    figure = runpy.run_path(str(DOCS / "ptg_data.py"))["figure"]()
    assert (DOCS / "ptg-data.svg").read_text(encoding="utf-8") == svg_of(figure), "make docs"
    assert len(figure.axes) == 8


@pytest.mark.slow
@pytest.mark.parametrize("tier", ["small", "paper"])
def test_the_table_of_splits_is_current(tier: str) -> None:
    """5th, 50th and 95th percentiles over 1,000 tests."""
    page = (DOCS / "ptg-data.md").read_text(encoding="utf-8")
    table = page.split(f"### {tier.capitalize()} tier")[1].split("\n#")[0]
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (.+) \|$", table, re.MULTILINE))
    made = ProgramTraces(tier=tier)  # type: ignore[arg-type]
    assert list(rows) == list(made.splits)
    for split, row in rows.items():
        axes = made.test_set(split, 1000).axes
        cells = [cell.replace(",", "") for cell in row.split(" | ")]
        for name, cell in zip(COLUMNS, cells, strict=False):
            wanted = [int(value) for value in np.percentile(axes[name], [5, 50, 95])]
            assert [int(value) for value in cell.split(" / ")] == wanted, (split, name)
