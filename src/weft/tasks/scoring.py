"""Exact scores, and accuracy along any axis.

An example is right where the model is right at every position that has a target. The axes stay
beside the examples, so accuracy by length, by ones or by depth is a group-by.
"""

from __future__ import annotations

import numpy as np

from weft.errors import WeftError, did_you_mean
from weft.statistics import Share
from weft.tasks.arrays import Bools, Ints
from weft.tasks.batch import Batch


def score(batch: Batch, predictions: Ints) -> Bools:
    """Which examples (b) are right at every position that has a target.

    Args:
        batch: the examples.
        predictions: the class that was chosen at each position (b l).
    """
    if predictions.shape != batch.targets.shape:
        raise WeftError(
            f"the predictions have the shape {predictions.shape}, "
            f"and the targets {batch.targets.shape}",
            remedy="Give one class for each position of the batch",
        )
    right: Bools = ((predictions == batch.targets) | (batch.targets < 0)).all(axis=1)
    return right


def by_axis(batch: Batch, right: Bools, axis: str) -> dict[int, Share]:
    """The accuracy for each value of an axis, in ascending order.

    Example:
        >>> from weft.tasks import by_axis, score, task
        >>> tests = task("parity").test_set("train", 200)
        >>> groups = by_axis(tests, score(tests, 0 * tests.targets), "ones")
        >>> [groups[ones].share for ones in (4, 5, 6, 7)]
        [1.0, 0.0, 1.0, 0.0]
    """
    if axis not in batch.axes:
        raise WeftError(
            f"the examples have no axis '{axis}'",
            remedy=did_you_mean(axis, list(batch.axes)).capitalize(),
        )
    values, group = np.unique(batch.axes[axis], return_inverse=True)
    counts = np.bincount(group, minlength=len(values))
    rights = np.bincount(group, weights=right, minlength=len(values))
    return {
        int(value): Share(int(hits), int(count))
        for value, hits, count in zip(values, rights, counts, strict=True)
    }
