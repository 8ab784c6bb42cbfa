"""A step only computes and assigns: what does something else is refused, before it is executed."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from typing import TYPE_CHECKING, Any

from weft.errors import Location, WeftError
from weft.language.expressions import Constant, Expression

if TYPE_CHECKING:
    from weft.language.frontend.machine import SymbolicMachine

UNFIT = (
    ast.With,
    ast.Global,
    ast.Nonlocal,
    ast.Delete,
    ast.ClassDef,
    ast.AsyncFor,
    ast.AsyncWith,
    ast.AsyncFunctionDef,
    ast.Yield,
    ast.YieldFrom,
    ast.Await,
)
CHANGING = {"random", "time", "secrets", "numpy.random", "uuid", "datetime"}
# fmt: off
DOING = {
    *(getattr(builtins, name) for name in (
        "print", "input", "open", "exec", "eval", "setattr", "delattr", "breakpoint",
    )),
    sys.exit,
}
LOOKING = {id, locals, globals, vars, dir, sys._getframe, inspect.currentframe}
"""Functions that look at objects and names instead of values."""
# fmt: on
# fmt: off
IN_PLACE = {
    "add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "insert",
    "pop", "popitem", "popleft", "remove", "reverse", "setdefault", "sort", "update", "write",
    "writelines",
}
# fmt: on
MUTABLE = (list, dict, set, bytearray)


def refuse(machine: SymbolicMachine, where: Location, why: str) -> WeftError:
    """The error for a step that does more than compute and assign."""
    return WeftError(
        f"a step may only compute and assign; {why}",
        subject=f"{machine.owner}.step",
        where=where,
        remedy="Assign to the variables of the state, or to local names",
    )


def check_function(machine: SymbolicMachine, function: Any, where: Location) -> None:
    """A function that does something, or answers differently each time, has no table."""
    name = getattr(function, "__name__", "this function")
    this = getattr(function, "__self__", None)
    home = getattr(function, "__module__", None) or type(this).__module__
    if home in CHANGING or type(this).__module__ in CHANGING:
        raise refuse(machine, where, f"{name} answers differently each time it is asked")
    if _is_one_of(function, DOING):
        raise refuse(machine, where, f"{name} does something else")
    if type(function).__name__ == "Quitter":  # `exit` and `quit`, where there are any
        raise refuse(machine, where, f"{name} does something else")
    if _is_one_of(function, LOOKING):
        raise refuse(machine, where, f"{name} looks at more than values")
    if isinstance(this, MUTABLE) and name in IN_PLACE:
        raise refuse(machine, where, f"{name} changes a {type(this).__name__} in place")


def _is_one_of(function: Any, functions: set[Any]) -> bool:
    try:
        return function in functions
    except TypeError:  # not hashable
        return False


def check_method(machine: SymbolicMachine, owner: Expression, method: str, where: Location) -> None:
    """A method that changes the list, dictionary or set that it belongs to."""
    if method not in IN_PLACE:
        return
    values = [owner.value] if isinstance(owner, Constant) else machine.tables.of(owner).values
    if any(isinstance(value, MUTABLE) or hasattr(value, method) for value in values):
        raise refuse(machine, where, f"{method} changes something in place")


def check_not_mutable(machine: SymbolicMachine, node: Expression, where: Location) -> None:
    """`+=` on a list changes it for everyone who holds it."""
    values = [node.value] if isinstance(node, Constant) else machine.tables.of(node).values
    for value in values:
        if isinstance(value, MUTABLE):
            raise refuse(machine, where, f"this changes a {type(value).__name__} in place")


def check_fragment(machine: SymbolicMachine, root: ast.AST) -> None:
    """Syntax that is to be executed as it stands."""
    from weft.language.frontend.values import find

    made_here = {
        node.id
        for node in ast.walk(root)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for node in ast.walk(root):
        if isinstance(node, UNFIT):
            word = type(node).__name__.lower()
            raise refuse(machine, machine.where(node), f"`{word}` has no place in it")
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id not in made_here:
            result = find(machine, node.func.id)
            if isinstance(result, Constant):
                check_function(machine, result.value, machine.where(node))
        elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            result = find(machine, node.func.value.id)
            if isinstance(result, Expression) and node.func.value.id not in made_here:
                check_method(machine, result, node.func.attr, machine.where(node))
                if isinstance(result, Constant):
                    attribute = getattr(result.value, node.func.attr, None)
                    check_function(machine, attribute, machine.where(node))


def check_results(machine: SymbolicMachine, node: Expression, where: Location) -> None:
    """A value that is used up by looking at it (an iterator) has no table."""
    from weft.language.frontend.machine import NotUnderstood

    def is_used_up(value: Any) -> bool:
        return hasattr(value, "__next__") or (
            isinstance(value, tuple) and any(is_used_up(item) for item in value)
        )

    if any(is_used_up(value) for value in machine.tables.of(node).values):
        raise NotUnderstood("an iterator is kept", where, "Make a tuple of it")
