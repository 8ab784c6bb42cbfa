"""How often a trained model answers as the predicted program does, example by example.

Two models can have the same accuracy and be right on different tests. Whether training found what
the minimal program predicts shows in single answers, above all in the wrong ones: `misses` counts
only the tests that the predicted program gets wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.statistics import Share
from weft.training.evaluation import Predictions


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """A trained model and a predicted program on the same tests.

    Attributes:
        program: the program whose minimal program it is compared with.
        shares: by split, how many tests both answer alike.
        misses: the same, only of the tests that the minimal program gets wrong.
    """

    program: str
    shares: dict[str, Share]
    misses: dict[str, Share]

    def as_dict(self) -> dict[str, Any]:
        """The agreement for JSON."""
        return {
            "program": self.program,
            "shares": {split: one.as_dict() for split, one in self.shares.items()},
            "misses": {split: one.as_dict() for split, one in self.misses.items()},
        }


def agreement_from(values: Mapping[str, Any]) -> Agreement:
    """The agreement that `as_dict` wrote."""
    parts = {
        name: {split: Share.from_dict(one) for split, one in values[name].items()}
        for name in ("shares", "misses")
    }
    return Agreement(program=values["program"], **parts)


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The answers of a model or a program to the tests of every split.

    Attributes:
        predictions: by split.
        names: the names of the classes.
        form: answers are compared only with answers of the same form.
    """

    predictions: Mapping[str, Predictions]
    names: tuple[str, ...]
    form: str

    def of(self, split: str) -> list[tuple[str, ...]]:
        """For each test, the names of its answers at the positions that have a target."""
        table = self.predictions[split]
        has_target = table.batch.targets >= 0
        return [
            tuple(self.names[c] if c >= 0 else "" for c in chosen[mask].tolist())
            for chosen, mask in zip(table.chosen, has_target, strict=True)
        ]


def agreement(program: str, predicted: Answers, learned: Answers) -> Agreement | None:
    """How often both answer alike; None if their answers have different forms."""
    if predicted.form != learned.form:
        return None
    shares, misses = {}, {}
    for split in predicted.predictions:
        if split not in learned.predictions:
            continue
        pairs = zip(predicted.of(split), learned.of(split), strict=True)
        alike = np.array([one == other and "" not in one for one, other in pairs], np.bool_)
        shares[split] = Share.of(alike)
        misses[split] = Share.of(alike[~predicted.predictions[split].right])
    return Agreement(program=program, shares=shares, misses=misses)
