"""C-RASP programs by name: a file, or a program of the library with its parameters."""

from __future__ import annotations

from pathlib import Path

from weft.crasp.program import CraspProgram
from weft.errors import WeftError, did_you_mean
from weft.files import is_file

SUFFIX = ".crasp"
PROGRAM = "program.crasp"
"""The file of a model folder that holds the program."""


def load(name: str) -> CraspProgram:
    """The program in a file or a model folder, or the one of this name in the library.

    Args:
        name: a path (`dyck.crasp`), a folder that holds a compiled program, or a name of the
            library with parameters in brackets if the program has any (`bounded-dyck(depth=3)`).

    Example:
        >>> from weft.crasp.loading import load
        >>> load("dyck-1").alphabet
        ('(', ')')
    """
    if name.endswith(SUFFIX) or is_file(name):
        from weft.crasp.syntax.parser import read

        return read(Path(name))
    if is_file(Path(name) / PROGRAM):
        from weft.crasp.syntax.parser import read

        return read(Path(name) / PROGRAM)
    from weft.crasp import library

    title = name.partition("(")[0].strip()
    if title not in library.names():
        raise WeftError(
            f"there is no C-RASP program '{name}'",
            remedy=f"Name a {SUFFIX} file, or a program of the library: "
            f"{did_you_mean(title, list(library.names()))}",
        )
    return library.load(name)
