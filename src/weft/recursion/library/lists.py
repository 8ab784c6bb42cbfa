"""Lists of letters."""
# mypy: disable-error-code="return"

from __future__ import annotations

from weft.recursion.function import recursive
from weft.recursion.inductive import Inductive, Symbols


class Letter(Symbols):
    """Labels of trees and elements of lists."""

    alphabet = "a b c d e f g h i j k l m n o p"


class List(Inductive):
    """Lists of letters."""


class Nil(List, weight=0):
    """The empty list."""


class Cons(List):
    """A letter before a list."""

    first: Letter
    rest: List


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
