"""Training end to end on one GPU against the bare model: what data, logs, tests and saving cost.

    PYTHONPATH=src python bench/gpu_training.py

The bare model repeats whole steps on one batch of random tokens. The run trains the same 25M
decoder to copy strings of up to 511 letters: examples are made as it goes, the loss is written down
every 20 steps, all test sets are evaluated every 200, and a checkpoint is written every 10 seconds.
Rates count all tokens that the model sees, padding included, from step 50 on: compiling comes
before.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

from gpu_models import Training, seconds
from weft.models import Transformer, initialise
from weft.training import Callback, EvaluationConfig, Record, TrainingConfig, train
from weft.training.supervision import model_config, task_of

STEPS, SKIPPED, ROWS = 1000, 50, 64
CONFIG = TrainingConfig(
    task="copy",
    parameters={"length": 511, "longer": 512},
    preset="small",
    bf16=True,
    torch_compile=True,
    steps=STEPS,
    batch=ROWS,
    log_every=20,
    evaluation=EvaluationConfig(every=200, size=512),
)


class Clock(Callback):
    """Notes when the first steps are over."""

    def __init__(self) -> None:
        self.began = 0.0

    def on_record(self, record: Record) -> None:
        if not self.began and record.step >= SKIPPED:
            self.began, self.step = time.perf_counter(), record.step


def bare(width: int) -> float:
    """Tokens a second of the model alone."""
    model = initialise(Transformer(model_config(CONFIG, task_of(CONFIG)))).cuda().compile_layers()
    training = Training(model, width, ROWS)
    training.tokens %= model.config.vocabulary
    for _ in range(10):
        training.step()
    return 200 * training.count / seconds(lambda: [training.step() for _ in range(200)])


def end_to_end(width: int) -> float:
    """Tokens a second of a whole run."""
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        result = train(CONFIG, runs=folder, device="cuda", callbacks=[clock], save_every=10)
    passed = time.perf_counter() - clock.began
    shown = ", ".join(f"{split} {value:.0%}" for split, value in result.accuracy.items())
    print(f"{result.status} after {result.step} steps: {shown}")
    return (result.step - clock.step) * ROWS * width / passed


def main() -> None:
    """Both, before and after each other."""
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    width = task_of(CONFIG).batch("train", 0, 1, ROWS).tokens.shape[1]
    first = bare(width)
    torch._dynamo.reset()
    run = end_to_end(width)
    torch._dynamo.reset()
    second = bare(width)
    print(f"bare model      {first / 1e6:.3f}M and {second / 1e6:.3f}M tokens a second")
    print(f"end to end      {run / 1e6:.3f}M, {2 * run / (first + second):.1%} of it")


if __name__ == "__main__":
    main()
