"""Short names for the expressions that library programs are made of."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from weft.crasp.expressions import (
    Add,
    And,
    Comparison,
    Counting,
    Exists,
    Expression,
    Integer,
    Local,
    Name,
    Not,
    Operator,
    Or,
    Periodic,
    Position,
    Previous,
    Symbol,
)
from weft.crasp.program import CraspProgram, Line


def q(symbol: str) -> Expression:
    """The symbol at this position is this one."""
    return Symbol(symbol)


def count(body: Expression | str, offset: int | None = None) -> Expression:
    """How often a Boolean holds; with an offset, at this distance only. Text is a symbol."""
    body = Symbol(body) if isinstance(body, str) else body
    return Counting(body, None if offset is None else Local((offset,)))


def compare(left: Expression | int, operator: Operator, right: Expression | int) -> Expression:
    """A comparison of counts and integers."""
    return Comparison(operator, _count(left), _count(right))


def total(terms: Iterable[Expression]) -> Expression:
    """The sum of at least one count."""
    return reduce(Add, terms)


def times(factor: int, term: Expression) -> Expression:
    """A count, multiplied by a positive constant."""
    return total([term] * factor)


def every(*operands: Expression) -> Expression:
    """The conjunction of at least one Boolean."""
    return And(operands) if len(operands) > 1 else operands[0]


def some(*operands: Expression) -> Expression:
    """The disjunction of at least one Boolean."""
    return Or(operands) if len(operands) > 1 else operands[0]


def exists(body: Expression) -> Expression:
    """It holds here or at an earlier position."""
    return Exists(body)


def previous(body: Expression) -> Expression:
    """It holds at the position before."""
    return Previous(body)


def negation(body: Expression) -> Expression:
    """It does not hold."""
    return Not(body)


def modulo(period: int, residue: int) -> Expression:
    """The position has this remainder."""
    return Position(Periodic(period, (residue,)))


def never(name: str) -> Expression:
    """The Boolean of an earlier line holds at no position."""
    return compare(count(Name(name)), "==", 0)


def program(alphabet: Iterable[str], **lines: Expression) -> CraspProgram:
    """A program from its lines in order."""
    return CraspProgram(
        tuple(alphabet), tuple(Line(name, expression) for name, expression in lines.items())
    )


def _count(value: Expression | int) -> Expression:
    return Integer(value) if isinstance(value, int) else value
