"""Definitions by name: those of the library, and functions in users' files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from weft.errors import WeftError, did_you_mean, unknown_name
from weft.extensions.user_files import load_file
from weft.recursion.function import Function

LIBRARY = {
    "successor": "binary:successor",
    "add": "binary:add",
    "add-carry": "binary:add_carry",
    "binary-successor": "binary:binary_successor",
    "binary-add": "binary:binary_add",
    "peano-add": "peano:plus",
    "peano-multiply": "peano:times",
    "double": "peano:double",
    "maximum": "peano:maximum",
    "at-most": "peano:at_most",
    "binary-to-peano": "peano:to_unary",
    "peano-to-binary": "peano:to_digits",
    "append": "lists:append",
    "reverse": "lists:reverse",
    "reverse-onto": "lists:reverse_onto",
    "shift-all": "lists:shift_all",
    "stutter": "lists:stutter",
    "increment-all": "lists:increment_all",
    "insert": "lists:insert",
    "insertion-sort": "lists:insertion_sort",
    "pre-order": "trees:pre_order",
    "in-order": "trees:in_order",
    "post-order": "trees:post_order",
    "mirror": "trees:mirror",
    "tree-depth": "trees:tree_depth",
    "tree-insert": "trees:tree_insert",
    "evaluate": "expressions:evaluate",
    "simplify": "expressions:simplify",
}
"""By name: the module of `weft.recursion.library`, and the function."""


class _Definitions(Mapping[str, Function]):
    """The functions of the library by name, each imported when it is used."""

    def __getitem__(self, name: str) -> Function:
        module, _, attribute = LIBRARY[name].partition(":")
        found: Function = getattr(import_module(f"weft.recursion.library.{module}"), attribute)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(LIBRARY)

    def __len__(self) -> int:
        return len(LIBRARY)

    def __repr__(self) -> str:
        return f"<{len(self)} definitions>"


DEFINITIONS: Mapping[str, Function] = _Definitions()
"""The functions of the library by name."""


def definition(name: str) -> Function:
    """A function of the library by its name, or one in a file, as `path/file.py:name`.

    Example:
        >>> from weft.recursion import definition
        >>> definition("in-order")
        <function in_order by equations>
    """
    path, _, attribute = name.rpartition(":") if ".py:" in name else (name, "", "")
    if path.endswith(".py"):
        return _in_file(Path(path), attribute)
    if name not in LIBRARY:
        remedy = "Or name one in a file, as path/file.py:name"
        error = unknown_name(f"there is no definition '{name}'", name, LIBRARY)
        raise error.revised(remedy=f"{error.remedy.rstrip('.')}. {remedy}".replace("?.", "?"))
    return DEFINITIONS[name]


def definition_name(function: Function) -> str | None:
    """The name by which `definition` finds a function; None if it is neither."""
    import sys

    from weft.extensions.user_files import PREFIX

    for name, place in LIBRARY.items():
        module, _, attribute = place.partition(":")
        if (function.__module__, function.name) == (f"weft.recursion.library.{module}", attribute):
            return name
    if function.__module__.startswith(PREFIX) and function.__module__ in sys.modules:
        return f"{sys.modules[function.__module__].__file__}:{function.name}"
    return None


def _in_file(path: Path, name: str) -> Function:
    module = load_file(path)
    functions: dict[str, Any] = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, Function) and value.__module__ == module.__name__
    }
    if name:
        found = vars(module).get(name)
    else:
        found = next(iter(functions.values())) if len(functions) == 1 else None
    if isinstance(found, Function):
        _ = found.equations  # whatever it calls exists by now
        return found
    if not functions:
        what = f"{path} defines no function by equations"
        raise WeftError(what, remedy="Decorate one with @weft.recursion.recursive")
    what = f"no definition '{name}'" if name else f"{len(functions)} definitions"
    remedy = f"Name one as {path}:name; {did_you_mean(name, list(functions))}"
    raise WeftError(f"{path} has {what}", remedy=remedy)
