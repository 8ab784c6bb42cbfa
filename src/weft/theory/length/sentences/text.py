"""Words, lists and numbers in sentences."""

from __future__ import annotations

from collections.abc import Sequence

MAX_LISTED = 8
"""States, cycles or components that are listed one by one; of the others the number is given."""


def quoted(text: str) -> str:
    """A word of the language in a sentence."""
    return f"'{text}'" if text else "the empty word"


def enumerated(parts: Sequence[str]) -> str:
    """Parts with commas and an "and".

    Example:
        >>> enumerated(["a", "b", "c"])
        'a, b and c'
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def number_of(count: int, noun: str) -> str:
    """A number with a noun.

    Example:
        >>> number_of(1, "state"), number_of(1200, "state")
        ('1 state', '1,200 states')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def more(count: int, what: str) -> str:
    """What a list of `MAX_LISTED` leaves out; empty if nothing."""
    return f" and {count - MAX_LISTED} more {what}" if count > MAX_LISTED else ""
