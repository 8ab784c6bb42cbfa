"""Checks of a task's parameters beyond their types."""

from __future__ import annotations

from typing import Any

from weft.errors import WeftError


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
