"""`weft sweep`: every combination once; `weft study`: lists, runs, reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import weft
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
    assert [cell.label for cell in found][:4] == [
        ("batch=4", "seed=0"), ("batch=4", "seed=1"), ("batch=4", "seed=2"), ("batch=8", "seed=0"),
    ]  # fmt: skip
    assert {cell.config.steps for cell in found} == {5}
    assert len({cell.config.hash for cell in found}) == 6


def test_a_sweep_runs_every_cell_once_and_goes_on_where_it_was(tmp_path: Path) -> None:
    file, runs = tmp_path / "small.toml", tmp_path / "runs"
    file.write_text(SWEEP)
    listed = json.loads(weft("sweep", str(file), "--runs", str(runs), "--list", "--json"))
    assert {row["status"] for row in listed} == {"unfinished"}
    rows = json.loads(weft("sweep", str(file), "--runs", str(runs), "--device", "cpu", "--json"))
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


def test_the_table_of_a_sweep_names_every_setting_and_fits_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text('task = "parity"\n[grid]\n"model.position" = ["none", "nape"]\nseed = [0, 1]\n')
    lines = weft("sweep", str(file), "--runs", str(tmp_path / "runs"), "--list").splitlines()
    assert max(map(len, lines)) <= 80
    starts = [line.split()[0] for line in lines[1:]]
    expected = [(f"model.position={p}", f"seed={s}") for p in ("none", "nape") for s in (0, 1)]
    assert starts == [part for label in expected for part in label]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("steps = 3", "unknown part 'steps'"),
        ("[grid]\nseed = [0]", "names no task"),
        ('task = "parity"\n[grid]\nseed = 0', "not a list of values"),
        ('task = "parity"\n[all]\nstpes = 3', "'stpes'"),
        ("task =", "is not TOML"),
    ],
)
def test_files_that_make_no_sense_are_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(WeftError, match=said):
        read_sweep(file)


SMALL = ("--only", "8", "--only", "yes", "--only", "absolute", "--set", "steps=2",
         "--set", "batch=8", "--set", "evaluation.size=32", "--set", "model.loops=2",
         "--set", "torch_compile=false")  # fmt: skip
"""Two steps are not worth compiling for."""


def test_a_users_executor_trains_a_sweep(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SWEEP)
    (tmp_path / "here.py").write_text(
        "from weft.training import Executor, train\n"
        "class Here(Executor):\n"
        "    def __call__(self, config, runs):\n"
        "        return train(config, runs=runs, device='cpu')\n"
    )
    command = ("sweep", str(tmp_path / "small.toml"), "--runs", str(tmp_path / "runs"), "--json")
    rows = json.loads(weft(*command, "--executor", f"{tmp_path / 'here.py'}:Here"))
    assert [row["status"] for row in rows] == ["done"] * 2
    missing = f"{tmp_path / 'here.py'}:There"
    assert "has no 'There'" in weft(*command, "--executor", missing, code=2)
    assert "no device 'cuda:77'" in weft(*command, "--devices", "cpu,cuda:77", code=2)


def test_it_lists_studies() -> None:
    listed = weft("study")
    assert "parity" in listed
    assert "table 5" in listed
    names = [entry["name"] for entry in json.loads(weft("study", "--json"))]
    assert names[:4] == ["parity", "scan", "crasp-algorithmic", "crasp-formal"]


def test_a_study_runs_reports_and_runs_nothing_twice(tmp_path: Path) -> None:
    common = ("study", "parity", *SMALL, "--runs", str(tmp_path / "runs"), "--device", "cpu")
    assert "50%" in weft(*common, "--out", str(tmp_path / "out"))  # the paper's
    page = (tmp_path / "out" / "parity-small.md").read_text()
    assert (
        "weft study parity --scale small --only 8 --only yes --only absolute --set steps=2" in page
    )
    result = next((tmp_path / "runs").glob("*/result.json"))
    before = result.stat().st_mtime_ns
    again = json.loads(weft(*common, "--json"))
    assert again["lines"][0]["statuses"] == ["done"]
    assert result.stat().st_mtime_ns == before


def test_changes_without_a_value_are_refused() -> None:
    assert "changes nothing" in weft("study", "parity", "--set", "steps", code=2)
