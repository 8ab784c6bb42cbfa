"""Callbacks: when each method is called, in which order, and what failures do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from training_runs import folder_of, small

from weft.errors import WeftError
from weft.models import TransformerConfig
from weft.statistics import Share
from weft.training import Callback, Record, Result, TrainingConfig, train
from weft.training.checkpoint import newest_step

CONFIG = small("steps=30", "log_every=10", "evaluation.every=20")


class Recording(Callback):
    """Writes down every call."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def on_start(self, config: TrainingConfig, model: TransformerConfig, step: int) -> None:
        assert model.width == config.model["width"]
        self.calls.append(("start", step))

    def on_record(self, record: Record) -> None:
        self.calls.append(("record", record.step))

    def on_evaluation(self, step: int, shares: Mapping[str, Share]) -> None:
        assert shares["train"].count == CONFIG.evaluation.size
        self.calls.append(("evaluation", step))

    def on_checkpoint(self, step: int, folder: Path) -> None:
        assert (folder / "model.safetensors").exists()
        self.calls.append(("checkpoint", step))

    def on_end(self, result: Result) -> None:
        self.calls.append(("end", result.step))

    def close(self) -> None:
        self.calls.append(("close", 0))


def test_the_life_cycle_is_that_of_the_documentation(tmp_path: Path) -> None:
    first, second = Recording(), Recording()
    train(CONFIG, runs=tmp_path, device="cpu", callbacks=[first, second])
    assert first.calls == second.calls == [
        ("start", 0), ("record", 10), ("record", 20), ("evaluation", 20), ("record", 30),
        ("evaluation", 30), ("checkpoint", 30), ("end", 30), ("close", 0),
    ]  # fmt: skip
    again = Recording()
    train(CONFIG, runs=tmp_path, device="cpu", callbacks=[again])
    assert again.calls == []  # the run is complete


def test_a_callback_that_fails_fails_the_run_which_resumes(tmp_path: Path) -> None:
    class Failing(Recording):
        def on_evaluation(self, step: int, shares: Mapping[str, Share]) -> None:
            raise RuntimeError("no room")

    failing = Failing()
    with pytest.raises(WeftError, match="it failed after step 20: RuntimeError: no room"):
        train(CONFIG, runs=tmp_path, device="cpu", callbacks=[failing])
    assert failing.calls[-1] == ("close", 0)
    assert newest_step(folder_of(tmp_path, CONFIG)) == 20
    resumed = Recording()
    assert train(CONFIG, runs=tmp_path, device="cpu", callbacks=[resumed]).status == "done"
    assert resumed.calls[0] == ("start", 20)
