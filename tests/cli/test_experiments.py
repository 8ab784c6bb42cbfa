"""`weft study` for experiments: rows, reports, resuming, refused options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import execute, weft

TINY = ("--set", "steps=3", "--set", "window=8", "--set", "positions=30", "--device", "cpu")
ROWS = ("--only", "32", "--only", "j=i-1", "--only", "j<i")


def test_a_study_of_fits_writes_a_report_and_is_not_repeated(tmp_path: Path) -> None:
    where = ("--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "out"))
    shown = weft("study", "position-terms", "--scale", "paper", *ROWS, *TINY, *where)
    assert "j=i-1" in shown
    assert "window 24" in shown
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    stem = "position-terms-paper"
    assert files == [f"{stem}-length.png", f"{stem}-length.svg", f"{stem}.json", f"{stem}.md"]
    values = json.loads((tmp_path / "out" / f"{stem}.json").read_text())
    assert values["command"] == (
        "weft study position-terms --scale paper --only 32 --only j=i-1 --only 'j<i' "
        "--set steps=3 --set window=8 --set positions=30 --device cpu"
    )
    assert [row["target"] for row in values["rows"]] == ["j=i-1", "j<i"]
    results = sorted((tmp_path / "runs" / "position-terms").glob("*/result.json"))
    before = [path.stat().st_mtime_ns for path in results]
    assert len(before) == 2
    again = json.loads(
        weft("study", "position-terms", "--scale", "paper", *ROWS, *TINY, *where, "--json")
    )
    assert again["rows"] == values["rows"]
    assert [path.stat().st_mtime_ns for path in results] == before


def test_an_unfinished_report_computes_nothing(tmp_path: Path) -> None:
    shown = weft("study", "position-terms", "--report", "--runs", str(tmp_path))
    assert "unfinished" in shown
    assert not list(tmp_path.iterdir())


def test_time_that_is_over_is_not_a_failure(tmp_path: Path) -> None:
    done = execute(
        ["study", "position-terms", "--scale", "paper", "--only", "32", "--only", "j<i",
         "--device", "cpu", "--minutes", "0.02", "--runs", str(tmp_path)],
    )  # fmt: skip
    assert done.code == 0
    assert "the same command resumes it" in done.stderr
    assert "unfinished" in done.stdout


def test_experiments_are_listed() -> None:
    listed = {row["name"]: row["rows"] for row in json.loads(weft("study", "--json"))}
    assert (listed["position-terms"], listed["inference"]) == (16, 16)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["position-terms", "--scale", "big"], "has no scale 'big'"),
        (["position-terms", "--only", "48"], "no row of position-terms has the label '48'"),
        (["position-terms", "--set", "depth=1"], "FitConfig has no 'depth'"),
        (["position-terms", "--set", "window=100"], "tests have windows of 300"),
        (["position-terms", "--set", "lr=-1"], "lr is -1"),
        (["position-terms", "--keep", "3"], "has no --sweep"),
        (["inference", "--set", "model.layers=2"], "varies 'model.layers' itself"),
        (["inference", "--seeds", "x"], "not a range of seeds"),
        (["position-term"], "there is no study 'position-term'"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = execute(["study", *arguments, "--device", "cpu"], tmp_path)
    assert done.code == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert not list(tmp_path.iterdir())
