"""Arithmetic expressions in one variable: their values as Peano numbers, and simpler ones."""
# mypy: disable-error-code="return, no-any-return"

from __future__ import annotations

from weft.recursion.function import recursive
from weft.recursion.inductive import Inductive
from weft.recursion.library.peano import Nat, O, S, plus, times
from weft.recursion.measures import occurrences
from weft.recursion.terms import height


class Expression(Inductive):
    """Sums and products of 0, 1 and the variable x."""


class Nought(Expression, token="0"):
    """0."""


class Unit(Expression, token="1"):
    """1."""


class Unknown(Expression, token="x"):
    """The variable."""


class Sum(Expression, token="+"):
    """A sum."""

    left: Expression
    right: Expression


class Product(Expression, token="*"):
    """A product."""

    left: Expression
    right: Expression


class Kind(Inductive):
    """What matters for simplification."""


class IsNought(Kind, weight=0, token="is-0"):
    """The expression is 0."""


class IsUnit(Kind, weight=0, token="is-1"):
    """The expression is 1."""


class IsOther(Kind, weight=0, token="is-other"):
    """The expression is neither."""


@recursive(axes={"height": lambda expression, x: height(expression)})
def evaluate(expression: Expression, x: Nat) -> Nat:
    """The value of an expression for a value of x."""
    match expression:
        case Nought():
            return O()
        case Unit():
            return S(O())
        case Unknown():
            return x
        case Sum(left, right):
            return plus(evaluate(left, x), evaluate(right, x))
        case Product(left, right):
            return times(evaluate(left, x), evaluate(right, x))


@recursive
def kind(expression: Expression) -> Kind:
    """Whether an expression is 0, is 1, or is neither."""
    match expression:
        case Nought():
            return IsNought()
        case Unit():
            return IsUnit()
        case Unknown():
            return IsOther()
        case Sum(_, _):
            return IsOther()
        case Product(_, _):
            return IsOther()


@recursive(axes={"height": height, "noughts": lambda expression: occurrences(expression, Nought)})
def simplify(expression: Expression) -> Expression:
    """An equal expression without 0 in sums, and without 0 and 1 in products."""
    match expression:
        case Nought():
            return Nought()
        case Unit():
            return Unit()
        case Unknown():
            return Unknown()
        case Sum(left, right):
            return sum_of(simplify(left), simplify(right))
        case Product(left, right):
            return product_of(simplify(left), simplify(right))


@recursive
def sum_of(left: Expression, right: Expression) -> Expression:
    """The sum of two simple expressions, simple itself."""
    return sum_by_kind(kind(left), kind(right), left, right)


@recursive
def sum_by_kind(first: Kind, second: Kind, left: Expression, right: Expression) -> Expression:
    """The sum of two expressions whose kinds are known."""
    match first, second:
        case IsNought(), _:
            return right
        case IsUnit(), IsNought():
            return left
        case IsOther(), IsNought():
            return left
        case IsUnit(), IsUnit():
            return Sum(left, right)
        case IsUnit(), IsOther():
            return Sum(left, right)
        case IsOther(), IsUnit():
            return Sum(left, right)
        case IsOther(), IsOther():
            return Sum(left, right)


@recursive
def product_of(left: Expression, right: Expression) -> Expression:
    """The product of two simple expressions, simple itself."""
    return product_by_kind(kind(left), kind(right), left, right)


@recursive
def product_by_kind(first: Kind, second: Kind, left: Expression, right: Expression) -> Expression:
    """The product of two expressions whose kinds are known."""
    match first, second:
        case IsNought(), _:
            return Nought()
        case IsUnit(), _:
            return right
        case IsOther(), IsNought():
            return Nought()
        case IsOther(), IsUnit():
            return left
        case IsOther(), IsOther():
            return Product(left, right)
