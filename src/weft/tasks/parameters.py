"""Parameters: read from a command line, and checked when a task is made."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from weft.errors import WeftError, did_you_mean

WORDS = {"true": True, "false": False, "none": None}


def guess(text: str) -> Any:
    """A value of no known type: a number, true, false, none, several with commas, or the text."""
    if "," in text:
        return tuple(guess(part.strip()) for part in text.strip("()[]").split(",") if part.strip())
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parameter(text: str) -> tuple[str, Any]:
    """A parameter that was written as `key=value`.

    Example:
        >>> from weft.tasks.parameters import parameter
        >>> parameter("length=12")
        ('length', 12)
    """
    key, there, value = text.partition("=")
    if not there:
        raise WeftError(f"'{text}' sets nothing", remedy="Write it as in length=12")
    return key.strip(), guess(value.strip())


def check_types(task: Any) -> None:
    """Every field of a task has its declared type: int, float, str, or one of several words."""
    hints = get_type_hints(type(task))
    for field in fields(task):
        value, hint = getattr(task, field.name), hints[field.name]
        if get_origin(hint) is Literal and value not in get_args(hint):
            raise WeftError(
                f"{field.name} cannot be {value!r}",
                subject=f"task {task.name}",
                remedy=did_you_mean(str(value), list(get_args(hint))).capitalize(),
            )
        if isinstance(hint, type) and not _is(value, hint):
            raise WeftError(
                f"{field.name} is {value!r}",
                subject=f"task {task.name}",
                remedy=f"Give it as {hint.__name__}",
            )


def _is(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float if kind is float else kind)


def check_ascending(task: Any, *steps: tuple[str, int | str]) -> None:
    """Each named parameter is at least a number, or more than another parameter."""
    for name, bound in steps:
        low = getattr(task, bound) + 1 if isinstance(bound, str) else bound
        if getattr(task, name) < low:
            above = f", more than {bound}" if isinstance(bound, str) else ""
            raise WeftError(
                f"{name} is {getattr(task, name)}",
                subject=f"task {task.name}",
                remedy=f"Give at least {low}{above}",
            )


def check_letters(task: Any, name: str, least: int) -> None:
    """A parameter lists at least so many characters, each once."""
    letters = getattr(task, name)
    if len(letters) < least or len(set(letters)) < len(letters):
        raise WeftError(
            f"{name} is {letters!r}",
            subject=f"task {task.name}",
            remedy=f"Give at least {least} characters that differ",
        )
