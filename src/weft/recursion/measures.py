"""Measures of terms: runs of a constructor, spines. They serve as axes of tasks."""

from __future__ import annotations

from typing import Any

from weft.recursion.inductive import InductiveMeta, Symbols
from weft.recursion.terms import children, subterms, token_of


def leading_run(term: Any, constructor: InductiveMeta) -> int:
    """How often a constructor stands at the head of a term, one within the other.

    The next term is the last argument of the constructor.

    Example:
        >>> from weft.recursion.library.binary import One, X1, XO
        >>> from weft.recursion.measures import leading_run
        >>> leading_run(X1(X1(XO(X1(One())))), X1)
        2
    """
    length = 0
    while (inner := children(term)) and token_of(term) == constructor.token:
        length += 1
        term = inner[-1]
    return length


def longest_run(term: Any, constructor: InductiveMeta) -> int:
    """The longest run of a constructor anywhere along the last arguments of a term.

    Example:
        >>> from weft.recursion.library.binary import One, X1, XO
        >>> from weft.recursion.measures import longest_run
        >>> longest_run(XO(X1(X1(One()))), X1)
        2
    """
    longest = length = 0
    while True:
        length = length + 1 if type(term) is constructor else 0
        longest = max(longest, length)
        inner = children(term)
        if not inner:
            return longest
        term = inner[-1]


def spine(term: Any, place: int) -> int:
    """The number of steps from a term along the argument at a place, counted from 0.

    Example:
        >>> from weft.recursion.library.trees import Branch, Leaf, Letter
        >>> from weft.recursion.measures import spine
        >>> spine(Branch(Letter("a"), Leaf(), Branch(Letter("b"), Leaf(), Leaf())), 2)
        2
    """
    length = 0
    while not isinstance(term, Symbols) and len(term) > place:
        length += 1
        term = term[place]
    return length


def occurrences(term: Any, constructor: InductiveMeta) -> int:
    """How often a constructor stands in a term."""
    return sum(type(one) is constructor for one in subterms(term))
