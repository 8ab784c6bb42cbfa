"""Configs: frozen dataclasses, parsed, overridden, checked, serialised and hashed in one way.

    from_plain, to_plain     a dataclass from and to the values of a JSON object
    override                 a dataclass with some values changed, from `key.sub=value` or a mapping
    changed, content_hash    what differs from the defaults, and a hash of that
    guess                    one value from text, by its looks
    assignment, keywords     `key=value`, and the arguments in `name(key=value, ...)`
    check_types, choices     declared types and the allowed values of a `Literal`
    check_bounds             smallest and largest values

Every key must be known, no key without a default may be missing, and every value must have the type
that its field declares. Errors name the file, the key and the value.

A field may carry metadata:

    formerly    the name the field once had. Stored files that use it still load, and hashes are
                computed with it, so a renamed field does not rename old runs. `override` refuses it
                and gives the new name.
    of          for a field that is a mapping: the dataclass whose fields are its allowed keys
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import types
import typing
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from weft.errors import WeftError, unknown_name

Config = TypeVar("Config")

NAMES = {
    int: "a whole number", float: "a number", str: "text", bool: "true or false",
    tuple: "a list", dict: "an object", type(None): "null",
}  # fmt: skip
WORDS = {"true": True, "false": False, "none": None}
UNQUOTED = re.compile(r"=\s*(?!(?:True|False|None)\b)([A-Za-z/.~][^,]*)")
"""The value of a keyword argument that is a word without quotes."""


def typed_fields(kind: type) -> Mapping[str, Any]:
    """The fields of a dataclass with their types."""
    return _typed_fields(typing.cast(Hashable, kind))


@cache  # evaluating annotations takes longer than everything else here
def _typed_fields(kind: Any) -> Mapping[str, Any]:
    hints = typing.get_type_hints(kind)
    return MappingProxyType({field.name: hints[field.name] for field in fields(kind)})


def choices(hint: Any) -> tuple[Any, ...]:
    """The allowed values of a `Literal`; none for other types.

    Example:
        >>> from typing import Literal
        >>> choices(Literal["relu", "gelu"])
        ('relu', 'gelu')
    """
    return typing.get_args(hint) if typing.get_origin(hint) is Literal else ()


# From and to plain values


def from_plain(kind: type[Config], values: Any, what: str, remedy: str = "") -> Config:
    """A dataclass from the values of a JSON object; lists become tuples.

    Args:
        kind: the dataclass.
        values: the parsed contents of the file.
        what: what the values describe, for messages, such as "the model's config".
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
    hints = typed_fields(kind)
    current = {_stored_name(field): field.name for field in _fields(kind)}
    values = {current.get(key, key): value for key, value in values.items()}
    for key in values:
        if key not in hints:
            unknown = unknown_name(f"{what} has an unknown key '{key}'", str(key), hints)
            raise WeftError(unknown.what, remedy=remedy) if remedy else unknown
    for field in _fields(kind):
        required = field.default is MISSING and field.default_factory is MISSING
        if required and field.name not in values:
            raise WeftError(f"{what} has no '{field.name}'", remedy=remedy)
    return kind(
        **{key: _value(value, hints[key], key, what, remedy) for key, value in values.items()}
    )


def require(values: Any, wanted: Mapping[str, Any], what: str, remedy: str = "") -> None:
    """Check that a JSON object has these keys, with values of these types; it may have others.

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


def check_types(config: Any, subject: str) -> None:
    """Check that every field has its declared type; types other than plain ones are not checked."""
    for name, hint in typed_fields(type(config)).items():
        value = getattr(config, name)
        if choices(hint) and value not in choices(hint):
            what = f"{name} cannot be {value!r}"
            raise unknown_name(what, str(value), choices(hint), subject=subject)
        if isinstance(hint, type) and not _fits(value, hint):
            raise WeftError(
                f"{name} is {value!r}", subject=subject, remedy=f"Give it as {hint.__name__}"
            )


def check_bounds(config: Any, bounds: Mapping[str, tuple[float, float]], subject: str) -> None:
    """Check that numbers, by `key` or `key.sub`, lie between their smallest and largest values.

    None is allowed. In a tuple, every number is checked.
    """
    for key, (low, high) in bounds.items():
        part, _, name = key.rpartition(".")
        value = getattr(getattr(config, part) if part else config, name)
        for number in value if isinstance(value, tuple) else (value,):
            if number is not None and not low <= number <= high:  # nan is in no range
                bound = f"at most {high:,}" if number > high else f"at least {low:,}"
                raise WeftError(
                    f"{key} is {_number(number)}", subject=subject, remedy=f"It must be {bound}"
                )


def _number(number: float) -> str:
    """A number as people write it: with commas, or as a power of ten if it is large."""
    if isinstance(number, int) and abs(number) < 10**15:
        return f"{number:,}"
    return f"{number:g}" if abs(number) < 1e300 else _shown(number)


def to_plain(value: Any) -> Any:
    """A config as JSON has it: objects, lists, numbers and text."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: to_plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(inner) for inner in value]
    return value


