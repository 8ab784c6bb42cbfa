"""Evaluation: exact match on every split, with the axes of every example beside it.

An answer is right if it is right at every position. Greedy decoding feeds back the model's own
tokens, which equal those of teacher forcing for as long as they are right: the decoded answer is
right exactly if the teacher-forced prediction is right everywhere. So one forward pass decides,
unless the computation at a position depends on the length of the text, which grows while decoding:

- `randomised` positions are spread over the length of the text;
- a decoder that halts by `sequence` runs as many layers as the slowest position of the text needs.

Such models decode token by token. Answers aligned with the tokens of the question (format `tag`)
are not fed back; the model reads the whole text in one forward pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.errors import WeftError
from weft.files import replaced
from weft.models.factory import Model
from weft.statistics import Share
from weft.tasks import Batch, Task, by_axis, score
from weft.tasks.arrays import Bools, Ints
from weft.tasks.task import VALIDATION
from weft.training.config import LabelSetLoss
from weft.training.data import blaming, tensors_of
from weft.training.learner import run, summed_loss

SORTED_FROM = 256
"""Rows of at least this many tokens run with others of similar length, with little padding."""
OPTIONAL = ("source", "source_lengths", "legal", "documents")


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """A model's predictions for the examples of a split.

    Attributes:
        split: name of the split.
        batch: the examples, with their axes.
        chosen: b l, the predicted class at every position; or b l c, the predicted set of classes.
        loss: mean loss over all targets.
    """

    split: str
    batch: Batch
    chosen: Ints | Bools
    loss: float

    @property
    def right(self) -> Bools:
        """b, whether an example is right at every position with a target."""
        return score(self.batch, self.chosen)

    @property
    def accuracy(self) -> float:
        """The share of examples that are right."""
        return float(self.right.mean())

    @property
    def share(self) -> Share:
        """The accuracy as a share of n examples."""
        return Share.of(self.right)

    def by(self, axis: str) -> dict[int, Share]:
        """Accuracy for each value of an axis, such as `length`."""
        return by_axis(self.batch, self.right, axis)

    def save(self, path: Path) -> None:
        """Write the predictions as a plain .npz file."""
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
    """Predictions that were saved; the file's name is the split."""
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
    model: Model,
    tests: Mapping[str, Batch],
    *,
    batch: int = 256,
    label_sets: LabelSetLoss = "binary",
) -> dict[str, Predictions]:
    """A model's predictions for some test sets, `batch` rows at a time.

    For label sets, `label_sets` is the loss that the model was trained with: with `binary` the
    predictions are the sets of classes with positive logits, which must equal the label sets;
    otherwise the most likely class, which must be in the label set.
    """
    with model.evaluating():
        return {
            split: _predictions(model, split, examples, batch, label_sets)
            for split, examples in tests.items()
        }


@torch.no_grad()
def _predictions(
    model: Model, split: str, tests: Batch, size: int, label_sets: LabelSetLoss
) -> Predictions:
    sets = tests.legal is not None and label_sets == "binary"
    chosen: Any = np.zeros_like(tests.legal) if sets else np.zeros_like(tests.targets)
    total, decodes = 0.0, not teacher_forcing_decides(model) and tests.continues
    if decodes and tests.documents is not None:
        raise WeftError(
            "packed tests cannot be decoded token by token, as this model needs",
            remedy="Give tests with one example per row",
        )
    for rows in _row_groups(tests, size):
        part = tests.take(rows).trimmed()
        logits, loss = _forward(model, part, label_sets)
        if decodes:
            classes = decoded(model, part)
        elif sets:
            classes = (logits[..., : chosen.shape[-1]] > 0).cpu().numpy()
        else:
            classes = logits.argmax(-1).cpu().numpy()
        chosen[rows, : classes.shape[1]] = classes
        total += loss
    count = max(1, int(tests.scored.sum()))
    return Predictions(split=split, batch=tests, chosen=chosen, loss=total / count)


def _row_groups(tests: Batch, size: int) -> Iterator[Any]:
    """The rows that run together: in their order, or long rows with others of similar length."""
    if tests.tokens.shape[1] < SORTED_FROM or tests.documents is not None:
        yield from (slice(start, start + size) for start in range(0, len(tests), size))
        return
    order = np.argsort(tests.lengths, kind="stable")
    yield from (order[start : start + size] for start in range(0, len(tests), size))


def _forward(model: Model, part: Batch, label_sets: LabelSetLoss) -> tuple[Tensor, float]:
    """The teacher-forced logits for a few rows, and the sum of their losses."""
    tensors = tensors_of(part, model.config).to(model.embedding.device)
    logits = run(model, tensors).logits
    return logits, float(summed_loss(logits, tensors, label_sets))


def teacher_forcing_decides(model: Model) -> bool:
    """Whether the computation at a position does not depend on the tokens after it."""
    config = model.config
    randomised = "randomised" in config.encodings
    halts_together = config.halt is not None and config.halting == "sequence"
    return not (config.causal and (randomised or halts_together))


@torch.no_grad()
def decoded(model: Model, batch: Batch) -> Ints:
    """Greedily decoded classes at every position with a target, one forward pass per token."""
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
            generated = length >= batch.prompt
            tokens[:, length] = np.where(generated, chosen[:, length - 1], tokens[:, length])
    return chosen


def test_sets(task: Task, splits: tuple[str, ...], size: int) -> dict[str, Batch]:
    """Test sets of some splits, or of all that have one; `validation` is the validation set."""
    return {split: _examples(task, split, size) for split in splits or task.tested}


def _examples(task: Task, split: str, size: int) -> Batch:
    with blaming(task):
        if split == VALIDATION and split not in task.splits:
            return task.validation_set(size)
        return task.test_set(split, size)
