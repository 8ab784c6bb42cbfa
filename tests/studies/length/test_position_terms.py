"""`weft study position-terms`: its rows, its table, its report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from weft.errors import WeftError
from weft.files import read_json
from weft.studies.experiment import Execution, write_experiment
from weft.studies.length.position_fits import TARGETS
from weft.studies.length.position_terms import PAPER, POSITION_TERMS, ROWS, FitRow, PositionTerms
from weft.studies.plotting import style

TINY = {"steps": 4, "window": 8, "positions": 30, "batch": 4}


def test_every_target_has_two_widths_and_the_paper_s_losses() -> None:
    assert [(row.target, row.width) for row in ROWS] == [
        (target, width) for target in TARGETS for width in (32, 256)
    ]
    assert set(PAPER) == {(row.target, row.width) for row in ROWS}
    assert all(len(losses) == 3 and min(losses) > 0 for losses in PAPER.values())


def test_the_paper_s_scale_is_the_published_setting() -> None:
    [config] = POSITION_TERMS.fits("paper", {})[FitRow("j<i", 256)]
    assert (config.positions, config.window, config.steps, config.batch) == (200, 50, 15_000, 64)
    assert (config.lr, config.decay, config.seed) == (1e-3, 0.01, 0)
    assert config.lengths == (50, 75, 100, 125, 150)
    assert config.height == pytest.approx(2 * np.log(50))


def test_rows_and_seeds_can_be_selected() -> None:
    some = POSITION_TERMS.only(["32", "local"]).with_seeds(3, 2)
    assert [row.labels for row in some.rows] == [
        (target, "local", "32") for target in ("j=i-1", "j=i-5", "j=i-25", "j>i-2")
    ]
    assert [config.seed for config in some.fits("smoke", {})[some.rows[0]]] == [3, 4]


def computed(tmp_path: Path, seeds: int = 1) -> tuple[PositionTerms, Execution]:
    study = POSITION_TERMS.only(["32", "j=i-1", "i-j prime"]).with_seeds(0, seeds)
    execution = Execution(runs=tmp_path / "runs", device="cpu", given=TINY)
    study.compute("paper", execution)
    return study, execution


def test_the_report_has_the_values_of_the_fits(tmp_path: Path) -> None:
    study, execution = computed(tmp_path)
    report = study.report("paper", execution)
    assert report.complete
    [table] = report.tables
    assert table.header == (
        "target", "kind", "width", "window 8", "window 16", "window 24", "minutes",
    )  # fmt: skip
    fits = study.fits("paper", TINY)
    for row, line in zip(study.rows, report.values["rows"], strict=True):
        stored = read_json(tmp_path / "runs" / "position-terms" / fits[row][0].hash / "result.json")
        assert {str(n): loss for n, loss in line["test"][0].items()} == stored["test"]
        assert line["paper"] == {}  # whose windows are longer
    written = write_experiment(report, "weft study position-terms", tmp_path / "out")
    assert [path.suffix for path in written] == [".md", ".json", ".svg"]
    page = written[0].read_text()
    assert "weft study position-terms" in page
    assert "| j=i-1 | local | 32 |" in page
    assert read_json(written[1])["rows"][0]["target"] == "j=i-1"


def test_several_seeds_are_shown_as_a_median_with_a_range(tmp_path: Path) -> None:
    study, execution = computed(tmp_path, seeds=2)
    report = study.report("paper", execution)
    assert " to " in report.tables[0].rows[0][3]
    with style():
        figure = report.figures[0].draw()
    assert len(figure.axes) >= 2


def test_the_paper_is_shown_where_windows_are_the_paper_s(tmp_path: Path) -> None:
    study = POSITION_TERMS.only(["32", "j<i"])
    execution = Execution(runs=tmp_path, device="cpu", given={"steps": 1})
    study.compute("paper", execution)
    [row] = study.report("paper", execution).tables[0].rows
    assert row[4::2][:3] == ("0.071", "230", "369")


def test_an_unfinished_study_says_so(tmp_path: Path) -> None:
    report = POSITION_TERMS.report("smoke", Execution(runs=tmp_path))
    assert not report.complete
    assert report.tables[0].rows[0][3] == "unfinished"
    assert report.figures == ()


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="has no scale 'big'"):
        POSITION_TERMS.compute("big", Execution(runs=tmp_path))
    with pytest.raises(WeftError, match="no row of position-terms has the label 'j=i'"):
        POSITION_TERMS.only(["j=i"])
    with pytest.raises(WeftError, match="FitConfig has no 'depth'"):
        POSITION_TERMS.compute("smoke", Execution(runs=tmp_path, given={"depth": "2"}))
    with pytest.raises(WeftError, match="windows of 150"):
        POSITION_TERMS.compute("paper", Execution(runs=tmp_path, given={"positions": "100"}))
