"""Reading and writing files: paths are checked before work begins, and writes are atomic.

Commands check where they will write before they compute anything (`output_folder`, `output_file`),
so that an hour of work is not lost to a misspelt path. Everything that is read goes through
`read_text`, `read_json` or `read_lines`, whose errors name the file.

`replaced` and `write_json` write a file or a folder under another name and rename it when it is
complete: a reader sees the old version or the new one, never a part. `Log` appends JSON lines;
`read_lines` reads them up to the first damaged line, so a log survives a crash.
"""

from __future__ import annotations

import json
import os
import zlib
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
    """The text of a file (of a `.gz` file, decompressed), or a `WeftError` that names the file.

    With `damaged`, bytes that are not UTF-8 are replaced instead of refused.
    """
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            import gzip

            data = gzip.decompress(data)
        return data.decode("utf-8", errors="replace" if damaged else "strict")
    except (OSError, EOFError, zlib.error, ValueError) as error:  # not UTF-8, or an impossible name
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


# Atomic writes


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yield a path to write a file or a folder to; it replaces `path` when the block ends.

    If the block raises, `path` stays as it was.
    """
    scratch = path.with_name(f".{path.name}.tmp")
    _remove(scratch)
    try:
        yield scratch
        if scratch.is_dir():
            for file in scratch.iterdir():
                _flush(file)
        _flush(scratch)
        _rename(scratch, path)
        _flush(path.parent)
    except BaseException:
        _remove(scratch)
        raise


def _rename(scratch: Path, path: Path) -> None:
    """Put a file or a folder in the place of another; a folder moves aside first."""
    if scratch.is_dir() and path.is_dir():
        old = path.with_name(f".{path.name}.old")
        _remove(old)
        os.replace(path, old)
        os.replace(scratch, path)
        _remove(old)
    else:
        os.replace(scratch, path)


def _flush(path: Path) -> None:
    """Wait until a file or a folder's entries are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir():
        import shutil  # a command that writes nothing does not wait for it

        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, atomically."""
    with replaced(path) as scratch:
        scratch.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a log, up to the first damaged line; none if there is no log."""
    if not path.exists():
        return []
    records: list[dict[str, Any]] = []
    for line in read_text(path, "Delete it: the run writes it again", damaged=True).splitlines():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not isinstance(record, dict) or not isinstance(record.get("step"), int):
            break
        records.append(record)
    return records


class Log:
    """A file of JSON lines, one record per step, which can be resumed from any step."""

    def __init__(self, path: Path, step: int) -> None:
        """Open the log at `path`, without the records after `step`."""
        kept = [record for record in read_lines(path) if record["step"] <= step]
        with replaced(path) as scratch:
            scratch.write_text("".join(f"{json.dumps(record)}\n" for record in kept))
        self._file = path.open("a", encoding="utf-8")
        self.last = kept[-1]["step"] if kept else 0

    def append(self, record: dict[str, Any]) -> None:
        """Add a record, unless the log already has its step."""
        if record["step"] > self.last:
            self._file.write(f"{json.dumps(record)}\n")
            self._file.flush()
            self.last = record["step"]

    def close(self) -> None:
        """Close the file."""
        self._file.close()
