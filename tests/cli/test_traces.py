"""`weft traces`, and `weft train --traces` with `weft eval` and `weft runs` behind it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from command_line import weft
from weft.training import RunStore

QUICK = ("steps=20", "log_every=5", "parameters.length=6", "parameters.longer=8",
         "evaluation.size=16", "supervision.examples=50")  # fmt: skip


def test_states_are_counted_shown_and_written(tmp_path: Path) -> None:
    (tmp_path / "bits.txt").write_text("101\n\n1\n0\n")
    arguments = ("traces", "parity", "--for", str(tmp_path / "bits.txt"))
    told = json.loads(weft(*arguments, "--json", "--show", "100"))
    assert told["inputs"] == 3
    assert told["occurrences"] == 4 * 3 + 2 * 1 + 2 * 1  # positions times layers of each input
    assert sum(one["count"] for one in told["shown"]) == told["occurrences"]
    assert told["states"] == len(told["shown"])
    text = weft(*arguments, "--out", str(tmp_path / "out"), "--show", "1")
    assert f"written to {tmp_path / 'out'}" in text
    assert np.load(tmp_path / "out" / "counts.npy").sum() == told["occurrences"]


def test_inputs_are_drawn_or_a_tasks() -> None:
    drawn = json.loads(weft("traces", "parity-absolute", "--samples", "7", "--json"))
    assert drawn["inputs"] == 7
    of_task = json.loads(weft("traces", "parity", "--task", "parity", "--samples", "9", "--json"))
    assert of_task["inputs"] == 9


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    common = ("--runs", str(folder), "--quiet", "--device", "cpu")
    weft("train", "parity", "--traces", "parity", "--small", *QUICK, *common)
    small = ("model.width=8", "model.heads=2", "model.hidden=8,", "batch=4", "steps=2")
    weft("train", "parity", "--traces", "parity", "--whole", *QUICK, *small, *common)
    return folder


def test_runs_from_traces_are_runs(runs: Path) -> None:
    lines = [line.split() for line in weft("runs", "--runs", str(runs)).splitlines()]
    assert [(line[0], line[2], line[3]) for line in lines if "train" in line] == [
        (run.name[:8], "parity", by)
        for run, by in zip(RunStore(runs).runs(), ("traces", "streams"), strict=True)
    ]
    traced = json.loads(weft("runs", "supervision.by=traces", "--runs", str(runs), "--json"))
    assert [one["name"] for one in traced] == [RunStore(runs).runs()[0].name]
    for name in (run.name for run in RunStore(runs).runs()):
        found = json.loads(weft("eval", name, "--runs", str(runs), "--by", "ones", "--json"))
        assert [one["split"] for one in found] == ["train", "longer", "more-ones"]
        assert {group["value"] for group in found[2]["ones"]} <= {7, 8}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("traces", "parity", "--for", "none.txt"), "cannot be read"),
        (("traces", "parity", "--for", "x", "--task", "parity"), "both"),
        (("traces", "party"), "Did you mean 'parity'?"),
        (("train", "parity", "--small"), "no program was named"),
        (
            ("train", "parity", "--traces", "parity", "model.width=3"),
            "'model.width' is determined by the program",
        ),
    ],
)
def test_mistakes_are_one_line(arguments: tuple[str, ...], said: str) -> None:
    error = weft(*arguments, code=2)
    assert error.count("\n") == 1
    assert said in error
