"""Exact-match scores per example, and accuracy along any axis.

An example is right if the model is right at every scored position. For label sets there are two
readings, and `score` takes either kind of prediction (`Batch.right`):

- one class per position (b l), as argmax gives: right if it is in the set of legal symbols;
- a set per position (b l c), as a threshold on each class gives: right if it equals the set. This
  is how Huang et al. (2025, section on formal languages) score next-symbol prediction.
"""

from __future__ import annotations

import numpy as np

from weft.errors import check_known
from weft.statistics import Share
from weft.tasks.arrays import Bools, Ints
from weft.tasks.batch import Batch


def score(batch: Batch, predictions: Ints | Bools) -> Bools:
    """Which examples (n) are right at every position that has a target.

    Args:
        batch: the examples; if they are packed, every document is scored by itself.
        predictions: the class chosen at each position (b l); or, for label sets, the set of classes
            predicted at each position (b l c), which must equal the label set.
    """
    hits = batch.right(predictions)
    if batch.documents is None:
        return np.asarray(hits.all(axis=1))
    right = np.ones(batch.example_count, dtype=np.bool_)
    right[batch.documents[~hits]] = False
    return right


def by_axis(batch: Batch, right: Bools, axis: str) -> dict[int, Share]:
    """Accuracy for each value of an axis, in ascending order.

    Example:
        >>> from weft.tasks import by_axis, score, task
        >>> tests = task("parity").test_set("train", 200)
        >>> groups = by_axis(tests, score(tests, 0 * tests.targets), "ones")
        >>> [groups[ones].share for ones in (4, 5, 6, 7)]
        [1.0, 0.0, 1.0, 0.0]
    """
    check_known(axis, batch.axes, f"the examples have no axis '{axis}'")
    return group_by(batch.axes[axis], right)


def group_by(values: Ints, right: Bools) -> dict[int, Share]:
    """The share of examples that are right, for each value (n), in ascending order."""
    distinct, group = np.unique(values, return_inverse=True)
    counts = np.bincount(group, minlength=len(distinct))
    hits = np.bincount(group, weights=right, minlength=len(distinct))
    return {
        int(value): Share(int(hit), int(count))
        for value, hit, count in zip(distinct, hits, counts, strict=True)
    }
