"""Checks of users' classes: base class, methods and their arguments, constructor."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

from weft.errors import Location, WeftError
from weft.extensions.points import ExtensionPoint


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
    except ValueError:  # it has no signature
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
    by_place = [
        parameter.name for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY
    ]
    by_name = {
        parameter.name: None for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY
    }
    try:
        inspect.signature(given).bind(*by_place, **by_name)
    except TypeError:
        raise WeftError(
            f"{shown}: {name}{_signature(given)} cannot be called with "
            f"({', '.join([*by_place[1:], *by_name])})",
            where=_location(given),
            remedy=f"Write {_written(base, name)}",
        ) from None


def check_arguments(text: str, value: type, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that a constructor does not take, before it runs."""
    constructor: Any = vars(value).get("__init__", value.__init__)  # type: ignore[misc]
    takes = inspect.signature(constructor if constructor is not object.__init__ else lambda self: 0)
    shown = ", ".join(str(parameter) for parameter in list(takes.parameters.values())[1:])
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
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
    ]
    shown = signature.replace(parameters=plain, return_annotation=inspect.Signature.empty)
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
