"""Stacked training on one GPU: steps per second of 1, 4, 16 and 64 models in one step.

    PYTHONPATH=src python bench/gpu_stacked.py [cpu]

Three shapes of the algorithmic tasks, in float32 with TF32 and in bf16, first the step alone on
batches that lie ready, then whole runs: data, records and evaluation included. One run alone and K
runs side by side in processes are measured for comparison. Takes about two minutes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch

from weft.training import EvaluationConfig, TrainingConfig, override
from weft.training.launch.executor import LocalProcesses
from weft.training.launch.sweep import Cell, sweep
from weft.training.stacked.learner import StackedLearner
from weft.training.stacked.shape import Member, member_of
from weft.training.stacked.slots import SlotLearner
from weft.training.stacked.trainer import cores, train_stack
from weft.training.stacked.workers import InlineFeed
from weft.training.trainer import matmul_precision, train

BUDGET = 110.0
"""Seconds; what does not fit is left out."""
SHAPES = {
    "majority, 1 layer, 1 head, width 16": ("binary-majority", 153, 1, 1, 16),
    "unique copy, 2 layers, 1 head, width 64": ("unique-copy", 302, 2, 1, 64),
    "repeat copy, 4 layers, 4 heads, width 256": ("repeat-copy", 302, 4, 4, 256),
}


def config_of(task: str, positions: int, layers: int, heads: int, width: int) -> TrainingConfig:
    """A run of the algorithmic tasks."""
    base = TrainingConfig(task=task, evaluation=EvaluationConfig(every=0, size=64), log_every=20)
    return override(
        base,
        [
            f"model.layers={layers}", f"model.heads={heads}", f"model.width={width}",
            f"model.hidden={4 * width},", "model.norm_type=layer", "model.activation=gelu",
            "model.attention_biases=true", "model.tied=true", "model.position=learned",
            f"model.positions={positions}", "model.example_offsets=true", "schedule.name=linear",
            "schedule.warm_up=0", "schedule.floor=0", "optimiser.weight_decay=0.01", "steps=100000",
            "tf32=true",
        ],
    )  # fmt: skip


def members_of(config: TrainingConfig, count: int) -> list[Member]:
    """Runs that differ in their seeds."""
    members = [member_of(replace(config, seed=seed)) for seed in range(count)]
    return [member for member in members if isinstance(member, Member)]


def steps_per_second(config: TrainingConfig, count: int, device: torch.device) -> float:
    """Of the step alone, on one tick that lies ready."""
    members = members_of(config, count)
    learner = StackedLearner(members[0].shape, members, count, device)
    feed = InlineFeed(learner)
    for place, member in enumerate(members):
        SlotLearner(member, learner, place).start(None)
        feed.assign(place, member, place + 1)
    tick = feed.take()
    for _ in range(6):
        learner.learn(tick.batch)
    _wait(device)
    began, taken = time.perf_counter(), 0
    while time.perf_counter() - began < 1.0:
        for _ in range(10):
            learner.learn(tick.batch)
        _wait(device)
        taken += 10
    return taken / (time.perf_counter() - began)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def runs_per_second(config: TrainingConfig, count: int, steps: int, device: str) -> float:
    """Steps per second of whole runs in a stack, from their records: without start and end."""
    configs = [replace(config, steps=steps, seed=seed) for seed in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        train_stack(configs, runs=folder, device=device, places=count)
        return _pace(Path(folder))


def _pace(folder: Path) -> float:
    """Steps per second of the slowest run, over the second half of its records."""
    from weft.files import read_lines

    paces = []
    for log in folder.glob("*/metrics.jsonl"):
        records = read_lines(log)
        first, last = records[len(records) // 2], records[-1]
        paces.append((last["step"] - first["step"]) / (last["seconds"] - first["seconds"]))
    return min(paces)


def processes_per_second(config: TrainingConfig, count: int, steps: int, device: str) -> float:
    """Steps per second of runs side by side in processes, with CUDA graphs."""
    changed = replace(config, steps=steps, cuda_graphs=True)
    cells = [Cell({}, replace(changed, seed=seed)) for seed in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        if count == 1:
            train(cells[0].config, runs=folder, device=device)
        else:
            sweep(cells, runs=Path(folder), executor=LocalProcesses(count, [device]))
        return _pace(Path(folder))


def main() -> None:
    """All shapes, until the time is over."""
    device = torch.device("cpu" if "cpu" in sys.argv else "cuda")
    name = "CPU" if device.type == "cpu" else torch.cuda.get_device_name()
    print(f"{name}, torch {torch.__version__}, {cores()} cores; steps per second (x models)")
    began = time.perf_counter()

    def left() -> float:
        return BUDGET - (time.perf_counter() - began)

    for title, shape in SHAPES.items():
        for bf16 in (False, True):
            config = replace(config_of(*shape), bf16=bf16)
            shown = []
            with matmul_precision(True):
                for count in (1, 4, 16, 64):
                    if left() < 60:
                        break
                    pace = steps_per_second(config, count, device)
                    shown.append(f"{count}: {pace:,.0f} ({pace * count:,.0f})")
            print(f"{title}, {'bf16' if bf16 else 'tf32'}, step: {'  '.join(shown)}", flush=True)
    config = config_of(*SHAPES["unique copy, 2 layers, 1 head, width 64"])
    for title, measure, count, steps, needed in (
        ("whole runs, stack of 16", runs_per_second, 16, 3000, 20),
        ("whole run alone, CUDA graphs", processes_per_second, 1, 1000, 10),
        ("16 processes side by side", processes_per_second, 16, 600, 25),
        ("whole runs, stack of 64", runs_per_second, 64, 1000, 15),
    ):
        if left() > needed:
            pace = measure(config, count, steps, str(device))
            print(f"unique copy, tf32, {title}: {pace:,.0f} ({pace * count:,.0f})", flush=True)
    print(f"{time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
