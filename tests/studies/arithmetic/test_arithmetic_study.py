"""`weft study arithmetic` from training to the report, at the scale `smoke`."""

from __future__ import annotations

import json
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from command_line import execute, weft
from weft.studies.arithmetic.study import ARITHMETIC

ONE = ("--only", "D~4")
PAGE = Path(__file__).parents[3] / "docs" / "arithmetic-studies.md"


def commands_of_page() -> list[str]:
    """The commands on the study's page that select rows."""
    lines = (line.strip() for line in PAGE.read_text("utf-8").splitlines())
    return [line for line in lines if line.startswith("weft study arithmetic") and "--only" in line]


def test_a_row_is_trained_measured_and_reported_elsewhere(tmp_path: Path) -> None:
    runs, file = str(tmp_path / "runs"), str(tmp_path / "records.json")
    arguments = ("study", "arithmetic", "--scale", "smoke", *ONE, "--device", "cpu")
    shown = weft(*arguments, "--runs", runs, "--records", file)
    assert "predicted" in shown
    assert "45.05 to 100" in shown
    assert "Runs below 99% in distribution" in shown
    values = json.loads(Path(file).read_text())
    (row,) = values["rows"]
    (run,) = row["runs"]
    assert run["status"] == "done"
    assert [each["step"] for each in run["checkpoints"]] == [2, 4]
    assert len(run["truncated"].split()) == 9
    assert values["command"] == "weft study arithmetic --scale smoke --only 'D~4' --device cpu"
    again = json.loads(weft("study", "arithmetic", "--from", file, "--json"))
    assert again["rows"] == values["rows"]
    assert again["scale"] == "smoke"
    assert again["comparison"] == values["comparison"]


def test_the_study_is_listed() -> None:
    listed = {row["name"]: row for row in json.loads(weft("study", "--json"))}
    assert listed["arithmetic"]["rows"] > 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["arithmetic", "--only", "D7"], "no row of arithmetic has the label 'D7'"),
        (["arithmetic", "--scale", "big"], "has no scale 'big'"),
        (["arithmetic", "--keep", "2"], "the study arithmetic has no --sweep"),
        (["position-terms", "--records", "x.json"], "has no --records and --from"),
        (["arithmetic", "--from", "missing.json"], "missing.json"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = execute(["study", *arguments, "--device", "cpu"], tmp_path)
    assert done.code == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("line", commands_of_page())
def test_commands_of_the_page_select_rows(line: str) -> None:
    words = shlex.split(line)
    only = [value for option, value in pairwise(words) if option == "--only"]
    assert ARITHMETIC.only(only).rows


@pytest.mark.slow
def test_smoke_trains_one_row_of_each_kind(tmp_path: Path) -> None:
    where = ("--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "out"))
    arguments = ("--scale", "smoke", "--device", "cpu", "--stack", "16")
    weft("study", "arithmetic", *arguments, *where)
    values = json.loads((tmp_path / "out" / "arithmetic-smoke.json").read_text())
    assert len(values["rows"]) == 11
    assert all(run["status"] == "done" for row in values["rows"] for run in row["runs"])
