"""Executors: device placement, processes of their own, and a user's own executor."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import torch
from training_runs import small

from weft.errors import Interrupted, WeftError
from weft.files import write_json
from weft.training import Executor, LocalProcesses, Result, RunStore, TrainingConfig, sweep, train
from weft.training.launch.executor import REPLY, REQUEST, placements, result_of, work
from weft.training.launch.sweep import Cell

CONFIG = small("steps=4", "evaluation.size=8")


def grid(*changes: str) -> list[Cell]:
    return [Cell({"seed": seed}, small("steps=4", f"seed={seed}", *changes)) for seed in (0, 1, 2)]


def test_processes_are_placed_on_devices_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    assert placements(["cpu"]) == [("cpu", None)]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert placements(["auto"]) == [("cuda", "0"), ("cuda", "1"), ("cuda", "2")]
    assert placements(["cuda:2", "cpu"]) == [("cuda", "2"), ("cpu", None)]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,GPU-7,6")
    assert placements(["cuda:1", "cuda:0"]) == [("cuda", "GPU-7"), ("cuda", "4")]
    with pytest.raises(WeftError, match="no device 'cuda:3'"):
        placements(["cuda:3"])


def test_a_process_computes_what_a_call_of_train_does(tmp_path: Path) -> None:
    there = LocalProcesses(1, ["cpu"])(CONFIG, tmp_path / "there")
    here = train(CONFIG, runs=tmp_path / "here", device="cpu")
    assert (there.status, there.step, there.loss) == (here.status, here.step, here.loss)
    assert [run.name for run in RunStore(tmp_path / "there").runs()] == [CONFIG.hash]


def test_a_process_that_fails_leaves_its_reason(tmp_path: Path) -> None:
    config = small("evaluation.splits=other")
    request = {"config": config.as_dict(), "runs": str(tmp_path / "runs"), "device": "cpu"}
    write_json(tmp_path / REQUEST, request)
    assert work(str(tmp_path)) == 1
    with pytest.raises(WeftError, match="has no test set for 'other'"):
        result_of(tmp_path / REPLY, "", 1)
    with pytest.raises(WeftError, match="Killed: 9"):
        result_of(tmp_path / "none", "Traceback\nKilled: 9\n", 1)
    with pytest.raises(WeftError, match="exit code 3"):
        result_of(tmp_path / "none", "", 3)
    with pytest.raises(Interrupted):
        result_of(tmp_path / "none", "", 143)


def test_after_an_interruption_nothing_is_started(tmp_path: Path) -> None:
    executor = LocalProcesses(1, ["cpu"])
    executor.interrupt(15)
    with pytest.raises(Interrupted):
        executor(CONFIG, tmp_path)
    assert not list(tmp_path.iterdir())


class Counting(Executor):
    """Two at a time; the second config fails."""

    slots = 2

    def __init__(self) -> None:
        self.together = threading.Barrier(2, timeout=60)
        self.configs: list[TrainingConfig] = []

    def __call__(self, config: TrainingConfig, runs: Path) -> Result:
        self.configs.append(config)
        if config.seed < 2:
            self.together.wait()  # passes only if two are called at the same time
        if config.seed == 1:
            raise OSError("the machine is gone")
        return train(config, runs=runs, device="cpu")


def test_a_sweep_uses_the_executor_that_it_is_given(tmp_path: Path) -> None:
    cells, executor = grid(), Counting()
    statuses = sweep(cells, runs=tmp_path, executor=executor)
    assert list(statuses.values()) == ["done", "failed: OSError: the machine is gone", "done"]
    assert set(executor.configs) == {cell.config for cell in cells}
    del executor.configs[:]
    executor.together = threading.Barrier(1)
    sweep(cells, runs=tmp_path, executor=executor)
    assert [config.seed for config in executor.configs] == [1]  # complete runs are not repeated
