"""Answers in pairs: without positions, and with learned absolute ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weft.theory.length.answers import Answer, Positions
from weft.theory.length.transductions.comparison import Compared

Pair = tuple[Answer, Answer]
"""Without positions, and with learned absolute ones."""

UNCHANGED = "nothing: counts are enough, with and without positions"
"""What would change a yes without positions."""
SHOWN = 4
"""Programs for more symbols are shown for this many."""


def both(answer: Answer) -> Pair:
    """One answer for both positional encodings."""
    return replace(answer, positions="none"), replace(answer, positions="absolute")


def yes(
    positions: Positions,
    found: Compared,
    reason: str,
    *,
    details: Sequence[str] = (),
    change: str = "",
) -> Answer:
    """A yes that rests on a program."""
    return Answer(
        positions=positions,
        verdict="yes",
        support="checked",
        reason=reason,
        details=(*details, *found.lines),
        change=change,
        program=str(found.program),
        checked_to=found.length,
    )
