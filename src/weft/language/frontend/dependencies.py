"""What a fragment of Python depends on, and how to run it for given values of these inputs."""

from __future__ import annotations

import ast
import copy
import symtable
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from weft.language.bounded import EndlessLoop, call_bounded, code_reaches_loop
from weft.language.definition import head_write_error, unknown_variable
from weft.language.expressions import FAILED, Constant, EndlessFailure, Expression
from weft.language.frontend.fragments import (
    OVER,
    RETURN,
    TICK,
    Box,
    Escaped,
    Returned,
    Ticker,
    Unforeseen,
)
from weft.language.frontend.machine import (
    STATE,
    EscapedState,
    LocalFunction,
    NotUnderstood,
    SymbolicMachine,
)
from weft.language.state_access import (
    Access,
    Escape,
    escape_error,
    resolve,
    state_name,
    unreadable,
    uses,
)

VALUE = "__weft_value"
"""What the value of a tabulated expression is called in its namespace."""


class Inputs:
    """What a fragment of syntax depends on, and how to run it in one state."""

    def __init__(self, machine: SymbolicMachine, root: ast.AST, reason: NotUnderstood) -> None:
        self.machine = machine
        self.reason = reason
        self.symbolic: dict[tuple[str, str], Expression] = {}
        self._constants: dict[str, Any] = {}
        self._states: set[str] = set()
        self._functions: dict[str, LocalFunction] = {}
        self._traced: bool | None = None
        self._collect(root)

    def _collect(self, root: ast.AST, free: set[str] | None = None) -> None:
        for node in ast.walk(root):
            if isinstance(node, ast.Name) and (free is None or node.id in free):
                self._add_name(node.id)
            if isinstance(node, (ast.Attribute, ast.Subscript)) and self._is_state(node.value):
                self._add_access(node)
            elif isinstance(node, ast.Call):
                self._add_call(node)
        self._check_bare_states(root)

    def _add_name(self, name: str) -> None:
        from weft.language.frontend.values import find

        result = self.machine.settled(find(self.machine, name))
        if result is None or name in self._constants or name in self._functions:
            return
        if result is STATE:
            self._states.add(name)
        elif isinstance(result, LocalFunction):
            self._functions[name] = result
            self._add_function(name, result)
        elif isinstance(result, Constant):
            self._constants[name] = result.value
        elif isinstance(result, Expression):
            self.symbolic["local", name] = self.machine.known(result)

    def _add_function(self, name: str, function: LocalFunction) -> None:
        """Redefine a function for the fragment; its names must mean the same there."""
        from weft.language.frontend.values import find, find_from

        machine, free = self.machine, _free_names(function.node)
        if any(find(machine, n) is not find_from(machine, function.frame, n) for n in free):
            raise self.reason
        for place, default in enumerate(function.defaults):
            if not isinstance(default, Expression):
                raise self.reason
            self.symbolic["local", _default_name(name, place)] = default
        self._collect(function.node, free)

    def _is_state(self, node: ast.AST) -> bool:
        from weft.language.frontend.values import find

        return isinstance(node, ast.Name) and find(self.machine, node.id) is STATE

    def _add_access(self, node: ast.Attribute | ast.Subscript) -> None:
        assert isinstance(node.value, ast.Name)
        variable = state_name(node, node.value.id)
        if variable is not None:  # a computed name is found when the fragment is executed
            self.add_variable(variable, node, not isinstance(node.ctx, ast.Load))

    def _add_call(self, node: ast.Call) -> None:
        for place, argument in enumerate(node.args):
            if self._is_state(argument):
                owner = self.machine.frame.function
                helper = self._called(node.func)
                if helper is None and isinstance(owner, FunctionType):
                    helper = resolve(owner, node.func)
                for use in self._uses_of(helper, place, node):
                    if isinstance(use, Escape):
                        raise escape_error(self.machine.owner, use)
                    self.add_variable(use.name, node, use.writes)

    def _called(self, node: ast.expr) -> Any:
        """The function that a name stands for, if it is known."""
        from weft.language.frontend.values import find

        result = find(self.machine, node.id) if isinstance(node, ast.Name) else None
        return result.value if isinstance(result, Constant) else None

    def _uses_of(self, helper: Any, place: int, node: ast.Call) -> Iterator[Access | Escape]:
        why = unreadable(helper) if callable(helper) else None
        if why is not None:
            yield Escape(why, self.machine.where(node))
        elif helper is not None:
            yield from uses(helper, place)

    def add_variable(self, name: str, node: ast.AST, writes: bool = False) -> None:
        """Let the fragment use a variable."""
        machine = self.machine
        if name not in machine.variables:
            raise unknown_variable(machine.owner, name, machine.variables, machine.where(node))
        if writes and machine.variables[name].is_head:
            raise head_write_error(machine.owner, name, machine.where(node))
        self.symbolic["variable", name] = machine.known(machine.plain(machine.values[name]))

    def _check_bare_states(self, root: ast.AST) -> None:
        """The state may be read, written and handed to a helper; anything else cannot be seen."""
        fine: set[int] = set()
        for node in ast.walk(root):
            if isinstance(node, (ast.Attribute, ast.Subscript)):
                fine.add(id(node.value))
            elif isinstance(node, ast.Call):
                fine |= {id(argument) for argument in node.args}
        for node in ast.walk(root):
            if isinstance(node, ast.Name) and node.id in self._states and id(node) not in fine:
                raise self.reason

    def definitions(self) -> Iterator[ast.stmt]:
        """The functions defined in the step that the fragment uses, defined again."""
        for name, function in self._functions.items():
            node = copy.deepcopy(function.node)
            node.args.defaults = [
                ast.Name(_default_name(name, place), ast.Load())
                for place in range(len(function.defaults))
            ]
            if isinstance(node, ast.Lambda):
                yield ast.Assign(targets=[ast.Name(name, ast.Store())], value=node, lineno=1)
            else:
                yield node

    def run(self, code: CodeType, values: list[Any]) -> Any:
        """Execute the fragment with these values of its inputs."""
        frame = self.machine.frame
        around = frame.function.__globals__ if frame.function is not None else {}
        given = dict(zip(self.symbolic, values, strict=True))
        variables = {name: value for (kind, name), value in given.items() if kind == "variable"}
        box = Box(variables)
        names = {
            name: value
            for (kind, name), value in given.items()
            if kind == "local" and value is not FAILED
        }
        start = {**self._constants, **names, **dict.fromkeys(self._states, box)}
        ticker = Ticker(self.machine)
        own = {RETURN: Returned, TICK: ticker.tick, OVER: ticker.over}
        space = {**around, **frame.names, **start, **own}
        for kind, name in given:  # a local name that has no value hides a global one
            if kind == "local" and name not in names:
                space.pop(name, None)
        returned, result = False, None
        before = dict(space)
        if self._traced is None:
            self._traced = code_reaches_loop(code, space)
        try:
            call_bounded(exec, code, space, traced=self._traced)
        except Returned as end:
            returned, result = True, end.value
        except EndlessLoop as error:
            self.machine.spend_endless(error.where)
            raise EndlessFailure(str(error), error.where) from None
        except Escaped:
            pass
        _, written, missing, escaped = box.__content__
        if escaped:  # a handler of the fragment may have taken the exception
            raise EscapedState(escaped[0])
        if missing:
            raise Unforeseen(missing[0])
        bound = tuple(
            (name, value)
            for name, value in space.items()
            if (
                name not in self._functions
                and not name.startswith("__")
                and (name not in before or before[name] is not value)
            )
            or name == VALUE
        )
        return returned, result, bound, tuple(sorted(written.items()))


def _default_name(function: str, place: int) -> str:
    return f"__weft_default_{function}_{place}"


def _free_names(node: ast.FunctionDef | ast.Lambda) -> set[str]:
    """The names in a function that stand for something outside of it."""
    bare = copy.deepcopy(node)
    bare.args.defaults = [ast.Constant(None) for _ in bare.args.defaults]
    stack = symtable.symtable(ast.unparse(bare), "function", "exec").get_children()
    result: set[str] = set()
    while stack:
        table = stack.pop()
        result |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
        stack.extend(table.get_children())
    return result
