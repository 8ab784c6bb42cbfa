"""Python that cannot be followed is executed as it stands, once for every combination of inputs.

A piece of syntax (an expression, or a statement such as a `while` loop) becomes a function of just
the variables that it depends on, and that function becomes a table. The piece runs in a namespace
of its own, in which names stand for the values that they have in one state; what it binds, writes
or returns is read off afterwards.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from weft.errors import Location, WeftError, did_you_mean
from weft.language.expressions import (
    FAILED,
    Apply,
    Constant,
    Expression,
    Failure,
    Read,
    evaluate,
    walk,
)
from weft.language.frontend import purity
from weft.language.frontend.machine import STATE, LocalFunction, Machine, NotUnderstood
from weft.language.names import accesses, resolve, state_name
from weft.language.ranges import UNDEFINED
from weft.language.tables import LIMIT

VALUE = "__weft_value"
RETURN = "__weft_return"
TICK = "__weft_tick"
ROUNDS = 100_000
"""How many rounds the loops of a piece may make in one state."""


class Returned(BaseException):
    """A `return` within a piece; not an `Exception`, so that no handler of the piece takes it."""

    def __init__(self, value: Any = None) -> None:
        super().__init__()
        self.value = value


class Box:
    """A state for a piece: the variables it may use, and which of them it wrote."""

    __content__: tuple[dict[str, Any], dict[str, Any]]

    def __init__(self, values: dict[str, Any]) -> None:
        object.__setattr__(self, "__content__", (values, {}))

    def __getitem__(self, name: str) -> Any:
        value = self.__content__[0][name]
        if value is FAILED:
            raise Failure(name)
        return value

    def __setitem__(self, name: str, value: Any) -> None:
        values, written = self.__content__
        values[name] = written[name] = value

    __getattr__ = __getitem__
    __setattr__ = __setitem__


class Piece:
    """A piece of a step as a function of variables: gives what it returned, bound and wrote."""

    def __init__(self, text: str, run: Callable[..., Any]) -> None:
        self.text = text if len(text) <= 60 else text[:57] + "..."
        self.__name__ = self.text
        self._run = run

    def __call__(self, *values: Any) -> Any:
        return self._run(*values)


def unknown_variable(machine: Machine, name: str, where: Location) -> WeftError:
    """The step names a variable that the program does not have."""
    return WeftError(
        f"there is no variable '{name}'",
        subject=f"{machine.owner}.step",
        where=where,
        remedy=did_you_mean(name, list(machine.variables)).capitalize(),
    )


def tabulate_expression(machine: Machine, node: ast.expr, reason: NotUnderstood) -> Expression:
    """An expression as a table over what it reads."""
    if isinstance(node, (ast.Name, ast.Constant, ast.Starred, ast.Lambda)):
        raise reason
    statement = ast.Assign(targets=[ast.Name(VALUE, ast.Store())], value=node)
    found = _tabulate(machine, ast.copy_location(statement, node), node, reason)
    bound = found.bound.pop(VALUE, None)
    if bound is None:  # it fails in every state
        return machine.apply(_always_fails, found.node, where=machine.where(node))
    found.take(machine, machine.where(node))
    return bound


def _always_fails(_: Any) -> Any:
    raise Failure


def tabulate_statement(machine: Machine, node: ast.stmt, reason: NotUnderstood) -> None:
    """A statement as a table from what it reads to what it binds, writes and returns."""
    if next(_own_jumps(node), None) is not None or _catches_all(node):
        raise reason
    _tabulate(machine, node, node, reason).take(machine, machine.where(node))


class _Found:
    """The results of a piece, as expressions."""

    def __init__(self, machine: Machine, node: Expression, text: str) -> None:
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
        self.returns = any(outcome[0] for outcome in outcomes)
        self.returned, self.result = item(_Picker(0)), item(_Picker(1))

    def take(self, machine: Machine, where: Location) -> None:
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
    """Takes one part out of a piece's results."""

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
    machine: Machine, statement: ast.stmt, shown: ast.AST, reason: NotUnderstood
) -> _Found:
    purity.check_piece(machine, shown)
    inputs = _Inputs(machine, shown, reason)
    body = [*inputs.definitions(), copy.deepcopy(statement)]
    module = ast.Module([_Rewriter().visit(part) for part in body], [])
    code = compile(ast.fix_missing_locations(module), machine.frame.source.file, "exec")
    text = ast.unparse(shown).splitlines()[0]
    node = _as_function(machine, inputs, code, text, machine.where(shown))
    return _Found(machine, node, text)


def _as_function(
    machine: Machine, inputs: _Inputs, code: CodeType, text: str, where: Location
) -> Expression:
    """The piece over the variables below its inputs, on its path; or over its inputs."""
    values = list(inputs.symbolic.values())
    path = machine.path
    below = _reads_below([*values, *(test for test, _ in path)])
    names = [node.variable for node in below]

    def over_variables(*given: Any) -> Any:
        state = {n: UNDEFINED if v is FAILED else v for n, v in zip(names, given, strict=True)}
        memo: dict[int, Any] = {}
        if any(bool(evaluate(test, state, memo)) is not held for test, held in path):
            raise Failure
        return inputs.run(code, [_value_or_failed(value, state, memo) for value in values])

    if _count(machine, below) <= LIMIT:
        arguments: tuple[Expression, ...] = tuple(below)
        piece = Piece(text, over_variables)
    else:
        arguments = tuple(values)
        piece = Piece(text, lambda *given: inputs.run(code, list(given)))
    if not arguments:
        arguments = (machine.make.constant(None),)
        piece = Piece(text, lambda _: inputs.run(code, [v.value for v in values]))  # type: ignore[attr-defined]
    found = machine.apply(piece, *arguments, where=where, lazy=True)
    machine.tabulated(found, where)
    if isinstance(found, Apply):
        purity.check_results(machine, found, where)
    return found


