"""Training on a CPU: the engine against loops that are written by hand, kills, and sweeps.

The hand-written loop has a plain PyTorch model of the same shape, AdamW and clipping, and asks the
task for a batch at every step, as the engine does; the engine keeps records besides. How the engine
stands against a loop whose batches were all made before the clock started is reported too: for the
smallest models, making a batch is a tenth of a step.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

from measure import Figure
from weft.tasks import Task, task
from weft.training import (
    Callback,
    EvaluationConfig,
    Record,
    TrainingConfig,
    cells,
    model_config,
    sweep,
    train,
)
from weft.training.data import Tensors, tensors_of

KILLS = 20
CELLS = 64


def figures() -> list[Figure]:
    tagger = {"layers": 8, "width": 512, "heads": 8, "hidden": (2048,), "activation": "gelu"}
    nano = {"activation": "gelu"}
    return [
        *_compared("parity tagger, 8 x 512", "parity", tagger, steps=8, rounds=3),
        *_compared("nano decoder, addition", "addition", nano, steps=80, rounds=11),
        Figure(f"kills, of {KILLS}, after which a run ended the same", _killed(), least=KILLS),
        *_swept(),
    ]


def _compared(
    name: str, of: str, model: dict[str, Any], *, steps: int, rounds: int
) -> list[Figure]:
    """Steps a second by hand, and the engine's as a share of them; medians of rounds in turn."""
    config = TrainingConfig(
        task=of, model={**model, "position": "learned", "positions": 64}, steps=2 * steps,
        batch=64, evaluation=EvaluationConfig(every=0, size=64), log_every=steps,
    )  # fmt: skip
    by_hand, ahead, engine = [], [], []
    for _ in range(rounds):
        by_hand.append(_by_hand(config, steps, ahead=False))
        engine.append(_by_engine(config, steps))
        ahead.append(_by_hand(config, steps, ahead=True))
    hand, fed, own = (median(rates) for rates in (by_hand, ahead, engine))
    return [
        Figure(f"{name}: steps by hand", hand, "a second"),
        Figure(f"{name}: the engine, of that", 100 * own / hand, "%", least=90),
        Figure(f"{name}: the engine, of a loop without data", 100 * own / fed, "%"),
    ]


class Halfway(Callback):
    """The time of the second half of a run."""

    def __init__(self, step: int) -> None:
        self.step, self.times = step, [0.0, 0.0]

    def on_record(self, record: Record) -> None:
        self.times[int(record.step > self.step)] = time.perf_counter()


def _by_engine(config: TrainingConfig, steps: int) -> float:
    clock = Halfway(steps)
    with tempfile.TemporaryDirectory() as folder:
        train(config, runs=folder, device="cpu", callbacks=[clock])
    return steps / (clock.times[1] - clock.times[0])


def _by_hand(config: TrainingConfig, steps: int, ahead: bool) -> float:
    made = task(config.task)
    shape = model_config(config, made)
    batches: Iterable[Tensors] = (_batch(made, config, step) for step in range(2 * steps))
    batches = list(batches) if ahead else batches
    model = Plain(shape, causal=shape.causal)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), fused=True)
    start = 0.0
    for number, batch in enumerate(batches):
        if number == steps:
            start = time.perf_counter()
        logits = model(batch.tokens, batch.lengths)
        loss = cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), ignore_index=-1)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    return steps / (time.perf_counter() - start)


def _batch(made: Task, config: TrainingConfig, step: int) -> Tensors:
    found = made.batch("train", 0, step + 1, config.batch).trimmed()
    return tensors_of(found, model_config(config, made))


class Plain(nn.Module):
    """A Transformer as one writes it down in a minute."""

    def __init__(self, shape: Any, causal: bool) -> None:
        super().__init__()
        width, self.heads, self.causal = shape.width, shape.heads, causal
        self.embedding = nn.Embedding(shape.vocabulary, width)
        self.places = nn.Embedding(64, width)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    "first": nn.RMSNorm(width),
                    "mixed": nn.Linear(width, 3 * width, bias=False),
                    "out": nn.Linear(width, width, bias=False),
                    "second": nn.RMSNorm(width),
                    "up": nn.Linear(width, shape.hidden[0], bias=False),
                    "down": nn.Linear(shape.hidden[0], width, bias=False),
                }
            )
            for _ in range(shape.layers)
        )
        self.last = nn.RMSNorm(width)
        self.classes = nn.Linear(width, shape.outputs, bias=False)

    def forward(self, tokens: Tensor, lengths: Tensor | None) -> Tensor:
        places = torch.arange(tokens.shape[1])
        mask = None if lengths is None else (places < lengths[:, None])[:, None, None]
        x = self.embedding(tokens) + self.places(places)
        for part in self.layers:
            q, k, v = part["mixed"](part["first"](x)).unflatten(-1, (3, self.heads, -1)).unbind(2)
            found = scaled_dot_product_attention(
                q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
                attn_mask=mask, is_causal=self.causal and mask is None,
            )  # fmt: skip
            x = x + part["out"](found.transpose(1, 2).flatten(2))
            x = x + part["down"](nn.functional.gelu(part["up"](part["second"](x))))
        return self.classes(self.last(x))


def _killed() -> int:
    """After how many kills, one after the other, a run still ended with the same weights."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "training"))
    from test_resuming import killed_often

    with tempfile.TemporaryDirectory() as folder:
        return killed_often(Path(folder), KILLS)


def _swept() -> list[Figure]:
    """How much of two cores 64 small runs use, and how long a second start takes."""
    values = {"steps": 250, "batch": 32, "evaluation.every": 0, "evaluation.size": 64}
    found = cells("parity", values, {"seed": list(range(CELLS))})
    cores = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder:
        start, before = time.perf_counter(), _used()
        sweep(found, runs=Path(folder), jobs=cores)
        passed, used = time.perf_counter() - start, _used() - before
        start = time.perf_counter()
        sweep(found, runs=Path(folder), jobs=cores)
        again = time.perf_counter() - start
    return [
        Figure(
            f"sweep of {CELLS} nano runs: cores busy", 100 * used / (cores * passed), "%", least=90
        ),
        Figure("the same sweep again", again, "s", most=2),
    ]


def _used() -> float:
    """Seconds of processor time of this process's children."""
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    subprocess.run([sys.executable, str(Path(__file__).parent / "run.py"), "training"], check=False)
