"""Modular addition from a subset of all pairs (Power et al., 2022, on grokking)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from weft.tasks.arrays import Bools, Ints
from weft.tasks.batch import Batch
from weft.tasks.formats import MARK, Format, Pairs, concluded
from weft.tasks.hashing import hashed, in_bucket
from weft.tasks.task import TRAIN, Split, Task, check_ascending

ZERO = 4  # the token "0"; the other numbers and the plus follow


@dataclass(frozen=True, kw_only=True)
class ModularAddition(Task):
    """The sum of two numbers modulo a third: `3 + 5 =` is `1` modulo 7. Each number is one token.

    The test set of `train` is every pair that is held out and not for validation. Among these,
    `mirrored` are the pairs whose mirror image b + a is in training, so that commutativity solves
    them; `unseen` are the others. These two splits have no training examples.

    Attributes:
        modulus: the modulus.
    """

    name: ClassVar[str] = "modular-addition"
    formats: ClassVar[tuple[Format, ...]] = ("lm",)
    held_out: float = 0.5
    modulus: int = 97

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending(self, ("modulus", 2))

    @property
    def symbols(self) -> tuple[str, ...]:
        return (*map(str, range(self.modulus)), "+")

    @cached_property
    def splits(self) -> Mapping[str, Split]:
        return {
            TRAIN: Split(description="pairs of numbers", axes={}),
            "mirrored": Split(
                description="held-out pairs whose mirror image is in training",
                axes={"mirrored": (1, 1)},
            ),
            "unseen": Split(
                description="held-out pairs whose mirror image is held out, too",
                axes={"mirrored": (0, 0)},
            ),
        }

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        if split == TRAIN:
            return self._pairs(*rng.integers(0, self.modulus, (2, size)))
        mirror = ~self._held.T if split == "mirrored" else self._held.T
        pairs = np.argwhere(self._held & mirror)
        if not len(pairs):
            remedy = "Make the task with a larger modulus, or another `held_out`"
            raise self.error(f"no pair is {split}", remedy)
        return self._pairs(*pairs[rng.integers(0, len(pairs), size)].T)

    @cached_property
    def _held(self) -> Bools:
        """Which pairs are held out (a b)."""
        a, b = np.indices((self.modulus, self.modulus)).reshape(2, -1)
        held = in_bucket(hashed(self._question(a, b)), self.held_out)
        return held.reshape(self.modulus, self.modulus)

    def _question(self, a: Ints, b: Ints) -> Ints:
        plus, mark = np.full_like(a, ZERO + self.modulus), np.full_like(a, MARK)
        return np.stack([a + ZERO, plus, b + ZERO, mark], axis=1)

    def _pairs(self, a: Ints, b: Ints) -> Pairs:
        wraps = a + b >= self.modulus
        return Pairs(
            question=self._question(a, b),
            question_lengths=np.full_like(a, 4),
            answer=(a + b - self.modulus * wraps + ZERO)[:, None],
            answer_lengths=np.ones_like(a),
            axes={
                "a": a,
                "b": b,
                "wraps": wraps.astype(np.int64),
                "mirrored": (~self._held[b, a]).astype(np.int64),
            },
        )

    def lay_out(self, pairs: Pairs) -> Batch:
        return concluded(pairs)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        a, _, b = tokens
        return (str((int(a) + int(b)) % self.modulus),)
