"""Induction: which letter followed the last occurrence of the current one?"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from weft.tasks.arrays import within
from weft.tasks.batch import Batch
from weft.tasks.formats import Format, Pairs, concluded
from weft.tasks.task import TRAIN, Split, Task, check_ascending, check_letters

FIRST = 4  # the token of the first letter
SHORTEST = 3  # a letter, its successor, and the letter again


@dataclass(frozen=True, kw_only=True)
class Induction(Task):
    """The letter that followed the previous occurrence of the last letter: `b` after `cabdxa`.

    If there are several, the latest counts. Lengths are drawn uniformly, then the axis `gap`: the
    distance back to that occurrence, at least two.

    Attributes:
        length: the maximum length in distribution, including the last letter.
        longer: the maximum length of all.
        letters: the letters.
    """

    name: ClassVar[str] = "induction"
    formats: ClassVar[tuple[Format, ...]] = ("lm",)
    length: int = 20
    longer: int = 40
    letters: str = string.ascii_lowercase

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending(self, ("length", SHORTEST), ("longer", "length"))
        check_letters(self, "letters", 2)

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(self.letters)

    @cached_property
    def splits(self) -> Mapping[str, Split]:
        low, high = self.length, self.longer
        return {
            TRAIN: Split(
                description=f"at most {low} letters",
                axes={"length": (SHORTEST, low), "gap": (2, low - 1)},
            ),
            "longer": Split(
                description=f"{low + 1} to {high} letters",
                axes={"length": (low + 1, high), "gap": (2, high - 1)},
            ),
            "farther": Split(
                description=f"a gap of at least {low}, in at most {high} letters",
                axes={"length": (low + 1, high), "gap": (low, high - 1)},
            ),
        }

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        axes = self.splits[split].axes
        (low, high), (nearest, _) = axes["length"], axes["gap"]
        kinds, rows = len(self.letters), np.arange(size)
        lengths = rng.integers(low, high, size, endpoint=True)
        gaps = rng.integers(nearest, lengths)
        letters = rng.integers(0, kinds, (size, high))
        before = lengths - 1 - gaps
        asked = letters[rows, before]
        others = (asked[:, None] + rng.integers(1, kinds, (size, high))) % kinds
        later = np.arange(high) > before[:, None]  # where the letter must not occur again
        letters = np.where(later & (letters == asked[:, None]), others, letters)
        letters[rows, lengths - 1] = asked
        return Pairs(
            question=np.where(within(lengths, high), letters + FIRST, 0),
            question_lengths=lengths,
            answer=(letters[rows, before + 1] + FIRST)[:, None],
            answer_lengths=np.ones_like(lengths),
            axes={"length": lengths, "gap": gaps},
        )

    def lay_out(self, pairs: Pairs) -> Batch:
        return concluded(pairs)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        *past, asked = tokens
        backwards = past[::-1]
        return (backwards[backwards.index(asked) - 1],)
