"""Following calls: helpers are inlined; what has no source is tabulated over its arguments."""

from __future__ import annotations

import ast
import inspect
import operator
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import BuiltinFunctionType, MethodType, MethodWrapperType
from typing import Any

from weft.errors import Location
from weft.language.bounded import EndlessLoop, call_bounded, reaches_loop
from weft.language.expressions import Apply, Constant, EndlessFailure, Expression, value_key
from weft.language.frontend import purity
from weft.language.frontend.machine import (
    STATE,
    Frame,
    LocalFunction,
    NotUnderstood,
    Operand,
    SymbolicMachine,
)
from weft.language.source import free_variables, function_source
from weft.language.state_access import Escape, escape_error, unreadable

DEEPEST = 60
"""How deep helpers are inlined into helpers before the rest is tabulated."""


USUAL_DEPTH = 1000
"""Python's own limit of recursion."""


def local_function(machine: SymbolicMachine, node: ast.FunctionDef | ast.Lambda) -> LocalFunction:
    """A function as it is defined, with its defaults as they are now."""
    from weft.language.frontend import values

    defaults = tuple(values.operand(machine, default) for default in node.args.defaults)
    return LocalFunction(node, machine.frame, defaults)


def call(machine: SymbolicMachine, node: ast.Call) -> Operand:
    """The result of a call."""
    from weft.language.frontend import values

    return machine.each(
        values.operand(machine, node.func), lambda callee: _call(machine, node, callee)
    )


def _call(machine: SymbolicMachine, node: ast.Call, callee: Operand) -> Operand:
    from weft.language.frontend import values

    where = machine.where(node)
    function = callee.value if isinstance(callee, Constant) else None
    if function is not None and not node.keywords:
        result = _over_comprehension(machine, node, function)
        if result is not None:
            return result
    if any(isinstance(a, ast.Starred) for a in node.args) or any(
        keyword.arg is None for keyword in node.keywords
    ):
        raise NotUnderstood("a call with * or **", where)
    if isinstance(node.func, ast.Attribute) and not isinstance(callee, LocalFunction):
        _check_method(machine, node.func, where)
    arguments = [values.operand(machine, argument) for argument in node.args]
    named = {k.arg: values.operand(machine, k.value) for k in node.keywords if k.arg}
    if function is not None and not named:
        result = _over_items(machine, function, arguments, where)
        if result is not None:
            return result
    if isinstance(callee, LocalFunction):
        return _inline_local(machine, callee, arguments, named)
    if not isinstance(callee, Constant):
        return _tabulate(machine, node, None, [callee, *arguments], named)
    everything = [*arguments, *named.values()]
    if all(isinstance(a, Constant) for a in everything):
        return _tabulate(machine, node, function, arguments, named)
    return machine.attempt(
        lambda: _inline(machine, node, function, arguments, named),
        lambda reason: _tabulate(machine, node, function, arguments, named, reason),
    )


def _inline(
    machine: SymbolicMachine,
    node: ast.Call,
    function: Any,
    arguments: list[Operand],
    named: dict[str, Operand],
) -> Expression:
    """Execute the body of a helper in place of the call."""
    if isinstance(function, MethodType):
        arguments = [machine.make.constant(function.__self__), *arguments]
        function = function.__func__
    source = function_source(function)
    if source is None:
        raise NotUnderstood(f"the source of {_name(function)} cannot be read", machine.where(node))
    if any(frame.function is function for frame in machine.frames):
        raise NotUnderstood(f"{_name(function)} calls itself", machine.where(node))
    if len(machine.frames) > DEEPEST:
        raise NotUnderstood("helpers call helpers too deeply", machine.where(node))
    bound = _bind(machine, inspect.signature(function), arguments, named)
    frame = machine.new_frame(source, free_variables(function), function, bound)
    return _execute(machine, frame, source.node.body)


def _inline_local(
    machine: SymbolicMachine,
    local: LocalFunction,
    arguments: list[Operand],
    named: dict[str, Operand],
) -> Expression:
    """Execute a function that was defined within the step."""
    from weft.language.frontend import values

    spec = local.node.args
    within = any(frame.body is local.node for frame in machine.frames)
    if spec.vararg or spec.kwarg or spec.kwonlyargs or within:
        raise NotUnderstood("this function cannot be inlined", machine.where(local.node))
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    bound = dict(zip(names, arguments, strict=False)) | named
    for name, default in zip(reversed(names), reversed(local.defaults), strict=False):
        if name not in bound:
            bound[name] = default
    if set(bound) != set(names) or len(arguments) > len(names):
        raise NotUnderstood("the arguments do not fit the function", machine.where(local.node))
    outer = local.frame
    frame = machine.new_frame(outer.source, outer.names, outer.function, bound)
    frame.parent = outer
    frame.body = local.node
    body = local.node.body
    if isinstance(body, list):
        return _execute(machine, frame, body)
    machine.frames.append(frame)
    result = values.value(machine, body)
    machine.frames.pop()
    return result


