"""`weft study`: lists, runs, reports."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from weft.cli import app

SMALL = ["--only", "8", "--only", "yes", "--only", "absolute", "--set", "steps=2"]
SMALL += ["--set", "batch=8", "--set", "evaluation.size=32", "--set", "model.loops=2"]
SMALL += ["--set", "fused=false"]  # two steps are not worth compiling for


def test_it_lists_studies() -> None:
    found = CliRunner().invoke(app, ["study"])
    assert found.exit_code == 0
    assert "parity" in found.stdout
    assert "table 5" in found.stdout


def test_it_runs_reports_and_runs_nothing_twice(tmp_path: Path) -> None:
    common = ["study", "parity", *SMALL, "--runs", str(tmp_path / "runs")]
    first = CliRunner().invoke(app, [*common, "--out", str(tmp_path / "out")])
    assert first.exit_code == 0, first.output
    assert "50%" in first.stdout  # the paper's
    page = (tmp_path / "out" / "parity-small.md").read_text()
    assert (
        "weft study parity --scale small --only 8 --only yes --only absolute --set steps=2" in page
    )
    result = next((tmp_path / "runs").glob("*/result.json"))
    before = result.stat().st_mtime_ns
    again = CliRunner().invoke(app, [*common, "--json"])
    assert json.loads(again.stdout)["lines"][0]["statuses"] == ["done"]
    assert result.stat().st_mtime_ns == before


def test_changes_that_are_none_are_refused() -> None:
    found = CliRunner().invoke(app, ["study", "parity", "--set", "steps"])
    assert "changes nothing" in str(found.exception)
