"""Peano numbers: arithmetic, comparison, and conversion to binary numbers and back."""
# mypy: disable-error-code="return, no-any-return"

from __future__ import annotations

from typing import Any

from weft.errors import WeftError
from weft.recursion.function import recursive
from weft.recursion.inductive import Inductive
from weft.recursion.library.binary import (
    X1,
    XO,
    Binary,
    One,
    Pos,
    Positive,
    Zero,
    binary_successor,
)
from weft.recursion.terms import size


class Nat(Inductive):
    """Peano numbers."""


class O(Nat, weight=0):  # noqa: E742
    """0."""


class S(Nat):
    """n + 1."""

    before: Nat


class Truth(Inductive):
    """Truth values."""


class Yes(Truth, weight=0, token="yes"):
    """True."""


class No(Truth, weight=0, token="no"):
    """False."""


def to_nat(number: int) -> Any:
    """The term of an int that is not negative.

    Example:
        >>> from weft.recursion.library.peano import to_nat
        >>> to_nat(2)
        S(S(O))
    """
    if number < 0:
        raise WeftError(f"{number} is negative")
    term: Any = O()
    for _ in range(number):
        term = S(term)
    return term


def nat_to_int(term: Any) -> int:
    """The int of a Peano number."""
    return size(term)


@recursive
def plus(m: Nat, n: Nat) -> Nat:
    """m + n, by recursion on m."""
    match m:
        case O():
            return n
        case S(before):
            return S(plus(before, n))


@recursive
def times(m: Nat, n: Nat) -> Nat:
    """m n, by recursion on m."""
    match m:
        case O():
            return O()
        case S(before):
            return plus(n, times(before, n))


@recursive
def double(n: Nat) -> Nat:
    """2 n."""
    match n:
        case O():
            return O()
        case S(before):
            return S(S(double(before)))


@recursive
def maximum(m: Nat, n: Nat) -> Nat:
    """The larger of two numbers."""
    match m, n:
        case O(), _:
            return n
        case S(_), O():
            return m
        case S(a), S(b):
            return S(maximum(a, b))


@recursive
def at_most(m: Nat, n: Nat) -> Truth:
    """Whether m <= n, by recursion on both."""
    match m, n:
        case O(), _:
            return Yes()
        case S(_), O():
            return No()
        case S(a), S(b):
            return at_most(a, b)


@recursive
def to_unary(n: Binary) -> Nat:
    """The Peano number of a binary number."""
    match n:
        case Zero():
            return O()
        case Pos(number):
            return positive_to_unary(number)


@recursive
def positive_to_unary(n: Positive) -> Nat:
    """The Peano number of a positive binary number."""
    match n:
        case One():
            return S(O())
        case XO(b):
            return double(positive_to_unary(b))
        case X1(b):
            return S(double(positive_to_unary(b)))


@recursive
def to_digits(n: Nat) -> Binary:
    """The binary number of a Peano number: the successor, n times, of zero."""
    match n:
        case O():
            return Zero()
        case S(before):
            return binary_successor(to_digits(before))
