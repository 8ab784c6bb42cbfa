"""Outputs decoded by drafts are those that a model writes token by token."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from weft.models import build_model, initialise
from weft.tasks import task
from weft.tasks.formats import END, START
from weft.training import TrainingConfig
from weft.training.decoding import greedy_outputs
from weft.training.learner import Learner
from weft.training.supervision import model_config

SMALL: dict[str, Any] = {"layers": 1, "width": 16, "heads": 2, "hidden": (16,)}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "encoder-decoder": ("seq2seq", SMALL),
    "learned positions": ("lm", {**SMALL, "position": "learned", "positions": 24}),
    "randomised positions": ("lm", {**SMALL, "position": "randomised+rotary", "positions": 64}),
    "lstm": ("lm", {"architecture": "lstm", "layers": 1, "width": 16}),
}


def trained(form: str, model: dict[str, Any]) -> tuple[Any, Any]:
    """A model that reverses some words right and others wrong."""
    words = task("reverse", length=6, longer=9, letters="abc", format=form)
    config = TrainingConfig(task="reverse", model=model, steps=150, batch=32)
    made = build_model(model_config(replace(config, parameters={"format": form}), words))
    learner = Learner(config, initialise(made, "fan-in", seed=1), torch.device("cpu"))
    for step in range(1, config.steps + 1):
        learner.learn(learner.batch(words, step), step)
    return learner.model.eval(), words


def alone(model: Any, batch: Any, row: int, width: int) -> list[int]:
    """The output of one example, one forward pass per token."""
    source = None if batch.source is None else torch.tensor(batch.source[row : row + 1])
    lengths = None if source is None else torch.tensor(batch.source_lengths[row : row + 1])
    start = 1 if source is not None else int(batch.prompt[row])
    tokens = [START] if source is not None else batch.tokens[row, :start].tolist()
    written: list[int] = []
    while len(written) < width and END not in written:
        given = torch.tensor([tokens + written])
        sizes = torch.tensor([given.shape[1]])
        out = model(given, sizes, source=source, source_lengths=lengths).logits
        written.append(int(out[0, -1].argmax()))
    return written


@pytest.mark.parametrize("kind", MODELS)
def test_drafts_change_no_output(kind: str) -> None:
    model, words = trained(*MODELS[kind])
    batch = words.test_set("longer", 30)
    outputs = greedy_outputs(model, batch, longest=12, rows=16)
    width = 12 if kind != "learned positions" else 24 + 1 - int(batch.prompt.max())
    assert outputs.shape[1] == min(12, width)
    with torch.no_grad():
        for row in range(len(batch)):
            own = alone(model, batch, row, outputs.shape[1])
            assert outputs[row].tolist() == own + [0] * (outputs.shape[1] - len(own))
    other = replace(batch, targets=np.where(batch.scored, END, -1))
    assert (greedy_outputs(model, other, longest=12) == outputs).all()


def test_answers_under_the_question_are_read_off() -> None:
    words = task("reverse", length=4, longer=6, format="tag")
    config = TrainingConfig(task="reverse", model=SMALL)
    made = build_model(model_config(replace(config, parameters={"format": "tag"}), words))
    batch = words.test_set("train", 5)
    outputs = greedy_outputs(initialise(made, seed=0).eval(), batch)
    assert outputs.shape == batch.targets.shape
    assert ((outputs > 0) <= batch.scored).all()
