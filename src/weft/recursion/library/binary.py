"""Binary numbers: positive ones digit by digit, and with zero.

The outermost constructor is the least significant digit: 6 = 110 in base 2 is XO (X1 01). In
natural order its tokens are `01 X1 XO`, in constructor order `XO X1 01`.
"""
# mypy: disable-error-code="return, no-any-return"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.errors import WeftError
from weft.recursion.function import recursive
from weft.recursion.inductive import Inductive
from weft.recursion.measures import leading_run, longest_run
from weft.recursion.terms import size

if TYPE_CHECKING:
    from numpy.random import Generator


class Positive(Inductive):
    """Positive binary numbers."""


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


class Pos(Binary, token="pos"):
    """A positive number."""

    number: Positive


def to_positive(number: int) -> Any:
    """The term of a positive int.

    Example:
        >>> from weft.recursion.library.binary import to_positive
        >>> to_positive(6)
        XO(X1(01))
    """
    if number < 1:
        raise WeftError(f"{number} is not positive")
    term: Any = One()
    for digit in bin(number)[3:]:
        term = X1(term) if digit == "1" else XO(term)
    return term


def positive_to_int(term: Any) -> int:
    """The int of a positive number.

    Example:
        >>> from weft.recursion.library.binary import One, X1, XO, positive_to_int
        >>> positive_to_int(XO(X1(One())))
        6
    """
    digits = []
    while type(term) is not One:
        digits.append("1" if type(term) is X1 else "0")
        term = term[0]
    return int("1" + "".join(reversed(digits)), 2)


def _of_digits(digits: list[int]) -> Any:
    """A positive number from the digits below the first, most significant first."""
    term: Any = One()
    for digit in digits:
        term = X1(term) if digit else XO(term)
    return term


def all_carry(rng: Generator, length: int) -> tuple[Any, ...]:
    """A number whose digits are all 1: the carry runs through it, and the length grows."""
    return (_of_digits([1] * (max(length, 1) - 1)),)


def no_carry(rng: Generator, length: int) -> tuple[Any, ...]:
    """A power of 2: no digit but the first is 1."""
    return (_of_digits([0] * (max(length, 1) - 1)),)


def top_run(rng: Generator, length: int) -> tuple[Any, ...]:
    """A number whose carry ends at the digit next to the first."""
    low = max(length, 2) - 2
    return (_of_digits([0] + [1] * low),)


def decoy_run(rng: Generator, length: int) -> tuple[Any, ...]:
    """A number with a long run of 1s that is not at the least significant end.

    The run has at least half of the digits below the first, a 0 follows it, and then there is a
    shorter run at the end, which may be empty.
    """
    below = max(length, 4) - 1
    run = int(rng.integers((below + 1) // 2, below))
    last = int(rng.integers(0, min(run, below - run)))
    head = below - run - 1 - last
    first = rng.integers(0, 2, size=head).tolist()
    if first:
        first[-1] = 0
    return (_of_digits([*first, *[1] * run, 0, *[1] * last]),)


SUCCESSOR_AXES = {
    "run": lambda n: leading_run(n, X1),
    "longest-run": lambda n: longest_run(n, X1),
}
SUCCESSOR_CASES = {
    "all-carry": all_carry,
    "no-carry": no_carry,
    "top-run": top_run,
    "decoy-run": decoy_run,
}


@recursive(axes=SUCCESSOR_AXES, cases=SUCCESSOR_CASES)
def successor(n: Positive) -> Positive:
    """n + 1."""
    match n:
        case One():
            return XO(One())
        case XO(b):
            return X1(b)
        case X1(b):
            return XO(successor(b))


def carries(m: Any, n: Any) -> int:
    """The number of carries when two numbers are added."""
    left, right = positive_to_int(m), positive_to_int(n)
    return left.bit_count() + right.bit_count() - (left + right).bit_count()


def carry_run(m: Any, n: Any) -> int:
    """The longest run of carries, one after the other, when two numbers are added."""
    left, right = positive_to_int(m), positive_to_int(n)
    longest = run = carry = 0
    while left or right:
        carry = (left & 1) + (right & 1) + carry >> 1
        run = run + 1 if carry else 0
        longest = max(longest, run)
        left, right = left >> 1, right >> 1
    return longest


def add_all_carry(rng: Generator, total: int) -> tuple[Any, ...]:
    """Two numbers of the same length whose digits are complementary but for a carry at the end."""
    below = max(total // 2, 2) - 1
    digits = rng.integers(0, 2, size=below).tolist()
    others = [1 - one for one in digits]
    digits[-1] = others[-1] = 1
    return _of_digits(digits), _of_digits(others)


ADD_AXES = {"carries": carries, "carry-run": carry_run}


@recursive(axes=ADD_AXES, cases={"all-carry": add_all_carry})
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


@recursive(axes=ADD_AXES)
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


@recursive
def binary_successor(n: Binary) -> Binary:
    """n + 1, from zero on."""
    match n:
        case Zero():
            return Pos(One())
        case Pos(number):
            return Pos(successor(number))


@recursive
def binary_add(m: Binary, n: Binary) -> Binary:
    """m + n, where both may be zero."""
    match m, n:
        case Zero(), _:
            return n
        case Pos(_), Zero():
            return m
        case Pos(a), Pos(b):
            return Pos(add(a, b))


def to_binary(number: int) -> Any:
    """The term of an int that is not negative.

    Example:
        >>> from weft.recursion.library.binary import to_binary
        >>> to_binary(0), to_binary(2)
        (00, pos(XO(01)))
    """
    return Pos(to_positive(number)) if number else Zero()


def binary_to_int(term: Any) -> int:
    """The int of a binary number."""
    return positive_to_int(term[0]) if size(term) > 1 else 0
