"""Training from traces on a GPU: table 2 of the ALTA paper, and a whole Transformer from streams.

    PYTHONPATH=src python bench/gpu_traces.py                     all of it
    PYTHONPATH=src python bench/gpu_traces.py relative absolute   some of it
    PYTHONPATH=src python bench/gpu_traces.py count --small       the smaller recipe
    PYTHONPATH=src python bench/gpu_traces.py count steps=100000  with changes

Interrupted runs resume, and finished ones are only shown; `weft verdict` puts them beside the
predictions. `--plain` trains without CUDA graphs, for comparison. `errors` compares captured steps
with plain ones.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path

import torch

from weft.statistics import Share
from weft.training import (
    Callback,
    Record,
    RunStore,
    TrainingConfig,
    override,
    stream_config,
    trace_config,
    train,
)
from weft.training.environment import device_of
from weft.training.supervision import learner_of, task_of

PROGRAMS = {
    "relative": "parity",
    "absolute": "parity-absolute(positions=40)",
    "count": "parity-count(ones=40)",
}
PAPER = {"relative": (100, 100, 100), "absolute": (100, 52, 51), "count": (100, 78, 50)}
SPLITS = ("train", "longer", "more-ones")
TARGET = 120.0
"""Seconds for 50,000 steps of the relative program."""
TESTS = 2048


class Pace(Callback):
    """A line every so many seconds."""

    def __init__(self) -> None:
        self._told = time.perf_counter()

    def on_record(self, record: Record) -> None:
        if time.perf_counter() - self._told > 20:
            self._told = time.perf_counter()
            pace = 1000 * record.seconds / record.step
            print(
                f"  step {record.step:,}  loss {record.loss:.3g}  {pace:.2f} ms a step", flush=True
            )

    def on_evaluation(self, step: int, shares: Mapping[str, Share]) -> None:
        print(f"  step {step:,}  {shares}", flush=True)


def config_of(what: str, given: argparse.Namespace) -> TrainingConfig:
    """The run of a name: a line of table 2, or `streams`."""
    if what == "streams":
        config = override(stream_config("parity", "parity"), ["evaluation.size=1024"])
    else:
        config = trace_config("parity", PROGRAMS[what], small=given.small)
        captured = given.device == "cuda" and not given.plain
        quick = str(captured).lower()
        changes = [f"cuda_graphs={quick}", f"tf32={quick}", f"evaluation.size={TESTS}"]
        config = override(config, changes)
    return override(config, given.changes)


def one(what: str, given: argparse.Namespace) -> None:
    """Train, and print the three accuracies in percent."""
    config = config_of(what, given)
    print(
        f"{what}: {config.model.get('hidden')}, {config.steps:,} steps, run {config.hash}",
        flush=True,
    )
    began = time.perf_counter()
    result = train(config, runs=given.runs, device=given.device, callbacks=[Pace()])
    whole = time.perf_counter() - began
    found = tuple(round(100 * result.accuracy.get(split, float("nan")), 1) for split in SPLITS)
    print(f"  {result.status}: learning {result.seconds:.1f} s, all {whole:.1f} s; "
          f"{1000 * result.seconds / max(1, result.step):.3f} ms a step")  # fmt: skip
    print(f"  length at most 20, over 20, ones over 20: {found}; paper {PAPER.get(what, '-')}")
    if what == "relative" and not given.small and result.step == 50_000:
        print(f"  50,000 steps in {result.seconds:.1f} s, target {TARGET:.0f}: "
              f"{'ok' if result.seconds < TARGET else 'MISSED'}")  # fmt: skip
    run = RunStore(given.runs).find(config.hash)
    for axis, split in (("length", "longer"), ("ones", "more-ones")):
        groups = run.predictions(split).by(axis)
        shares = " ".join(f"{value}:{share.share:.2f}" for value, share in groups.items())
        print(f"  {split} by {axis}: {shares}", flush=True)


def errors(given: argparse.Namespace) -> None:
    """Captured steps against plain ones from the same weights: losses of both, side by side."""
    device = device_of(given.device)
    losses = []
    for captured in ("false", "true"):
        changes = [f"cuda_graphs={captured}", f"tf32={captured}", *given.changes]
        config = override(trace_config("parity", "parity"), changes)
        made = task_of(config)
        torch.manual_seed(0)
        learner = learner_of(config, made, device)
        batch = next(learner.feed(made, 1))
        found = [float(learner.learn(batch, step).detach()) for step in range(1, 1501)]
        losses.append([sum(found[n : n + 300]) / 300 for n in range(0, 1500, 300)])
    for place, (plain, captured) in enumerate(zip(*losses, strict=True), 1):
        print(f"  mean loss to step {300 * place}: plain {plain:.5g}, captured {captured:.5g}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "what", nargs="*", help="relative, absolute, count, streams, errors; KEY=VALUE"
    )
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    given = parser.parse_intermixed_args()
    given.changes = [one for one in given.what if "=" in one]
    wanted = [one for one in given.what if "=" not in one] or [*PROGRAMS, "streams"]
    name = torch.cuda.get_device_name() if given.device == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}", flush=True)
    given.runs.mkdir(parents=True, exist_ok=True)
    for what in wanted:
        if what == "errors":
            errors(given)
        else:
            one(what, given)


if __name__ == "__main__":
    main()
