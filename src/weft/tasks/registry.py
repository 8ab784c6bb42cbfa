"""The table of tasks, and `task`, which makes one by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from weft.errors import WeftError, did_you_mean
from weft.tasks.bits import Majority, Parity
from weft.tasks.task import Task

TASKS: dict[str, type[Task]] = {kind.name: kind for kind in (Parity, Majority)}


def task(name: str, **parameters: Any) -> Task:
    """The task with this name and these parameters.

    Example:
        >>> from weft.tasks import task
        >>> parity = task("parity", longer=60)
        >>> parity.splits["longer"].description
        '21 to 60 bits'
    """
    if name not in TASKS:
        raise WeftError(
            f"there is no task '{name}'", remedy=did_you_mean(name, list(TASKS)).capitalize()
        )
    known = [field.name for field in fields(TASKS[name])]
    for key in parameters:
        if key not in known:
            raise WeftError(
                f"it has no parameter '{key}'",
                subject=f"task {name}",
                remedy=did_you_mean(key, known).capitalize(),
            )
    return TASKS[name](**parameters)
