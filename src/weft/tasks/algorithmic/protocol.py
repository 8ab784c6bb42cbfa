"""The protocol that the algorithmic tasks share: three bins of lengths, one format, offsets.

    <start> input | answer <end>        loss and exact match on the answer and <end> only

Huang et al. (2025) train on inputs of up to 50 symbols and test on 51 to 100 and 101 to 150. Here
these are the splits `train`, `longer` and `longest`, each bounded by the parameter `length`,
`longer` or `longest`, so that the same task exists at any scale. Lengths are drawn uniformly.

Position offsets are part of the protocol: in training, the positions of an example start at a
random offset, so that all rows of a learned table are trained on short examples; evaluation starts
at 0. A model does this with `example_offsets=true` and `positions` set to `task.positions`, the
number of tokens that it reads for the longest example. Offsets are then uniform on 0 to
`positions` minus the example's tokens, which are the published ranges: `longest - n` for one-symbol
answers to n symbols, `2 (longest - n)` for copies. (The published tables have one row more, for
<end>, which our models predict but never read.)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from weft.tasks.arrays import Ints, within
from weft.tasks.formats import START, Format
from weft.tasks.task import TRAIN, Split, Task, check_ascending

FIRST = 4  # the token of a task's first symbol


@dataclass(frozen=True, kw_only=True)
class LengthTask(Task):
    """A task with three bins of input lengths.

    Attributes:
        length: the maximum length in distribution.
        longer: the maximum length of the split `longer`.
        longest: the maximum length of the split `longest`, and so of all.
        shortest: the minimum length (class attribute, as is the following).
        unit: what a length counts, in the plural.
    """

    formats: ClassVar[tuple[Format, ...]] = ("lm",)
    mark: ClassVar[str] = "|"
    shortest: ClassVar[int] = 1
    unit: ClassVar[str] = "symbols"
    length: int = 50
    longer: int = 100
    longest: int = 150

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending(
            self,
            ("length", max(1, self.least)),
            ("longer", self.length + self.step),
            ("longest", self.longer + self.step),
        )

    @property
    def least(self) -> int:
        """The minimum length."""
        return self.shortest

    @property
    def step(self) -> int:
        """The difference between one possible length and the next."""
        return 1

    @property
    @abstractmethod
    def positions(self) -> int:
        """The number of tokens that a model reads for the longest example."""

    @cached_property
    def splits(self) -> Mapping[str, Split]:
        bins = {
            TRAIN: (self.least, self.length),
            "longer": (self.length + 1, self.longer),
            "longest": (self.longer + 1, self.longest),
        }
        return {
            name: Split(description=f"{low} to {high} {self.unit}", axes={"length": (low, high)})
            for name, (low, high) in bins.items()
        }

    def lengths(self, split: str, rng: np.random.Generator, size: int) -> tuple[Ints, int]:
        """Uniformly random lengths of a split: `least` plus multiples of `step`; and their maximum.

        Lengths outside the range of the split are not drawn.
        """
        low, high = self.splits[split].axes["length"]
        first = -((self.least - low) // self.step)  # rounded up
        last = (high - self.least) // self.step
        drawn = rng.integers(first, last, size, endpoint=True)
        return self.least + self.step * drawn, self.least + self.step * last


def started(symbols: Ints, lengths: Ints) -> Ints:
    """<start> and the symbols of each row, given as numbers from 0; padding beyond the lengths."""
    size, width = symbols.shape
    question = np.zeros((size, width + 1), dtype=np.int64)
    question[:, 0] = START
    question[:, 1:] = np.where(within(lengths, width), symbols + FIRST, 0)
    return question
