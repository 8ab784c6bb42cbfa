"""Python that cannot be followed is executed as it stands, once for every combination of inputs.

A fragment (an expression, or a statement such as a `while` loop) becomes a function of the
variables that it depends on, and that function a table. It runs in a namespace in which names have
their values in one state; what it binds, writes or returns is read off afterwards.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable
from types import CodeType
from typing import Any

from weft.errors import Location
from weft.language.definition import head_write_error
from weft.language.expressions import (
    FAILED,
    Expression,
    Failure,
    Read,
    evaluate,
    evaluate_or_fail,
    read_nodes,
)
from weft.language.frontend import purity
from weft.language.frontend.dependencies import VALUE, Inputs
from weft.language.frontend.fragments import Fragment, Rewriter, Unforeseen, catches_all, own_jumps
from weft.language.frontend.machine import (
    EscapedState,
    Fork,
    NotUnderstood,
    SymbolicMachine,
)
from weft.language.ranges import UNDEFINED
from weft.language.state_access import Escape, escape_error
from weft.language.tables import LIMIT


def tabulate_expression(
    machine: SymbolicMachine, node: ast.expr, reason: NotUnderstood
) -> Expression:
    """An expression as a table over what it reads."""
    if isinstance(node, (ast.Name, ast.Constant, ast.Starred, ast.Lambda)):
        raise reason
    test = _open_test(machine, node)
    if test is not None:

        def again() -> Expression:
            if machine.decided(test) is None:
                raise reason
            return tabulate_expression(machine, node, reason)

        return machine.branch(test, again, again, machine.make.choice)
    statement = ast.Assign(targets=[ast.Name(VALUE, ast.Store())], value=node)
    result = _tabulate(machine, ast.copy_location(statement, node), node, reason)
    bound = result.bound.pop(VALUE, None)
    if bound is None:  # it fails in every state
        return machine.apply(_always_fails, result.node, where=machine.where(node))
    result.take(machine, machine.where(node))
    return bound


def _always_fails(_: Any) -> Any:
    raise Failure


def tabulate_statement(machine: SymbolicMachine, node: ast.stmt, reason: NotUnderstood) -> None:
    """A statement as a table from what it reads to what it binds, writes and returns."""
    if next(own_jumps(node), None) is not None or catches_all(node):
        raise reason
    test = _open_test(machine, node)
    if test is not None:

        def again() -> None:
            if machine.decided(test) is None:
                raise reason
            tabulate_statement(machine, node, reason)

        return machine.branch(test, again, again)
    _tabulate(machine, node, node, reason).take(machine, machine.where(node))


def _open_test(machine: SymbolicMachine, root: ast.AST) -> Expression | None:
    """What must be known before it is known which functions the names of a fragment stand for."""
    from weft.language.frontend.values import find

    for node in ast.walk(root):
        result = machine.settled(find(machine, node.id)) if isinstance(node, ast.Name) else None
        if isinstance(result, Fork):
            return result.test
    return None


class _Found:
    """The results of a fragment, as expressions."""

    def __init__(self, machine: SymbolicMachine, node: Expression, where: Location) -> None:
        self.node = node
        outcomes = machine.tables.of(node).values
        make = machine.make

        def item(picker: Callable[[Any], Any]) -> Expression:
            return make.apply(picker, node)

        self.bound: dict[str, Expression] = {}
        for name in sorted({name for outcome in outcomes for name, _ in outcome[2]}):
            everywhere = all(name in dict(outcome[2]) for outcome in outcomes)
            value = item(_Picker(2, name))
            if not everywhere:
                before = machine.frame.locals.get(name, machine.unbound(name))
                value = make.choice(item(_Picker(2, name, has=True)), value, before)
            self.bound[name] = value
        self.written = {
            name: (item(_Picker(3, name, has=True)), item(_Picker(3, name)))
            for name in sorted({name for outcome in outcomes for name, _ in outcome[3]})
        }
        for name in self.written:
            if machine.variables[name].is_head:
                raise head_write_error(machine.owner, name, where)
        self.returns = any(outcome[0] for outcome in outcomes)
        self.returned, self.result = item(_Picker(0)), item(_Picker(1))

    def take(self, machine: SymbolicMachine, where: Location) -> None:
        """Bind names, write variables, return."""
        make = machine.make
        for name, value in self.bound.items():
            machine.frame.locals[name] = value
        for name, (wrote, value) in self.written.items():
            old = machine.values[name]
            machine.values[name] = make.choice(wrote, make.written(value, where), old)
        if self.returns:
            frame = machine.frame
            frame.result = make.choice(self.returned, self.result, frame.result)
            frame.returned = make.either(frame.returned, self.returned)


class _Picker:
    """Takes one part out of a fragment's results."""

    _made: dict[tuple[int, str, bool], _Picker] = {}

    def __new__(cls, part: int, name: str = "", has: bool = False) -> _Picker:
        key = (part, name, has)
        if key not in cls._made:
            cls._made[key] = super().__new__(cls)
        return cls._made[key]

    def __init__(self, part: int, name: str = "", has: bool = False) -> None:
        self.part, self.name, self.has = part, name, has
        self.__name__ = f"has_{name}" if has else name or ("returned", "result")[part]

    def __call__(self, outcome: Any) -> Any:
        if self.part < 2:
            return outcome[self.part]
        named = dict(outcome[self.part])
        return self.name in named if self.has else named[self.name]


