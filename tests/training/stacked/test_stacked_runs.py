"""Runs in a stack are the runs that they would be alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from training_runs import lines, send, small, usual_handlers, weights

import weft.training.stacked.trainer as trainer
from weft.errors import Interrupted, WeftError
from weft.training import RunStore, TrainingConfig, override, train
from weft.training.stacked.trainer import train_stack
from weft.training.stacked.workers import WorkerPool

EXACT = ("model.dtype=float64",)
DECODER = ("model.kind=decoder", "model.random_offset=0")
DYCK = ("task=dyck", "parameters.format=next", *DECODER)
LEARNED = (*DECODER, "model.position=learned", "model.positions=60", "model.example_offsets=true")


def varied(*changes: str, count: int = 3) -> list[TrainingConfig]:
    """Configs that differ in seed, learning rate, weight decay, clipping and length."""
    return [
        override(
            small(*EXACT, *changes),
            [
                f"seed={number}",
                f"optimiser.lr={0.001 * 3**number}",
                f"optimiser.weight_decay={0.1 * number}",
                f"optimiser.clip={number * 0.5}",
                f"schedule.warm_up={5 * number}",
                f"steps={30 + 5 * number}",
            ],
        )
        for number in range(count)
    ]


def assert_equal(alone: Path, stacked: Path, configs: list[TrainingConfig]) -> None:
    """The same weights, records, evaluations, predictions and results, up to rounding."""
    for config in configs:
        one, other = alone / config.hash, stacked / config.hash
        mine, its = weights(one), weights(other)
        assert mine.keys() == its.keys()
        for name in mine:
            np.testing.assert_allclose(its[name], mine[name], rtol=0, atol=1e-9)
        for file in ("metrics.jsonl", "evaluations.jsonl"):
            assert_close(lines(one, file), lines(other, file))
        results = [json.loads((run / "result.json").read_text()) for run in (one, other)]
        for result in results:
            result.pop("seconds")
        assert_close(*results)
        for table in (one / "predictions").glob("*.npz"):
            with np.load(table) as left, np.load(other / "predictions" / table.name) as right:
                assert left.files == right.files
                assert (left["right"] == right["right"]).all()


def assert_close(left: Any, right: Any) -> None:
    """Nested values are equal, numbers up to rounding."""
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        for key in left:
            assert_close(left[key], right[key])
    elif isinstance(left, list):
        assert len(left) == len(right)
        for pair in zip(left, right, strict=True):
            assert_close(*pair)
    elif isinstance(left, float):
        assert right == pytest.approx(left, abs=1e-9)
    else:
        assert left == right


@pytest.mark.parametrize(
    "changes",
    [
        ("model.position=rotary",),
        ("model.position=alibi", "model.norm_type=layer"),
        LEARNED,
        (*LEARNED, "cuda_graphs=true", "model.norm=post", "model.attention_biases=true"),
        (*DECODER, "model.position=t5", "model.activation=swiglu"),
        (*DECODER, "model.position=sinusoidal", "model.tied=true", "model.outputs=6", "ema=0.9"),
        (*DECODER, "model.position=none", "model.layers=2", "model.loops=2", "model.inject=true"),
        DYCK,
        (*LEARNED, "penalty.position=0.01", "penalty.norm=0.001"),
    ],
    ids=lambda changes: " ".join(changes)[:60],
)
def test_a_run_in_a_stack_is_the_run_alone(changes, tmp_path) -> None:
    configs = varied(*changes)
    for config in configs:
        train(config, runs=tmp_path / "alone", device="cpu")
    outcomes = train_stack(configs, runs=tmp_path / "stack", device="cpu", places=2)
    assert [outcomes[config.hash].status for config in configs] == ["done"] * 3
    assert_equal(tmp_path / "alone", tmp_path / "stack", configs)


def test_tasks_and_positions_may_differ(tmp_path) -> None:
    """Vocabularies, classes and tables of positions are padded."""
    same = ("model.kind=decoder", "model.random_offset=0", *EXACT)
    offsets = ("model.position=learned", "model.example_offsets=true")
    configs = [
        small(*same, *offsets, "model.positions=50", "task=parity", "penalty.position=0.1"),
        small(*same, *offsets, "model.positions=90", "task=copy", "parameters.format=lm"),
        small(*same, "model.position=none", "task=sort", "parameters.format=lm"),
    ]
    for config in configs:
        train(config, runs=tmp_path / "alone", device="cpu")
    train_stack(configs, runs=tmp_path / "stack", device="cpu")
    assert_equal(tmp_path / "alone", tmp_path / "stack", configs)


def test_runs_stop_early_by_themselves(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(trainer, "SHRINK", 1)
    changes = ("stop.patience=1", "evaluation.every=5")
    configs = [override(config, changes) for config in varied(*DECODER, count=4)]
    configs[3] = override(configs[3], ["stop.patience=1000", "steps=50"])
    for config in configs:
        train(config, runs=tmp_path / "alone", device="cpu")
    outcomes = train_stack(configs, runs=tmp_path / "stack", device="cpu", places=4)
    assert {outcome.status for outcome in outcomes.values()} == {"stopped", "done"}
    assert_equal(tmp_path / "alone", tmp_path / "stack", configs)


def test_an_interrupted_stack_resumes(tmp_path, monkeypatch) -> None:
    configs = varied(*LEARNED)
    for config in configs:
        train(config, runs=tmp_path / "alone", device="cpu")
    ticks = trainer._Stack._tick

    def interrupted(stack: Any) -> None:
        ticks(stack)
        if max(stack.steps) == 17:
            send()

    with usual_handlers(), monkeypatch.context() as patch:
        patch.setattr(trainer._Stack, "_tick", interrupted)
        with pytest.raises(Interrupted, match="3 runs"):
            train_stack(configs, runs=tmp_path / "stack", device="cpu")
    assert [run.status for run in RunStore(tmp_path / "stack").runs()] == ["unfinished"] * 3
    train(configs[0], runs=tmp_path / "stack", device="cpu")  # alone, from the same checkpoint
    train_stack(configs, runs=tmp_path / "stack", device="cpu")
    assert_equal(tmp_path / "alone", tmp_path / "stack", configs)


def test_a_run_that_diverges_leaves_the_others_alone(tmp_path) -> None:
    configs = varied(*DECODER)
    configs[1] = override(configs[1], ["optimiser.lr=1e300"])
    train(configs[0], runs=tmp_path / "alone", device="cpu")
    outcomes = train_stack(configs, runs=tmp_path / "stack", device="cpu")
    assert [outcomes[config.hash].status for config in configs] == ["done", "nan", "done"]
    assert_equal(tmp_path / "alone", tmp_path / "stack", configs[:1])


def test_processes_draw_the_same_batches(tmp_path) -> None:
    configs = varied(*LEARNED)
    train_stack(configs, runs=tmp_path / "inline", device="cpu", places=2)
    with WorkerPool(2) as pool:
        train_stack(configs, runs=tmp_path / "pool", device="cpu", places=2, pool=pool)
    assert_equal(tmp_path / "inline", tmp_path / "pool", configs)


def test_runs_of_different_shapes_are_refused(tmp_path) -> None:
    configs = [small(), small("model.width=32")]
    with pytest.raises(WeftError, match="different shapes"):
        train_stack(configs, runs=tmp_path, device="cpu")
    with pytest.raises(WeftError, match="the architecture is lstm"):
        train_stack([TrainingConfig(task="parity", model={"architecture": "lstm"})], runs=tmp_path)


@pytest.mark.needs_gpu
@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("changes", [LEARNED, ("model.position=rotary",), DYCK], ids=str)
def test_a_captured_stack_learns_what_it_learns_on_a_cpu(changes, bf16, tmp_path) -> None:
    configs = [
        override(config, ["model.dtype=float32", f"bf16={bf16}"]) for config in varied(*changes)
    ]
    for device in ("cpu", "cuda"):
        train_stack(configs, runs=tmp_path / device, device=device, places=2)
    for config in configs:
        losses = [
            [record["loss"] for record in lines(tmp_path / device / config.hash)]
            for device in ("cpu", "cuda")
        ]
        assert losses[1] == pytest.approx(losses[0], rel=0.05 if bf16 else 1e-3)
    assert torch.cuda.is_available()
