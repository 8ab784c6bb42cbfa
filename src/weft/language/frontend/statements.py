"""Following Python statements: what they assign, and under which conditions."""

from __future__ import annotations

import ast
import importlib
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from weft.errors import Location
from weft.language.bounded import ENDLESS
from weft.language.definition import head_write_error
from weft.language.expressions import Constant, EndlessFailure, Expression, Failure
from weft.language.frontend import matching, purity, tabulation, values
from weft.language.frontend.calls import local_function
from weft.language.frontend.machine import (
    STATE,
    Fork,
    LocalFunction,
    NotUnderstood,
    Operand,
    SymbolicMachine,
)
from weft.language.frontend.values import LONGEST


def block(machine: SymbolicMachine, body: list[ast.stmt]) -> None:
    """Statements one after the other, as far as they are reached."""
    for place, statement in enumerate(body):
        rest = body[place:]
        if len(rest) > 1 and _may_stop(machine):
            machine.when_live(lambda rest=rest: block_live(machine, rest))  # type: ignore[misc]
            return
        if not machine.when_live(lambda s=statement: follow(machine, s)):  # type: ignore[misc]
            return


def block_live(machine: SymbolicMachine, body: list[ast.stmt]) -> None:
    """Statements that are surely reached."""
    follow(machine, body[0])
    block(machine, body[1:])


def _may_stop(machine: SymbolicMachine) -> bool:
    frame = machine.frame
    return not all(
        isinstance(flag, Constant) for flag in (frame.returned, frame.broke, frame.continued)
    )


def follow(machine: SymbolicMachine, node: ast.stmt) -> None:
    """One statement; what cannot be followed is tabulated as a whole."""
    machine.attempt(
        lambda: _follow(machine, node),
        lambda reason: tabulation.tabulate_statement(machine, node, reason),
    )


def _follow(machine: SymbolicMachine, node: ast.stmt) -> None:
    match node:
        case ast.If(test=test, body=body, orelse=orelse):
            machine.branch(
                values.value(machine, test),
                lambda: block(machine, body),
                lambda: block(machine, orelse),
            )
        case ast.Assign(targets=targets, value=value):
            result = values.operand(machine, value)
            for target in targets:
                assign(machine, target, result)
        case ast.AnnAssign(target=target, value=value):
            if value is not None:
                assign(machine, target, values.operand(machine, value))
        case ast.AugAssign(target=target, op=op, value=value):
            _augment(machine, node, target, values.BINARY[type(op)], value)
        case ast.Return(value=value):
            frame = machine.frame
            if value is not None:
                frame.result = values.value(machine, value)
            frame.returned = machine.make.true
        case ast.Expr(value=value):
            _follow_bare(machine, value)
        case ast.For():
            _follow_for(machine, node)
        case ast.While():
            _follow_while(machine, node)
        case ast.Break():
            machine.frame.broke = machine.make.true
        case ast.Continue():
            machine.frame.continued = machine.make.true
        case ast.Match(subject=subject, cases=cases):
            matching.match(machine, values.value(machine, subject), cases, block)
        case ast.FunctionDef(name=name):
            if node.decorator_list:
                raise NotUnderstood("a decorated function", machine.where(node))
            machine.frame.locals[name] = local_function(machine, node)
        case ast.Pass():
            pass
        case ast.Assert(test=test):
            machine.apply(_check, values.value(machine, test), where=machine.where(node))
        case ast.Raise():
            what = ast.unparse(node)
            machine.computed(machine.make.apply(Raises(what), where=machine.where(node)))
        case ast.Import() | ast.ImportFrom():
            _follow_import(machine, node)
        case _:
            raise NotUnderstood(
                f"`{type(node).__name__.lower()}` cannot be followed", machine.where(node)
            )


def _check(truth: Any) -> None:
    if not truth:
        raise AssertionError


@dataclass(frozen=True)
class Raises:
    """A `raise` statement; which exception it is makes no difference."""

    what: str

    def __call__(self) -> NoReturn:
        raise Failure(f"`{self.what}` is reached")


def assign(machine: SymbolicMachine, target: ast.expr, found: Operand) -> None:
    """Bind a name, write a variable, or take a tuple apart."""
    where = machine.where(target)
    match target:
        case ast.Name(id=name):
            machine.frame.locals[name] = found
        case ast.Attribute(value=owner) | ast.Subscript(value=owner):

            def write(owned: Operand) -> None:
                if owned is not STATE:
                    raise purity.refuse(machine, where, "it changes something other than its state")
                _write(machine, target, found, where)

            machine.each(values.operand(machine, owner), write)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            if any(isinstance(t, ast.Starred) for t in targets):
                raise NotUnderstood("a starred target", where)
            for item_target, item in zip(
                targets, _unpack(machine, found, len(targets), where), strict=True
            ):
                assign(machine, item_target, item)
        case _:
            raise NotUnderstood(f"assignment to {type(target).__name__}", where)


def _write(
    machine: SymbolicMachine, target: ast.Attribute | ast.Subscript, found: Operand, where: Location
) -> None:
    variable = values.variable_named(machine, target)
    if machine.variables[variable].is_head:
        raise head_write_error(machine.owner, variable, where)
    found = machine.settled(found)
    if not isinstance(found, Expression):
        raise NotUnderstood("something that is not a value is assigned", where)
    machine.write(variable, found, where)


