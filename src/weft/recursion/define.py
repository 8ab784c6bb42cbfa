"""Definition of a function: equations from its source, checked.

A function may call functions that are defined below it. What cannot be checked before those exist
is checked when the last of them is defined, and at the latest when the function is first used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from weft.errors import WeftError
from weft.language.source import FunctionSource
from weft.recursion.cases import DEFINING, CaseReader, NotYetDefined, beside
from weft.recursion.coverage import check_cases
from weft.recursion.expressions import Apply, Expression, Variable
from weft.recursion.function import Function, Scope
from weft.recursion.inductive import seal
from weft.recursion.notation import head_table
from weft.recursion.termination import check_termination

WAITING: list[Function] = []
"""Functions that call names which are not defined yet."""


def define_function(
    python: FunctionType, source: FunctionSource, scope: Scope, **options: Any
) -> Function:
    """The function whose equations are the cases of a Python function."""
    builder = CaseReader(python, source, scope)
    function = Function(
        source.node.name,
        builder.parameters(),
        builder.annotated(source.node.returns, "its result"),
        doc=(ast.get_docstring(source.node) or ""),
        where=source.location(source.node),
        python=python,
        **options,
    )
    builder.function = function
    for _, kind in (*function.parameters, ("", function.result)):
        seal(kind, function.name)
    rows = builder.rows()
    check_cases(function, rows)
    function._pending = lambda: builder.equations(rows)
    DEFINING.append(function)
    try:
        settle(function)
        for other in tuple(WAITING):
            if other is not function and beside(python, other.python):
                settle(other)
    finally:
        DEFINING.remove(function)
    return function


def settle(function: Function) -> None:
    """Check a function and remember it if it calls what does not exist yet."""
    try:
        complete(function)
    except NotYetDefined:
        if function not in WAITING:
            WAITING.append(function)
        return
    except WeftError:
        if function in WAITING:
            WAITING.remove(function)
        raise
    if function in WAITING:
        WAITING.remove(function)


def complete(function: Function) -> None:
    """Derive and check the equations of a function and of those that it calls."""
    if function._failure is not None:
        raise function._failure
    if function._equations:
        return
    done: list[Function] = []
    try:
        _derive(function, done)
        for one in done:
            check_termination(one)
            _check_tokens(one)
    except NotYetDefined:
        for one in done:
            one._equations = ()
        raise
    except WeftError as error:
        for one in done:
            one._equations, one._failure = (), error
        function._failure = error
        raise


def _check_tokens(function: Function) -> None:
    """Raise if terms with calls could not be read: two heads have the same token."""
    tokens: dict[str, Function] = {}
    for one in function.functions:
        other = tokens.setdefault(one.token, one)
        what = f"its calls are written '{one.token}', as "
        if other is not one:
            what += f"are those of another function '{other.name}' that is called"
        elif one.token in head_table(one.result):
            what += f"is a constructor of {one.result.__name__}"
        else:
            continue
        remedy = 'Choose another token: @recursive(token="...")'
        raise WeftError(what, subject=one.name, where=one.where, remedy=remedy)


def _derive(function: Function, done: list[Function]) -> None:
    """Equations of a function and of all it calls, not yet checked for termination."""
    waiting = [function]
    while waiting:
        current = waiting.pop()
        if current._failure is not None:
            raise current._failure
        if current._equations or current._pending is None:
            continue
        equations = current._pending()
        done.append(current)
        current._equations = equations
        for equation in equations:
            waiting.extend(call.function for call in _calls(equation.right))


def _calls(expression: Expression) -> Iterator[Apply]:
    if isinstance(expression, Variable):
        return
    if isinstance(expression, Apply):
        yield expression
    for argument in expression.arguments:
        yield from _calls(argument)