def _execute(machine: SymbolicMachine, frame: Frame, body: list[ast.stmt]) -> Expression:
    from weft.language.frontend import statements

    machine.frames.append(frame)
    statements.block(machine, body)
    machine.frames.pop()
    return machine.known(frame.result)


def _bind(
    machine: SymbolicMachine,
    signature: inspect.Signature,
    arguments: list[Operand],
    named: dict[str, Any],
) -> dict[str, Operand]:
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
        raise NotUnderstood("a helper with *args or **kwargs")
    try:
        bound = signature.bind(*arguments, **named)
    except TypeError as error:
        raise NotUnderstood(str(error)) from None
    result = dict(bound.arguments)
    for name, parameter in signature.parameters.items():
        if name not in result:
            result[name] = machine.make.constant(parameter.default)
    return result


@dataclass(frozen=True)
class Keyworded:
    """A function some of whose arguments are given by name; `None` calls its first argument."""

    function: Any
    names: tuple[str, ...]

    @property
    def __name__(self) -> str:  # shown in rules and messages
        return _name(self.function)

    def __call__(self, *values: Any) -> Any:
        split = len(values) - len(self.names)
        plain, named = values[:split], dict(zip(self.names, values[split:], strict=True))
        if self.function is None:
            return plain[0](*plain[1:], **named)
        return self.function(*plain, **named)


@dataclass(frozen=True)
class Bounded:
    """A function called with Python's usual depth of recursion and with loops that end.

    Whether its loops end is found out once for each of its arguments' values.
    """

    function: Any
    machine: SymbolicMachine = field(compare=False)
    endless: dict[Any, EndlessFailure] = field(default_factory=dict, compare=False)

    @property
    def __name__(self) -> str:  # shown in rules and messages
        return _name(self.function)

    def __call__(self, *values: Any) -> Any:
        limit, depth, frame = sys.getrecursionlimit(), 0, inspect.currentframe()
        while frame is not None:
            depth, frame = depth + 1, frame.f_back
        sys.setrecursionlimit(min(limit, depth + USUAL_DEPTH))
        key = value_key(values)
        if key in self.endless:
            raise self.endless[key]
        try:
            return call_bounded(self.function, *values, traced=self._reaches_loop(values))
        except EndlessLoop as error:
            self.machine.spend_endless(error.where)
            self.endless[key] = EndlessFailure(str(error), error.where)
            raise self.endless[key] from None
        finally:
            sys.setrecursionlimit(limit)

    def _reaches_loop(self, values: tuple[Any, ...]) -> bool:
        function = self.function.function if isinstance(self.function, Keyworded) else self.function
        return any(reaches_loop(thing) for thing in (function, *values) if callable(thing))


def _tabulate(
    machine: SymbolicMachine,
    node: ast.Call,
    function: Any,
    arguments: list[Operand],
    named: dict[str, Operand],
    reason: NotUnderstood | None = None,
) -> Expression:
    """A call that is not followed: a table over the values of its arguments."""
    where = machine.where(node)
    purity.check_function(machine, function, where)
    everything = [*arguments, *named.values()]
    if not all(isinstance(a, Expression) for a in everything):
        given = any(a is STATE for a in everything)
        why_not = unreadable(function) if given and function is not None else None
        if why_not is not None:
            raise escape_error(machine.owner, Escape(why_not, where))
        what = f"{_name(function)} is given the state and cannot be followed"
        why = f": {reason.reason}" if reason else ""
        at = (reason.where if reason else None) or where
        raise NotUnderstood(
            what + why, at, "Write it in plain Python that can be read, or pass it values"
        )
    if named or function is None:
        function = Keyworded(function, tuple(named))
    callbacks = any(isinstance(a, Constant) and callable(a.value) for a in everything)
    if callbacks or not isinstance(function, (BuiltinFunctionType, MethodWrapperType, type)):
        function = Bounded(function, machine)
    result = machine.apply(function, *everything, where=where)
    machine.tabulated(result, where)
    if isinstance(result, Apply):
        purity.check_results(machine, result, where)
    elif isinstance(result, Constant) and hasattr(result.value, "__next__"):
        raise NotUnderstood("an iterator is kept", where, "Make a tuple of it")
    return result