def frozen(value: Any) -> Any:
    """A value with tuples in place of lists."""
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value


def changed(config: Any) -> dict[str, Any]:
    """The values that differ from the defaults, as plain values under the names that hashes use."""
    result: dict[str, Any] = {}
    for field in fields(config):
        value, name = getattr(config, field.name), _stored_name(field)
        if is_dataclass(value):
            inner = changed(value)
            result |= {name: inner} if inner else {}
        elif field.default is MISSING or to_plain(value) != to_plain(field.default):
            result[name] = to_plain(value)
    return result


def content_hash(config: Any, version: int) -> str:
    """Twelve hexadecimal digits that identify a config.

    Defaults are left out, so adding a field with a default changes no existing hash. `version` is
    part of the hash; raise it when a default changes.
    """
    text = json.dumps({"format": version, **changed(config)}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _fields(kind: Any) -> tuple[Field[Any], ...]:
    return fields(kind)


def _stored_name(field: Field[Any]) -> str:
    return str(field.metadata.get("formerly", field.name))


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
        return any(_fits(value, option) for option in inner)
    if origin is Literal:
        return any(type(value) is type(option) and value == option for option in inner)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            return False
        if inner[-1] is Ellipsis:
            return all(_fits(item, inner[0]) for item in value)
        return len(value) == len(inner) and all(map(_fits, value, inner))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            _fits(key, inner[0]) and _fits(item, inner[1]) for key, item in value.items()
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
    """A value as JSON, truncated if it is long."""
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    text = {"None": "null", "True": "true", "False": "false"}.get(text, text)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


# Overrides


def override(config: Config, changes: Iterable[str] | Mapping[str, Any]) -> Config:
    """A config with some values changed.

    Args:
        config: a dataclass.
        changes: texts of the form `key=value` or `key.sub=value`, as on the command line; or a
            mapping from such keys to values, as in a TOML file. Text is parsed by the type of its
            field. Later changes win.

    Example:
        >>> from weft.training import TrainingConfig, override
        >>> config = TrainingConfig(task="parity")
        >>> override(config, ["optimiser.lr=3e-4", "model.position=nape"]).optimiser.lr
        0.0003
        >>> override(config, {"optimiser.betas": [0.9, 0.99]}).optimiser.betas
        (0.9, 0.99)
    """
    pairs = changes.items() if isinstance(changes, Mapping) else map(_pair, changes)
    for key, value in pairs:
        config = _changed(config, key.split("."), value, type(config).__name__, key)
    return config


def _pair(change: str) -> tuple[str, str]:
    key, equals, text = change.partition("=")
    if not equals or not key.strip():
        raise WeftError(
            f"'{change}' is not of the form key=value", remedy="Write it as in steps=500"
        )
    return key.strip(), text.strip()


def _changed(config: Any, path: list[str], value: Any, owner: str, key: str) -> Any:
    """The config with the value at the end of the path replaced."""
    name, rest = path[0], path[1:]
    hints = typed_fields(type(config))
    _check_known(name, type(config), owner, key, value)
    current = getattr(config, name)
    if is_dataclass(current):
        if not rest:
            inner = ", ".join(f"{name}.{field.name}" for field in fields(current))
            raise WeftError(f"'{key}' holds several values", remedy=f"Set one of them: {inner}")
        return replace(config, **{name: _changed(current, rest, value, name, key)})
    if isinstance(current, Mapping):
        of = next(field.metadata.get("of") for field in fields(config) if field.name == name)
        return replace(config, **{name: {**current, **_entry(of, rest, value, name, key)}})
    if rest:
        raise WeftError(f"'{name}' is one value", remedy=f"Write {name}={value}, with no dot")
    return replace(config, **{name: _converted(value, hints[name], key)})


def _entry(of: type | None, rest: list[str], value: Any, name: str, key: str) -> dict[str, Any]:
    """One key of a mapping, with its value."""
    if len(rest) != 1:
        raise WeftError(f"'{key}' names no value", remedy=f"Write {name}.key={value}")
    if of is None:
        return {rest[0]: guess(value) if isinstance(value, str) else frozen(value)}
    _check_known(rest[0], of, name, key, value)
    return {rest[0]: _converted(value, typed_fields(of)[rest[0]], key)}


def _check_known(name: str, kind: type, owner: str, key: str, value: Any) -> None:
    known = typed_fields(kind)
    if name in known:
        return
    for field in _fields(kind):
        if field.metadata.get("formerly") == name:
            new = f"{key.removesuffix(name)}{field.name}"
            raise WeftError(f"'{key}' is now called '{new}'", remedy=f"Write {new}={value}")
    raise unknown_name(f"'{key}' is not known: {owner} has no '{name}'", name, known)


def _converted(value: Any, hint: Any, key: str) -> Any:
    """A value of the declared type, from text or from a value that has it already."""
    result = _read(value, hint)
    if _fits(result, hint):
        return frozen(result)
    shown = f"'{value}'" if isinstance(value, str) else _shown(value)
    if choices(hint):
        raise unknown_name(f"{key} cannot be {shown}", str(value), choices(hint))
    wanted = _described(hint).replace("null", "none")
    raise WeftError(f"{key} cannot be {shown}", remedy=f"Write {wanted}")


def _read(value: Any, hint: Any) -> Any:
    """A value as the declared type has it: text as a number, 1 as 1.0, `8,8` as a tuple.

    So 1, 1.0 and "1" give the same config, with the same hash. What does not fit is returned as
    it is.
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if isinstance(value, str) and value.lower() == "none" and type(None) in inner:
            return None
        return _read(value, next(kind for kind in inner if kind is not type(None)))
    if origin is tuple and isinstance(value, str):
        return _read(_parts(value), hint)
    if origin is tuple and isinstance(value, list | tuple):
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        return list(map(_read, value, kinds)) if len(kinds) == len(value) else value
    if isinstance(value, str) and hint in (int, float, bool):
        value = guess(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is int and isinstance(value, float) and value.is_integer():
        return int(value)  # 2e4 is read as a float
    return value


def _parts(text: str) -> list[str]:
    """The values between commas."""
    return [part.strip() for part in text.strip("()[]").split(",") if part.strip()]


# Values from text


def guess(text: str) -> Any:
    """Text of no declared type as a number, true, false, none, a tuple if it has commas, or text.

    Example:
        >>> guess("12"), guess("1e-3"), guess("true"), guess("8,8"), guess("tag")
        (12, 0.001, True, (8, 8), 'tag')
    """
    if "," in text:
        return tuple(map(guess, _parts(text)))
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def assignment(text: str) -> tuple[str, Any]:
    """The key and the value of `key=value`.

    Example:
        >>> from weft.config import assignment
        >>> assignment("length=12")
        ('length', 12)
    """
    key, value = _pair(text)
    return key, guess(value)


def keywords(text: str) -> dict[str, Any] | None:
    """The arguments in the brackets of `name(key=value, ...)`; None if they cannot be read.

    Values are Python literals; words need no quotes.

    Example:
        >>> keywords("digits=3, order=plain, sizes=[1, 2]")
        {'digits': 3, 'order': 'plain', 'sizes': [1, 2]}
        >>> keywords("3") is None
        True
    """
    quoted = UNQUOTED.sub(lambda match: f"={match[1].strip()!r}", text)
    for written in dict.fromkeys((text, quoted)):
        try:
            call = ast.parse(f"f({written})", mode="eval").body
            if isinstance(call, ast.Call) and not call.args and all(k.arg for k in call.keywords):
                return {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None
