"""Small models on one GPU: milliseconds a step, as it is, compiled, captured, or both; and kernels.

    PYTHONPATH=src python bench/gpu_small.py [parity|scan] [kernels]

The rows are those of the studies, at their small scale. With `kernels` the twelve that take longest
are listed for each, with how often they run in a step.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import torch

from gpu_models import seconds
from weft.studies import study
from weft.training import TrainingConfig
from weft.training.data import Tensors, tensors_of
from weft.training.learner import Learner
from weft.training.supervision import learner_of as learner_for
from weft.training.supervision import task_of

WAYS = {
    "plain": (False, False),
    "torch_compile": (True, False),
    "cuda_graphs": (False, True),
    "both": (True, True),
}
ROWS = {
    "parity": (["8", "relative"], ["40", "relative"], ["8", "yes", "absolute"]),
    "scan": (["length", "relative", "2"], ["length", "no", "16"]),
}
STEPS = 50


def learner_of(config: TrainingConfig) -> tuple[Learner, list[Tensors]]:
    """A model in training, and a few batches for it."""
    task = task_of(config)
    learner = learner_for(config, task, torch.device("cuda"))
    batches = [
        tensors_of(task.batch("train", 0, step, config.batch), learner.model.config).to(
            learner.device
        )
        for step in range(4)
    ]
    return learner, list(batches)


def steps(learner: Learner, batches: list[Tensors], count: int) -> None:
    """Some steps, the batches in turn."""
    for number in range(count):
        learner.learn(batches[number % len(batches)], 1000 + number)


def kernels(learner: Learner, batches: list[Tensors]) -> None:
    """What takes the time of ten steps."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as found:
        steps(learner, batches, 10)
        torch.cuda.synchronize()
    events = sorted(found.key_averages(), key=lambda event: -event.device_time_total)
    total = sum(event.device_time_total for event in events)
    count = sum(event.count for event in events)
    print(f"    {count / 10:.0f} kernels a step, {total / 10 / 1000:.2f} ms together")
    for event in events[:12]:
        share = event.device_time_total / total
        print(f"    {share:6.1%} {event.count / 10:6.0f} x {event.key[:90]}")


def main() -> None:
    """Every row of the studies that are named, in every way."""
    torch.set_float32_matmul_precision("high")
    names = [name for name in sys.argv[1:] if name in ROWS] or list(ROWS)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; ms a step")
    for name in names:
        for labels in ROWS[name]:
            row, cell = study(name).only(labels).cells("small", {"steps": 10**6})[0]
            shown = []
            for way, (torch_compile, cuda_graphs) in WAYS.items():
                torch._dynamo.reset()
                config = replace(cell.config, torch_compile=torch_compile, cuda_graphs=cuda_graphs)
                learner, batches = learner_of(config)
                steps(learner, batches, 10)
                taken = seconds(lambda: steps(learner, batches, STEPS))  # noqa: B023
                shown.append(f"{way} {1000 * taken / STEPS:.2f}")
            print(f"{name} {' '.join(row.labels)}: {', '.join(shown)}", flush=True)
            if "kernels" in sys.argv:
                kernels(learner, batches)


if __name__ == "__main__":
    main()
