"""Small models of program traces, and examples that are as if a model had written them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch

from weft.models import Transformer, generate, initialise, preset
from weft.tasks.batch import Batch
from weft.tasks.program_traces import ProgramTraces

SIZE = {"layers": 2, "heads": 2, "width": 32, "hidden": (48,)}


@cache
def nano() -> ProgramTraces:
    return ProgramTraces(tier="nano")


@cache
def examples(split: str = "train", count: int = 12) -> Batch:
    return nano().test_set(split, count)


def model(seed: int = 0, **changes: Any) -> Transformer:
    """A model with random weights, large enough that its choices depend on the text."""
    config = preset("nano", vocabulary=len(nano().vocabulary), **{**SIZE, **changes})
    made = initialise(Transformer(config), seed=seed).eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(3.0)
    return made


def greedy(made: Transformer, row: list[int], prompt: int, steps: int) -> list[int]:
    """What a model writes after a prompt, token by token, without a cache."""
    tokens = torch.tensor([row[:prompt]])
    written: list[int] = generate(made, tokens, steps, cache=False)[0, prompt:].tolist()
    return written


def as_written_by(made: Transformer, batch: Batch, steps: int = 12) -> Batch:
    """Examples whose traces are what the model writes by itself, `steps` tokens and the end."""
    tokens, targets = batch.tokens.copy(), np.full_like(batch.targets, -1)
    lengths = batch.lengths.copy()
    for row in range(len(batch)):
        prompt = int(batch.prompt[row])
        written = greedy(made, tokens[row].tolist(), prompt, steps)
        tokens[row, prompt:] = 0
        tokens[row, prompt : prompt + steps] = written
        targets[row, prompt - 1 : prompt - 1 + steps] = written
        lengths[row] = prompt + steps - 1
        tokens[row, lengths[row] :] = 0
    return replace(batch, tokens=tokens, targets=targets, lengths=lengths)


def decoded_right(made: Transformer, batch: Batch, row: int) -> bool:
    """Whether greedy decoding writes the whole target of an example."""
    scored = np.flatnonzero(batch.targets[row] >= 0)
    wanted = batch.targets[row, scored].tolist()
    prompt = int(scored[0]) + 1
    return greedy(made, batch.tokens[row].tolist(), prompt, len(wanted)) == wanted
