"""Functions on terms: heads, arguments, subterms, size and height; none of them recurses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def is_symbol(term: Any) -> bool:
    """Whether a value is a symbol of an alphabet."""
    return bool(type(term)._token == "")


def token_of(term: Any) -> str:
    """The token at the head of a value."""
    return str(term[0] if is_symbol(term) else type(term)._token)


def children(term: Any) -> tuple[Any, ...]:
    """The arguments of the constructor at the head of a value."""
    return () if is_symbol(term) else term


def subterms(term: Any) -> Iterator[Any]:
    """All subterms of a value in constructor order, itself first."""
    stack = [term]
    while stack:
        current = stack.pop()
        yield current
        if not is_symbol(current):
            stack.extend(reversed(current))


def same_value(left: Any, right: Any) -> bool:
    """Whether two values are built alike."""
    stack = [(left, right)]
    while stack:
        one, other = stack.pop()
        if one is other:
            continue
        if type(one) is not type(other) or is_symbol(one) or not len(one):
            return False
        for pair in zip(one, other, strict=True):
            stack.append(pair)
    return True


def size(*terms: Any) -> int:
    """The size of values: the sum of the weights of their constructors; symbols weigh nothing.

    Example:
        >>> from weft.recursion import size
        >>> from weft.recursion.library.binary import One, X1
        >>> size(X1(X1(One())))
        3
    """
    return sum(type(one)._weight for term in terms for one in subterms(term) if not is_symbol(one))


def height(term: Any) -> int:
    """The largest number of constructors with weight on a path from the root of a value.

    Example:
        >>> from weft.recursion import height
        >>> from weft.recursion.library.peano import O, S
        >>> height(S(S(O())))
        2
    """
    highest, stack = 0, [(term, 0)]
    while stack:
        current, above = stack.pop()
        if not is_symbol(current):
            here = above + type(current)._weight
            highest = max(highest, here)
            stack.extend((child, here) for child in current)
    return highest
