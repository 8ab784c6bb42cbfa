"""Ctrl-C and SIGTERM save the last whole step, whenever they arrive; no step is made twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from training_runs import at, folder_of, lines, same, send, small, usual_handlers, weights

from weft.errors import Interrupted, WeftError
from weft.training import (
    Callback,
    RunStore,
    TrainingConfig,
    cells,
    evaluation,
    override,
    shards,
    stream_config,
    sweep,
    trace_config,
    train,
)
from weft.training import loop as loops
from weft.training.checkpoint import newest_step
from weft.training.interrupts import Interrupts
from weft.training.learner import Learner, NotFinite

STEPS = 60
CONFIG = small("optimiser.name=muon", "ema=0.9", "stop.patience=9")
SHORT = ("parameters.length=6", "parameters.longer=8", "evaluation.size=16", "steps=16",
         "evaluation.every=6", "log_every=3")  # fmt: skip
TRACES = override(
    trace_config("parity", "parity", small=True), [*SHORT, "supervision.examples=100"]
)
STREAMS = override(
    stream_config("parity", "parity"),
    [*SHORT, "batch=8", "model.width=16", "model.heads=2", "model.hidden=16,"],
)


@pytest.fixture(autouse=True)
def handled() -> Iterator[None]:
    with usual_handlers():
        yield


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps that were made, in order."""
    steps: list[int] = []
    before = Learner.learn

    def learn(self: Learner, batch: object, step: int) -> torch.Tensor:
        loss = before(self, batch, step)
        steps.append(step)
        return loss

    monkeypatch.setattr(Learner, "learn", learn)
    return steps


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("once")
    train(CONFIG, runs=runs, device="cpu")
    return folder_of(runs, CONFIG)


class Sending(Callback):
    """Sends a signal when some records were written, or some evaluations."""

    def __init__(self, records: int = 0, evaluations: int = 0) -> None:
        self.left = [records, evaluations]

    def on_record(self, record: object) -> None:
        self._count(0)

    def on_evaluation(self, step: int, shares: object) -> None:
        self._count(1)

    def _count(self, kind: int) -> None:
        self.left[kind] -= 1
        if self.left[kind] == 0:
            send()


def broken() -> None:
    """A compiler that got the signal as well."""
    send()
    raise RuntimeError("gcc: interrupted")


