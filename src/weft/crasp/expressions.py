"""The expressions of C-RASP[periodic, local], as plain values that are compared by structure.

A Boolean expression is true or false at every position, a count expression is an integer there.
Positions count from 1; position 0 is the begin symbol. What each expression means is the table of
operations in `weft.crasp.reference`.

Operations after Yang and Chiang, "Counting like transformers" (2024), and Huang et al., "A formal
framework for understanding length generalization in transformers" (2025), definition 8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

from weft.errors import WeftError

Operator = Literal["<", "<=", "==", "!=", ">=", ">"]
Kind = Literal["Boolean", "count"]


@dataclass(frozen=True)
class Periodic:
    """A periodic predicate: it holds at position i if i mod `period` is one of `residues`.

    Attributes:
        period: at least 1.
        residues: ascending, each below the period.
        name: the name that it was declared with; empty for `MOD(period, residue)`.
    """

    period: int
    residues: tuple[int, ...]
    name: str = ""

    def __post_init__(self) -> None:
        if self.period < 1:
            raise WeftError(f"a period cannot be {self.period}", remedy="Give at least 1")
        if self.residues != tuple(sorted(r for r in set(self.residues) if 0 <= r < self.period)):
            raise WeftError(
                f"the residues {self.residues} of period {self.period} are not ascending numbers "
                f"from 0 to {self.period - 1}"
            )

    def holds(self, position: int) -> bool:
        """Whether it holds at a position."""
        return position % self.period in self.residues


@dataclass(frozen=True)
class Local:
    """A local predicate: it relates position i to the positions i - d, for each offset d.

    Attributes:
        offsets: ascending, each at least 0.
        name: the name that it was declared with; empty if it is written out, as in `j == i - 1`.
    """

    offsets: tuple[int, ...]
    name: str = ""

    def __post_init__(self) -> None:
        if self.offsets != tuple(sorted(set(self.offsets))) or min(self.offsets, default=0) < 0:
            raise WeftError(f"the offsets {self.offsets} are not ascending numbers, 0 or more")


# Boolean expressions


@dataclass(frozen=True)
class Symbol:
    """`Q_a`: the symbol at this position is `symbol`. False at the begin symbol."""

    symbol: str


@dataclass(frozen=True)
class Constant:
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True)
class Position:
    """`MOD(3, 1)` or a declared predicate: the position satisfies a periodic predicate."""

    predicate: Periodic


@dataclass(frozen=True)
class Not:
    """`not P`."""

    operand: Expression


@dataclass(frozen=True)
class And:
    """`P and Q and ...`, of at least two operands."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Or:
    """`P or Q or ...`, of at least two operands."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Comparison:
    """`C <= D` and the like, of two counts."""

    operator: Operator
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Exists:
    """`exists[j <= i] P(j)`: at least one position counts. `local` as in `Counting`."""

    body: Expression
    local: Local | None = None


@dataclass(frozen=True)
class Previous:
    """`previous P`: P holds at the position before. False at position 1 and at the begin symbol."""

    body: Expression


# Count expressions


@dataclass(frozen=True)
class Counting:
    """`#[j <= i] P(j)`: at how many positions from 1 to i the Boolean holds.

    Attributes:
        body: the Boolean.
        local: count only the positions i - d for these offsets d; None to count all.
    """

    body: Expression
    local: Local | None = None


@dataclass(frozen=True)
class Conditional:
    """`P ? C : D`: C if P holds, otherwise D."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True)
class Add:
    """`C + D`."""

    left: Expression
    right: Expression


@dataclass(frozen=True)
class Subtract:
    """`C - D`; counts may be negative."""

    left: Expression
    right: Expression


@dataclass(frozen=True)
class Minimum:
    """`min(C, D, ...)`, of at least two operands."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Maximum:
    """`max(C, D, ...)`, of at least two operands."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Integer:
    """An integer constant."""

    value: int


@dataclass(frozen=True)
class Name:
    """The vector of an earlier line, Boolean or count."""

    name: str


BooleanExpression = (
    Symbol | Constant | Position | Not | And | Or | Comparison | Exists | Previous | Name
)
CountExpression = Counting | Conditional | Add | Subtract | Minimum | Maximum | Integer | Name
Expression = BooleanExpression | CountExpression


def operands(expression: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside an expression, in the order in which they are written."""
    inside: list[Expression] = []
    for field in fields(expression):
        value = getattr(expression, field.name)
        if isinstance(value, tuple):
            inside.extend(value)
        elif isinstance(value, EXPRESSIONS):
            inside.append(value)
    return tuple(inside)


def with_operands(expression: Expression, inside: Sequence[Expression]) -> Expression:
    """An expression with other expressions directly inside it, in the order of `operands`.

    Example:
        >>> with_operands(And((Symbol("a"), Symbol("b"))), [Constant(True), Symbol("c")])
        And(operands=(Constant(value=True), Symbol(symbol='c')))
    """
    remaining = iter(inside)
    changed: dict[str, Expression | tuple[Expression, ...]] = {}
    for field in fields(expression):
        value = getattr(expression, field.name)
        if isinstance(value, tuple):
            changed[field.name] = tuple(next(remaining) for _ in value)
        elif isinstance(value, EXPRESSIONS):
            changed[field.name] = next(remaining)
    return replace(expression, **changed)  # type: ignore[arg-type]


def walk(expression: Expression) -> Iterator[Expression]:
    """An expression and everything inside it, outermost first."""
    yield expression
    for inside in operands(expression):
        yield from walk(inside)


BOOLEANS = (Symbol, Constant, Position, Not, And, Or, Comparison, Exists, Previous)
COUNTS = (Counting, Conditional, Add, Subtract, Minimum, Maximum, Integer)
EXPRESSIONS = (*BOOLEANS, *COUNTS, Name)
