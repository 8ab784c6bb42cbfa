"""Two processes learn what one does; each draws masks of its own, again when the run resumes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from training_runs import folder_of, lines, small, weights

from weft.errors import WeftError
from weft.tasks import task
from weft.training import train
from weft.training.data import tensors_of
from weft.training.distributed import Group, check_batch, seed_process
from weft.training.supervision import learner_of

CHILD = """
import json, pathlib, sys
import torch
from weft.training import train, training_config
torch.set_num_threads(1)
with open(sys.argv[1]) as file:
    config = training_config(json.load(file))
train(config, runs=sys.argv[2], device="cpu")
threads = [path.read_text() for path in pathlib.Path("/proc/self/task").glob("*/comm")]
assert not any("gloo" in name for name in threads), threads
"""


def test_two_processes_have_the_loss_curve_of_one(tmp_path: Path) -> None:
    config = small("steps=40", "log_every=1", "model.random_offset=0", "batch=9")
    train(config, runs=tmp_path / "one", device="cpu")
    (tmp_path / "child.py").write_text(CHILD)
    (tmp_path / "config.json").write_text(json.dumps(config.as_dict()))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    arguments = ["--standalone", "--nproc-per-node=2", "child.py", "config.json", "two"]
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", *arguments],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    one, two = (folder_of(tmp_path / name, config) for name in ("one", "two"))
    curves = [[record["loss"] for record in lines(run)] for run in (one, two)]
    np.testing.assert_allclose(curves[0], curves[1], rtol=1e-4)
    assert [record["tokens"] for record in lines(one)] == [
        record["tokens"] for record in lines(two)
    ]
    mine, its = weights(one), weights(two)
    for key in mine:
        np.testing.assert_allclose(mine[key], its[key], atol=1e-4)


def test_every_process_needs_an_example() -> None:
    with pytest.raises(WeftError, match="too small for 4 processes"):
        check_batch(3, Group(0, 4))


def test_seeds_differ_by_process_and_step_and_repeat() -> None:
    def drawn(seed: int, step: int, rank: int) -> tuple[float, ...]:
        seed_process(seed, step, Group(rank, 4))
        return tuple(torch.rand(3).tolist())

    places = [(seed, step, rank) for seed in (0, 1) for step in (1, 2, 3) for rank in (0, 1, 2)]
    assert len({drawn(*place) for place in places}) == len(places)
    assert [drawn(*place) for place in places] == [drawn(*place) for place in places]


@pytest.mark.parametrize("change", ["model.dropout=0.5", "model.example_offsets=true"])
def test_a_step_of_a_process_depends_on_its_number_and_not_on_what_was_drawn_before(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.training.learner.sum_gradients", lambda weights, loss, group: loss)
    shape = {"layers": 1, "width": 16, "heads": 2, "hidden": (32,), "position": "learned"}
    config = small(change, "model.positions=99", "initial=fan-in", model=shape)
    made = task("parity", format="tag")
    batch = made.batch("train", 0, 1, 8)

    def loss(rank: int, seed: int) -> float:
        learner = learner_of(config, made, torch.device("cpu"), Group(rank, 2))
        torch.manual_seed(seed)
        return float(learner.learn(tensors_of(batch, learner.model.config), 1))

    assert loss(1, seed=3) == loss(1, seed=4)
    assert loss(0, seed=3) != loss(1, seed=3)
