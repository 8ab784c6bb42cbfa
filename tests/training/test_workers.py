"""Worker processes that make batches: the same batches, in order, whatever happens to them."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from training_runs import lines, small

from weft.errors import WeftError
from weft.tasks import task
from weft.training import EvaluationConfig, train
from weft.training.data import prepared
from weft.training.supervision import learner_of, task_of
from weft.training.workers import Workers, worker_count

CONFIG = small(evaluation=EvaluationConfig(every=0, size=8, splits=("train",)), steps=9)


def test_workers_make_the_batches_of_the_run_in_order() -> None:
    made = task_of(CONFIG)
    workers = Workers(CONFIG, 2, range(4, 10))
    try:
        for step in range(4, 10):
            batch = workers.batch(step)
            assert batch is not None
            assert batch.content_hash == prepared(made, CONFIG, step).content_hash
        assert workers.batch(10) is None  # the workers have ended
    finally:
        workers.close()


def test_a_worker_that_ends_is_replaced_by_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(CONFIG, batch=2000)  # too large for the pipe to hold all batches
    made = task_of(config)
    learner = learner_of(config, made, torch.device("cpu"))
    started: list[Workers] = []
    begin = Workers.__init__

    def noted(self: Workers, *args: object) -> None:
        begin(self, *args)  # type: ignore[arg-type]
        started.append(self)

    here: list[int] = []
    make = learner.batch
    monkeypatch.setattr(Workers, "__init__", noted)
    monkeypatch.setattr(learner, "batch", lambda of, step: here.append(step) or make(of, step))
    feed = learner.feed(made, 1, 1)
    first = next(feed)
    (process,) = [p for p in started[0].processes if p is not None]
    process.kill()
    rest = list(feed)
    assert len(rest) == config.steps - 1
    assert here
    assert here == list(range(here[0], config.steps + 1))
    plain = list(learner.feed(made, 1))
    assert all((a.tokens == b.tokens).all() for a, b in zip([first, *rest], plain, strict=True))
    assert started[0].processes == []
    assert process.poll() is not None


def test_closing_early_ends_the_processes() -> None:
    workers = Workers(replace(CONFIG, steps=10_000), 1, range(1, 10_001))
    (process,) = workers.processes
    assert process is not None
    assert workers.batch(1) is not None
    workers.close()
    assert process.poll() is not None
    assert workers.batch(2) is None


def test_a_worker_ends_when_nobody_reads() -> None:
    workers = Workers(CONFIG, 1, range(1, 1_000_000))
    (process,) = workers.processes
    assert process is not None
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.poll() == 0


def test_a_run_is_the_same_with_workers_and_says_how_long_it_waited(tmp_path: Path) -> None:
    found = []
    for workers in (0, 2):
        runs = tmp_path / str(workers)
        result = train(CONFIG, runs=runs, device="cpu", workers=workers)
        folder = runs / CONFIG.hash
        found.append((result.accuracy, lines(folder)))
        record = json.loads((folder / "metrics.jsonl").read_text().splitlines()[0])
        assert 0 <= record["waiting"] <= 1
    assert found[0] == found[1]


def test_the_default_number_of_workers() -> None:
    slow, quick = task("program-traces", tier="nano"), task("parity")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert cores is not None
    assert worker_count(None, slow, on_gpu=True) == min(4, cores - 1)
    assert worker_count(None, slow, on_gpu=False) == worker_count(None, quick, on_gpu=True) == 0
    assert worker_count(3, quick, on_gpu=False) == 3
    for wrong in (-1, 65):
        with pytest.raises(WeftError, match="from 0 to 64"):
            worker_count(wrong, quick, on_gpu=False)
