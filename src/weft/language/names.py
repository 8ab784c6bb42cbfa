"""Which variables a function reads and writes through its state, without running it.

`step` and the helpers that it hands its state to are searched for `z.name` and `z["name"]`.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

from weft.errors import Location
from weft.language.source import FunctionSource, free_variables, function_source


@dataclass(frozen=True)
class Access:
    """One mention of a variable."""

    name: str
    writes: bool
    where: Location


def state_name(node: ast.AST, state: str) -> str | None:
    """The variable in `z.name` or `z["name"]`; None where the node is something else."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=variable) if name == state:
            return variable
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(variable))) if (
            name == state
        ):
            return variable
    return None


def accesses(function: Any, parameter: int) -> Iterator[Access]:
    """Every access to the state that is passed as the given parameter, helpers' included."""
    yield from _accesses(function, parameter, set())


def _accesses(function: Any, parameter: int, seen: set[tuple[Any, int]]) -> Iterator[Access]:
    if isinstance(function, MethodType):
        function, parameter = function.__func__, parameter + 1
    source = function_source(function)
    if source is None or (function, parameter) in seen or parameter >= len(source.parameters):
        return
    seen.add((function, parameter))
    state = source.parameters[parameter]
    for node in ast.walk(source.node):
        variable = state_name(node, state)
        if variable is not None:
            writes = not isinstance(node.ctx, ast.Load)  # type: ignore[attr-defined]
            yield Access(variable, writes, source.location(node))
        elif isinstance(node, ast.Call):
            yield from _helper_accesses(function, source, node, state, seen)


def _helper_accesses(
    function: FunctionType,
    source: FunctionSource,
    call: ast.Call,
    state: str,
    seen: set[tuple[Any, int]],
) -> Iterator[Access]:
    for place, argument in enumerate(call.args):
        if isinstance(argument, ast.Name) and argument.id == state:
            helper = resolve(function, call.func)
            if helper is not None:
                yield from _accesses(helper, place, seen)


def resolve(function: FunctionType, node: ast.expr) -> Any:
    """The object that a name or dotted name stands for in a function; None where unknown."""
    if isinstance(node, ast.Attribute):
        owner = resolve(function, node.value)
        return getattr(owner, node.attr, None)
    if not isinstance(node, ast.Name):
        return None
    closure = free_variables(function)
    if node.id in closure:
        return closure[node.id]
    return function.__globals__.get(node.id, getattr(builtins, node.id, None))
