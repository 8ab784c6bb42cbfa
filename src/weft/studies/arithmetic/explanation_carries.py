"""How much of each output digit do carry features explain (after the probe of Xu et al., 2025).

With s_k the sum per place of an operation (a_k + b_k of an addition), the features of output
digit k are

    digits    s_k mod base
    next      the carry out of place k - 1 alone, floor(s_(k-1) / base) mod base: a carry that comes
              from further right is not in it
    carry     the carry into place k, mod base

A table gives each combination of values its mean output digit, and its most frequent one, on one
half of the questions. On the other half, R² is the share of the digit's variance that the means
explain, and the accuracy is the share of outputs that have the most frequent digit. The output
digit of the true operation is a function of `digits` and `carry`; if `next` explains less than
`carry` does, carries run through several places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.statistics import Share
from weft.studies.arithmetic.explanation_hypotheses import Questions
from weft.tasks.arithmetic import Arithmetic
from weft.tasks.arrays import Ints

FEATURES = {
    "digits": ("digits",),
    "digits, next": ("digits", "next"),
    "digits, carry": ("digits", "carry"),
}
"""The features of each table."""


@dataclass(frozen=True)
class Explained:
    """How much of an output digit a table explains.

    Attributes:
        r2: the share of its variance; None if the digit is constant.
        accuracy: the share of outputs that have the most frequent digit.
    """

    r2: float | None
    accuracy: Share


@dataclass(frozen=True)
class PlaceFeatures:
    """What explains one digit of the output.

    Attributes:
        place: its place, 1 for units.
        explained: by the features of the table.
    """

    place: int
    explained: dict[str, Explained]

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        return {
            "place": self.place,
            "explained": {
                name: {"r2": each.r2, "accuracy": each.accuracy.as_dict()}
                for name, each in self.explained.items()
            },
        }


def carry_features(task: Arithmetic, operands: Sequence[Ints]) -> dict[str, Ints]:
    """The features (b l) of each place of the result.

    Example:
        >>> import numpy as np
        >>> from weft.tasks.arithmetic import Addition
        >>> from weft.studies.arithmetic.explanation_carries import carry_features
        >>> operands = [np.array([[5, 4, 1]]), np.array([[5, 5, 1]])]  # 145 + 155 = 300
        >>> for name, values in carry_features(Addition(), operands).items():
        ...     print(f"{name:<7}", values[0].tolist())
        digits  [0, 9, 2, 0]
        next    [0, 1, 0, 0]
        carry   [0, 1, 1, 0]
    """
    worked = task.operation.worked(operands, task.base)
    columns = task.operation.columns(*operands)
    if task.operation.signed:
        columns = np.where(worked.negative[:, None], -columns, columns)
    sums = np.zeros_like(worked.digits)
    known = min(sums.shape[1], columns.shape[1])
    sums[:, :known] = columns[:, :known]
    following = np.zeros_like(sums)
    following[:, 1:] = np.abs(sums[:, :-1] // task.base) % task.base
    return {
        "digits": sums % task.base,
        "next": following,
        "carry": np.abs(worked.carries_in) % task.base,
    }


def explained_by_carries(task: Arithmetic, fit: Questions, test: Questions) -> list[PlaceFeatures]:
    """How much the features explain of each digit of the output, from the units on.

    Outputs that are no number are left out. Places are those of the unreduced result that an output
    has, too; of a modular task the features are those before the reduction.
    """
    fit, test = (each.take(each.outputs.well_formed) for each in (fit, test))
    if not len(fit) or not len(test):
        return []
    fit_features, test_features = (carry_features(task, each.operands) for each in (fit, test))
    width = min(
        fit_features["digits"].shape[1],
        test_features["digits"].shape[1],
        fit.outputs.digits.shape[1],
        test.outputs.digits.shape[1],
    )
    result = []
    for place in range(width):
        explained = {}
        for name, features in FEATURES.items():
            keys, test_keys = (
                np.asarray(sum(values[each][:, place] * task.base**index
                               for index, each in enumerate(features)))
                for values in (fit_features, test_features)
            )  # fmt: skip
            digits, test_digits = (each.outputs.digits[:, place] for each in (fit, test))
            explained[name] = _explained(keys, digits, test_keys, test_digits, task.base)
        result.append(PlaceFeatures(place + 1, explained))
    return result


def _explained(
    keys: Ints, digits: Ints, test_keys: Ints, test_digits: Ints, base: int
) -> Explained:
    """What a table of digits by key, made on some rows, explains on other rows."""
    cells, row = np.unique(keys, return_inverse=True)
    counts = np.zeros((len(cells) + 1, base), dtype=np.int64)
    np.add.at(counts, (row, digits), 1)
    counts[-1] = counts[:-1].sum(axis=0)  # keys that were not seen
    means = counts @ np.arange(base) / counts.sum(axis=1)
    at = np.minimum(np.searchsorted(cells, test_keys), len(cells) - 1)
    at = np.where(cells[at] == test_keys, at, len(cells))
    variance = float(((test_digits - test_digits.mean()) ** 2).sum())
    error = float(((test_digits - means[at]) ** 2).sum())
    accuracy = Share.of(counts.argmax(axis=1)[at] == test_digits)
    return Explained(1 - error / variance if variance else None, accuracy)
