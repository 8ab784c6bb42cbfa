"""Sweeps and studies with `--stack`: runs are grouped by shape, and the others train alone."""

from __future__ import annotations

import json

from training_runs import small
from typer.testing import CliRunner

from weft.cli import app
from weft.training import TrainingConfig
from weft.training.launch.executor import LocalProcesses
from weft.training.launch.sweep import Cell
from weft.training.stacked.launch import stacked_sweep
from weft.training.stacked.shape import grouped

SWEEP = """
task = "parity"

[all]
"parameters.format" = "tag"
"model.layers" = 1
"model.width" = 16
"model.heads" = 2
"model.hidden" = [32]
steps = 6
batch = 4
"evaluation.size" = 16

[grid]
seed = [0, 1, 2]
"""


def test_runs_are_grouped_by_shape() -> None:
    configs = [
        small("seed=0"),
        small("seed=1", "optimiser.lr=0.1"),
        small("seed=1", "model.width=32"),
        small("optimiser.name=muon"),
        TrainingConfig(task="parity", model={"architecture": "lstm"}),
    ]
    groups, alone = grouped(configs)
    assert [[member.config for member in group] for group in groups] == [configs[:2]]
    assert list(alone.values()) == [
        "the optimiser is muon",
        "the architecture is lstm",
        "no other run has its shape",
    ]


def test_groups_have_examples_of_similar_length() -> None:
    lengths = [8, 16, 9, 10, 40]
    configs = [small(f"parameters.length={n}", "parameters.longer=60") for n in lengths]
    groups, alone = grouped(configs)
    assert not alone
    widths = [[member.width for member in group] for group in groups]
    assert [len(group) for group in groups] == [3, 1, 1]
    assert all(max(group) <= 1.25 * min(group) for group in widths)
    every = [width for group in widths for width in group]
    assert every == sorted(every)


def test_what_cannot_be_stacked_trains_alone(tmp_path) -> None:
    configs = [small(f"seed={seed}", "steps=4") for seed in range(2)]
    configs.append(small("optimiser.name=muon", "steps=4"))
    told = []
    statuses = stacked_sweep(
        [Cell({}, config) for config in configs],
        runs=tmp_path,
        places=2,
        device="cpu",
        executor=LocalProcesses(1, ["cpu"]),
        ended=lambda cell, status: told.append((cell.config, status)),
    )
    assert statuses == {config.hash: "done" for config in configs}
    assert told == [(config, "done") for config in configs]


def test_a_sweep_of_the_command_line_is_stacked(tmp_path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP)
    command = ["sweep", str(file), "--stack", "2", "--runs", str(tmp_path / "runs"), "--json"]
    result = CliRunner().invoke(app, [*command, "--device", "cpu"])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.output)
    assert [row["status"] for row in rows] == ["done"] * 3
    assert all(row["accuracy"] for row in rows)
