"""Decision diagrams, and the leaves at their ends. What they stand for is said in `diagrams`."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]

Test = tuple[int, int, int]
"""A quantity by its number, an offset d, and a level: quantity(i - d) >= level."""

MAX_NODES = 2_000_000
"""How many nodes there may be before the verifier gives up."""

ZERO, ONE = Fraction(0), Fraction(1)


class TooLarge(Exception):
    """The diagrams have grown beyond `MAX_NODES`."""


@dataclass(frozen=True, eq=False)
class Function:
    """A function of word and position; equal functions of one `Diagrams` are the same object.

    Attributes:
        number: its place among all functions.
        roots: the diagram for each position.
    """

    number: int
    roots: Integers

    @cached_property
    def distinct(self) -> tuple[Integers, Integers]:
        """The distinct diagrams, and for each position which of them it has."""
        return unique(self.roots)


@dataclass(frozen=True)
class Leaf:
    """`constant + (sum over j <= i of total(j))`; without a total, the constant alone."""

    constant: Fraction
    total: Function | None = None


@dataclass(frozen=True)
class Node:
    """A test with what follows if it fails (`low`) and if it holds (`high`)."""

    test: Test
    low: int
    high: int


class Nodes:
    """All diagrams of one proof, by number; equal diagrams have equal numbers."""

    def __init__(self) -> None:
        self.items: list[Node | Leaf] = []
        self._items: dict[Hashable, int] = {}
        self._memo: dict[Hashable, Any] = {}
        self.false, self.true = self.leaf(ZERO), self.leaf(ONE)

    def leaf(self, constant: Fraction | int, total: Function | None = None) -> int:
        """The diagram that is a leaf."""
        leaf = Leaf(Fraction(constant), total)
        return self._intern((leaf.constant, total), leaf)

    def node(self, test: Test, low: int, high: int) -> int:
        """The diagram that tests first; all tests in `low` and `high` come later."""
        low = self._below(test, low)
        if self._below(test, high) == low:
            return high
        return self._intern((test, low, high), Node(test, low, high))

    def _below(self, test: Test, diagram: int) -> int:
        """A diagram where the quantity of a test lies below all its levels."""
        item = self.items[diagram]
        while isinstance(item, Node) and item.test[:2] == test[:2]:
            diagram = item.low
            item = self.items[diagram]
        return diagram

    def _intern(self, key: Hashable, item: Node | Leaf) -> int:
        number = self._items.get(key)
        if number is None:
            number = self._items[key] = len(self.items)
            self.items.append(item)
            if number > MAX_NODES:
                raise TooLarge
        return number

    def test(self, test: Test) -> int:
        """The diagram that is true if a test holds."""
        return self.node(test, self.false, self.true)

    def leaves(self, diagram: int) -> tuple[int, ...]:
        """The leaves that a diagram can reach."""
        key = ("leaves", diagram)
        if key not in self._memo:
            item = self.items[diagram]
            self._memo[key] = (
                (diagram,)
                if isinstance(item, Leaf)
                else tuple(dict.fromkeys(self.leaves(item.low) + self.leaves(item.high)))
            )
        result: tuple[int, ...] = self._memo[key]
        return result

    def apply(self, name: str, operation: Callable[[Leaf, Leaf], int], one: int, other: int) -> int:
        """Combine two diagrams leaf by leaf; `name` names the operation."""
        key = (name, one, other)
        result = self._memo.get(key)
        if result is None:
            first, second = self.items[one], self.items[other]
            if isinstance(first, Leaf) and isinstance(second, Leaf):
                result = operation(first, second)
            else:
                test = min(item.test for item in (first, second) if isinstance(item, Node))
                low_one, high_one = self.branches(one, test)
                low_other, high_other = self.branches(other, test)
                result = self.node(
                    test,
                    self.apply(name, operation, low_one, low_other),
                    self.apply(name, operation, high_one, high_other),
                )
            self._memo[key] = result
        value: int = result
        return value

    def branches(self, diagram: int, test: Test) -> tuple[int, int]:
        """A diagram if a test fails and if it holds; no test in it comes before."""
        item = self.items[diagram]
        if isinstance(item, Node) and item.test == test:
            return item.low, item.high
        return self._below(test, diagram), diagram

    def choose(self, condition: int, then: int, otherwise: int) -> int:
        """`condition ? then : otherwise` of three diagrams, the first one Boolean."""
        if condition == self.true or then == otherwise:
            return then
        if condition == self.false:
            return otherwise
        key = ("choose", condition, then, otherwise)
        result = self._memo.get(key)
        if result is None:
            items = [self.items[diagram] for diagram in (condition, then, otherwise)]
            test = min(item.test for item in items if isinstance(item, Node))
            lows, highs = zip(
                *(self.branches(diagram, test) for diagram in (condition, then, otherwise)),
                strict=True,
            )
            result = self.node(test, self.choose(*lows), self.choose(*highs))
            self._memo[key] = result
        value: int = result
        return value

    def replace_leaves(self, diagram: int, replacement: dict[int, int]) -> int:
        """A diagram with other diagrams in place of its leaves."""
        memo: dict[int, int] = {}

        def replaced(number: int) -> int:
            if number not in memo:
                item = self.items[number]
                memo[number] = (
                    replacement[number]
                    if isinstance(item, Leaf)
                    else self.choose(self.test(item.test), replaced(item.high), replaced(item.low))
                )
            return memo[number]

        return replaced(diagram)

    def earlier(self, diagram: int, offset: int) -> int:
        """A diagram at a position that is `offset` further to the left."""
        if offset == 0:
            return diagram
        key = ("earlier", diagram, offset)
        if key not in self._memo:
            item = self.items[diagram]
            if isinstance(item, Leaf):
                assert item.total is None
                self._memo[key] = diagram
            else:
                quantity, back, level = item.test
                self._memo[key] = self.node(
                    (quantity, back + offset, level),
                    self.earlier(item.low, offset),
                    self.earlier(item.high, offset),
                )
        result: int = self._memo[key]
        return result


def unique(array: Integers) -> tuple[Integers, Integers]:
    """The distinct entries, and for each entry which of them it is."""
    if len(array) > 1 and (array[1:] == array[1]).all():  # position 0, and all others alike
        if array[0] == array[1]:
            return array[:1], np.zeros(len(array), np.int64)
        places = np.ones(len(array), np.int64)
        places[0] = 0
        return array[:2], places
    values, places = np.unique(array, return_inverse=True)
    return values, places.reshape(-1)