def _tabulate(
    machine: SymbolicMachine, statement: ast.stmt, shown: ast.AST, reason: NotUnderstood
) -> _Found:
    purity.check_fragment(machine, shown)
    _check_handlers(machine, shown)
    inputs = Inputs(machine, shown, reason)
    body = [*inputs.definitions(), copy.deepcopy(statement)]
    module = ast.Module([Rewriter().visit(part) for part in body], [])
    code = compile(ast.fix_missing_locations(module), machine.frame.source.file, "exec")
    text = ast.unparse(shown).splitlines()[0]
    while True:
        try:
            node = _as_function(machine, inputs, code, text, machine.where(shown))
            return _Found(machine, node, machine.where(shown))
        except Unforeseen as missing:
            inputs.add_variable(missing.name, shown)
        except EscapedState as escaped:
            escape = Escape(escaped.what, machine.where(shown))
            raise escape_error(machine.owner, escape) from None


def _check_handlers(machine: SymbolicMachine, root: ast.AST) -> None:
    """`except E as name` unbinds the name at its end, which a fragment's results do not show."""
    for node in ast.walk(root):
        if isinstance(node, ast.ExceptHandler) and node.name in machine.frame.locals:
            what = f"the exception is named '{node.name}', as something else is"
            raise NotUnderstood(what, machine.where(node), "Give it a name of its own")


def _as_function(
    machine: SymbolicMachine, inputs: Inputs, code: CodeType, text: str, where: Location
) -> Expression:
    """The fragment over the variables below its inputs, on its path; or over its inputs."""
    values = list(inputs.symbolic.values())
    path = machine.path
    below = read_nodes(*values, *(test for test, _ in path))
    names = [node.variable for node in below]

    def over_variables(*given: Any) -> Any:
        state = {n: UNDEFINED if v is FAILED else v for n, v in zip(names, given, strict=True)}
        memo: dict[int, Any] = {}
        if any(bool(evaluate(test, state, memo)) is not held for test, held in path):
            raise Failure
        return inputs.run(code, [evaluate_or_fail(value, state, memo) for value in values])

    if _count(machine, below) <= LIMIT:
        arguments: tuple[Expression, ...] = tuple(below)
        fragment = Fragment(text, over_variables)
    else:
        arguments = tuple(values)
        fragment = Fragment(text, lambda *given: inputs.run(code, list(given)))
    result = machine.make.apply(fragment, *arguments, where=where, lazy=True)
    machine.tabulated(result, where)
    purity.check_results(machine, result, where)
    table = machine.tables.of(result)
    if not arguments and not table.fails:
        return machine.make.constant(table.values[0])
    return machine.computed(result)


def _count(machine: SymbolicMachine, nodes: list[Read]) -> int:
    return math.prod(machine.tables.of(node).codes for node in nodes)
