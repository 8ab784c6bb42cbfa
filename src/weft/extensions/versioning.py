"""Versions of users' code: recorded in configs, so that a changed class is another run."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable, Mapping
from pathlib import Path

from weft.errors import WeftError
from weft.extensions.points import ExtensionPoint, point_of, reference, resolve
from weft.extensions.registry import REGISTERED, entry_points, package_of
from weft.files import is_file


def versions(names: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """What tells the present version of users' code from another: a hash, or a package's version.

    Args:
        names: by kind, the names that a config has. Built-in ones have no version.

    Returns:
        By name, the beginning of the SHA-256 of a file, or of the source of what is registered; or
        the version of an installed package. Nothing for what cannot be found.
    """
    result = {}
    for kind, texts in names.items():
        for text in texts:
            version = _version(point_of(kind), text)
            if version:
                result[text] = version
    return result


def check_versions(names: Mapping[str, Iterable[str]], recorded: Mapping[str, str]) -> None:
    """Raise a `WeftError` if users' code is no longer what it was when a version was recorded."""
    for text, now in versions(names).items():
        before = recorded.get(text, now)
        if now != before:
            raise WeftError(
                f"{text} has changed since this run was configured: it was {before}, "
                f"and is {now} now",
                remedy="Bring it back to what it was (runs keep a copy of files in code/), "
                "or train it as a new run",
            )


def copy_files(names: Mapping[str, Iterable[str]], folder: Path) -> None:
    """Copy the files that names refer to into a folder, which is made if there are any."""
    for kind, texts in names.items():
        for text in texts:
            path = Path(reference(text, kind).path)
            if path.suffix == ".py" and is_file(path):
                folder.mkdir(parents=True, exist_ok=True)
                (folder / path.name).write_bytes(path.read_bytes())


def _version(point: ExtensionPoint, text: str) -> str:
    try:
        named = reference(text, point.kind)
    except WeftError:
        return ""
    if named.in_file:
        path = Path(named.path)
        return hashlib.sha256(path.read_bytes()).hexdigest()[:12] if is_file(path) else ""
    if (point.kind, named.path) in REGISTERED:
        value = REGISTERED[point.kind, named.path]
        kind = value if isinstance(value, type) else type(value)
        try:
            source = inspect.getsource(kind)
        except (OSError, TypeError):  # typed at a prompt
            return ""
        return hashlib.sha256(source.encode()).hexdigest()[:12]
    entries = [entry for entry in entry_points(point.group) if entry.name == named.path]
    if not entries or (point.built_in and named.path in resolve(point.built_in)):
        return ""
    return package_of(entries[0])
