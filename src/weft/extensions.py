"""Extension points: a user's own programs, tasks, mechanisms, callbacks and executors.

Wherever Weft takes the name of one of these, on the command line, in configs and in Python, it can
be given in three ways:

    path/file.py:Name    a class in a Python file; the name may be left out if there is only one
    a registered name    after `register("task", "doubling", Doubling)`, or by decorator
    an entry point       of an installed package, in the group `weft.tasks` and so on

Built-in names come first, then registered ones, then entry points. A package is imported when one
of its names is used, so a broken one affects nothing else.

A class is checked when it is registered or loaded: that it has the right base class, that no method
is missing, and that its methods and its constructor take the arguments that Weft calls them with.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import linecache
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from weft.config import keywords
from weft.errors import Location, WeftError, did_you_mean
from weft.files import is_file, is_folder
from weft.language.user_code import user_code

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Value = TypeVar("Value")
NAME = re.compile(r"[A-Za-z0-9][\w-]*")
REFERENCE = re.compile(r"(?P<path>[^()]*?)(?::(?P<name>\w+))?(?:\((?P<arguments>.*)\))?")
PREFIX = "weft_file_"
"""Modules of users' files are named by this, the file's name and a hash of path and content."""


@dataclass(frozen=True)
class ExtensionPoint:
    """Something that users can write themselves.

    Attributes:
        kind: as in `register(kind, ...)`.
        group: of entry points.
        base: the class to derive from, as `module:Class`.
        shown: how users import the base class.
        built_in: the table of built-in names, as `module:TABLE`; empty if there is none.
        arguments: what the constructor is called with, by position.
        instances: whether an instance may be given in place of a class.
    """

    kind: str
    group: str
    base: str
    shown: str
    built_in: str = ""
    arguments: tuple[str, ...] = ()
    instances: bool = False

    @property
    def noun(self) -> str:
        """What it is, with its article."""
        words = {
            "position": "a positional encoding",
            "attention": "an attention mechanism",
            "executor": "an executor",
        }
        return words.get(self.kind, f"a {self.kind}")

    @property
    def base_class(self) -> type:
        """The class to derive from."""
        found: type = _attribute(self.base)
        return found

    def accepts(self, value: Any) -> bool:
        """Whether a value is of this kind, whatever may be wrong with it."""
        if isinstance(value, type):
            return issubclass(value, self.base_class)
        return self.instances and isinstance(value, self.base_class)


POINTS = {
    point.kind: point
    for point in (
        ExtensionPoint(
            "program",
            "weft.programs",
            "weft.language.program:Program",
            "weft.Program",
            built_in="weft.programs.library:LIBRARY",
            instances=True,
        ),
        ExtensionPoint(
            "task",
            "weft.tasks",
            "weft.tasks.task:Task",
            "weft.tasks.Task",
            built_in="weft.tasks.registry:TASKS",
        ),
        ExtensionPoint(
            "position",
            "weft.positions",
            "weft.models.positions:PositionalEncoding",
            "weft.models.positions.PositionalEncoding",
            built_in="weft.models.positions:ENCODINGS",
            arguments=("config",),
        ),
        ExtensionPoint(
            "attention",
            "weft.attentions",
            "weft.models.attentions:AttentionMechanism",
            "weft.models.attentions.AttentionMechanism",
            built_in="weft.models.attentions:MECHANISMS",
            arguments=("config", "number"),
        ),
        ExtensionPoint(
            "callback",
            "weft.callbacks",
            "weft.training.callbacks:Callback",
            "weft.training.Callback",
            instances=True,
        ),
        ExtensionPoint(
            "executor",
            "weft.executors",
            "weft.training.launch.executor:Executor",
            "weft.training.Executor",
            instances=True,
        ),
    )
}

_registered: dict[tuple[str, str], Any] = {}


# Registering


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
    point = _point(kind)
    if not NAME.fullmatch(name) or name.endswith(".py"):
        raise WeftError(
            f"'{name}' cannot name {point.noun}",
            remedy="Use letters, digits, - and _, as in my-task",
        )
    if point.built_in and name in _attribute(point.built_in):
        raise WeftError(
            f"Weft has {point.noun} '{name}' of its own", remedy="Register it by another name"
        )
    there = _registered.get((kind, name))
    if there is not None and _origin(there) != _origin(value):
        raise WeftError(
            f"{_origin(there)} is registered as the {kind} '{name}' already",
            remedy=f"Use another name, or weft.extensions.unregister('{kind}', '{name}') first",
        )
    check(point, value, f"the {kind} '{name}'")
    _registered[kind, name] = value
    return value


def unregister(kind: str, name: str) -> None:
    """Forget a registered name."""
    _registered.pop((kind, name), None)


def _origin(value: Any) -> str:
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _point(kind: str) -> ExtensionPoint:
    if kind not in POINTS:
        raise WeftError(
            f"there is no extension point '{kind}'", remedy=did_you_mean(kind, list(POINTS))
        )
    return POINTS[kind]


# Finding


@dataclass(frozen=True)
class Reference:
    """A name taken apart: `path/file.py:Name(n=3)`, or a plain name with arguments or without.

    Attributes:
        text: all of it.
        path: the file, or the plain name.
        name: what to look for in the file; None if that is left out.
        arguments: for the constructor.
    """

    text: str
    path: str
    name: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def in_file(self) -> bool:
        """Whether it names something in a file."""
        return self.name is not None or self.path.endswith(".py")


def reference(text: str, kind: str = "program") -> Reference:
    """Take a name apart.

    Example:
        >>> from weft.extensions import reference
        >>> reference("my.py:Sum(digits=3)").arguments
        {'digits': 3}
    """
    matched = REFERENCE.fullmatch(text.strip())
    arguments = keywords(matched["arguments"] or "") if matched else None
    if matched is None or arguments is None:
        raise WeftError(
            f"'{text}' does not name {_point(kind).noun}",
            remedy="Write a name, or path/file.py:Class, with arguments as in name(n=3)",
        )
    return Reference(text, matched["path"], matched["name"], arguments)


def find(kind: str, text: str, known: Iterable[str] = ()) -> Any:
    """A user's class (or instance, of programs and callbacks) by its name, checked.

    Args:
        kind: one of the extension points.
        text: `path/file.py:Name`, a registered name or that of an entry point. Arguments in
            brackets are not looked at: `make` does.
        known: built-in names, for the message if there is none of this name.
    """
    point, named = _point(kind), reference(text, kind)
    if named.in_file:
        value = _in_file(Path(named.path), named.name, (point,))
        check(point, value, named.path if named.name is None else f"{named.path}:{named.name}")
    elif (kind, named.path) in _registered:
        value = _registered[kind, named.path]
    elif (entry := _entry_point(point, named.path)) is not None:
        with user_code(
            f"the {kind} '{named.path}' of the installed package {_package(entry)} "
            "cannot be loaded",
            remedy="Update or uninstall the package",
        ):
            value = entry.load()
        check(point, value, f"the {kind} '{named.path}' of the package {_package(entry)}")
    else:
        raise _unknown(point, named.path, [*known, *available(kind)])
    return value


def exists(kind: str, text: str) -> bool:
    """Whether a name refers to something in a file, is registered or an entry point."""
    named = reference(text, kind)
    known = (kind, named.path) in _registered
    return named.in_file or known or _entry_point(_point(kind), named.path) is not None


def kind_in_file(text: str, kinds: tuple[str, ...]) -> str:
    """Of which of several kinds the object in a file is that `path/file.py:Name` refers to."""
    named = reference(text, kinds[0])
    points = tuple(map(_point, kinds))
    value = _in_file(Path(named.path), named.name, points)
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
    _check_arguments(text, value, arguments)
    with user_code(f"'{text}' cannot be made"):
        return value(**arguments)


def available(kind: str) -> dict[str, str]:
    """The names that are registered or entry points, with their origin; nothing is imported."""
    point = _point(kind)
    names = {entry.name: f"package {_package(entry)}" for entry in _entry_points(point.group)}
    return names | {
        name: _origin(value) for (there, name), value in _registered.items() if there == kind
    }


def _unknown(point: ExtensionPoint, name: str, known: list[str]) -> WeftError:
    if is_folder(name) or is_file(name):
        what = f"{name} is a {'folder' if is_folder(name) else 'file'}, not {point.noun}"
        return WeftError(what, remedy="Give a name, or path/file.py:Class")
    return WeftError(
        f"there is no {point.noun.partition(' ')[2]} '{name}'",
        remedy=f"Or name a class in a file, as path/file.py:Class; {did_you_mean(name, known)}",
    )


# Entry points


@cache
def _entry_points(group: str) -> tuple[EntryPoint, ...]:
    from importlib import metadata  # a tenth of the time to start a command

    return tuple(metadata.entry_points(group=group))


def _entry_point(point: ExtensionPoint, name: str) -> EntryPoint | None:
    entries = [entry for entry in _entry_points(point.group) if entry.name == name]
    if len({entry.value for entry in entries}) > 1:
        raise WeftError(
            f"several installed packages have {point.noun} '{name}': "
            f"{', '.join(map(_package, entries))}",
            remedy="Uninstall all but one, or name the class as path/file.py:Class",
        )
    return entries[0] if entries else None


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.module


# Files


def load_file(path: Path) -> ModuleType:
    """The module of a Python file; imported anew only if the file has changed."""
    if not is_file(path):
        what = f"{path} is a folder" if is_folder(path) else f"there is no file {path}"
        raise WeftError(what, remedy="Give the path of a Python file")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise WeftError(f"{path} cannot be read: {error}", remedy="Give a Python file") from None
    digest = hashlib.sha256(str(path.resolve()).encode() + b"\0" + content).hexdigest()
    name = f"{PREFIX}{path.stem}_{digest[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise WeftError(f"{path} is not a Python file", remedy="Give a file that ends in .py")
    linecache.checkcache(str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with user_code(f"{path} cannot be imported", remedy="Correct the file and try again"):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _in_file(path: Path, name: str | None, points: tuple[ExtensionPoint, ...]) -> Any:
    """What a file calls so; or the only object of these kinds that it defines."""
    module = load_file(path)
    noun = " or ".join(point.noun.partition(" ")[2] for point in points)
    defined = {
        key: value
        for key, value in vars(module).items()
        if any(point.accepts(value) for point in points)
        and getattr(value, "__module__", module.__name__) == module.__name__
    }
    if name is None:
        concrete = {key: one for key, one in defined.items() if not inspect.isabstract(one)}
        if len(concrete or defined) == 1:
            return next(iter((concrete or defined).values()))
    elif name in vars(module):
        return vars(module)[name]
    if not defined:
        bases = " or ".join(point.shown for point in points)
        raise WeftError(f"{path} defines no {noun}", remedy=f"Write a subclass of {bases} in it")
    missing = f"no '{name}'" if name else f"{len(defined)} of kind {noun}"
    raise WeftError(
        f"{path} has {missing}",
        remedy=f"Name one as {path}:Class; {did_you_mean(name or '', list(defined))}",
    )


def file_reference(value: Any) -> str | None:
    """The `path/file.py:Name` by which a class was loaded; None if it was not."""
    kind = value if isinstance(value, type) else type(value)
    if not kind.__module__.startswith(PREFIX) or kind.__module__ not in sys.modules:
        return None
    return f"{sys.modules[kind.__module__].__file__}:{kind.__qualname__}"


# Checking


def check(point: ExtensionPoint, value: Any, shown: str) -> None:
    """Raise a `WeftError` that says what to write if a class cannot be used."""
    if not point.accepts(value):
        raise WeftError(
            f"{shown} is {_described(value)}, not {point.noun}",
            where=_location(value),
            remedy=f"Write it as a subclass of {point.shown}",
        )
    if point.kind == "program" or not isinstance(value, type):
        return  # the language itself checks a program, when it is made
    base = point.base_class
    missing = sorted(getattr(value, "__abstractmethods__", ()))
    if missing:
        raise WeftError(
            f"{shown} has no {' and no '.join(missing)}",
            where=_location(value),
            remedy=f"Write {'; '.join(_written(base, name) for name in missing)}",
        )
    for name, wanted in _public(base):
        given = inspect.getattr_static(value, name)
        if given is not wanted:
            _check_member(shown, base, name, wanted, given)
    try:
        inspect.signature(value).bind(*point.arguments)
    except TypeError as error:
        listed = ", ".join(["self", *point.arguments])
        raise WeftError(
            f"{shown} cannot be made with ({', '.join(point.arguments)}): {error}",
            where=_location(inspect.getattr_static(value, "__init__")) or _location(value),
            remedy=f"Write def __init__({listed})"
            if point.arguments
            else "Give every parameter a default",
        ) from None
    except ValueError:  # no signature to be had
        return


def _public(base: type) -> Iterator[tuple[str, Any]]:
    """The methods and properties that a subclass may override."""
    for owner in reversed(base.__mro__):
        if owner.__module__.partition(".")[0] == "weft":
            for name, member in vars(owner).items():
                public = name == "__call__" or not name.startswith("_")
                if public and isinstance(member, FunctionType | property):
                    yield name, inspect.getattr_static(base, name)


def _check_member(shown: str, base: type, name: str, wanted: Any, given: Any) -> None:
    if isinstance(wanted, property):
        if isinstance(given, FunctionType):
            raise WeftError(
                f"{shown}: {name} is a method, not a property",
                where=_location(given),
                remedy=f"Write @property above def {name}",
            )
        return
    if isinstance(given, staticmethod | classmethod) or not isinstance(wanted, FunctionType):
        return
    if not callable(given):
        raise WeftError(
            f"{shown}: {name} is {_described(given)}, not a method",
            remedy=f"Write {_written(base, name)}",
        )
    if not isinstance(given, FunctionType):
        return
    parameters = inspect.signature(wanted).parameters.values()
    by_place = [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY]
    by_name = {one.name: None for one in parameters if one.kind is one.KEYWORD_ONLY}
    try:
        inspect.signature(given).bind(*by_place, **by_name)
    except TypeError:
        raise WeftError(
            f"{shown}: {name}{_signature(given)} cannot be called with "
            f"({', '.join([*by_place[1:], *by_name])})",
            where=_location(given),
            remedy=f"Write {_written(base, name)}",
        ) from None


def _check_arguments(text: str, value: type, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that a constructor does not take, before it runs."""
    constructor: Any = vars(value).get("__init__", value.__init__)  # type: ignore[misc]
    takes = inspect.signature(constructor if constructor is not object.__init__ else lambda self: 0)
    shown = ", ".join(str(one) for one in list(takes.parameters.values())[1:])
    try:
        takes.bind(None, **arguments)
    except TypeError as error:
        raise WeftError(
            f"'{text}' cannot be made: {error}",
            remedy=f"Its parameters are ({shown})" if shown else "It has no parameters",
        ) from None


