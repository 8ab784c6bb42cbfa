"""`weft study` for length generalisation: records, rounds of seeds, grids, scores."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import weft
from weft.studies.length import selection
from weft.studies.length.records import StudyRecords, load_records
from weft.studies.length.selection import Candidate

ROW = ("--only", "binary majority", "--only", "none", "--only", "0")
ROWS = ("--only", "binary majority", "--only", "0")
"""With and without positions; they share a stack, which is trained in the tests' own process."""
SMOKE = ("study", "crasp-algorithmic", "--scale", "smoke", "--device", "cpu", "--stack", "4")

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("lark", "jaxtyping", "matplotlib", "sympy", "scipy"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from weft.cli import main

separator = sys.argv.index("+")
for arguments in (sys.argv[1:separator], sys.argv[separator + 1 :]):
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, ended.code
"""


def test_records_are_written_reported_and_merged(tmp_path: Path) -> None:
    common = (*SMOKE, *ROWS, "--runs", str(tmp_path / "runs"))
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    said = weft(*common, "--records", str(first), "--out", str(tmp_path / "page"))
    assert "binary majority" in said
    assert "0 of 1" in said  # no seed fits after 20 steps
    page = (tmp_path / "page" / "crasp-algorithmic-smoke.md").read_text()
    assert "--only 'binary majority' --only 0" in page
    weft(*common, "--seeds", "1-1", "--records", str(second))
    both = ("study", "crasp-algorithmic", "--from", str(first), "--from", str(second), "--json")
    rows = json.loads(weft(*both))["rows"]
    assert [[seed["seed"] for seed in row["seeds"]] for row in rows] == [[0, 1], [0, 1]]
    assert [row["predicted"] for row in rows] == ["yes", "yes"]
    assert [row["tried"] for row in rows] == [2, 2]


def test_finished_runs_are_not_trained_again(tmp_path: Path) -> None:
    common = (*SMOKE, *ROWS, "--runs", str(tmp_path))
    weft(*common)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/result.json")}
    assert len(before) == 2
    weft(*common)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/result.json")} == before


def test_seeds_are_trained_up_to_the_limit(tmp_path: Path) -> None:
    records = tmp_path / "records.json"
    common = (*SMOKE, *ROWS, "--set", "steps=1", "--runs", str(tmp_path / "runs"))
    weft(*common, "--keep", "2", "--seeds", "3", "--records", str(records))
    for row in load_records(records).rows:
        assert [seed.seed for seed in row.seeds] == [0, 1, 2]  # none fits


@pytest.mark.slow
def test_an_interrupted_study_says_so_and_resumes(tmp_path: Path) -> None:
    """The command is over before the first evaluation, and its run goes on from there."""
    run = [
        sys.executable, "-m", "weft", *SMOKE, *ROW, "--runs", str(tmp_path),
        "--set", "steps=100000", "--set", "evaluation.every=100000",
    ]  # fmt: skip
    ended = subprocess.run(
        [*run, "--minutes", "0.02"], capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "the same command resumes the runs" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.slow
def test_training_needs_neither_the_parser_of_programs_nor_a_plotting_library(
    tmp_path: Path,
) -> None:
    both: list[list[str]] = []
    for name, only in (("crasp-algorithmic", ROW), ("crasp-formal", ("--only", "tomita-1"))):
        both.append(
            ["study", name, "--scale", "smoke", *only, "--device", "cpu", "--stack", "4",
             "--runs", str(tmp_path / "runs"), "--records", str(tmp_path / f"{name}.json")]
        )  # fmt: skip
    run = [sys.executable, "-c", WITHOUT, *both[0], "+", *both[1]]
    ended = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    for name, rows in (("crasp-algorithmic", 1), ("crasp-formal", 3)):
        found = load_records(tmp_path / f"{name}.json")
        assert [len(row.seeds) for row in found.rows] == [1] * rows


def test_scores_are_printed(tmp_path: Path) -> None:
    said = weft("study", "scores")
    assert "C-RASP" in said
    assert "always yes" in said
    plain = json.loads(weft("study", "scores", "--json", "--out", str(tmp_path)))
    assert len(plain["outcomes"]) == 16 + 34 + 17
    assert (tmp_path / "scores.md").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("parity", "--keep", "2"), "parity has no --sweep"),
        (("parity", "--records", "here.json"), "parity has no --sweep"),
        (("crasp-formal", "--sweep", "--models", "here.json"), "--sweep makes the records"),
        (("crasp-formal", "--from", "nowhere.json"), "nowhere.json"),
        (("crasp-formal", "--models", "nowhere.json"), "nowhere.json"),
        (("crasp-formal", "--seeds", "3-1"), "no seeds in '3-1'"),
        (("crasp-formal", "--seeds", "x"), "not a range of seeds"),
        (("crasp-formal", "--only", "tomita-44"), "no row of crasp-formal"),
        (("scores", "--from", "nowhere.json"), "nowhere.json"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in " ".join(weft("study", *arguments, code=2).split())


def test_records_of_another_study_are_refused(tmp_path: Path) -> None:
    records = tmp_path / "records.json"
    empty = StudyRecords(
        study="crasp-algorithmic", scale="smoke", command="", commits=(), machines=(), rows=()
    )
    empty.save(records)
    wrong = weft("study", "crasp-formal", "--from", str(records), code=2)
    assert "the records of crasp-algorithmic, not of crasp-formal" in " ".join(wrong.split())
    grid = weft("study", "crasp-algorithmic", "--models", str(records), code=2)
    assert "has the records of crasp-algorithmic" in " ".join(grid.split())


def test_the_grid_is_trained_and_its_best_model_taken(tmp_path: Path, monkeypatch) -> None:
    """A grid of two models; pretend that both fit."""
    grid = (Candidate(1, 1, 16, 1e-3), Candidate(1, 2, 16, 1e-3))
    monkeypatch.setattr(selection.swept, "__defaults__", (grid,))
    monkeypatch.setattr("weft.studies.length.records.fits_in_range", lambda best, tested: True)
    records = tmp_path / "grid.json"
    common = (*SMOKE, *ROWS, "--runs", str(tmp_path / "runs"))
    said = weft(*common, "--sweep", "--records", str(records))
    assert "chosen for binary majority, none, 0: 1l" in said
    assert load_records(records).study == "crasp-algorithmic-sweep"
    assert len(load_records(records).rows) == 4
    before = sorted((tmp_path / "runs").iterdir())
    weft(*common, "--models", str(records))  # the chosen models are trained already
    assert sorted((tmp_path / "runs").iterdir()) == before
