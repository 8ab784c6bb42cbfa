"""Finding users' classes by name: in files, registered, or entry points of packages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from weft.errors import WeftError, did_you_mean
from weft.extensions.checks import check, check_arguments
from weft.extensions.points import ExtensionPoint, point_of, reference, resolve
from weft.extensions.user_files import object_in_file
from weft.files import is_file, is_folder
from weft.language.user_code import user_code

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Value = TypeVar("Value")
NAME = re.compile(r"[A-Za-z0-9][\w-]*")
REGISTERED: dict[tuple[str, str], Any] = {}
"""What was registered in this process, by kind and name."""


@overload
def register(kind: str, name: str, value: Value) -> Value: ...
@overload
def register(kind: str, name: str) -> Callable[[Value], Value]: ...
def register(kind: str, name: str, value: Any = None) -> Any:
    """Make a class known by a name: `register("task", "doubling", Doubling)`, or as a decorator.

    Args:
        kind: one of program, task, position, attention, callback and executor.
        name: letters, digits, - and _. Built-in names cannot be replaced; one's own can, so that a
            notebook cell can be run again.
        value: the class; left out, a decorator for the class is returned.

    Example:
        >>> import weft
        >>> from weft import extensions
        >>> @extensions.register("program", "my-parity")
        ... class MyParity(weft.programs.parity.Parity):
        ...     '''Parity, under another name.'''
        >>> weft.program("my-parity")
        <program MyParity>
        >>> extensions.unregister("program", "my-parity")
    """
    if value is None:
        return lambda decorated: register(kind, name, decorated)
    point = point_of(kind)
    if not NAME.fullmatch(name) or name.endswith(".py"):
        raise WeftError(
            f"'{name}' cannot name {point.noun}",
            remedy="Use letters, digits, - and _, as in my-task",
        )
    if point.built_in and name in resolve(point.built_in):
        raise WeftError(
            f"Weft has {point.noun} '{name}' of its own", remedy="Register it by another name"
        )
    there = REGISTERED.get((kind, name))
    if there is not None and _origin(there) != _origin(value):
        raise WeftError(
            f"{_origin(there)} is registered as the {kind} '{name}' already",
            remedy=f"Use another name, or weft.extensions.unregister('{kind}', '{name}') first",
        )
    check(point, value, f"the {kind} '{name}'")
    REGISTERED[kind, name] = value
    return value


def unregister(kind: str, name: str) -> None:
    """Forget a registered name."""
    REGISTERED.pop((kind, name), None)


def _origin(value: Any) -> str:
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def find(kind: str, text: str, known: Iterable[str] = ()) -> Any:
    """A user's class (or instance, of programs and callbacks) by its name, checked.

    Args:
        kind: one of the extension points.
        text: `path/file.py:Name`, a registered name or that of an entry point. Arguments in
            brackets are not looked at: `make` does.
        known: built-in names, for the message if there is none of this name.
    """
    point, named = point_of(kind), reference(text, kind)
    if named.in_file:
        value = object_in_file(Path(named.path), named.name, (point,))
        check(point, value, named.path if named.name is None else f"{named.path}:{named.name}")
    elif (kind, named.path) in REGISTERED:
        value = REGISTERED[kind, named.path]
    elif (entry := entry_point(point, named.path)) is not None:
        with user_code(
            f"the {kind} '{named.path}' of the installed package {package_of(entry)} "
            "cannot be loaded",
            remedy="Update or uninstall the package",
        ):
            value = entry.load()
        check(point, value, f"the {kind} '{named.path}' of the package {package_of(entry)}")
    else:
        raise _unknown(point, named.path, [*known, *available(kind)])
    return value


def exists(kind: str, text: str) -> bool:
    """Whether a name refers to something in a file, is registered or an entry point."""
    named = reference(text, kind)
    known = (kind, named.path) in REGISTERED
    return named.in_file or known or entry_point(point_of(kind), named.path) is not None


def kind_in_file(text: str, kinds: tuple[str, ...]) -> str:
    """Of which of several kinds the object in a file is that `path/file.py:Name` refers to."""
    named = reference(text, kinds[0])
    points = tuple(map(point_of, kinds))
    value = object_in_file(Path(named.path), named.name, points)
    for point in points:
        if point.accepts(value):
            return point.kind
    return kinds[0]


def make(kind: str, text: str, value: Any = None) -> Any:
    """An instance of the class that `find` gives, or of `value`, with the arguments in brackets.

    Example:
        >>> from weft.extensions import make
        >>> from weft.programs.parity import ParityAbsolute
        >>> make("program", "mine(positions=8)", ParityAbsolute).positions
        8
    """
    value = find(kind, text) if value is None else value
    arguments = reference(text, kind).arguments
    if not isinstance(value, type) and not arguments:
        return value
    if not isinstance(value, type):
        raise WeftError(f"'{text}' is made already", remedy="Leave the arguments out")
    check_arguments(text, value, arguments)
    with user_code(f"'{text}' cannot be made"):
        return value(**arguments)


def available(kind: str) -> dict[str, str]:
    """The names that are registered or entry points, with their origin; nothing is imported."""
    point = point_of(kind)
    names = {entry.name: f"package {package_of(entry)}" for entry in entry_points(point.group)}
    return names | {
        name: _origin(value) for (there, name), value in REGISTERED.items() if there == kind
    }


def _unknown(point: ExtensionPoint, name: str, known: list[str]) -> WeftError:
    if is_folder(name) or is_file(name):
        what = f"{name} is a {'folder' if is_folder(name) else 'file'}, not {point.noun}"
        return WeftError(what, remedy="Give a name, or path/file.py:Class")
    suggestion = did_you_mean(name, known)
    end = "" if suggestion.endswith("?") else "."
    return WeftError(
        f"there is no {point.noun.partition(' ')[2]} '{name}'",
        remedy=f"{suggestion[0].upper()}{suggestion[1:]}{end} Or name a class in a file, as "
        "path/file.py:Class",
    )


@cache
def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of all installed packages in a group."""
    from importlib import metadata  # a tenth of the time to start a command

    return tuple(metadata.entry_points(group=group))


def entry_point(point: ExtensionPoint, name: str) -> EntryPoint | None:
    """The entry point of this name; None if no package has one."""
    entries = [entry for entry in entry_points(point.group) if entry.name == name]
    if len({entry.value for entry in entries}) > 1:
        raise WeftError(
            f"several installed packages have {point.noun} '{name}': "
            f"{', '.join(map(package_of, entries))}",
            remedy="Uninstall all but one, or name the class as path/file.py:Class",
        )
    return entries[0] if entries else None


def package_of(entry: EntryPoint) -> str:
    """The package of an entry point, with its version."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.module
