"""How often a learned model answers as the predicted program does, example by example.

Two models can be right equally often on different tests. Whether training found what the minimal
program predicts shows in the single answers, the wrong ones above all: `misses` counts only the
tests that the predicted program gets wrong.
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
    """A learned model and a predicted program on the same tests.

    Attributes:
        program: whose minimal program it is compared with.
        shares: by split, how many tests both answer alike.
        misses: by split, how many of the tests that the minimal program gets wrong.
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
    """What a model, or a program, answers to the tests of every split.

    Attributes:
        predictions: by split.
        names: of the classes that it chooses from.
        form: answers are compared with those of the same form alone.
    """

    predictions: Mapping[str, Predictions]
    names: tuple[str, ...]
    form: str

    def of(self, split: str) -> list[tuple[str, ...]]:
        """For each test, the names of its answers at the positions that are asked for."""
        found = self.predictions[split]
        asked = found.batch.targets >= 0
        return [
            tuple(self.names[c] if c >= 0 else "" for c in chosen[where].tolist())
            for chosen, where in zip(found.chosen, asked, strict=True)
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