def _unpack(
    machine: SymbolicMachine, found: Operand, count: int, where: Location
) -> list[Expression]:
    if not isinstance(found, Expression):
        raise NotUnderstood("something that is not a tuple is taken apart", where)
    items = values.items_of(machine, found)
    if items is not None and len(items) == count:
        return items
    whole = machine.apply(_unpacker(count), found, where=where)
    constants = [machine.make.constant(place) for place in range(count)]
    return [machine.apply(operator.getitem, whole, place, where=where) for place in constants]


_UNPACKERS: dict[int, Callable[[Any], tuple[Any, ...]]] = {}


def _unpacker(count: int) -> Callable[[Any], tuple[Any, ...]]:
    def unpack(items: Any) -> tuple[Any, ...]:
        taken = tuple(items)
        if len(taken) != count:
            raise ValueError(f"{count} values expected, {len(taken)} found")
        return taken

    return _UNPACKERS.setdefault(count, unpack)


def _augment(
    machine: SymbolicMachine,
    node: ast.AugAssign,
    target: ast.expr,
    function: Callable[[Any, Any], Any],
    value: ast.expr,
) -> None:
    as_read: Any = ast.copy_location(_loaded(target), target)
    old = values.value(machine, as_read)
    purity.check_not_mutable(machine, old, machine.where(node))
    new = machine.apply(function, old, values.value(machine, value), where=machine.where(node))
    assign(machine, target, new)


def _loaded(target: ast.expr) -> ast.expr:
    match target:
        case ast.Name(id=name):
            return ast.Name(id=name, ctx=ast.Load())
        case ast.Attribute(value=value, attr=attr):
            return ast.Attribute(value=value, attr=attr, ctx=ast.Load())
        case ast.Subscript(value=value, slice=index):
            return ast.Subscript(value=value, slice=index, ctx=ast.Load())
    raise TypeError(target)


def _follow_bare(machine: SymbolicMachine, value: ast.expr) -> None:
    if isinstance(value, ast.Constant):  # a docstring
        return
    gives_state = isinstance(value, ast.Call) and any(
        isinstance(a, ast.Name) and values.operand(machine, a) is STATE
        for a in [*value.args, *(k.value for k in value.keywords)]
    )
    local = isinstance(value, ast.Call) and isinstance(
        values.operand(machine, value.func), (LocalFunction, Fork)
    )
    if not gives_state and not local:
        raise purity.refuse(machine, machine.where(value), "a result is thrown away")
    values.operand(machine, value)


def _follow_for(machine: SymbolicMachine, node: ast.For) -> None:
    items = values.items_of(machine, values.operand(machine, node.iter))
    if items is None:
        raise NotUnderstood("a loop whose iterations depend on the state", machine.where(node.iter))

    def round_(item: Expression) -> None:
        assign(machine, node.target, item)
        block(machine, node.body)

    for item in items:
        if not machine.when_live(lambda item=item: round_(item)):  # type: ignore[misc]
            break
        machine.frame.continued = machine.make.false
    _leave_loop(machine, node.orelse)


def _follow_while(machine: SymbolicMachine, node: ast.While) -> None:
    frame, yes = machine.frame, machine.make.true
    for _ in range(LONGEST):
        if frame.returned is yes or frame.broke is yes:
            return _leave_loop(machine, node.orelse)
        if _may_stop(machine):
            raise NotUnderstood(
                "a loop whose iterations depend on the state", machine.where(node.test)
            )
        test = values.value(machine, node.test)
        decided = machine.decided(machine.known(test))
        if decided is None:
            raise NotUnderstood(
                "a loop whose iterations depend on the state", machine.where(node.test)
            )
        if not decided:
            return _leave_loop(machine, node.orelse)
        before = {**machine.values}, {**frame.locals}
        block(machine, node.body)
        frame.continued = machine.make.false
        if before == (machine.values, frame.locals) and not _may_stop(machine):
            if frame.returned is not yes and frame.broke is not yes:  # every iteration is this one
                where = machine.where(node)
                machine.computed(machine.make.apply(EndlessHere(where), where=where))
                frame.returned = yes
                return None
    raise NotUnderstood(f"a loop of more than {LONGEST:,} iterations", machine.where(node))


@dataclass(frozen=True)
class EndlessHere:
    """A loop whose iterations change nothing: it fails when it is reached."""

    where: Location

    def __call__(self) -> NoReturn:
        raise EndlessFailure(ENDLESS, self.where)


def _leave_loop(machine: SymbolicMachine, orelse: list[ast.stmt]) -> None:
    """`else` runs if the loop was not left by `break`; a `break` in it is the outer loop's."""
    broke = machine.frame.broke
    machine.frame.broke = machine.frame.continued = machine.make.false
    if orelse:
        machine.branch(
            broke,
            lambda: None,
            lambda: machine.when_live(lambda: block(machine, orelse)) and None,
        )


def _follow_import(machine: SymbolicMachine, node: ast.Import | ast.ImportFrom) -> None:
    for alias in node.names:
        if isinstance(node, ast.Import):
            module: Any = importlib.import_module(alias.name)
            result = module if alias.asname else importlib.import_module(alias.name.split(".")[0])
            name = alias.asname or alias.name.split(".")[0]
        else:
            if node.level or node.module is None:
                raise NotUnderstood("a relative import", machine.where(node))
            result = getattr(importlib.import_module(node.module), alias.name)
            name = alias.asname or alias.name
        machine.frame.locals[name] = machine.make.constant(result)
