"""Dyck languages: well-nested brackets of several kinds, by length and by depth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from weft.tasks.arrays import Bools, Ints, within
from weft.tasks.formats import END, Format, Pairs
from weft.tasks.task import TRAIN, Split, Task, check_ascending, check_letters

FIRST = 4  # the token of the first bracket
NONE = "none"  # the class if no bracket is open


@dataclass(frozen=True, kw_only=True)
class Dyck(Task):
    """Which bracket closes the last open one; how many are open; or which may come next.

    Strings are well nested. The axis `depth` is the largest number of brackets open at once. It is
    drawn uniformly, then an even length that has room for it.

    In the format `next`, a language model predicts after each prefix the set of symbols that may
    come next: any opening bracket, the bracket that closes the last open one, and `<end>` if none
    is open. (Depth and length are limited in the data alone, not in these sets.)

    Attributes:
        brackets: an opening and a closing one for each kind.
        length: the maximum length in distribution.
        longer: the maximum length of all.
        depth: the maximum depth in distribution.
        deeper: the maximum depth of all.
        answer: in the format `tag`, the `closing` bracket or the number that are `open`.
    """

    name: ClassVar[str] = "dyck"
    format: Format = "tag"
    formats: ClassVar[tuple[Format, ...]] = ("tag", "next")
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
            remedy = "Give an opening and a closing one for each kind, as in ()[]"
            raise self.error(f"brackets is {self.brackets!r}", remedy)

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(self.brackets)

    @property
    def answers(self) -> tuple[str, ...]:
        if self.format == "next":
            return self.vocabulary
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
            legal=self._legal(top) if self.format == "next" else None,
        )

    def _legal(self, top: Ints) -> Bools:
        """The symbols that may come next (b l+1 c), from the kind on top of the stack (b l)."""
        size, width = top.shape
        above = np.concatenate([np.zeros((size, 1), dtype=np.int64), top], axis=1)
        legal = np.zeros((size, width + 1, self.outputs), dtype=np.bool_)
        legal[..., FIRST::2] = True
        legal[..., FIRST + 1 :: 2] = above[..., None] == np.arange(1, len(self.brackets) // 2 + 1)
        legal[..., END] = above == 0
        return legal

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        closes = dict(zip(self.brackets[::2], self.brackets[1::2], strict=True))
        stack: list[str] = []
        answers = [self._reference_of(stack)] if self.format == "next" else []
        for token in tokens:
            if token in closes:
                stack.append(closes[token])
            else:
                stack.pop()
            answers.append(self._reference_of(stack))
        return tuple(answers)

    def _reference_of(self, stack: list[str]) -> str:
        """The answer after a prefix, from the brackets that would close it."""
        if self.format == "next":
            allowed = {*self.brackets[::2], *(stack[-1:] or ["<end>"])}
            return "|".join(name for name in self.vocabulary if name in allowed)
        return str(len(stack)) if self.answer == "open" else [NONE, *stack][-1]


def _walks(rng: np.random.Generator, width: int, lengths: Ints, depths: Ints) -> Bools:
    """Which brackets open (b l), in walks that end at 0 and reach exactly their depth.

    Each step goes up or down with equal probability if both can still lead there.
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
