"""`weft sweep`: every combination once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_models_command import weft

from weft.errors import WeftError
from weft.training import RunStore
from weft.training.launch.sweep import cells, read_sweep

SWEEP = """
task = "parity"

[all]
steps = 2
batch = 4
log_every = 1
"evaluation.size" = 8
"model.width" = 8
"model.heads" = 2
"model.layers" = 1
"model.hidden" = [8]

[grid]
"optimiser.name" = ["adamw", "muon"]
"""


def test_the_grid_is_all_combinations_and_the_last_key_varies_fastest() -> None:
    found = cells("parity", {"steps": 5}, {"batch": [4, 8], "seed": [0, 1, 2]})
    assert [cell.varied for cell in found][:4] == [
        ("batch=4", "seed=0"), ("batch=4", "seed=1"), ("batch=4", "seed=2"), ("batch=8", "seed=0"),
    ]  # fmt: skip
    assert {cell.config.steps for cell in found} == {5}
    assert len({cell.config.hash for cell in found}) == 6


def test_a_sweep_runs_every_cell_once_and_goes_on_where_it_was(tmp_path: Path) -> None:
    file, runs = tmp_path / "small.toml", tmp_path / "runs"
    file.write_text(SWEEP)
    listed = json.loads(weft("sweep", str(file), "--runs", str(runs), "--list", "--json"))
    assert {row["status"] for row in listed} == {"unfinished"}
    rows = json.loads(weft("sweep", str(file), "--runs", str(runs), "--jobs", "2", "--json"))
    assert [row["status"] for row in rows] == ["done"] * 2
    assert all(0 <= row["accuracy"]["train"] <= 1 for row in rows)
    written = {
        run.name: (run.folder / "result.json").stat().st_mtime_ns for run in RunStore(runs).runs()
    }
    assert set(written) == {row["run"] for row in rows}
    again = weft("sweep", str(file), "--runs", str(runs))
    assert again.count("done") == 2
    assert again.count(" of 8") >= 2
    assert "warning: fewer than 100 tests of train (8)" in again
    after = {
        run.name: (run.folder / "result.json").stat().st_mtime_ns for run in RunStore(runs).runs()
    }
    assert after == written


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("steps = 3", "unknown part 'steps'"),
        ("[grid]\nseed = [0]", "names no task"),
        ('task = "parity"\n[grid]\nseed = 0', "no list of values"),
        ('task = "parity"\n[all]\nstpes = 3', "'stpes'"),
        ("task =", "is not TOML"),
    ],
)
def test_files_that_make_no_sense_are_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(WeftError, match=said):
        read_sweep(file)
