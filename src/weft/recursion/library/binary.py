"""Binary numbers: positive ones by their digits, and zero."""
# mypy: disable-error-code="return"

from __future__ import annotations

from weft.recursion.function import recursive
from weft.recursion.inductive import Inductive


class Positive(Inductive):
    """Positive binary numbers; the outermost constructor is the least significant digit."""


class One(Positive, token="01"):
    """1."""


class XO(Positive):
    """2 n."""

    rest: Positive


class X1(Positive):
    """2 n + 1."""

    rest: Positive


class Binary(Inductive):
    """Binary numbers with zero."""


class Zero(Binary, token="00"):
    """0."""


class Pos(Binary, token="pos", weight=1):
    """A positive number."""

    number: Positive


@recursive
def successor(n: Positive) -> Positive:
    """n + 1."""
    match n:
        case One():
            return XO(One())
        case XO(b):
            return X1(b)
        case X1(b):
            return XO(successor(b))


@recursive
def add(m: Positive, n: Positive) -> Positive:
    """m + n, digit by digit; `add_carry` is m + n + 1."""
    match m, n:
        case One(), One():
            return XO(One())
        case One(), XO(b):
            return X1(b)
        case One(), X1(b):
            return XO(successor(b))
        case XO(a), One():
            return X1(a)
        case XO(a), XO(b):
            return XO(add(a, b))
        case XO(a), X1(b):
            return X1(add(a, b))
        case X1(a), One():
            return XO(successor(a))
        case X1(a), XO(b):
            return X1(add(a, b))
        case X1(a), X1(b):
            return XO(add_carry(a, b))


@recursive
def add_carry(m: Positive, n: Positive) -> Positive:
    """m + n + 1."""
    match m, n:
        case One(), One():
            return X1(One())
        case One(), XO(b):
            return XO(successor(b))
        case One(), X1(b):
            return X1(successor(b))
        case XO(a), One():
            return XO(successor(a))
        case XO(a), XO(b):
            return X1(add(a, b))
        case XO(a), X1(b):
            return XO(add_carry(a, b))
        case X1(a), One():
            return X1(successor(a))
        case X1(a), XO(b):
            return XO(add_carry(a, b))
        case X1(a), X1(b):
            return X1(add_carry(a, b))
