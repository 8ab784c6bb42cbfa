"""Lists of letters, and lists of Peano numbers."""
# mypy: disable-error-code="return, no-any-return"

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from weft.recursion.function import recursive
from weft.recursion.inductive import Inductive, Symbols
from weft.recursion.library.peano import Nat, No, S, Truth, Yes, at_most, to_nat
from weft.recursion.tables import table

if TYPE_CHECKING:
    from numpy.random import Generator


class Letter(Symbols):
    """Labels of trees and elements of lists."""

    alphabet = "a b c d e f g h i j k l m n o p q r s t u v w x y z"


class List(Inductive):
    """Lists of letters."""


class Nil(List, weight=0):
    """The empty list."""


class Cons(List):
    """A letter before a list."""

    first: Letter
    rest: List


class Nats(Inductive):
    """Lists of Peano numbers."""


class Empty(Nats, weight=0):
    """The empty list."""


class Push(Nats):
    """A number before a list."""

    first: Nat
    rest: Nats


def to_list(letters: Iterable[str]) -> Any:
    """The list of some letters.

    Example:
        >>> from weft.recursion.library.lists import to_list
        >>> to_list("ab")
        Cons(a, Cons(b, Nil))
    """
    term: Any = Nil()
    for letter in reversed(list(letters)):
        term = Cons(Letter(letter), term)
    return term


def from_list(term: Any) -> list[str]:
    """The letters of a list."""
    letters = []
    while term:
        letters.append(term[0].symbol)
        term = term[1]
    return letters


def to_nats(numbers: Iterable[int]) -> Any:
    """The list of some numbers.

    Example:
        >>> from weft.recursion.library.lists import to_nats
        >>> to_nats([1, 0])
        Push(S(O), Push(O, Empty))
    """
    term: Any = Empty()
    for number in reversed(list(numbers)):
        term = Push(to_nat(number), term)
    return term


def _letter_after(letter: Any) -> Any:
    letters = Letter.members()
    return letters[(letters.index(letter) + 1) % len(letters)]


next_letter = table(
    "next_letter",
    (("letter", Letter),),
    Letter,
    _letter_after,
    doc="The next letter of the alphabet; a follows z.",
)


@recursive(joins=True)
def append(left: List, right: List) -> List:
    """The letters of one list, then those of the other."""
    match left:
        case Nil():
            return right
        case Cons(x, rest):
            return Cons(x, append(rest, right))


@recursive
def reverse(letters: List) -> List:
    """The letters in reverse order."""
    match letters:
        case Nil():
            return Nil()
        case Cons(x, rest):
            return append(reverse(rest), Cons(x, Nil()))


@recursive
def reverse_onto(letters: List, found: List) -> List:
    """The letters in reverse order, before another list: one call for each letter."""
    match letters:
        case Nil():
            return found
        case Cons(x, rest):
            return reverse_onto(rest, Cons(x, found))


@recursive
def shift_all(letters: List) -> List:
    """Every letter replaced by the next one of the alphabet."""
    match letters:
        case Nil():
            return Nil()
        case Cons(x, rest):
            return Cons(next_letter(x), shift_all(rest))


@recursive
def stutter(letters: List) -> List:
    """Every letter twice."""
    match letters:
        case Nil():
            return Nil()
        case Cons(x, rest):
            return Cons(x, Cons(x, stutter(rest)))


@recursive
def increment_all(numbers: Nats) -> Nats:
    """Every number plus 1."""
    match numbers:
        case Empty():
            return Empty()
        case Push(n, rest):
            return Push(S(n), increment_all(rest))


def _drawn(rng: Generator, size: int) -> list[int]:
    """Numbers up to 4, of which there are as many as the size has room for."""
    return rng.integers(0, 5, size=max(1, size // 3)).tolist()


def sorted_list(rng: Generator, size: int) -> tuple[Any, ...]:
    """A number and a sorted list."""
    first, *rest = _drawn(rng, size)
    return to_nat(first), to_nats(sorted(rest))


def goes_last(rng: Generator, size: int) -> tuple[Any, ...]:
    """A sorted list and a number larger than all in it."""
    numbers = sorted(_drawn(rng, size))
    return to_nat(numbers[-1] + 1), to_nats(numbers)


@recursive(cases={"sorted": sorted_list, "goes-last": goes_last})
def insert(n: Nat, numbers: Nats) -> Nats:
    """A number before the first one of a list that is not smaller."""
    match numbers:
        case Empty():
            return Push(n, Empty())
        case Push(first, rest):
            return insert_at(at_most(n, first), n, first, rest)


@recursive
def insert_at(here: Truth, n: Nat, first: Nat, rest: Nats) -> Nats:
    """A number before the first of a list, or inserted into the rest."""
    match here:
        case Yes():
            return Push(n, Push(first, rest))
        case No():
            return Push(first, insert(n, rest))


@recursive(
    cases={
        "sorted": lambda rng, size: (to_nats(sorted(_drawn(rng, size))),),
        "reversed": lambda rng, size: (to_nats(sorted(_drawn(rng, size), reverse=True)),),
    }
)
def insertion_sort(numbers: Nats) -> Nats:
    """The numbers in ascending order."""
    match numbers:
        case Empty():
            return Empty()
        case Push(first, rest):
            return insert(first, insertion_sort(rest))
