"""Studies: the paper's tables as they are printed, runs that go on, results and reports."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.statistics import Mean, Share
from weft.studies import STUDIES, Scale, Study, study
from weft.studies.parity import PAPER as PARITY_TABLE
from weft.studies.report import markdown, table, write_report
from weft.studies.results import collect, load_results
from weft.studies.scan import PAPER as SCAN_TABLE
from weft.training import train

TINY = Scale(
    description="hardly anything",
    changes={"preset": "nano", "steps": 3, "batch": 8, "evaluation.size": 64},
    seeds=2,
)


def tiny() -> Study:
    """The two shallow rows of parity, hardly trained."""
    found = replace(study("parity"), scales={"tiny": TINY})
    return found.only(["8", "yes"])


def test_every_cell_of_every_study_is_a_run() -> None:
    for one in STUDIES.values():
        few = one.with_seeds(0, 1)
        for scale in one.scales:
            given = {"parameters.folder": "somewhere"} if one.given else {}
            found = few.cells(scale, given)
            assert len(found) == len(one.rows)
            assert len({cell.config.hash for _, cell in found}) == len(found)


def test_every_row_has_as_many_runs_as_its_scale_has_seeds() -> None:
    found = study("parity").cells("paper")
    assert len(found) == 8 * 3
    assert len({cell.config.hash for _, cell in found}) == len(found)
    assert {cell.config.seed for _, cell in found} == {0, 1, 2}


def test_tables_hold_what_the_paper_prints() -> None:
    """Sums of columns, added up by hand from tables 3 and 5."""
    sums = [round(sum(row[place] for row in PARITY_TABLE.values()), 2) for place in range(3)]
    assert sums == [8.0, 4.35, 4.06]
    assert [sum(row[place] for row in SCAN_TABLE.values()) for place in range(3)] == [113, 103, 78]
    assert sum(len(row) for row in SCAN_TABLE.values()) == 8 * 7 + 8 * 5


def test_rows_have_the_depth_and_sharing_that_they_say() -> None:
    for row, cell in study("parity").cells("small"):
        layers, shared, position = row.labels
        model = cell.config.model
        assert model["layers"] * model["loops"] == int(layers)
        assert (model["layers"] == 1) == (shared == "yes")
        assert (model["position"] == "t5") == (position == "relative")


def test_rows_are_chosen_by_labels_of_each_column() -> None:
    some = study("scan").only(["length", "mcd1", "2", "6", "16"])
    assert len(some.rows) == 24
    assert {row.labels[0] for row in some.rows} == {"length", "mcd1"}
    with pytest.raises(WeftError, match="no row of scan has the label 'lenght'"):
        study("scan").only(["lenght"])


def test_unknown_names_are_errors_with_a_suggestion() -> None:
    with pytest.raises(WeftError, match="no study 'paritty'"):
        study("paritty")
    with pytest.raises(WeftError, match="no scale 'smal'"):
        study("parity").scale("smal")


def test_results_are_those_of_the_runs(tmp_path: Path) -> None:
    one = tiny()
    runs = tmp_path / "runs"
    before = collect(one, "tiny", runs, "command")
    assert before.lines[0].statuses == ("unfinished", "unfinished")
    cells = [cell for _, cell in one.cells("tiny")]
    for cell in cells[:3]:
        train(cell.config, runs=runs, device="cpu")
    found = collect(one, "tiny", runs, "command")
    stored = json.loads((runs / cells[0].config.hash / "result.json").read_text())
    assert found.lines[0].accuracy["longer"][0].share == stored["accuracy"]["longer"]
    assert stored["tests"]["longer"] == found.lines[0].accuracy["longer"][0].count == 64
    assert len(found.lines[0].accuracy["train"]) == 2
    assert found.lines[1].statuses == ("done", "unfinished")
    assert set(found.lines[0].curves) == {"length", "ones"}
    assert max(found.lines[0].curves["length"]) == 40
    found.save(tmp_path / "found.json")
    assert load_results(tmp_path / "found.json") == found
    _reported(one, found, tmp_path)


def _reported(one: Study, found, folder: Path) -> None:
    header, rows = table(one, found)
    assert header[:4] == ["layers", "shared", "positions", "length ≤ 20"]
    assert rows[0][:3] == ["8", "yes", "relative"]
    assert rows[0][6] == "65%"  # the paper's, beside ours
    page = markdown(one, found)
    assert "    command\n" in page
    assert str(Mean(found.lines[0].accuracy["train"])) in page
    assert str(found.lines[1].accuracy["train"][0]) in page
    assert "95% t interval over seeds" in page
    assert "**warning: fewer than 100 tests of length ≤ 20 (64)" in page
    written = write_report(one, found, folder / "report")
    assert [path.suffix for path in written] == [".md", ".json", ".svg", ".svg", ".svg"]
    assert all(path.stat().st_size > 500 for path in written)
    assert "parity-tiny-length.svg" in written[0].read_text()


PAGES = Path(__file__).parents[2] / "docs" / "results"


@pytest.mark.parametrize("name", ["parity", "scan"])
def test_committed_pages_are_those_of_their_values(name: str) -> None:
    """With n and interval in every cell; n is that of the test sets as they are today."""
    results = load_results(PAGES / f"{name}-small.json")
    one = study(name).only(sorted({label for line in results.lines for label in line.labels}))
    pictures = [(f"{name}-small-{wanted.name}.svg", wanted.caption) for wanted in one.figures]
    assert (PAGES / f"{name}-small.md").read_text() == markdown(one, results, pictures)
    for line in results.lines:
        for shares in line.accuracy.values():
            assert all(isinstance(share, Share) and share.count > 0 for share in shares)