def _check_method(machine: SymbolicMachine, node: ast.Attribute, where: Location) -> None:
    """A method that changes what it belongs to is refused before it is called."""
    from weft.language.frontend import values

    if node.attr in purity.IN_PLACE:
        owner = values.operand(machine, node.value)
        if isinstance(owner, Expression):
            purity.check_method(machine, owner, node.attr, where)


def _name(function: Any) -> str:
    return getattr(function, "__name__", None) or "the call"


# Calls that are followed although their arguments are not plain values


def _over_comprehension(machine: SymbolicMachine, node: ast.Call, function: Any) -> Operand | None:
    """A builtin over a comprehension whose iterations do not depend on the state."""
    if len(node.args) != 1 or not _is_one_of(function, (any, all, sum, min, max, tuple)):
        return None
    argument = node.args[0]
    if function in (any, all):
        if not isinstance(argument, ast.GeneratorExp):  # a list is computed whole, not to the stop
            return None
        return _until(machine, function is any, iter(_unrolled(machine, argument)))
    if not isinstance(argument, (ast.GeneratorExp, ast.ListComp)):
        return None
    items = [thunk() for thunk in _unrolled(machine, argument)]
    return _of_items(machine, function, items, machine.where(node))


def _is_one_of(function: Any, functions: tuple[Any, ...]) -> bool:
    return any(function is known for known in functions)


def _until(
    machine: SymbolicMachine, stop_at: bool, rest: Iterator[Callable[[], Expression]]
) -> Expression:
    """`any` and `all`, which stop where Python stops."""
    thunk = next(rest, None)
    if thunk is None:
        return machine.make.constant(not stop_at)
    test = thunk()
    stop = machine.make.constant(stop_at)

    def go_on() -> Expression:
        return _until(machine, stop_at, rest)

    if stop_at:
        return machine.branch(test, lambda: stop, go_on, machine.make.choice)
    return machine.branch(test, go_on, lambda: stop, machine.make.choice)


def _of_items(
    machine: SymbolicMachine, function: Any, items: list[Expression], where: Location
) -> Operand | None:
    from weft.language.frontend import values

    if function is len:
        return machine.make.constant(len(items))
    if function is sum:
        total: Expression = machine.make.constant(0)
        for item in items:
            total = machine.apply(operator.add, total, item, where=where)
        return total
    packed = machine.make.apply(values.pack, *items)
    return packed if function is tuple else machine.apply(function, packed, where=where)


def _over_items(
    machine: SymbolicMachine, function: Any, arguments: list[Operand], where: Location
) -> Operand | None:
    """Builtins over tuples of known length, whatever is in them."""
    from weft.language.frontend import values

    if len(arguments) == 1 and _is_one_of(function, (sum, min, max, tuple, len)):
        items = values.elements(arguments[0])
        return None if items is None else _of_items(machine, function, items, where)
    if not arguments or not _is_one_of(function, (enumerate, zip, reversed)):
        return None
    columns = [values.items_of(machine, argument) for argument in arguments]
    if any(column is None for column in columns) or (function is not zip and len(columns) != 1):
        return None
    lists = [column for column in columns if column is not None]
    if function is reversed:
        return machine.make.apply(values.pack, *reversed(lists[0]))
    if function is enumerate:
        lists = [[machine.make.constant(i) for i in range(len(lists[0]))], lists[0]]
    rows = [machine.make.apply(values.pack, *row) for row in zip(*lists, strict=False)]
    return machine.make.apply(values.pack, *rows)


def _unrolled(
    machine: SymbolicMachine, node: ast.GeneratorExp | ast.ListComp
) -> list[Callable[[], Expression]]:
    """The elements of a comprehension over items that do not depend on the state."""
    from weft.language.frontend import statements, values

    if len(node.generators) != 1:
        raise NotUnderstood("a comprehension with several loops", machine.where(node))
    loop = node.generators[0]
    items = values.items_of(machine, values.operand(machine, loop.iter))
    if items is None or loop.ifs or loop.is_async:
        raise NotUnderstood("a comprehension that depends on the state", machine.where(node))
    hidden = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}

    def element(item: Expression) -> Expression:
        locals_ = machine.frame.locals
        kept = {name: locals_[name] for name in hidden if name in locals_}
        statements.assign(machine, loop.target, item)
        result = values.value(machine, node.elt)
        for name in hidden:
            machine.frame.locals.pop(name, None)
        machine.frame.locals.update(kept)
        return result

    return [lambda item=item: element(item) for item in items]  # type: ignore[misc]
