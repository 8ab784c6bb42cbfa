"""Well nested brackets of several kinds (Dyck languages), by length and by depth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from weft.errors import WeftError
from weft.tasks.arrays import Bools, Ints, within
from weft.tasks.formats import Format, Pairs
from weft.tasks.parameters import check_ascending, check_letters
from weft.tasks.task import TRAIN, Split, Task

FIRST = 4  # the token of the first bracket
NONE = "none"  # the class where no bracket is open


@dataclass(frozen=True, kw_only=True)
class Dyck(Task):
    """After each bracket, which one closes what was opened last; or how many are open.

    Brackets are nested well. The axis `depth` is the most that are open at once; it is drawn
    evenly, then an even length that has room for it.

    Attributes:
        brackets: an opening and a closing one, for each kind.
        length: the greatest length in distribution.
        longer: the greatest length of all.
        depth: the greatest depth in distribution.
        deeper: the greatest depth of all.
        answer: the `closing` bracket, or the number that are `open`.
    """

    name: ClassVar[str] = "dyck"
    format: Format = "tag"
    formats: ClassVar[tuple[Format, ...]] = ("tag",)
    programs: ClassVar[tuple[str, ...]] = ("dyck",)
    brackets: str = "()[]"
    length: int = 20
    longer: int = 40
    depth: int = 4
    deeper: int = 8
    answer: Literal["closing", "open"] = "closing"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_letters(self, "brackets", 2)
        check_ascending(self, ("depth", 1), ("deeper", "depth"), ("longer", "length"))
        check_ascending(self, ("length", 2 * self.deeper), ("longer", self.length + 2))
        if len(self.brackets) % 2:
            raise WeftError(
                f"brackets is {self.brackets!r}",
                subject=f"task {self.name}",
                remedy="Give an opening and a closing one for each kind, as in ()[]",
            )

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(self.brackets)

    @property
    def answers(self) -> tuple[str, ...]:
        if self.answer == "open":
            return tuple(map(str, range(self.deeper + 1)))
        return (NONE, *self.brackets[1::2])

    @cached_property
    def splits(self) -> Mapping[str, Split]:
        low, high, depth, deeper = self.length, self.longer, self.depth, self.deeper
        return {
            TRAIN: Split(
                description=f"at most {low} brackets, at most {depth} deep",
                axes={"length": (2, low), "depth": (1, depth)},
            ),
            "longer": Split(
                description=f"more than {low} brackets, up to {high}, at most {depth} deep",
                axes={"length": (low + 1, high), "depth": (1, depth)},
            ),
            "deeper": Split(
                description=f"at most {low} brackets, {depth + 1} to {deeper} deep",
                axes={"length": (2, low), "depth": (depth + 1, deeper)},
            ),
        }

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        axes = self.splits[split].axes
        (low, high), (shallow, deep) = axes["length"], axes["depth"]
        depths = rng.integers(shallow, deep, size, endpoint=True)
        least = np.maximum(depths, (low + 1) // 2)
        lengths = 2 * rng.integers(least, high // 2, endpoint=True)
        opens = _walks(rng, high, lengths, depths)
        kinds, top, level = _nested(rng, opens, within(lengths, high), len(self.brackets) // 2)
        tokens = np.where(within(lengths, high), FIRST + 2 * kinds + ~opens, 0)
        return Pairs(
            question=tokens,
            question_lengths=lengths,
            answer=level if self.answer == "open" else top,
            answer_lengths=lengths,
            axes={"length": lengths, "depth": depths},
        )

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        closes = dict(zip(self.brackets[::2], self.brackets[1::2], strict=True))
        stack: list[str] = []
        answers = []
        for token in tokens:
            if token in closes:
                stack.append(closes[token])
            else:
                stack.pop()
            answers.append(str(len(stack)) if self.answer == "open" else [NONE, *stack][-1])
        return tuple(answers)


def _walks(rng: np.random.Generator, width: int, lengths: Ints, depths: Ints) -> Bools:
    """Which brackets open (b l), in walks that end at 0 and reach their depth, but no more.

    Each step is a fair choice between up and down where both can still lead there.
    """
    size = len(lengths)
    level = np.zeros(size, dtype=np.int64)
    reached = np.zeros(size, dtype=np.bool_)
    chosen = rng.integers(0, 2, (width, size)) == 1
    opens = np.zeros((width, size), dtype=np.bool_)
    for place in range(width):
        left = lengths - place - 1  # steps after this one
        must = ~reached & (left < 2 * depths - level + 1)  # down, all the way up, and down again
        may = (level < depths) & (level + 1 <= left)
        up = (may & (chosen[place] | must)) | (level == 0)
        opens[place] = up & (left >= 0)
        level = np.where(left >= 0, level + np.where(up, 1, -1), 0)
        reached |= level == depths
    return opens.T


def _nested(
    rng: np.random.Generator, opens: Bools, inside: Bools, count: int
) -> tuple[Ints, Ints, Ints]:
    """The kind of each bracket; after it, the kind on top of the stack, from 1, and its height."""
    size, width = opens.shape
    rows = np.arange(size)
    drawn = rng.integers(0, count, (size, width))
    stack = np.zeros((size, width + 2), dtype=np.int64)  # cell 0 is no bracket
    level = np.zeros(size, dtype=np.int64)
    kinds, top, levels = (np.zeros((size, width), dtype=np.int64) for _ in range(3))
    for place in range(width):
        up = opens[:, place]
        kinds[:, place] = np.where(up, drawn[:, place], stack[rows, level] - 1)
        level = np.where(inside[:, place], level + np.where(up, 1, -1), 0)
        stack[rows, level] = np.where(up, drawn[:, place] + 1, stack[rows, level])
        top[:, place], levels[:, place] = stack[rows, level], level
    return kinds, top, levels
