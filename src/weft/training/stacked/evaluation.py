"""Evaluation of several models of a stack at once.

Each model has test sets of its own. Their rows are sorted by length and evaluated in parts, part by
part of all models together. Sorting saves padding; predictions are stored in the original order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.tasks import Batch
from weft.training.config import LabelSetLoss
from weft.training.evaluation import Predictions
from weft.training.stacked.forward import StackedInput
from weft.training.stacked.learner import StackedLearner
from weft.training.stacked.objective import summed_losses

TOKENS = 1 << 19
"""About as many tokens are evaluated at a time, on a GPU."""
TOKENS_ON_CPU = 1 << 14


@dataclass
class _Test:
    """A test set of one model, and what is known about its predictions."""

    place: int
    split: str
    tests: Batch
    order: Any
    chosen: Any
    total: float = 0.0


def evaluate_stack(
    learner: StackedLearner,
    tests: Mapping[int, Mapping[str, Batch]],
    label_sets: LabelSetLoss,
) -> dict[int, dict[str, Predictions]]:
    """The predictions of the models in some places, for the test sets of each."""
    every = [
        _Test(
            place,
            split,
            batch,
            np.argsort(batch.lengths, kind="stable"),
            _chosen(batch, label_sets),
        )
        for place, sets in tests.items()
        for split, batch in sets.items()
    ]
    source = learner.flat.detach() if learner.average is None else _evaluated(learner)
    with torch.no_grad():
        for part in _parts(every, learner):
            _evaluate(learner, source, part, label_sets)
    results: dict[int, dict[str, Predictions]] = {place: {} for place in tests}
    for each in every:
        count = max(1, int(each.tests.scored.sum()))
        results[each.place][each.split] = Predictions(
            split=each.split, batch=each.tests, chosen=each.chosen, loss=each.total / count
        )
    return results


def _evaluated(learner: StackedLearner) -> Tensor:
    """The weights to evaluate: a model's average if it keeps one."""
    assert learner.average is not None
    return torch.where(learner.averaged[:, None], learner.average, learner.flat.detach())


def _chosen(batch: Batch, label_sets: LabelSetLoss) -> Any:
    sets = batch.legal is not None and label_sets == "binary"
    return np.zeros_like(batch.legal) if sets else np.zeros_like(batch.targets)


def _parts(every: Sequence[_Test], learner: StackedLearner) -> Iterator[list[tuple[_Test, Any]]]:
    """Rows of test sets, at most one set per place in a part."""
    budget = TOKENS if learner.device.type == "cuda" else TOKENS_ON_CPU
    queues: dict[int, list[tuple[_Test, int]]] = {}
    for each in every:
        queues.setdefault(each.place, []).append((each, 0))
    while queues:
        heads = [waiting[0] for waiting in queues.values()]
        width = max(int(each.tests.lengths.max(initial=1)) for each, _ in heads)
        rows = max(1, budget // (width * len(heads)))
        part = []
        for each, start in heads:
            part.append((each, each.order[start : start + rows]))
            waiting = queues[each.place]
            if start + rows < len(each.tests):
                waiting[0] = (each, start + rows)
            else:
                waiting.pop(0)
                if not waiting:
                    del queues[each.place]
        yield part


def _evaluate(
    learner: StackedLearner,
    source: Tensor,
    part: list[tuple[_Test, Any]],
    label_sets: LabelSetLoss,
) -> None:
    """Evaluate some rows of one test set per model."""
    places = torch.tensor([each.place for each, _ in part], device=learner.device)
    batches = [each.tests.take(rows).trimmed() for each, rows in part]
    size = max(len(batch.lengths) for batch in batches)
    width = max(batch.tokens.shape[1] for batch in batches)
    classes = learner.tick_shape.classes
    tokens = np.zeros((len(part), size, width), dtype=np.int64)
    targets = np.full((len(part), size, width), -1, dtype=np.int64)
    lengths = np.ones((len(part), size), dtype=np.int64)
    legal = np.zeros((len(part), size, width, classes), dtype=np.bool_)
    for number, batch in enumerate(batches):
        rows, used = batch.tokens.shape
        tokens[number, :rows, :used] = batch.tokens
        targets[number, :rows, :used] = batch.targets
        lengths[number, :rows] = batch.lengths
        if batch.legal is not None:
            legal[number, :rows, :used, : batch.legal.shape[-1]] = batch.legal
    moved = [
        torch.from_numpy(array).to(learner.device) for array in (tokens, targets, lengths, legal)
    ]
    chosen, losses = _forward(learner, source, places, moved, label_sets)
    for number, ((each, rows), batch) in enumerate(zip(part, batches, strict=True)):
        used = batch.tokens.shape[1]
        predicted = chosen[number, : len(rows), :used]
        if batch.legal is not None and label_sets == "binary":
            predicted = predicted[..., : batch.legal.shape[-1]]
        each.chosen[rows, :used] = predicted
        each.total += float(losses[number])


def _forward(
    learner: StackedLearner,
    source: Tensor,
    places: Tensor,
    moved: Sequence[Tensor],
    label_sets: LabelSetLoss,
) -> tuple[Any, Any]:
    """The classes or sets that models choose (m b l, or m b l c), and the sums of their losses."""
    tokens, targets, lengths, legal = moved
    tabled = None if learner.tabled is None else learner.tabled[places]
    counts = None if learner.class_counts is None else learner.class_counts[places]
    batch = StackedInput(tokens, lengths)
    logits = learner.logits(batch, source[places], tabled, counts)
    sets = legal.flatten(1, 2) if legal.shape[-1] else None
    losses = summed_losses(logits, targets.flatten(1), sets, label_sets, counts)
    binary = sets is not None and label_sets == "binary"
    chosen = logits > 0 if binary else logits.argmax(-1).to(torch.int16)
    return torch.unflatten(chosen, 1, tokens.shape[1:]).cpu().numpy(), losses.double().cpu().numpy()
