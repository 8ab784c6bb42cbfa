"""Induction: what followed this letter when it was here last?"""

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
from weft.tasks.parameters import check_ascending, check_letters
from weft.tasks.task import TRAIN, Split, Task

FIRST = 4  # the token of the first letter
SHORTEST = 3  # a letter, what follows it, and the letter again


@dataclass(frozen=True, kw_only=True)
class Induction(Task):
    """The letter that followed the last letter where that stood before: `cabdxa` goes on with `b`.

    Where it stood several times, the latest counts. Lengths are drawn evenly, and then the axis
    `gap`: how far back it stood, at least two.

    Attributes:
        length: the greatest length in distribution, the last letter included.
        longer: the greatest length of all.
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
                description=f"at least {low} back, among at most {high} letters",
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
        later = np.arange(high) > before[:, None]  # the letter is not there again
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