def _value_or_failed(node: Expression, state: dict[str, Any], memo: dict[int, Any]) -> Any:
    try:
        return evaluate(node, state, memo)
    except Exception:
        return FAILED


def _reads_below(nodes: list[Expression]) -> list[Read]:
    return [node for node in walk(*nodes) if isinstance(node, Read)]


def _count(machine: Machine, nodes: list[Read]) -> int:
    return math.prod(machine.tables.of(node).codes for node in nodes)


class _Inputs:
    """What a piece of syntax depends on, and how to run it in one state."""

    def __init__(self, machine: Machine, root: ast.AST, reason: NotUnderstood) -> None:
        self.machine = machine
        self.reason = reason
        self.symbolic: dict[tuple[str, str], Expression] = {}
        self._constants: dict[str, Any] = {}
        self._states: set[str] = set()
        self._functions: dict[str, LocalFunction] = {}
        self._collect(root)

    def _collect(self, root: ast.AST) -> None:
        for node in ast.walk(root):
            if isinstance(node, ast.Name):
                self._add_name(node.id)
            if isinstance(node, (ast.Attribute, ast.Subscript)) and self._is_state(node.value):
                self._add_access(node)
            elif isinstance(node, ast.Call):
                self._add_call(node)
        self._check_bare_states(root)

    def _add_name(self, name: str) -> None:
        from weft.language.frontend.values import find

        found = find(self.machine, name)
        if found is None or name in self._constants or name in self._functions:
            return
        if found is STATE:
            self._states.add(name)
        elif isinstance(found, LocalFunction):
            self._functions[name] = found
            self._collect(found.node)
        elif isinstance(found, Constant):
            self._constants[name] = found.value
        elif isinstance(found, Expression):
            self.symbolic["local", name] = self.machine.known(found)

    def _is_state(self, node: ast.AST) -> bool:
        from weft.language.frontend.values import find

        return isinstance(node, ast.Name) and find(self.machine, node.id) is STATE

    def _add_access(self, node: ast.Attribute | ast.Subscript) -> None:
        assert isinstance(node.value, ast.Name)
        variable = state_name(node, node.value.id)
        if variable is None:
            raise self.reason
        self._add_variable(variable, node, not isinstance(node.ctx, ast.Load))

    def _add_call(self, node: ast.Call) -> None:
        for place, argument in enumerate(node.args):
            if self._is_state(argument):
                owner = self.machine.frame.function
                helper = resolve(owner, node.func) if isinstance(owner, FunctionType) else None
                found = list(accesses(helper, place)) if helper is not None else []
                if not found and not self._is_local(node.func):
                    raise self.reason
                for access in found:
                    self._add_variable(access.name, node, access.writes)

    def _is_local(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self._functions

    def _add_variable(self, name: str, node: ast.AST, writes: bool) -> None:
        machine = self.machine
        if name not in machine.variables:
            raise unknown_variable(machine, name, machine.where(node))
        if writes and machine.variables[name].is_head:
            from weft.language.check import head_write_error

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
        """The functions defined in the step that the piece uses, defined again."""
        for name, function in self._functions.items():
            node = copy.deepcopy(function.node)
            if isinstance(node, ast.Lambda):
                yield ast.Assign(targets=[ast.Name(name, ast.Store())], value=node, lineno=1)
            else:
                yield node

    def run(self, code: CodeType, values: list[Any]) -> Any:
        """Execute the piece where its inputs have these values."""
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
        space = {**around, **frame.names, **start, RETURN: Returned, TICK: _Ticker().tick}
        for kind, name in given:  # a local name that has no value hides a global one
            if kind == "local" and name not in names:
                space.pop(name, None)
        returned, result = False, None
        before = dict(space)
        try:
            exec(code, space)
        except Returned as end:
            returned, result = True, end.value
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
        _, written = box.__content__
        return returned, result, bound, tuple(sorted(written.items()))


class _Ticker:
    """Counts the rounds of loops, so that a piece that never ends is given up."""

    def __init__(self) -> None:
        self.rounds = 0

    def tick(self) -> None:
        self.rounds += 1
        if self.rounds > ROUNDS:
            raise Failure("a loop does not end")


class _Rewriter(ast.NodeTransformer):
    """Makes a piece fit to run on its own: returns are raised, rounds of loops counted."""

    def visit_Return(self, node: ast.Return) -> ast.AST:
        call = ast.Call(ast.Name(RETURN, ast.Load()), [node.value] if node.value else [], [])
        return ast.copy_location(ast.Raise(exc=call, cause=None), node)

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        tick = ast.Expr(ast.Call(ast.Name(TICK, ast.Load()), [], []))
        node.body.insert(0, ast.copy_location(tick, node))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node


def _own_jumps(node: ast.AST) -> Iterator[ast.AST]:
    """The `break` and `continue` that leave the piece itself, not a loop within it."""
    if isinstance(node, (ast.Break, ast.Continue)):
        yield node
    elif isinstance(node, (ast.For, ast.While)):
        for statement in node.orelse:
            yield from _own_jumps(statement)
    elif not isinstance(node, (ast.FunctionDef, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _own_jumps(child)


def _catches_all(root: ast.AST) -> bool:
    """Whether a handler would also catch the exception that stands for `return`."""
    has_return = any(isinstance(node, ast.Return) for node in ast.walk(root))
    return has_return and any(
        isinstance(node, ast.ExceptHandler)
        and (node.type is None or "BaseException" in ast.unparse(node.type))
        for node in ast.walk(root)
    )
