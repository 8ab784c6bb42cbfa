"""Inputs of a program: reading them from text, and checking them against the parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from weft.errors import WeftError, unknown_name
from weft.ptg.language import KINDS, SIGNED, Limits, Program, Value

ARGUMENT = re.compile(r"\s*([A-Za-z_0-9]+)\s*=\s*(\[[^\]]*\]|[^\[\],\s]*)\s*(,|$)")
EXAMPLE = "Write 'a=3, cond_a=True, lst_a=[0,9]'"
UNLIMITED = Limits(list_length=10_000, value=10**15)


def read_inputs(text: str) -> dict[str, Value]:
    """Arguments from text such as `a=3, cond_a=True, lst_a=[0,9]`; empty text has none.

    Example:
        >>> read_inputs("a=-3, cond_a=True, lst_a=[0, 9]")
        {'a': -3, 'cond_a': True, 'lst_a': (0, 9)}
    """
    result: dict[str, Value] = {}
    place = 0
    while text[place:].strip() or (result.keys() and text[:place].rstrip().endswith(",")):
        found = ARGUMENT.match(text, place)
        if not found:
            rest = text[place:].strip()[:20]
            raise WeftError(f"the input cannot be read at {rest!r}", remedy=EXAMPLE)
        name, value = found[1], found[2]
        if name in result:
            raise WeftError(f"the input gives {name} twice", remedy=EXAMPLE)
        result[name] = read_value(name, value)
        place = found.end()
    return result


def read_value(name: str, text: str) -> Value:
    """A value of the kind that a name has, from text; blanks are allowed in lists."""
    kind = KINDS.get(name)
    if kind is None:
        raise unknown_name(f"the input has an unknown variable '{name}'", name, KINDS)
    if kind == "Boolean" and text in ("True", "False"):
        return text == "True"
    if kind == "list" and text.startswith("["):
        items = text[1:-1].split(",") if text[1:-1].strip() else []
        return tuple(_integer(name, item.strip()) for item in items)
    if kind in ("integer", "counter"):
        return _integer(name, text)
    raise WeftError(f"the input gives {name}={text[:20]}", remedy=_wanted(name))


def _integer(name: str, text: str) -> int:
    if not SIGNED.fullmatch(text):
        raise WeftError(f"the input gives {text[:20]!r} for {name}", remedy=_wanted(name))
    return int(text)


def _wanted(name: str) -> str:
    wanted = {"Boolean": f"Write {name}=True or {name}=False", "list": f"Write {name}=[0,9]"}
    return wanted.get(KINDS[name], f"Write {name} as an integer, such as {name}=3 or {name}=-3")


def check_inputs(
    program: Program, inputs: Mapping[str, Any], limits: Limits = UNLIMITED
) -> dict[str, Value]:
    """The inputs of a program in the order of its parameters, lists as tuples.

    Raises:
        WeftError: if one is missing or superfluous, has the wrong type or exceeds a limit.
    """
    for name in inputs:
        if name not in program.parameters:
            raise unknown_name(
                f"the program has no parameter '{name}'", str(name), program.parameters
            )
    result: dict[str, Value] = {}
    for name in program.parameters:
        if name not in inputs:
            raise WeftError(f"the input has no {name}", remedy=_wanted(name))
        result[name] = _checked(name, inputs[name], limits)
    return result


def _checked(name: str, value: Any, limits: Limits) -> Value:
    kind = KINDS[name]
    if kind == "Boolean" and isinstance(value, bool):
        return value
    if kind == "list" and isinstance(value, list | tuple):
        if len(value) > limits.list_length:
            raise WeftError(
                f"{name} has {len(value):,} elements",
                remedy=f"The limit list_length is {limits.list_length:,}",
            )
        return tuple(_number(name, item, limits) for item in value)
    if kind == "integer":
        return _number(name, value, limits)
    raise WeftError(f"the input {name} is {str(value)[:20]}", remedy=_wanted(name))


def _number(name: str, value: Any, limits: Limits) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise WeftError(f"the input {name} has {str(value)[:20]}", remedy=_wanted(name))
    if abs(value) > limits.value:
        raise WeftError(
            f"the input {name} has a number of {len(str(abs(value)))} digits"
            if abs(value) < 10**30
            else f"the input {name} has a number that is too large",
            remedy=f"The limit value is {limits.value:,}",
        )
    return value
