"""Scores: exact match, label sets by class and by set, and accuracy by axis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.tasks import Batch, by_axis, score, task

CLASSES = 4


@given(st.integers(0, 2**32))
def test_label_sets_are_scored_cell_by_cell(seed: int) -> None:
    rng = np.random.default_rng(seed)
    legal = rng.random((6, 3, CLASSES)) < 0.6
    targets = np.full((6, 3), -1)
    for row, place in np.argwhere(legal.any(axis=2)):
        if rng.random() < 0.8:
            targets[row, place] = np.flatnonzero(legal[row, place])[0]
    batch = Batch(tokens=targets, lengths=np.full(6, 3), targets=targets, legal=legal)
    chosen = rng.integers(-1, CLASSES + 1, (6, 3))
    predicted = legal ^ (rng.random(legal.shape) < 0.05)
    for row in range(6):
        scored = [place for place in range(3) if targets[row, place] >= 0]
        sets = {place: set(np.flatnonzero(legal[row, place]).tolist()) for place in scored}
        member = all(int(chosen[row, place]) in sets[place] for place in scored)
        equal = all(set(np.flatnonzero(predicted[row, p]).tolist()) == sets[p] for p in scored)
        assert score(batch, chosen)[row] == member
        assert score(batch, predicted)[row] == equal


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1))
def test_groups_are_counted_as_by_hand(examples: list[tuple[int, bool]]) -> None:
    lengths, right = (np.array(column) for column in zip(*examples, strict=True))
    empty = np.zeros((len(examples), 1), dtype=np.int64)
    batch = Batch(tokens=empty, lengths=lengths, targets=empty, axes={"length": lengths})
    groups = by_axis(batch, right, "length")
    assert list(groups) == sorted({length for length, _ in examples})
    for length, accuracy in groups.items():
        hits = [hit for at, hit in examples if at == length]
        assert (accuracy.right, accuracy.count) == (sum(hits), len(hits))
        assert accuracy.share == sum(hits) / len(hits)


def test_predictions_and_axes_that_do_not_fit_are_refused() -> None:
    batch = task("parity").batch("train", 0, 0, 4)
    with pytest.raises(WeftError, match="one class for each position"):
        score(batch, batch.targets[:, :-1])
    with pytest.raises(WeftError, match="one class for each position"):
        score(batch, np.zeros((4, 21, 2), dtype=np.bool_))  # there are no sets to compare with
    sets = task("dyck", format="next").batch("train", 0, 0, 4)
    with pytest.raises(WeftError, match=r"or one set, \(4, 21, 8\)"):
        score(sets, np.zeros((4, 21, 7), dtype=np.bool_))
    with pytest.raises(WeftError, match="Did you mean 'length'"):
        by_axis(batch, score(batch, batch.targets), "lengths")
