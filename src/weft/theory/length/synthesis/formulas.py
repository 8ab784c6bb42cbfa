"""Boolean expressions of C-RASP, simplified where they are put together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from weft.crasp.expressions import (
    And,
    Comparison,
    Constant,
    Expression,
    Integer,
    Not,
    Operator,
    Or,
    Periodic,
    Position,
)

TRUE, FALSE = Constant(True), Constant(False)


def residues_hold(period: int, wanted: set[Hashable], possible: set[Hashable]) -> Expression:
    """The position modulo a period is one of the wanted residues, by the smallest period."""
    for divisor in range(1, period + 1):
        residues = {r % divisor for r in wanted if isinstance(r, int)}
        others = {r % divisor for r in possible - wanted if isinstance(r, int)}
        if period % divisor == 0 and not residues & others:
            return Position(Periodic(divisor, tuple(sorted(residues))))
    raise AssertionError("residues of the period itself differ")


def one_of(symbols: Sequence[Expression], letters: int) -> Expression:
    """The symbol is one of these, in an alphabet of so many letters."""
    return TRUE if len(symbols) == letters else disjunction(symbols)


def separates(term: Expression, wanted: set[int], others: set[int]) -> Expression:
    """A test that holds for the wanted numbers and not for the others."""

    def compare(operator: Operator, number: int) -> Expression:
        return Comparison(operator, term, Integer(number))

    if len(wanted) == 1:
        return compare("==", min(wanted))
    if min(wanted) > max(others):
        return compare(">=", min(wanted))
    if max(wanted) < min(others):
        return compare("<=", max(wanted))
    if len(others) == 1:
        return compare("!=", min(others))
    return disjunction(compare("==", number) for number in sorted(wanted))


def conjunction(operands: Iterable[Expression]) -> Expression:
    """All of these hold; `true` for none."""
    inside: list[Expression] = []
    for operand in operands:
        if operand == FALSE:
            return FALSE
        inside += operand.operands if isinstance(operand, And) else (operand,)
    inside = [operand for operand in dict.fromkeys(inside) if operand != TRUE]
    return And(tuple(inside)) if len(inside) > 1 else (*inside, TRUE)[0]


def disjunction(operands: Iterable[Expression]) -> Expression:
    """One of these holds; `false` for none."""
    inside: list[Expression] = []
    for operand in operands:
        if operand == TRUE:
            return TRUE
        inside += operand.operands if isinstance(operand, Or) else (operand,)
    inside = [operand for operand in dict.fromkeys(inside) if operand != FALSE]
    return Or(tuple(inside)) if len(inside) > 1 else (*inside, FALSE)[0]


def negation(operand: Expression) -> Expression:
    """This does not hold."""
    if isinstance(operand, Constant):
        return Constant(not operand.value)
    return operand.operand if isinstance(operand, Not) else Not(operand)
