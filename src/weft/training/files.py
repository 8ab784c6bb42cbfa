"""Files that are whole or not there, and logs of JSON lines that survive being cut off."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from weft.files import read_json as read_json
from weft.files import read_text


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A name to write a file or folder to, which then takes the place of another at once."""
    scratch = path.with_name(f".{path.name}.tmp")
    _remove(scratch)
    try:
        yield scratch
        _flush(scratch)
        os.replace(scratch, path)
        _flush(path.parent)
    except BaseException:
        _remove(scratch)
        raise


def _flush(path: Path) -> None:
    """Wait until a file, or a folder with its files, is on the disk."""
    for one in (*path.iterdir(), path) if path.is_dir() and path.name.endswith(".tmp") else (path,):
        handle = os.open(one, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, whole or not at all."""
    with replaced(path) as scratch:
        scratch.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a log, up to the first that is damaged, as by an interruption."""
    if not path.exists():
        return []
    found: list[dict[str, Any]] = []
    for line in read_text(path, "Delete it: the run writes it again", damaged=True).splitlines():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not isinstance(record, dict) or not isinstance(record.get("step"), int):
            break
        found.append(record)
    return found


class Log:
    """Records of steps, one a line, from which a run can go on at a step."""

    def __init__(self, path: Path, step: int) -> None:
        kept = [record for record in read_lines(path) if record["step"] <= step]
        with replaced(path) as scratch:
            scratch.write_text("".join(f"{json.dumps(record)}\n" for record in kept))
        self._file = path.open("a", encoding="utf-8")
        self.last = kept[-1]["step"] if kept else 0

    def append(self, record: dict[str, Any]) -> None:
        """Add a record, unless its step has been written already."""
        if record["step"] > self.last:
            self._file.write(f"{json.dumps(record)}\n")
            self._file.flush()
            self.last = record["step"]

    def close(self) -> None:
        """Close the file."""
        self._file.close()
