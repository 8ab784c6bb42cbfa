"""Following `match`: a case is a test, the names it binds, and a body."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from weft.language.expressions import Expression
from weft.language.frontend import values
from weft.language.frontend.machine import NotUnderstood, SymbolicMachine

Body = Callable[[SymbolicMachine, list[ast.stmt]], None]


def match(
    machine: SymbolicMachine, subject: Expression, cases: list[ast.match_case], body: Body
) -> None:
    """The first case that fits is executed, the others are not."""
    if not cases:
        return
    case, rest = cases[0], cases[1:]

    def bound() -> Expression:
        bind(machine, case.pattern, subject)
        return machine.make.true if case.guard is None else values.value(machine, case.guard)

    taken = machine.branch(
        fits(machine, case.pattern, subject),
        bound,
        lambda: machine.make.false,
        machine.make.choice,
    )
    machine.branch(
        taken, lambda: body(machine, case.body), lambda: match(machine, subject, rest, body)
    )


def fits(machine: SymbolicMachine, pattern: ast.pattern, subject: Expression) -> Expression:
    """Whether a pattern fits."""
    make = machine.make
    where = machine.where(pattern)
    match pattern:
        case ast.MatchValue(value=value):
            return machine.apply(operator.eq, subject, values.value(machine, value), where=where)
        case ast.MatchSingleton(value=value):
            return machine.apply(operator.is_, subject, make.constant(value), where=where)
        case ast.MatchAs(pattern=None):
            return make.true
        case ast.MatchAs(pattern=inner) if inner is not None:
            return fits(machine, inner, subject)
        case ast.MatchOr(patterns=patterns):
            result: Expression = make.false
            for inner in patterns:
                result = make.either(result, fits(machine, inner, subject))
            return result
        case ast.MatchSequence(patterns=patterns):
            result = make.true
            for inner, item in _items(machine, pattern, patterns, subject):
                result = make.both(result, fits(machine, inner, item))
            return result
    raise NotUnderstood(f"a pattern of kind {type(pattern).__name__}", where)


def bind(machine: SymbolicMachine, pattern: ast.pattern, subject: Expression) -> None:
    """Bind the names of a pattern that fits."""
    match pattern:
        case ast.MatchAs(pattern=inner, name=name):
            if inner is not None:
                bind(machine, inner, subject)
            if name is not None:
                machine.frame.locals[name] = subject
        case ast.MatchSequence(patterns=patterns):
            for inner, item in _items(machine, pattern, patterns, subject):
                bind(machine, inner, item)
        case ast.MatchOr(patterns=patterns):
            if any(isinstance(node, ast.MatchAs) and node.name for node in ast.walk(pattern)):
                raise NotUnderstood("alternatives that bind names", machine.where(pattern))


def _items(
    machine: SymbolicMachine, pattern: ast.pattern, patterns: list[ast.pattern], subject: Expression
) -> list[tuple[ast.pattern, Expression]]:
    items = values.elements(subject)
    starred = any(isinstance(inner, ast.MatchStar) for inner in patterns)
    if items is None or starred or len(items) != len(patterns):
        raise NotUnderstood("a sequence pattern of another length", machine.where(pattern))
    return list(zip(patterns, items, strict=True))