def _written(base: type, name: str) -> str:
    """How to write a method of a base class."""
    member = inspect.getattr_static(base, name)
    if isinstance(member, property):
        return f"{name} = ..., or a property {name}"
    return f"def {name}{_signature(member)}"


def _signature(function: Any) -> str:
    """The parameters of a function, without their types."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values()]
    shown = found.replace(parameters=plain, return_annotation=inspect.Signature.empty)
    return str(shown)


def _described(value: Any) -> str:
    if isinstance(value, type):
        bases = [base.__name__ for base in value.__bases__ if base is not object]
        return f"a class derived from {' and '.join(bases)}" if bases else "a plain class"
    if isinstance(value, FunctionType):
        return "a function"
    if isinstance(value, ModuleType):
        return "a module"
    return f"{'an' if type(value).__name__[0] in 'aeiou' else 'a'} {type(value).__name__}"


def _location(value: Any) -> Location | None:
    """Where a class or function is written."""
    if isinstance(value, FunctionType):
        return Location(value.__code__.co_filename, value.__code__.co_firstlineno)
    if isinstance(value, type):
        try:
            return Location(inspect.getfile(value), inspect.getsourcelines(value)[1])
        except (OSError, TypeError):
            return None
    return None


# Versions


def versions(names: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """What tells the present version of users' code from another: a hash, or a package's version.

    Args:
        names: by kind, the names that a config has. Built-in ones have no version.

    Returns:
        By name, the beginning of the SHA-256 of a file, or of the source of what is registered; or
        the version of an installed package. Nothing for what cannot be found.
    """
    found = {}
    for kind, texts in names.items():
        for text in texts:
            version = _version(_point(kind), text)
            if version:
                found[text] = version
    return found


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
    if (point.kind, named.path) in _registered:
        value = _registered[point.kind, named.path]
        kind = value if isinstance(value, type) else type(value)
        try:
            source = inspect.getsource(kind)
        except (OSError, TypeError):  # typed at a prompt
            return ""
        return hashlib.sha256(source.encode()).hexdigest()[:12]
    entries = [entry for entry in _entry_points(point.group) if entry.name == named.path]
    if not entries or (point.built_in and named.path in _attribute(point.built_in)):
        return ""
    return _package(entries[0])


def _attribute(text: str) -> Any:
    """What `module:name` refers to."""
    module, _, name = text.partition(":")
    return getattr(importlib.import_module(module), name)
