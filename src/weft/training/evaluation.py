"""Exact match on every split, with the axes of every example kept beside it.

A whole answer is right when it is right at every position. Greedy decoding feeds back its own
tokens, and as long as they are right these are the ones that teacher forcing feeds: its answer is
right exactly when the teacher-forced choice is right everywhere. So one pass decides, unless what a
position computes depends on how long the text is, which changes while it is decoded:

- `randomised` positions are spread over the length of the text;
- a decoder that halts by `sequence` runs as many layers as the slowest position of the text takes.

Such models decode token by token. Answers that stand under the tokens of a question (format `tag`)
are not fed back: the whole text is given, and one pass is what the model does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from weft.files import replaced
from weft.models.build import Model
from weft.statistics import Share
from weft.tasks import Batch, Task, by_axis, score
from weft.tasks.arrays import Bools, Ints
from weft.tasks.task import VALIDATION
from weft.training.data import blaming, tensors_of
from weft.training.learner import run, summed_loss

OPTIONAL = ("source", "source_lengths")


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """What a model chose for the examples of a split.

    Attributes:
        split: its name.
        batch: the examples, with their axes.
        chosen: b l, the class at every position.
        loss: the mean cross-entropy of all targets.
    """

    split: str
    batch: Batch
    chosen: Ints
    loss: float

    @property
    def right(self) -> Bools:
        """b, whether all of an example is right."""
        return score(self.batch, self.chosen)

    @property
    def accuracy(self) -> float:
        """The share of examples that are right."""
        return float(self.right.mean())

    @property
    def share(self) -> Share:
        """How many of how many examples are right."""
        return Share.of(self.right)

    def by(self, axis: str) -> dict[int, Share]:
        """Accuracy for each value of an axis."""
        return by_axis(self.batch, self.right, axis)

    def save(self, path: Path) -> None:
        """Write the table as a plain .npz."""
        arrays: dict[str, Any] = {"tokens": self.batch.tokens, "lengths": self.batch.lengths}
        arrays |= {"targets": self.batch.targets, "chosen": self.chosen}
        for name in OPTIONAL:
            if (value := getattr(self.batch, name)) is not None:
                arrays[name] = value
        arrays |= {f"axis.{name}": values for name, values in self.batch.axes.items()}
        arrays |= {"right": self.right, "loss": np.float64(self.loss)}
        with replaced(path) as scratch, scratch.open("wb") as file:
            np.savez(file, **arrays)


def load_predictions(path: Path) -> Predictions:
    """A table that was saved; the split is the file's name."""
    with np.load(path, allow_pickle=False) as stored:
        axes = {name.removeprefix("axis."): stored[name] for name in stored if "axis." in name}
        batch = Batch(
            **{name: stored[name] for name in ("tokens", "lengths", "targets")},
            **{name: stored[name] for name in OPTIONAL if name in stored},
            axes=axes,
        )
        loss = float(stored["loss"])
        return Predictions(split=path.stem, batch=batch, chosen=stored["chosen"], loss=loss)


def evaluate(
    model: Model, tests: Mapping[str, Batch], *, batch: int = 256
) -> dict[str, Predictions]:
    """What a model chooses for some test sets, so many examples at a time."""
    training = model.training
    model.eval()
    try:
        return {split: _one(model, split, examples, batch) for split, examples in tests.items()}
    finally:
        model.train(training)


@torch.no_grad()
def _one(model: Model, split: str, tests: Batch, size: int) -> Predictions:
    chosen = np.zeros_like(tests.targets)
    total, decodes = 0.0, not forced(model) and tests.continues
    for start in range(0, len(tests), size):
        part = tests.take(slice(start, start + size)).trimmed()
        found, loss = _part(model, part, decodes)
        chosen[start : start + size, : found.shape[1]] = found
        total += loss
    asked = max(1, int((tests.targets >= 0).sum()))
    return Predictions(split=split, batch=tests, chosen=chosen, loss=total / asked)


def _part(model: Model, part: Batch, decodes: bool) -> tuple[Ints, float]:
    """The choices for a few examples, and the sum of their losses with the answers given."""
    tensors = tensors_of(part, model.config).to(model.embedding.device)
    logits = run(model, tensors).logits
    loss = float(summed_loss(logits, tensors.targets))
    return decoded(model, part) if decodes else logits.argmax(-1).cpu().numpy(), loss


def forced(model: Model) -> bool:
    """Whether what a position computes never changes while a text grows."""
    config = model.config
    moves = "randomised" in config.encodings
    waits = config.halt is not None and config.halting == "sequence"
    return not (config.causal and (moves or waits))


@torch.no_grad()
def decoded(model: Model, batch: Batch) -> Ints:
    """What greedy decoding chooses at every position with a target, by one pass for each token."""
    tokens, chosen = batch.tokens.copy(), np.zeros_like(batch.targets)
    for length in range(int(batch.prompt.min()), batch.targets.shape[1] + 1):
        so_far = Batch(
            tokens=tokens[:, :length],
            lengths=np.full(len(batch), length),
            targets=batch.targets[:, :length],
            source=batch.source,
            source_lengths=batch.source_lengths,
        )
        tensors = tensors_of(so_far, model.config).to(model.embedding.device)
        chosen[:, length - 1] = run(model, tensors).logits[:, -1].argmax(-1).cpu().numpy()
        if length < tokens.shape[1]:
            own = length >= batch.prompt
            tokens[:, length] = np.where(own, chosen[:, length - 1], tokens[:, length])
    return chosen


def test_sets(task: Task, splits: tuple[str, ...], size: int) -> dict[str, Batch]:
    """The test sets of some splits, or of all that have one; `validation` is the validation set."""
    return {split: _examples(task, split, size) for split in splits or task.tested}


def _examples(task: Task, split: str, size: int) -> Batch:
    with blaming(task):
        if split == VALIDATION and split not in task.splits:
            return task.validation_set(size)
        return task.test_set(split, size)