MOMENTS = {
    # where, the call at which it happens, what happens, the step that is saved
    "the first step": ((Learner, "loss"), 1, send, 0),
    "the update of weights in the first step": ((Learner, "_update_average"), 1, send, 1),
    "a step between checkpoints": ((Learner, "loss"), 13, send, 13),
    "a step, twice": ((Learner, "loss"), 13, lambda: send(times=2), 12),
    "the first step, twice": ((Learner, "loss"), 1, lambda: send(times=2), 0),
    "the update of weights, twice": ((Learner, "_update_average"), 13, lambda: send(times=3), 13),
    "compilation": ((Learner, "loss"), 1, broken, 0),
    "an error that it caused": ((Learner, "loss"), 30, broken, 29),
    "an evaluation": ((evaluation, "_forward"), 3, send, 25),
    "the last evaluation": ((evaluation, "_forward"), 21, send, 60),
    "saving": ((shards, "save_file"), 1, lambda: send(times=2), 60),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_interrupted_run_ends_as_if_it_had_not_been(
    moment: str, once: Path, made: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, call, act, step = MOMENTS[moment]
    folder = folder_of(tmp_path, CONFIG)
    with monkeypatch.context() as patch:
        patch.setattr(*where, at(call, act, getattr(*where)))
        with pytest.raises(Interrupted) as caught:
            train(CONFIG, runs=tmp_path, device="cpu")
    assert caught.value.code == 130
    if moment != "saving":  # by then all steps are made, and the run comes to its end
        assert str(folder) in caught.value.what
        assert f"after step {step}, which is saved" in caught.value.what
        assert "resumes" in caught.value.what
        assert not (folder / "result.json").exists()
    assert newest_step(folder) == step
    assert made == list(range(1, step + 1))
    train(CONFIG, runs=tmp_path, device="cpu")
    assert made == list(range(1, STEPS + 1))
    same(once, folder)


@pytest.mark.parametrize("callback", [Sending(records=2), Sending(evaluations=1)])
def test_signals_during_callbacks(
    callback: Callback, once: Path, made: list[int], tmp_path: Path
) -> None:
    with pytest.raises(Interrupted):
        train(CONFIG, runs=tmp_path, device="cpu", callbacks=[callback])
    train(CONFIG, runs=tmp_path, device="cpu")
    assert made == list(range(1, STEPS + 1))
    same(once, folder_of(tmp_path, CONFIG))


@pytest.mark.parametrize("config", [TRACES, pytest.param(STREAMS, marks=pytest.mark.slow)])
def test_runs_from_traces_and_streams_are_saved_too(
    config: TrainingConfig, made: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(config, runs=tmp_path / "once", device="cpu")
    del made[:]
    runs = tmp_path / "often"
    for moment in ((Learner, "_note_finite"), (evaluation, "_forward")):
        with monkeypatch.context() as patch:
            patch.setattr(*moment, at(2, send, getattr(*moment)))
            with pytest.raises(Interrupted):
                train(config, runs=runs, device="cpu")
    train(config, runs=runs, device="cpu")
    assert made == list(range(1, 17))
    one, other = (folder_of(tmp_path / name, config) for name in ("once", "often"))
    mine, its = weights(one), weights(other)
    assert all((mine[key] == its[key]).all() for key in mine)
    assert lines(one) == lines(other)
    assert lines(one, "evaluations.jsonl") == lines(other, "evaluations.jsonl")


def test_interrupted_before_its_first_step_a_run_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(loops, "learner_of", at(1, send, loops.learner_of))
        with pytest.raises(Interrupted, match="no step was taken"):
            train(CONFIG, runs=tmp_path, device="cpu")
    assert list(tmp_path.iterdir()) == []


def test_the_loss_that_is_not_a_number_is_told_before_the_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def poison() -> None:
        send()
        raise NotFinite

    monkeypatch.setattr(Learner, "_note_finite", at(3, poison, Learner._note_finite))
    with pytest.raises(Interrupted, match="had ended"):
        train(CONFIG, runs=tmp_path, device="cpu")
    (run,) = RunStore(tmp_path).runs()
    assert (run.status, newest_step(run.folder)) == ("nan", 2)


def test_handlers_are_given_back_and_ignored_signals_stay_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    before = signal.getsignal(signal.SIGTERM)
    with Interrupts() as interrupts:
        send()
        with pytest.raises(Interrupted), interrupts.at_once():
            send(signal.SIGTERM)
    assert interrupts.number == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == before
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_run_in_another_thread_needs_no_signals(tmp_path: Path) -> None:
    results: list[Any] = []
    config = small("steps=3")
    thread = threading.Thread(
        target=lambda: results.append(train(config, runs=tmp_path, device="cpu"))
    )
    thread.start()
    thread.join()
    assert results[0].status == "done"


def test_a_sweep_passes_signals_on_and_starts_no_more(tmp_path: Path) -> None:
    shared = {
        "steps": 100_000, "batch": 4, "log_every": 1, "evaluation.every": 0, "evaluation.size": 8,
        "model.layers": 1, "model.width": 8, "model.heads": 2,
    }  # fmt: skip
    found = cells("parity", shared, {"seed": [0, 1, 2]})

    def send_when_both_run() -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            logs = list(tmp_path.glob("*/metrics.jsonl"))
            if len(logs) == 2 and all(log.stat().st_size for log in logs):
                break
            time.sleep(0.02)
        send(signal.SIGTERM)

    sender = threading.Thread(target=send_when_both_run)
    sender.start()
    with pytest.raises(Interrupted, match="0 of 3 runs") as caught:
        sweep(found, runs=tmp_path, jobs=2, device="cpu")
    sender.join()
    assert caught.value.code == 143
    assert {run.name for run in RunStore(tmp_path).runs()} == {c.config.hash for c in found[:2]}
    for run in RunStore(tmp_path).runs():
        assert newest_step(run.folder) >= lines(run.folder)[-1]["step"] > 0


CHILD = """
import json, os, pathlib, signal, sys
import torch
from weft.errors import Interrupted
from weft.training import train, training_config
from weft.training.learner import Learner
torch.set_num_threads(1)
rank, before = os.environ["RANK"], Learner.learn
def learn(self, batch, step):
    if rank == "1" and step == 11:
        os.kill(os.getpid(), signal.SIGTERM)
    return before(self, batch, step)
Learner.learn = learn
config = training_config(json.loads(pathlib.Path("config.json").read_text()))
try:
    train(config, runs="two", device="cpu")
except Interrupted as error:
    pathlib.Path(f"{rank}.txt").write_text(f"{error.code} {error.what}")
"""


def test_all_processes_of_a_group_leave_after_the_same_step(tmp_path: Path) -> None:
    config = small("steps=40", "log_every=1", "model.random_offset=0", "evaluation.every=20")
    (tmp_path / "child.py").write_text(CHILD)
    (tmp_path / "config.json").write_text(json.dumps(config.as_dict()))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
         "child.py"],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = [(tmp_path / f"{rank}.txt").read_text() for rank in (0, 1)]
    assert told[0] == told[1]
    assert told[0].startswith("143 interrupted after step 12,")
    folder = folder_of(tmp_path / "two", config)
    assert newest_step(folder) == 12
    assert train(config, runs=tmp_path / "two", device="cpu").status == "done"
    assert [record["step"] for record in lines(folder)] == list(range(1, 41))


def test_devices_are_no_part_of_a_run() -> None:
    with pytest.raises(WeftError, match="TrainingConfig has no 'device'"):
        override(CONFIG, ["device=cpu"])
    assert "device" not in json.dumps(CONFIG.as_dict())
