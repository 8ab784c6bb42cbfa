"""Modular operations with one token per number, from a subset of all pairs (Power et al., 2022)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from weft.errors import WeftError
from weft.tasks.arithmetic.operations import ADD, Operation
from weft.tasks.arrays import Bools, Ints
from weft.tasks.batch import Batch
from weft.tasks.formats import MARK, Format, Pairs, concluded
from weft.tasks.hashing import hashed, in_bucket
from weft.tasks.task import TRAIN, Split, Task

ZERO = 4  # the token "0"; the other numbers and the sign follow


@dataclass(frozen=True, kw_only=True)
class NumberTokens(Task):
    """A modular operation on two numbers below the modulus, each of them one token.

    The test set of `train` is every pair that is held out and not for validation. Among these,
    `mirrored` are the pairs whose mirror image b + a is in training, so that commutativity solves
    them; `unseen` are the others. These two splits have no training examples.

    Attributes:
        modulus: the modulus.
        operation: addition or multiplication.
    """

    name: ClassVar[str] = "modular-addition"
    formats: ClassVar[tuple[Format, ...]] = ("lm",)
    modulus: int
    operation: Operation = ADD

    def error(self, what: str, remedy: str) -> WeftError:
        subject = f"task modular-{self.operation.name}"
        return WeftError(what, subject=subject, remedy=remedy)

    @property
    def symbols(self) -> tuple[str, ...]:
        return (*map(str, range(self.modulus)), *self.operation.signs)

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
        sign, mark = np.full_like(a, ZERO + self.modulus), np.full_like(a, MARK)
        return np.stack([a + ZERO, sign, b + ZERO, mark], axis=1)

    def _pairs(self, a: Ints, b: Ints) -> Pairs:
        result = self.operation.exact(a, b)
        return Pairs(
            question=self._question(a, b),
            question_lengths=np.full_like(a, 4),
            answer=np.asarray(result % self.modulus + ZERO)[:, None],
            answer_lengths=np.ones_like(a),
            axes={
                "a": a,
                "b": b,
                "wraps": np.asarray(result >= self.modulus).astype(np.int64),
                "mirrored": (~self._held[b, a]).astype(np.int64),
            },
        )

    def lay_out(self, pairs: Pairs) -> Batch:
        return concluded(pairs)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        a, _, b = tokens
        return (str(self.operation.exact(int(a), int(b)) % self.modulus),)
