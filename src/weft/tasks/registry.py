"""The table of tasks, `task`, which makes one by name, and `named`, which takes programs too.

A name is that of a built-in task, `path/file.py:Class`, or one that users or installed packages
have registered (`weft.extensions`).
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from weft.errors import WeftError, check_known, unknown_name
from weft.extensions import available, exists, find, kind_in_file, reference
from weft.language.user_code import user_code
from weft.programs import LIBRARY, is_crasp
from weft.tasks.algorithmic import (
    BinaryAddition,
    BinaryMajority,
    BitParity,
    InterleavedMajority,
    LetterMajority,
    RepeatCopy,
    Sorting,
    UniqueCopy,
)
from weft.tasks.arithmetic import (
    Addition,
    ModularAddition,
    ModularMultiplication,
    Multiplication,
    MultiplyAdd,
    Subtraction,
    SumOfThree,
)
from weft.tasks.bits import Majority, Parity
from weft.tasks.dyck import Dyck
from weft.tasks.formal import FormalLanguage
from weft.tasks.induction import Induction
from weft.tasks.program_output import ProgramOutput, own_parameters
from weft.tasks.program_traces import ProgramTraces
from weft.tasks.recursion import Recursion
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
        Subtraction,
        Multiplication,
        SumOfThree,
        MultiplyAdd,
        ModularAddition,
        ModularMultiplication,
        Induction,
        Dyck,
        BinaryMajority,
        LetterMajority,
        InterleavedMajority,
        Sorting,
        UniqueCopy,
        RepeatCopy,
        BitParity,
        BinaryAddition,
        FormalLanguage,
        Scan,
        Recursion,
        ProgramTraces,
        ProgramOutput,
    )
}


def named(name: str) -> tuple[str, dict[str, Any]]:
    """The task and the parameters for a name, which may be that of a task or of a program.

    Example:
        >>> from weft.tasks import named
        >>> named("parity"), named("regex")
        (('parity', {}), ('program', {'program': 'regex'}))
    """
    if name in TASKS:
        return name, {}
    if is_crasp(name):
        return ProgramOutput.name, own_parameters(name)
    parts = reference(name, "task")
    if parts.in_file:
        is_task = kind_in_file(name, ("program", "task")) == "task"
    else:
        is_task = exists("task", name)
    if is_task:
        return name.partition("(")[0].strip(), dict(parts.arguments)
    if not (parts.path in LIBRARY or exists("program", name)):
        known = dict.fromkeys([*TASKS, *LIBRARY, *available("task"), *available("program")])
        raise unknown_name(f"there is no task or program '{name}'", name, known)
    return ProgramOutput.name, own_parameters(name)


def solved_by(program: str) -> list[str]:
    """The tasks that a library program solves.

    Example:
        >>> from weft.tasks import solved_by
        >>> solved_by("parity-absolute(positions=40)"), solved_by("turing")
        (['parity'], [])
    """
    plain = program.partition("(")[0].strip()
    return [name for name, kind in TASKS.items() if plain in kind.programs]


def task_class(name: str) -> type[Task]:
    """The class of a task by its name, or by `path/file.py:Class`."""
    if name in TASKS:
        return TASKS[name]
    if reference(name, "task").in_file and kind_in_file(name, ("task", "program")) == "program":
        raise WeftError(
            f"{name} is a program, not a task",
            remedy=f"To learn its output, use the task 'program' with program='{name}'",
        )
    kind: type[Task] = find("task", name, TASKS)
    _check_declared(kind, name)
    return kind


def _check_declared(kind: type[Task], shown: str) -> None:
    """Check what `find` cannot know of tasks: class attributes, and that fields are parameters."""
    wanted = {"name": '"doubling"', "formats": '("lm", "seq2seq")'}
    for attribute, example in wanted.items():
        if not hasattr(kind, attribute):
            raise WeftError(
                f"{shown} has no {attribute}", remedy=f"Write {attribute} = {example} in the class"
            )
    for base in kind.__mro__:
        if "__dataclass_fields__" not in vars(base) and any(
            "ClassVar" not in str(hint) for hint in vars(base).get("__annotations__", {}).values()
        ):
            raise WeftError(
                f"{shown}: the fields of {base.__name__} are not parameters",
                remedy=f"Write @dataclass(frozen=True, kw_only=True) above class {base.__name__}",
            )


def task(name: str, **parameters: Any) -> Task:
    """The task of this name, or of `path/file.py:Class`, with these parameters.

    Example:
        >>> from weft.tasks import task
        >>> parity = task("parity", longer=60)
        >>> parity.splits["longer"].description
        '21 to 60 bits'
    """
    kind = task_class(name)
    known = [field.name for field in fields(kind)]
    for key in parameters:
        check_known(key, known, f"it has no parameter '{key}'", subject=f"task {name}")
    with user_code(f"task {name} cannot be made"):
        return kind(**parameters)
