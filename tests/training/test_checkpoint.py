"""A run that is killed at any moment goes on, bit for bit, as if it had not been."""

from __future__ import annotations

import json
import random
import signal
import time
from pathlib import Path

import pytest
import torch
from training_runs import SMALL, Cut, Cutting, folder_of, lines, same, small, start

from weft.errors import WeftError
from weft.files import Log, read_lines, write_json
from weft.training import TrainingConfig, train
from weft.training.checkpoint import RunState, load, save
from weft.training.distributed import Group
from weft.training.trainer import locked

CHILD = """
import json, sys, time
import torch
from weft.training import train, training_config, Callback
torch.set_num_threads(1)
class Slow(Callback):
    def on_record(self, record):
        print(record.step, flush=True)
        time.sleep(0.01)
config = training_config(json.loads(sys.argv[1]))
print("ready", flush=True)
result = train(config, runs=sys.argv[2], device="cpu", save_every=0.0, callbacks=[Slow()])
print(result.status, flush=True)
"""


def killed(config: TrainingConfig, runs: Path, after: float) -> bool:
    """Start a run and kill it some time after its first record; whether it was still running."""
    import subprocess

    child = start(
        CHILD, json.dumps(config.as_dict()), str(runs),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stderr is not None
    with child, child.stdout, child.stderr:
        assert child.stdout.readline() == "ready\n"
        child.stdout.readline()
        time.sleep(after)
        alive = child.poll() is None
        child.send_signal(signal.SIGKILL)
        child.wait()
        return alive


def test_killed_runs_end_like_undisturbed_ones(tmp_path: Path) -> None:
    config = small("optimiser.name=muon", "ema=0.9")
    train(config, runs=tmp_path / "once", device="cpu")
    assert killed(config, tmp_path / "often", 0.05)
    train(config, runs=tmp_path / "often", device="cpu")
    same(folder_of(tmp_path / "once", config), folder_of(tmp_path / "often", config))


def killed_often(folder: Path, kills: int) -> int:
    """Kill a run so many times at random moments; how many it took to end like an undisturbed one.

    Raises `AssertionError` where it ends differently.
    """
    torch.set_num_threads(1)  # as its processes have
    config = small("optimiser.name=muon", "ema=0.9", "steps=3000", "evaluation.every=100")
    train(config, runs=folder / "once", device="cpu")
    rng = random.Random(1)
    done = 0
    while done < kills and killed(config, folder / "often", rng.uniform(0, 0.15)):
        done += 1
    train(config, runs=folder / "often", device="cpu")
    same(folder_of(folder / "once", config), folder_of(folder / "often", config))
    return done


@pytest.mark.slow
def test_twenty_kills_change_nothing(tmp_path: Path) -> None:
    assert killed_often(tmp_path, 20) == 20


@pytest.mark.parametrize("name", ["adamw", "adafactor", "muon"])
def test_runs_that_are_cut_off_many_times_end_the_same(name: str, tmp_path: Path) -> None:
    config = small(f"optimiser.name={name}", "ema=0.9", "model.position=randomised+rotary",
                   "model.random_offset=0", "model.positions=64")  # fmt: skip
    train(config, runs=tmp_path / "once", device="cpu")
    cuts = 0
    for at in (1, 2, 3, 1, 30):
        try:
            train(
                config,
                runs=tmp_path / "often",
                device="cpu",
                save_every=0.03,
                callbacks=[Cutting(at)],
            )
        except Cut:
            cuts += 1
    assert cuts >= 3
    same(folder_of(tmp_path / "once", config), folder_of(tmp_path / "often", config))


@pytest.mark.parametrize(
    "changes",
    [
        ("model.dropout=0.2", "model.attention_dropout=0.1", "model.norm_type=layer"),
        ("model.position=learned", "model.positions=50", "model.example_offsets=true"),
        ("model.dropout=0.2", "model.architecture=lstm"),
    ],
    ids=["dropout", "offsets", "lstm"],
)
def test_runs_that_draw_for_each_example_resume_bit_for_bit(
    changes: tuple[str, ...], tmp_path: Path
) -> None:
    """Cut off anywhere, also between checkpoints; evaluations in between draw nothing."""
    shape = {"layers": 1, "width": 16}
    shape |= {} if "model.architecture=lstm" in changes else {"heads": 2, "hidden": (32,)}
    always = ("ema=0.9", "steps=30", "log_every=1", *changes)
    config = small("evaluation.every=10", *always, model=shape)
    train(config, runs=tmp_path / "once", device="cpu")
    cuts = 0
    for at in (1, 2, 7, 13, 30, 90):
        try:
            train(
                config,
                runs=tmp_path / "often",
                device="cpu",
                save_every=0.02,
                callbacks=[Cutting(at)],
            )
        except Cut:
            cuts += 1
    assert cuts >= 3
    same(folder_of(tmp_path / "once", config), folder_of(tmp_path / "often", config))
    rarer = small("evaluation.every=0", *always, model=shape)
    train(rarer, runs=tmp_path / "once", device="cpu")
    assert lines(folder_of(tmp_path / "once", rarer)) == lines(folder_of(tmp_path / "once", config))


def test_a_finished_run_is_not_computed_again(tmp_path: Path) -> None:
    first = train(SMALL, runs=tmp_path, device="cpu")
    began = time.process_time()
    assert train(SMALL, runs=tmp_path, device="cpu") == first
    assert time.process_time() - began < 0.1


def test_a_finished_run_whose_result_was_lost_needs_no_step(tmp_path: Path) -> None:
    config = small("evaluation.every=0")
    first = train(config, runs=tmp_path, device="cpu")
    run = folder_of(tmp_path, config)
    before = lines(run), lines(run, "evaluations.jsonl")
    (run / "result.json").unlink()
    again = train(config, runs=tmp_path, device="cpu", callbacks=[Cutting(2)])
    assert again.accuracy == first.accuracy
    assert (lines(run), lines(run, "evaluations.jsonl")) == before


def test_two_processes_cannot_train_one_run(tmp_path: Path) -> None:
    with locked(folder_of(tmp_path, SMALL), Group()):
        with pytest.raises(WeftError, match="by another process"):
            train(SMALL, runs=tmp_path, device="cpu")


def test_logs_drop_what_was_cut_off_and_what_is_ahead(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n{"st')
    log = Log(path, 2)
    log.append({"step": 2})
    log.append({"step": 4})
    log.close()
    assert read_lines(path) == [{"step": 1}, {"step": 2}, {"step": 4}]


def test_half_a_checkpoint_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    save(tmp_path, RunState(step=1), {"model": {"x": torch.ones(2)}})

    def broken(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("weft.training.checkpoint.write_json", broken)
    with pytest.raises(OSError, match="full"):
        save(tmp_path, RunState(step=2), {"model": {"x": torch.zeros(2)}})
    monkeypatch.undo()
    found = load(tmp_path)
    assert found is not None
    assert found[0].step == 1
    assert found[1]["model"]["x"].tolist() == [1, 1]
    assert [one.name for one in tmp_path.iterdir()] == ["checkpoint-000000001"]
    (tmp_path / ".checkpoint-000000002.tmp").mkdir()  # killed while writing
    write_json(tmp_path / ".checkpoint-000000002.tmp" / "state.json", {})
    found = load(tmp_path)
    assert found is not None
    assert found[0].step == 1
