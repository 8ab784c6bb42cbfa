"""Peano numbers, and lists of them."""
# mypy: disable-error-code="return"

from __future__ import annotations

from typing import Any

from weft.recursion.function import recursive
from weft.recursion.inductive import Inductive, size


class Nat(Inductive):
    """Peano numbers."""


class O(Nat, weight=0):  # noqa: E742
    """0."""


class S(Nat):
    """n + 1."""

    before: Nat


class Truth(Inductive):
    """Truth values."""


class Yes(Truth, weight=0):
    """True."""


class No(Truth, weight=0):
    """False."""


class Nats(Inductive):
    """Lists of Peano numbers."""


class Empty(Nats, weight=0):
    """The empty list."""


class Push(Nats):
    """A number before a list."""

    first: Nat
    rest: Nats


def to_nat(number: int) -> Any:
    """A Peano number from an int."""
    term = O()
    for _ in range(number):
        term = S(term)
    return term


def nat_to_int(term: Nat) -> int:
    """An int from a Peano number."""
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
def increment_all(numbers: Nats) -> Nats:
    """Every number plus 1."""
    match numbers:
        case Empty():
            return Empty()
        case Push(n, rest):
            return Push(S(n), increment_all(rest))


@recursive
def insert(n: Nat, numbers: Nats) -> Nats:
    """A sorted list with one more number."""
    match numbers:
        case Empty():
            return Push(n, Empty())
        case Push(first, rest):
            return insert_here(at_most(n, first), n, first, rest)


@recursive
def insert_here(here: Truth, n: Nat, first: Nat, rest: Nats) -> Nats:
    """The number before the first of a list, or inserted into the rest."""
    match here:
        case Yes():
            return Push(n, Push(first, rest))
        case No():
            return Push(first, insert(n, rest))


@recursive
def insertion_sort(numbers: Nats) -> Nats:
    """The numbers in ascending order."""
    match numbers:
        case Empty():
            return Empty()
        case Push(first, rest):
            return insert(first, insertion_sort(rest))
