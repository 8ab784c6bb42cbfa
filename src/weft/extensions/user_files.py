"""Classes in Python files, named as `path/file.py:Name`."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from weft.errors import WeftError, did_you_mean
from weft.extensions.points import ExtensionPoint
from weft.files import is_file, is_folder
from weft.language.user_code import user_code

PREFIX = "weft_file_"
"""Modules of users' files are named by this, the file's name and a hash of path and content."""


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


def object_in_file(path: Path, name: str | None, points: tuple[ExtensionPoint, ...]) -> Any:
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
        concrete = {key: kind for key, kind in defined.items() if not inspect.isabstract(kind)}
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
