"""Two processes learn what one does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from training_runs import folder_of, lines, small, weights

from weft.errors import WeftError
from weft.training import train
from weft.training.distributed import Group, check_batch

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
