"""Read the plain values of a certificate, which may be anything, with bounds on what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_STEPS = 10_000_000
"""Steps of a check, at most: some seconds."""


class Invalid(Exception):
    """The certificate does not hold; the message says why."""


class Budget:
    """Steps that a check may still take."""

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self.steps = steps

    def spend(self, steps: int) -> None:
        """Take some steps."""
        self.steps -= steps
        if self.steps < 0:
            raise Invalid("it is too large to be checked")


def field(value: Any, key: str) -> Any:
    """A field of an object."""
    if not isinstance(value, Mapping):
        raise Invalid(f"it is malformed: the holder of {key!r} must be an object")
    if key not in value:
        raise Invalid(f"it is malformed: {key!r} is missing")
    return value[key]


def list_field(value: Any, key: str) -> list[Any]:
    """A field that is a list."""
    return as_list(field(value, key), key)


def as_list(value: Any, what: str) -> list[Any]:
    """A list; `what` names it in the error."""
    if not isinstance(value, list):
        raise Invalid(f"it is malformed: {what!r} must be a list")
    return value


def integer_field(value: Any, key: str) -> int:
    """A field that is a whole number."""
    return integer(field(value, key), key)


def integer(value: Any, what: str) -> int:
    """A whole number, and not a Boolean; `what` names it in the error."""
    if type(value) is not int:
        raise Invalid(f"it is malformed: {what!r} must be whole numbers")
    return value


def integers(value: Any, what: str) -> tuple[int, ...]:
    """A list of whole numbers."""
    return tuple(integer(each, what) for each in as_list(value, what))


def bool_field(value: Any, key: str) -> bool:
    """A field that is true or false."""
    result = field(value, key)
    if type(result) is not bool:
        raise Invalid(f"it is malformed: {key!r} must be true or false")
    return result


def text_field(value: Any, key: str) -> str:
    """A field that is a text."""
    result = field(value, key)
    if not isinstance(result, str):
        raise Invalid(f"it is malformed: {key!r} must be a text")
    return result


def word_field(value: Any, key: str) -> list[str]:
    """A field that is a word, as a list of letters."""
    return letters(field(value, key), key)


def letters(value: Any, what: str) -> list[str]:
    """A word, as a list of letters."""
    result = as_list(value, what)
    if not all(isinstance(letter, str) for letter in result):
        raise Invalid(f"it is malformed: {what!r} must be lists of letters")
    return result
