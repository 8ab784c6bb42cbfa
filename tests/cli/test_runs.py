"""`weft runs`: a table of runs, sorted, grouped, compared, deleted."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from command_line import weft
from weft.statistics import Mean, Share
from weft.training import RunStore

QUICK = (
    "parameters.format=tag", "steps=2", "batch=4", "evaluation.size=16", "model.width=8",
    "model.heads=2", "model.layers=1", "model.hidden=8,", "log_every=1",
)  # fmt: skip
SPLITS = ("train", "longer", "more-ones")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds, and a run of another recipe that was never trained; each a day older."""
    folder = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        weft("train", "parity", *QUICK, f"seed={seed}", "--runs", str(folder), "--quiet",
             "--device", "cpu")  # fmt: skip
    first = RunStore(folder).runs()[0]
    unfinished = folder / "unfinished00"
    unfinished.mkdir()
    values = json.loads((first.folder / "config.json").read_text())
    (unfinished / "config.json").write_text(json.dumps({**values, "batch": 5}))
    for age, run in enumerate((*(run.folder for run in RunStore(folder).runs()[:2]), unfinished)):
        when = 1_750_000_000 - 86_400 * age
        os.utime(run / "config.json", (when, when))
    return folder


def listed(runs: Path, *arguments: str) -> Any:
    return json.loads(weft("runs", "--runs", str(runs), *arguments, "--json"))


def table(runs: Path, *arguments: str) -> list[str]:
    return weft("runs", "--runs", str(runs), *arguments).splitlines()


def test_the_table_has_a_header_and_fits_the_terminal(runs: Path) -> None:
    lines = table(runs)
    assert lines[0].split() == [
        "run", "date", "task", "model", "seed", "split", "accuracy", "[95%]", "n",
    ]  # fmt: skip
    assert max(map(len, lines)) <= 80
    oldest, later, latest = (lines[index].split() for index in (1, 2, 5))
    assert oldest[:6] == ["unfinish", "2025-06-13", "parity", "nano", "0", "unfinished"]
    done = RunStore(runs).runs()[1]
    assert later[:6] == [done.name[:8], "2025-06-14", "parity", "nano", "1", "train"]
    assert done.result is not None
    for split, line in zip(SPLITS, lines[2:5], strict=True):
        share = done.result.shares[split]
        assert line.split()[-4:] == [split, *share.short.split(), str(share.count)]
    assert latest[1] == "2025-06-15"


def test_rows_are_sorted_by_any_value(runs: Path) -> None:
    by_date = [entry["name"] for entry in listed(runs)]
    assert by_date == [run.name for run in RunStore(runs).runs()]
    assert [entry["name"] for entry in listed(runs, "--sort", "-date")] == by_date[::-1]
    seeds = [entry["seed"] for entry in listed(runs, "--sort", "-seed")]
    assert seeds == [1, 0, 0]
    accuracies = [entry.get("accuracy.longer") for entry in listed(runs, "--sort=accuracy.longer")]
    assert accuracies[:2] == sorted(accuracies[:2])
    assert accuracies[2] is None  # what has no value comes last
    said = weft("runs", "--runs", str(runs), "--sort", "sede", code=2)
    assert "no run has a value 'sede' to sort by. Did you mean 'seed'?" in said


def test_runs_that_differ_in_their_seed_are_averaged(runs: Path) -> None:
    shares: dict[str, list[Share]] = {split: [] for split in SPLITS}
    for run in RunStore(runs).runs()[1:]:
        assert run.result is not None
        for split in SPLITS:
            shares[split].append(run.result.shares[split])
    alone, both = listed(runs, "--group")
    assert (alone["seeds"], alone["accuracy"]) == ([], {})
    assert both["seeds"] == [0, 1]
    assert both["accuracy"] == {split: Mean(tuple(s)).as_dict() for split, s in shares.items()}
    lines = table(runs, "--group")
    assert max(map(len, lines)) <= 80
    assert lines[1].split()[1:5] == ["parity", "nano", "0", "of"]
    assert lines[2].split()[3:5] == ["2", "train"]
    assert lines[3].split()[:2] == ["batch=4", "longer"]  # what tells it from the group above
    assert Mean(tuple(shares["longer"])).short in lines[3]


def test_a_result_without_the_number_of_tests_says_so(runs: Path, tmp_path: Path) -> None:
    """As runs of earlier versions have it."""
    source = RunStore(runs).query("seed=1")[0].folder
    folder = tmp_path / source.name
    shutil.copytree(source, folder)
    values = json.loads((folder / "result.json").read_text())
    del values["tests"]
    (folder / "result.json").write_text(json.dumps(values))
    assert table(tmp_path)[1].split()[-1] == "?"
    assert table(tmp_path, "--group")[1].split()[3:6] == ["0", "of", "1"]


def test_runs_are_queried_and_compared(runs: Path) -> None:
    (one,) = listed(runs, "seed=1")
    assert len(listed(runs, "status=done")) == 2
    assert listed(runs, one["name"][:7], "and", "seed=1") == [one]
    assert weft("runs", "seed=7", "--runs", str(runs)) == f"no runs in {runs} match seed=7\n"
    compared = table(runs, "--compare")
    settings = compared[compared.index("") + 1 :]
    assert settings[0].split() == ["run", "setting", "value"]
    assert [line.split()[-2:] for line in settings[1:]] == [
        ["batch", "5"], ["seed", "0"], ["batch", "4"], ["seed", "1"], ["batch", "4"], ["seed", "0"],
    ]  # fmt: skip


def test_runs_are_deleted_by_name(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs, tmp_path / "runs")
    name = listed(tmp_path / "runs", "seed=1")[0]["name"]
    deleted = weft("runs", name[:7], "--runs", str(tmp_path / "runs"), "--delete")
    assert deleted == f"deleted {name}\n"
    assert len(RunStore(tmp_path / "runs").runs()) == 2
