"""Frozen dataclasses from plain values, as JSON files hold them.

Every key must be known, no key without a default may be missing, and every value must have the type
that the field declares. The message names the file, the key and what was found there.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeVar

from weft.errors import WeftError, did_you_mean

Config = TypeVar("Config")

NAMES = {
    int: "a whole number", float: "a number", str: "text", bool: "true or false",
    tuple: "a list", dict: "an object", type(None): "null",
}  # fmt: skip


def typed_fields(kind: type) -> dict[str, Any]:
    """The fields of a dataclass with their types."""
    hints = typing.get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind)}


def from_plain(kind: type[Config], values: Any, what: str, remedy: str = "") -> Config:
    """A dataclass from the values of a JSON object; lists become tuples.

    Args:
        kind: the dataclass.
        values: what the file holds.
        what: what the values are, for messages, as in "the model's config".
        remedy: what to do if they are wrong.

    Example:
        >>> from weft.config import from_plain
        >>> from weft.models.slots import Slot
        >>> slot = {"name": "a", "kind": "number", "start": 0, "size": 1}
        >>> from_plain(Slot, slot, "a slot").size
        1
        >>> from_plain(Slot, {**slot, "size": "x"}, "a slot")
        Traceback (most recent call last):
        weft.errors.WeftError: a slot: 'size' is "x", not a whole number
    """
    if not isinstance(values, Mapping):
        raise WeftError(f"{what} is {_shown(values)}, not an object", remedy=remedy)
    wanted = typed_fields(kind)
    for key in values:
        if key not in wanted:
            suggestion = did_you_mean(str(key), list(wanted)).capitalize()
            raise WeftError(f"{what} has an unknown key '{key}'", remedy=remedy or suggestion)
    for one in fields(kind):  # type: ignore[arg-type]
        required = one.default is MISSING and one.default_factory is MISSING
        if required and one.name not in values:
            raise WeftError(f"{what} has no '{one.name}'", remedy=remedy)
    return kind(
        **{key: _value(value, wanted[key], key, what, remedy) for key, value in values.items()}
    )


def require(values: Any, wanted: Mapping[str, Any], what: str, remedy: str = "") -> None:
    """Check that a JSON object has these keys, with values of these types; others may be there.

    Example:
        >>> from weft.config import require
        >>> require({"level": 2, "more": 0}, {"level": int}, "config.json")
    """
    if not isinstance(values, Mapping):
        raise WeftError(f"{what} is {_shown(values)}, not an object", remedy=remedy)
    for key, hint in wanted.items():
        if key not in values:
            raise WeftError(f"{what} has no '{key}'", remedy=remedy)
        _value(values[key], hint, key, what, remedy)


def _value(value: Any, hint: Any, key: str, what: str, remedy: str) -> Any:
    """A value of the declared type, or an error."""
    if isinstance(hint, type) and is_dataclass(hint):
        return from_plain(hint, value, f"{what}: '{key}'", remedy)
    if not _fits(value, hint):
        raise WeftError(
            f"{what}: '{key}' is {_shown(value)}, not {_described(hint)}", remedy=remedy
        )
    return frozen(value)


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            return False
        if inner[-1] is Ellipsis:
            return all(_fits(one, inner[0]) for one in value)
        return len(value) == len(inner) and all(map(_fits, value, inner))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            _fits(key, inner[0]) and _fits(one, inner[1]) for key, one in value.items()
        )
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)


def _described(hint: Any) -> str:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(_described, inner))
    if origin is Literal:
        return f"one of {', '.join(map(str, inner))}"
    if origin is tuple:
        several = inner[-1] is not Ellipsis
        return f"a list of {len(inner)} values" if several else f"a list of {_plural(inner[0])}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "an object" if inner[1] is Any else f"an object of {_plural(inner[1])}"
    return NAMES.get(hint, getattr(hint, "__name__", str(hint)))


def _plural(hint: Any) -> str:
    return {int: "whole numbers", float: "numbers", str: "texts"}.get(hint, "values")


def _shown(value: Any, longest: int = 40) -> str:
    """A value as JSON has it, cut off if it is long."""
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    text = {"None": "null", "True": "true", "False": "false"}.get(text, text)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def frozen(value: Any) -> Any:
    """A value with tuples in place of lists."""
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value
