"""Hazards: how likely the next step of a trace goes wrong, given that none has so far.

    hazard = first errors at a step / examples that reach it without an error

A trace of n steps is right with probability (1 - h)^n if every step has the hazard h, so the share
of traces that are right falls with their length even if no step gets harder. Hazards tell the two
apart: against the number of the step, the line of the program, the length of the list that is
written, the number of bound variables, and the kind of statement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.statistics import Share
from weft.studies.ptg.steps import KINDS, NO_LIST, FirstErrors, StepTable, at_risk
from weft.studies.results import Curve, curve_from, pairs_of
from weft.tasks.arrays import Bools, Ints

AXES = ("step", "line", "list length", "variables")
"""What hazards are grouped by, besides the kind of statement."""
KIND = "kind"


@dataclass(frozen=True, kw_only=True)
class Hazards:
    """First errors of a model on a split.

    Attributes:
        total: first errors, of all steps that were reached.
        curves: for each of `AXES`, by value.
        kinds: by the kind of statement.
    """

    total: Share
    curves: Mapping[str, Curve]
    kinds: Mapping[str, Share]

    def as_dict(self) -> dict[str, Any]:
        """The hazards for JSON."""
        return {
            "total": [self.total.right, self.total.count],
            "curves": {axis: pairs_of(curve) for axis, curve in self.curves.items()},
            "kinds": {kind: [share.right, share.count] for kind, share in self.kinds.items()},
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Hazards:
        """The hazards that `as_dict` wrote."""
        return Hazards(
            total=Share(*values["total"]),
            curves={axis: curve_from(pairs) for axis, pairs in values["curves"].items()},
            kinds={kind: Share(*pair) for kind, pair in values["kinds"].items()},
        )


def hazards_of(table: StepTable, errors: FirstErrors) -> Hazards:
    """The hazards of a model's predictions."""
    reached, failed = at_risk(table, errors)
    columns = {
        "step": table.step,
        "line": table.line,
        "list length": table.list_length,
        "variables": table.variables,
    }
    used = {
        "step": reached,
        "line": reached & (table.line > 0),
        "list length": reached & (table.list_length != NO_LIST),
        "variables": reached,
    }
    kinds = _grouped(table.kind, reached, failed)
    return Hazards(
        total=Share(int(failed.sum()), int(reached.sum())),
        curves={axis: _grouped(columns[axis], used[axis], failed) for axis in AXES},
        kinds={KINDS[number]: share for number, share in kinds.items()},
    )


def _grouped(values: Ints, reached: Bools, failed: Bools) -> Curve:
    distinct, group = np.unique(values[reached], return_inverse=True)
    counts = np.bincount(group, minlength=len(distinct))
    errors = np.bincount(group, weights=failed[reached], minlength=len(distinct))
    return {
        int(value): Share(int(error), int(count))
        for value, error, count in zip(distinct, errors, counts, strict=True)
    }


def merged(several: list[Hazards]) -> Hazards:
    """The hazards over several splits or runs, by adding up errors and steps."""
    return Hazards(
        total=_sum([each.total for each in several]),
        curves={axis: _joined([each.curves[axis] for each in several]) for axis in AXES},
        kinds=_joined([each.kinds for each in several]),
    )


def _joined(several: list[Any]) -> dict[Any, Share]:
    keys = sorted({key for each in several for key in each})
    return {key: _sum([each[key] for each in several if key in each]) for key in keys}


def _sum(shares: list[Share]) -> Share:
    return Share(sum(share.right for share in shares), sum(share.count for share in shares))


def rate_text(rate: float) -> str:
    """A rate with two significant digits and no exponent, as in 0.00012, 3.4 and 10,000."""
    return f"{float(f'{rate:.2g}'):,f}".rstrip("0").rstrip(".")


def per_step_accuracy(accuracy: float, steps: float) -> float:
    """The accuracy per step of equally hard, independent steps that gives a trace's accuracy.

    Example:
        >>> round(per_step_accuracy(0.142, 270), 4)
        0.9928
    """
    return 0.0 if accuracy <= 0 else math.exp(math.log(accuracy) / max(1.0, steps))
