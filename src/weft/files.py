"""Files and folders that a user names: checked before work begins, with errors that say which.

Commands check where they will write before they compute anything (`output_folder`, `output_file`),
so that an hour of work is not lost to a misspelt path. Everything that is read goes through
`read_text`, `read_json` or `input_lines`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from weft.errors import WeftError


def output_folder(path: Path, *, holds: str = "", marker: str = "", option: str = "") -> Path:
    """Check that a folder can be written, or raise a `WeftError`; nothing is created.

    Args:
        path: the folder, which need not exist.
        holds: what belongs there, as in "model". An existing folder must then be empty or hold one.
        marker: the file by which a folder that holds one is known, as in "config.json".
        option: what the user gave the path as, as in "--runs"; named in the message.
    """
    called = f"{option} {path}".strip()
    try:
        if (path.exists() or path.is_symlink()) and not path.is_dir():
            raise WeftError(f"{called} is a file, not a folder", remedy="Give another path")
        if marker and path.is_dir() and not (path / marker).is_file() and any(path.iterdir()):
            raise WeftError(
                f"{called} is not empty and holds no {holds}", remedy="Give another folder"
            )
        _try_to_write(path if path.is_dir() else path.parent)
    except OSError as error:
        raise _not_written(called, error) from None
    return path


def output_file(path: Path, *, option: str = "") -> Path:
    """Check that a file can be written, or raise a `WeftError`; nothing is created."""
    called = f"{option} {path}".strip()
    try:
        if path.is_dir():
            raise WeftError(f"{called} is a folder, not a file", remedy="Give the name of a file")
        if path.exists():
            path.open("ab").close()
        elif not path.parent.is_dir():
            raise WeftError(
                f"{called} cannot be written: there is no folder {path.parent}",
                remedy="Create the folder first, or give another path",
            )
        else:
            _try_to_write(path.parent)
    except OSError as error:
        raise _not_written(called, error) from None
    return path


def _try_to_write(folder: Path) -> None:
    """Create something in a folder, or in the nearest one above that exists, and remove it."""
    import tempfile  # a command that writes nothing does not wait for it

    while not folder.is_dir():
        if folder.exists() or folder.is_symlink():
            raise NotADirectoryError(0, f"{folder} is not a folder")
        folder = folder.parent
    os.rmdir(tempfile.mkdtemp(prefix=".weft-", dir=folder))


def _not_written(called: str, error: OSError) -> WeftError:
    return WeftError(
        f"{called} cannot be written: {reason(error)}",
        remedy="Give a path in a folder that you can write to",
    )


@contextmanager
def named(path: Path, remedy: str = "") -> Iterator[None]:
    """Let errors about what a file holds name the file."""
    try:
        yield
    except WeftError as error:
        inner = f"{error.subject}: " if error.subject else ""
        raise WeftError(
            f"{inner}{error.what}", subject=str(path), where=error.where,
            remedy=remedy or error.remedy,
        ) from None  # fmt: skip


def reason(error: Exception) -> str:
    """What went wrong with a file, without the number and the path that Python adds."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror
        return text if text[1:2].isupper() or "/" in text else text[:1].lower() + text[1:]
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def is_folder(name: str | Path) -> bool:
    """Whether there is a folder of this name; a name that no file can have is not an error."""
    try:
        return bool(str(name)) and Path(name).is_dir()
    except (OSError, ValueError):
        return False


def is_file(name: str | Path) -> bool:
    """Whether there is a file of this name; a name that no file can have is not an error."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


def read_text(path: Path, remedy: str = "Give a text file", *, damaged: bool = False) -> str:
    """The text of a file, or a `WeftError` that names it; with `damaged`, whatever bytes it has."""
    try:
        return path.read_text(encoding="utf-8", errors="replace" if damaged else "strict")
    except (OSError, UnicodeDecodeError) as error:
        raise WeftError(f"{path} cannot be read: {reason(error)}", remedy=remedy) from None


def read_json(path: Path, remedy: str = "Give a JSON file") -> Any:
    """The value of a JSON file, or a `WeftError` that names the file and the place."""
    text = read_text(path, remedy)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise WeftError(
            f"{path} is not JSON: line {error.lineno}, column {error.colno}: {error.msg}",
            remedy=remedy,
        ) from None
    except (RecursionError, ValueError):  # nested too deep, or a number of too many digits
        raise WeftError(f"{path} is not JSON that can be read", remedy=remedy) from None


def input_lines(path: Path) -> list[str]:
    """The inputs in a file, one per line; empty lines are skipped."""
    found = [line.strip() for line in read_text(path).splitlines() if line.strip()]
    if not found:
        raise WeftError(f"{path} has no inputs", remedy="Write one input per line")
    return found
