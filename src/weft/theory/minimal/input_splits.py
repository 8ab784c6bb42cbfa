"""Training and test inputs of a program, as they are named on the command line.

    longer                       a split of the task that the program solves, or of its own samples
    addition(digits=3):train     a split of a task with these parameters
    length<=20, length=21..40    random inputs of the program's own `sample`, by number of tokens
    inputs.txt                   a file with one input per line, or such a file compressed by gzip

If a task's test set was published, as SCAN's was, all its examples are taken; otherwise as many as
requested. Training inputs are drawn as for training a model, test inputs as for testing one, so no
held-out input is trained on.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.config import keywords
from weft.errors import WeftError
from weft.files import is_file
from weft.interpreter.inputs import random_inputs, read_input_file
from weft.language.program import Program
from weft.tasks import Task, solved_by, task
from weft.tasks.program_output import ProgramOutput, own_parameters
from weft.tasks.scan import Scan

LENGTH = re.compile(r"length\s*(?:<=\s*(?P<max>\d+)|=\s*(?P<low>\d+)(?:\.\.(?P<high>\d+))?)")
NAMED = re.compile(r"(?:(?P<task>[\w-]+)(?:\((?P<arguments>.*)\))?:)?(?P<split>[\w-]+)")
FORMS = "a split as in train, a task's as in addition(digits=3):train, length<=20, or a file"


def split_inputs(
    program: Program, name: str, written: str, *, size: int, testing: bool = False
) -> list[str | Sequence[Any]]:
    """The inputs that a split stands for.

    Args:
        program: whose inputs they are.
        name: what the program is called in the library, by which its task is found.
        written: the split; see this module.
        size: how many inputs to draw.
        testing: whether to draw a test set.

    Example:
        >>> import weft
        >>> parity = weft.program("parity")
        >>> split_inputs(parity, "parity", "parity(length=3):train", size=4)
        ['001', '011', '01', '111']
    """
    text = written.strip()
    if is_file(text):
        return list(read_input_file(Path(text)))
    by_length = LENGTH.fullmatch(text)
    if by_length is not None:
        return _sampled(program, by_length, size)
    named = NAMED.fullmatch(text)
    if named is None:
        raise WeftError(f"'{written}' is not a split", remedy=f"Give {FORMS}")
    chosen = _task(name, named["task"], named["arguments"], written)
    return list(_drawn(chosen, named["split"], size, testing))


def _task(name: str, wanted: str | None, arguments: str | None, written: str) -> Task:
    """The task that is named, or that the program solves."""
    if wanted is not None:
        return task(wanted, **_parameters(arguments or "", written))
    solved = solved_by(name)
    return task(solved[0]) if solved else task(ProgramOutput.name, **own_parameters(name))


def _parameters(arguments: str, written: str) -> dict[str, Any]:
    """`digits=3, order=plain` as a dictionary."""
    parameters = keywords(arguments)
    if parameters is None:
        raise WeftError(
            f"'{written}' has parameters that cannot be read",
            remedy="Write them as in addition(digits=3, longer=40):longer",
        )
    return parameters


def _drawn(chosen: Task, split: str, size: int, testing: bool) -> Sequence[str | Sequence[Any]]:
    """Questions of a task as text, or as a program's tokens; all of them if they were published."""
    chosen.check_split(split)
    if isinstance(chosen, Scan):
        return list(dict.fromkeys(getattr(chosen.commands, split)))
    batch = chosen.test_set(split, size) if testing else chosen.batch(split, 0, 0, size)
    return chosen.asked(batch)


def _sampled(program: Program, by: re.Match[str], size: int) -> list[Sequence[Any]]:
    low = int(by["low"] or 1)
    high = int(by["max"] or by["high"] or low)
    if not 1 <= low <= high:
        raise WeftError(f"no input has '{by[0]}'", remedy="Give lengths from 1, as in length=3..20")
    return list(random_inputs(program, random.Random(0), size, low, high))
