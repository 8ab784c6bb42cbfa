"""Changing frozen configs by `key.sub=value`, as on the command line and in files.

Values are read by the type of the field that they are for; an unknown key is an error that suggests
the nearest known one. A field that is a mapping takes any key, unless its metadata says of which
dataclass its keys are fields: `field(metadata={"of": TransformerConfig})`.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, TypeVar

from weft.config import typed_fields
from weft.errors import WeftError, did_you_mean
from weft.tasks.parameters import guess

Config = TypeVar("Config")


def override(config: Config, changes: Iterable[str]) -> Config:
    """A config with some values changed, each written as `key=value` or `key.sub=value`.

    Example:
        >>> from weft.training import TrainingConfig, override
        >>> config = TrainingConfig(task="parity")
        >>> override(config, ["optimiser.lr=3e-4", "model.position=nape"]).optimiser.lr
        0.0003
    """
    for change in changes:
        key, equals, text = change.partition("=")
        if not equals or not key.strip():
            raise WeftError(f"'{change}' is not of the form key=value", remedy="As in steps=500")
        path = key.strip().split(".")
        config = _changed(config, path, text.strip(), type(config).__name__, key.strip())
    return config


def _changed(config: Any, path: list[str], text: str, owner: str, whole: str) -> Any:
    """The config with what is at the end of the path replaced."""
    name, rest = path[0], path[1:]
    wanted = typed_fields(type(config))
    _known(name, list(wanted), owner, whole)
    value = getattr(config, name)
    if is_dataclass(value):
        if not rest:
            subs = ", ".join(f"{name}.{one.name}" for one in fields(value))
            raise WeftError(f"'{whole}' holds several values", remedy=f"Set one of them: {subs}")
        return replace(config, **{name: _changed(value, rest, text, name, whole)})
    if isinstance(value, Mapping):
        of = next(one.metadata.get("of") for one in fields(config) if one.name == name)
        return replace(config, **{name: {**value, **_entry(of, rest, text, name, whole)}})
    if rest:
        raise WeftError(f"'{name}' is one value", remedy=f"Write {name}={text}, with no dot")
    return replace(config, **{name: read(text, wanted[name], whole)})


def _entry(of: type | None, rest: list[str], text: str, name: str, whole: str) -> dict[str, Any]:
    """One key of a mapping, with its value."""
    if len(rest) != 1:
        raise WeftError(f"'{whole}' names no value", remedy=f"Write {name}.key={text}")
    if of is None:
        return {rest[0]: guess(text)}
    wanted = typed_fields(of)
    _known(rest[0], list(wanted), name, whole)
    return {rest[0]: read(text, wanted[rest[0]], whole)}


def _known(name: str, known: list[str], owner: str, whole: str) -> None:
    if name not in known:
        remedy = did_you_mean(name, known)
        raise WeftError(
            f"'{whole}' is not known: {owner} has no '{name}'", remedy=remedy.capitalize()
        )


def read(text: str, kind: Any, key: str = "the value") -> Any:
    """A text as a value of a type: of plain ones, Literal, tuples of them, or these and None."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if text.lower() == "none" and type(None) in inner:
            return None
        return read(text, next(one for one in inner if one is not type(None)), key)
    if origin is Literal:
        if text not in inner:
            remedy = did_you_mean(text, [str(one) for one in inner])
            raise WeftError(f"{key} cannot be '{text}'", remedy=remedy.capitalize())
        return text
    if origin is tuple:
        return _tuple(text, inner, key)
    return _plain(text, kind, key)


def _tuple(text: str, inner: tuple[Any, ...], key: str) -> tuple[Any, ...]:
    parts = [part.strip() for part in text.strip("()[]").split(",") if part.strip()]
    if inner[-1] is Ellipsis:
        return tuple(read(part, inner[0], key) for part in parts)
    if len(parts) != len(inner):
        raise WeftError(f"{key} has {len(inner)} values, not '{text}'", remedy="Put commas between")
    return tuple(read(part, one, key) for part, one in zip(parts, inner, strict=True))


def _plain(text: str, kind: Any, key: str) -> Any:
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise WeftError(f"{key} cannot be '{text}'", remedy="Write true or false")
        return text.lower() == "true"
    if kind is int:
        return _whole(text, key)
    try:
        return kind(text)
    except ValueError:
        raise WeftError(f"{key} cannot be '{text}'", remedy="Write a number") from None


def _whole(text: str, key: str) -> int:
    """Whole numbers may be written as 20_000 or 2e4."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        number = 0.5
    if not number.is_integer():
        raise WeftError(f"{key} cannot be '{text}'", remedy="Write a whole number")
    return int(number)
