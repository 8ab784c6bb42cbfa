"""The table of tasks, `task`, which makes one by name, and `named`, which takes programs too."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from weft.errors import WeftError, did_you_mean
from weft.programs import LIBRARY
from weft.tasks.addition import Addition
from weft.tasks.bits import Majority, Parity
from weft.tasks.dyck import Dyck
from weft.tasks.induction import Induction
from weft.tasks.modular import ModularAddition
from weft.tasks.program_output import ProgramOutput, own_parameters
from weft.tasks.scan import Scan
from weft.tasks.sequences import Copy, Reverse, Sort
from weft.tasks.task import Task

TASKS: dict[str, type[Task]] = {
    kind.name: kind
    for kind in (
        Parity,
        Majority,
        Copy,
        Reverse,
        Sort,
        Addition,
        ModularAddition,
        Induction,
        Dyck,
        Scan,
        ProgramOutput,
    )
}


def named(name: str) -> tuple[str, dict[str, Any]]:
    """The task, and its parameters, for the name of a task or of a program.

    Example:
        >>> from weft.tasks import named
        >>> named("parity"), named("regex")
        (('parity', {}), ('program', {'program': 'regex'}))
    """
    if name in TASKS:
        return name, {}
    if name.partition("(")[0].strip() not in LIBRARY and ".py" not in name:
        raise WeftError(
            f"there is no task '{name}', and no program",
            remedy=did_you_mean(name, [*TASKS, *LIBRARY]).capitalize(),
        )
    return ProgramOutput.name, own_parameters(name)


def solved_by(program: str) -> list[str]:
    """The tasks that a program of the library solves.

    Example:
        >>> from weft.tasks import solved_by
        >>> solved_by("parity-absolute(positions=40)"), solved_by("turing")
        (['parity'], [])
    """
    plain = program.partition("(")[0].strip()
    return [name for name, kind in TASKS.items() if plain in kind.programs]


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
