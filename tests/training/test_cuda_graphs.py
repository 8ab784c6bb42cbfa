"""On a GPU, steps that are captured learn what steps as they are learn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from weft.errors import WeftError
from weft.files import read_lines
from weft.tasks import task
from weft.training import Callback, TrainingConfig, override, trace_config, train
from weft.training.callbacks import Record
from weft.training.config import OptimiserConfig
from weft.training.data import tensors_of
from weft.training.distributed import Group
from weft.training.supervision import learner_of, task_of
from weft.training.traces.trace_learner import DrawnBatch, feed_forward_of, l1_norm

STEPS = 12


def curve(name: str, graphed: bool, **values: Any) -> list[float]:
    """Losses of some steps."""
    config = TrainingConfig(task=name, cuda_graphs=graphed, steps=100, batch=32, **values)
    made = task(name)
    learner = learner_of(config, made, torch.device("cuda"))
    losses = []
    for step in range(1, STEPS + 1):
        batch = tensors_of(made.batch("train", 0, step, 32), learner.model.config)
        losses.append(learner.learn(batch.to(learner.device), step).clone())
    learner.check()
    return [float(loss) for loss in losses]


@pytest.mark.needs_gpu
@pytest.mark.parametrize("torch_compile", [False, True])
@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("optimiser", ["adamw", "adafactor", "muon"])
@pytest.mark.parametrize("name", ["parity", "addition", "scan"])
def test_captured_steps_have_the_same_losses(name, optimiser, bf16, torch_compile) -> None:
    if torch_compile and (name != "parity" or optimiser != "adamw"):
        pytest.skip("compiled layers are captured alike")
    lr = 0.1 if optimiser == "adafactor" else 0.003  # relative to the size of weights
    values = {"optimiser": OptimiserConfig(name=optimiser, lr=lr), "bf16": bf16, "ema": 0.9}
    plain = curve(name, False, **values)
    captured = curve(name, True, torch_compile=torch_compile, **values)
    assert captured == pytest.approx(plain, rel=0.02 if bf16 or torch_compile else 1e-3)
    assert plain[0] - plain[-1] > 0.01


@pytest.mark.needs_gpu
def test_captured_steps_shrink_weights_alike() -> None:
    """Where shrinking is all that counts, Adam moves each weight by the rate, whatever is drawn."""
    changes = ["supervision.l1=100", "schedule.warm_up=0", "optimiser.lr=0.001"]
    start = override(trace_config("parity", "parity", small=True), changes)
    left = []
    for graphed in (False, True):
        config = replace(start, cuda_graphs=graphed)
        learner = learner_of(config, task_of(config), torch.device("cuda"))
        for step in range(1, STEPS + 1):
            learner.learn(DrawnBatch(config.batch), step)
        left.append(float(l1_norm(feed_forward_of(learner.model)).detach()))
    assert left[1] == pytest.approx(left[0], rel=1e-4)


class Impatient(Callback):
    """Ends a run by force."""

    def on_record(self, record: Record) -> None:
        if record.step == 20:
            raise KeyboardInterrupt


@pytest.mark.needs_gpu
@pytest.mark.parametrize(
    "changes",
    [
        [],
        ["model.dropout=0.3", "model.attention_dropout=0.2"],
        ["model.dropout=0.3", "cuda_graphs=false", "torch_compile=true"],
        ["model.position=learned", "model.positions=99", "model.example_offsets=true"],
        ["model.architecture=lstm", "model.dropout=0.3"],
    ],
    ids=str,
)
def test_a_captured_run_goes_on_where_it_was_left(changes, tmp_path) -> None:
    """Random numbers included, in steps as they are, captured and replayed."""
    start = TrainingConfig(task="parity", cuda_graphs=True, steps=40, batch=32, log_every=10)
    config = override(start, changes)
    train(config, runs=tmp_path / "whole", device="cuda")
    with pytest.raises(KeyboardInterrupt):
        train(config, runs=tmp_path, device="cuda", save_every=0, callbacks=[Impatient()])
    assert train(config, runs=tmp_path, device="cuda").status == "done"
    losses = [
        [record["loss"] for record in read_lines(runs / config.hash / "metrics.jsonl")]
        for runs in (tmp_path / "whole", tmp_path)
    ]
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)


def test_several_processes_are_refused() -> None:
    config = TrainingConfig(task="parity", cuda_graphs=True)
    learner = learner_of(config, task("parity"), torch.device("cpu"))
    learner.group = Group(0, 2)
    with pytest.raises(WeftError, match="several processes"):
        learner._capture()
