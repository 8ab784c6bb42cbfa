"""C-RASP programs under names that every command takes for a program.

crasp:dyck-1                                 a program of the C-RASP library
crasp:bounded-dyck(depth=3, max_length=40)   with its parameters, for words up to a length
path/mine.crasp(max_length=40)               a file
"""

from __future__ import annotations

from functools import partial

from weft.config import keywords
from weft.errors import WeftError
from weft.language.program import Program

PREFIX, SUFFIX = "crasp:", ".crasp"


def is_crasp(name: str) -> bool:
    """Whether a name refers to a C-RASP program.

    Example:
        >>> from weft.programs.crasp import is_crasp
        >>> is_crasp("crasp:dyck-1"), is_crasp("mine.crasp(max_length=9)"), is_crasp("dyck")
        (True, True, False)
    """
    plain = name.partition("(")[0].strip()
    return plain.startswith(PREFIX) or plain.endswith(SUFFIX)


def is_crasp_library(name: str) -> bool:
    """Whether a name refers to a C-RASP program that comes with Weft."""
    return is_crasp(name) and not name.partition("(")[0].strip().endswith(SUFFIX)


def crasp_program(name: str) -> Program:
    """The Weft program of a C-RASP program.

    Example:
        >>> import weft
        >>> weft.run(weft.program("crasp:bounded-dyck(depth=1)"), "abab").result
        True
    """
    from weft.crasp import library
    from weft.crasp.bridge.program import MAX_LENGTH, as_program
    from weft.crasp.loading import load

    plain, bracket, inside = name.strip().removeprefix(PREFIX).partition("(")
    given = keywords(inside.removesuffix(")")) if inside.endswith(")") else None
    if bracket and given is None:
        raise WeftError(
            f"'{name}' does not name a program",
            remedy="Write its parameters as in crasp:bounded-dyck(depth=3, max_length=40)",
        )
    parameters = given or {}
    length = parameters.pop("max_length", MAX_LENGTH)
    if type(length) is not int or length < 1:
        raise WeftError(
            f"max_length cannot be {length!r}", remedy="Give a whole number, at least 1"
        )
    if not plain.endswith(SUFFIX):
        program, entry = library.load(plain, **parameters), library.entry(plain)
        inputs = partial(entry.draw_input, **parameters) if entry.inputs is not None else None
        return as_program(program, length, inputs)
    if parameters:
        raise WeftError(
            f"{plain} has no parameter '{next(iter(parameters))}'",
            remedy="A file takes max_length alone",
        )
    return as_program(load(plain), length)
