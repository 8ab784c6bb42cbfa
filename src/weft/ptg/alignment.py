"""Two traces beside each other: which line of one belongs to which line of the other.

Up to the first difference lines are paired in order. From there on the longest common runs of lines
are paired, so that one missing or superfluous line does not make all the later ones look wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

MAX_ALIGNED = 2000
"""Lines after the first difference, at most; beyond them, lines are paired in order."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the right trace and the line that is written in its place.

    Attributes:
        step: the number of the right line, from 1; 0 if there is none.
        expected: the right line; None if the written line is superfluous.
        written: the written line; None if the right line is missing.
        first: whether this is the first difference.
    """

    step: int
    expected: str | None
    written: str | None
    first: bool = False

    @property
    def same(self) -> bool:
        """Whether the lines agree."""
        return self.expected == self.written


def align(expected: str, written: str) -> list[Row]:
    r"""The lines of a right trace beside those of a written one.

    Example:
        >>> rows = align("L2,a:1\nL3,b:1\nL4,\n", "L2,a:1\nL4,\n")
        >>> [(row.step, row.expected, row.written) for row in rows]
        [(1, 'L2,a:1', 'L2,a:1'), (2, 'L3,b:1', None), (3, 'L4,', 'L4,')]
    """
    right, wrong = _lines(expected), _lines(written)
    same = 0
    while same < min(len(right), len(wrong)) and right[same] == wrong[same]:
        same += 1
    rows = [Row(step, line, line) for step, line in enumerate(right[:same], 1)]
    for step, line, other in _pairs(right[same:], wrong[same:]):
        number = step + same + 1 if line is not None else 0
        rows.append(Row(number, line, other, first=len(rows) == same))
    return rows


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _pairs(
    right: Sequence[str], wrong: Sequence[str]
) -> Iterator[tuple[int, str | None, str | None]]:
    """Lines that belong together, with the index of the right one."""
    if len(right) > MAX_ALIGNED or len(wrong) > MAX_ALIGNED:
        yield from _in_order(right, wrong, 0)
        return
    matcher = SequenceMatcher(None, right, wrong, autojunk=False)
    for _, start, end, begin, stop in matcher.get_opcodes():
        yield from _in_order(right[start:end], wrong[begin:stop], start)


def _in_order(
    right: Sequence[str], wrong: Sequence[str], start: int
) -> Iterator[tuple[int, str | None, str | None]]:
    for index in range(max(len(right), len(wrong))):
        line = right[index] if index < len(right) else None
        yield start + index, line, wrong[index] if index < len(wrong) else None
