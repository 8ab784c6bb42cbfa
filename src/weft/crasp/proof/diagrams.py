"""Canonical functions of a word and a position, as decision diagrams.

What a line of a program, or a dimension of the stream, holds at position i depends on i and on
quantities that are integers: the symbol at a position i - d (its place in the alphabet), and totals

    T(i - d) = sum over j <= i - d of t(j)

of functions t with integer values. A diagram tests quantities: `quantity >= level`. The tests of
one quantity stand in ascending order, so a test that an earlier one decides never occurs, and
equal functions have equal diagrams. A leaf is `constant + (sum over j <= i of t(j))`: in a program,
this is a count; in a stream, the sum is divided by i + 1.

A `Function` has a diagram for every position, from 0, the begin symbol, to the longest word. At
position 0 everything is known, so its diagram is a leaf without a sum.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from weft.crasp.proof.nodes import (
    MAX_NODES,
    ONE,
    ZERO,
    Function,
    Integers,
    Leaf,
    Node,
    Nodes,
    Numbers,
    unique,
)

SYMBOL = 0
"""The number of the quantity that is the symbol's place in the alphabet."""

MAX_DIVISOR = 64
"""How many times smaller than the least coefficient of a total its grain may be."""

MAX_RATIO = 1 << 12
"""If coefficients are larger multiples of their common divisor, it comes from rounding."""


@dataclass(frozen=True, eq=False)
class Quantity:
    """A total that diagrams test, with its least and greatest value at each position."""

    number: int
    function: Function
    low: Integers
    high: Integers


@dataclass(frozen=True, eq=False)
class Scaled:
    """A total as a multiple of a quantity: first + grain * sign * quantity, up to `error`.

    Attributes:
        quantity: the quantity; None if the total depends on the position alone.
        sign: 1 or -1.
        grain: positive.
        first: the summand of position 0.
        low: the least value of sign * quantity at each position.
        high: the greatest.
        error: how far the total is from the multiple at each position, at most.
    """

    quantity: Quantity | None
    sign: int
    grain: float
    first: float
    low: Integers
    high: Integers
    error: Numbers


class Diagrams(Nodes):
    """All functions of one proof, and the quantities that they test."""

    def __init__(self, positions: int, symbols: int) -> None:
        """Make an empty collection.

        Args:
            positions: how many positions there are, that of the begin symbol included.
            symbols: how many symbols the alphabet has.
        """
        super().__init__()
        self.positions, self.symbols = positions, symbols
        self.quantities: list[Quantity | None] = [None]
        self._functions: dict[bytes, Function] = {}
        self._quantity_of: dict[Function, Quantity] = {}
        self._scaled: dict[tuple[Function, Fraction], Scaled] = {}

    # Functions

    def function(self, roots: Integers) -> Function:
        """The function with these diagrams."""
        roots = np.ascontiguousarray(roots, np.int64)
        key = roots.tobytes()
        if key not in self._functions:
            self._functions[key] = Function(len(self._functions), roots)
        return self._functions[key]

    def constant(self, value: Fraction | int) -> Function:
        """The function that has one value everywhere."""
        return self.function(np.full(self.positions, self.leaf(value)))

    def of_positions(self, values: Iterable[Fraction | int]) -> Function:
        """A function of the position alone."""
        return self.function(np.array([self.leaf(value) for value in values]))

    def of_symbol(self, begin: Fraction | int, values: Iterable[Fraction | int]) -> Function:
        """A function of the symbol alone: at the begin symbol, and for each of the alphabet."""
        roots = np.full(self.positions, self.by_symbol(list(values)))
        roots[0] = self.leaf(begin)
        return self.function(roots)

    def by_symbol(self, values: list[Fraction | int]) -> int:
        """The diagram that has a value for each symbol."""
        diagram = self.leaf(values[-1])
        for place in range(len(values) - 1, 0, -1):
            diagram = self.node((SYMBOL, 0, place), self.leaf(values[place - 1]), diagram)
        return diagram

    def values_by_symbol(self, diagram: int) -> tuple[int, ...] | None:
        """The integer that a diagram has for each symbol, if it depends on the symbol alone."""
        result = []
        for place in range(self.symbols):
            item = self.items[diagram]
            while isinstance(item, Node):
                quantity, offset, level = item.test
                if (quantity, offset) != (SYMBOL, 0):
                    return None
                item = self.items[item.high if place >= level else item.low]
            if item.total is not None or item.constant.denominator != 1:
                return None
            result.append(int(item.constant))
        return tuple(result)

    def combine(
        self, name: str, operation: Callable[[Leaf, Leaf], int], one: Function, other: Function
    ) -> Function:
        """Combine two functions leaf by leaf at every position."""
        key = ("functions", name, one.number, other.number)
        if key not in self._memo:
            pairs, places = unique(one.roots * (MAX_NODES + 1) + other.roots)
            results = [
                self.apply(name, operation, *divmod(pair, MAX_NODES + 1)) for pair in pairs.tolist()
            ]
            self._memo[key] = self.function(np.array(results, np.int64)[places])
        result: Function = self._memo[key]
        return result

    def map(self, function: Function, operation: Callable[[int], int]) -> Function:
        """Apply an operation to the diagram at every position."""
        roots, places = function.distinct
        return self.function(np.array([operation(r) for r in roots.tolist()], np.int64)[places])

    def expand(self, function: Function, change: Callable[[Leaf, Integers], Integers]) -> Function:
        """Put diagrams in place of leaves, which may differ from position to position.

        Args:
            function: the function.
            change: from a leaf and the positions where it can occur to a diagram for each.
        """
        roots, places = function.distinct
        result = np.empty(self.positions, np.int64)
        for number, root in enumerate(roots.tolist()):
            positions = np.flatnonzero(places == number)
            leaves = self.leaves(root)
            changed = np.stack([change(self.items[leaf], positions) for leaf in leaves])  # type: ignore[arg-type]
            columns, which = np.unique(changed, axis=1, return_inverse=True)
            replaced = [
                self.replace_leaves(root, dict(zip(leaves, column, strict=True)))
                for column in columns.T.tolist()
            ]
            result[positions] = np.array(replaced, np.int64)[which.reshape(-1)]
        return self.function(result)

    def map_leaves(
        self, name: Hashable, function: Function, change: Callable[[Leaf], int]
    ) -> Function:
        """Change every leaf into another leaf; `name` names the change."""
        key = ("leaf by leaf", name, function.number)
        if key not in self._memo:
            memo: dict[int, int] = {}

            def changed(number: int) -> int:
                if number not in memo:
                    item = self.items[number]
                    memo[number] = (
                        change(item)
                        if isinstance(item, Leaf)
                        else self.node(item.test, changed(item.low), changed(item.high))
                    )
                return memo[number]

            self._memo[key] = self.map(function, changed)
        result: Function = self._memo[key]
        return result

    def add(self, one: Function, other: Function) -> Function:
        """The sum of two functions."""
        if one.number > other.number:
            one, other = other, one
        return self.combine("add", self._add_leaves, one, other)

    def _add_leaves(self, one: Leaf, other: Leaf) -> int:
        total = one.total or other.total
        if one.total is not None and other.total is not None:
            total = self._nonzero(self.add(one.total, other.total))
        return self.leaf(one.constant + other.constant, total)

    def _nonzero(self, function: Function) -> Function | None:
        return None if (function.roots == self.false).all() else function

    def scale(self, function: Function, by: Fraction) -> Function:
        """A function times a number."""
        if by == 1:
            return function
        if by == 0:
            return self.constant(0)
        return self.map_leaves(("scale", by), function, lambda leaf: self._scale_leaf(leaf, by))

    def _scale_leaf(self, leaf: Leaf, by: Fraction) -> int:
        total = None if leaf.total is None else self._nonzero(self.scale(leaf.total, by))
        return self.leaf(leaf.constant * by, total)

    def choice(self, condition: Function, then: Function, otherwise: Function) -> Function:
        """`condition ? then : otherwise`."""
        stacked = np.stack([condition.roots, then.roots, otherwise.roots], 1)
        triples, places = np.unique(stacked, axis=0, return_inverse=True)
        results = [self.choose(*triple) for triple in triples.tolist()]
        return self.function(np.array(results, np.int64)[places.reshape(-1)])

    def negate(self, function: Function) -> Function:
        """`not P` of a Boolean function."""
        swapped = {ZERO: self.true, ONE: self.false}
        return self.map_leaves("not", function, lambda leaf: swapped[leaf.constant])

    def both(self, one: Function, other: Function) -> Function:
        """`P and Q` of two Boolean functions."""
        return self.combine("and", lambda a, b: self.leaf(a.constant * b.constant), one, other)

    def fetch(self, function: Function, sources: Integers) -> Function:
        """What a function without totals has at another position, for each position."""
        offsets = np.arange(self.positions) - sources
        pairs, places = unique(function.roots[sources] * self.positions + offsets)
        results = [self.earlier(*divmod(pair, self.positions)) for pair in pairs.tolist()]
        return self.function(np.array(results, np.int64)[places])

    def total(self, function: Function) -> Function:
        """The leaf `sum over j <= i of function(j)` at every position."""
        roots = np.full(self.positions, self.leaf(0, self._nonzero(function)))
        roots[0] = function.roots[0]
        return self.function(roots)

    # What leaves hold

    def is_without_totals(self, function: Function) -> bool:
        """Whether all leaves are constants."""
        return all(leaf.total is None for leaf in self.leaves_of(function))

    def leaves_of(self, function: Function) -> tuple[Leaf, ...]:
        """All leaves of a function."""
        numbers = dict.fromkeys(
            leaf for root in function.distinct[0].tolist() for leaf in self.leaves(root)
        )
        return tuple(self.items[number] for number in numbers)  # type: ignore[misc]

    def extremes(self, function: Function) -> tuple[Numbers, Numbers]:
        """The least and the greatest constant that a function without totals has, by position."""
        key = ("extremes", function.number)
        if key not in self._memo:
            roots, places = function.distinct
            constants = [
                [float(self._constant(leaf)) for leaf in self.leaves(root)]
                for root in roots.tolist()
            ]
            low = np.array([min(values) for values in constants])[places]
            high = np.array([max(values) for values in constants])[places]
            self._memo[key] = low, high
        result: tuple[Numbers, Numbers] = self._memo[key]
        return result

    def _constant(self, number: int) -> Fraction:
        leaf = self.items[number]
        assert isinstance(leaf, Leaf)
        assert leaf.total is None
        return leaf.constant

    def total_bounds(self, function: Function) -> tuple[Numbers, Numbers]:
        """The least and the greatest value of `sum over j <= i of function(j)`, by position."""
        low, high = self.extremes(function)
        return np.cumsum(low), np.cumsum(high)

    # Quantities

    def scaled(self, function: Function) -> Scaled:
        """The total of a function, which has no totals itself, as a multiple of a quantity."""
        return self._as_multiple(function, _grain(self._values(function)))

    def nearly_scaled(self, function: Function, tolerance: float) -> tuple[Scaled, ...]:
        """The same if the values of the function are rounded weights; several may be right.

        Args:
            function: what is added up.
            tolerance: how far its values may be from multiples, as a share of each.
        """
        values = self._values(function)
        exact, near = _grain(values), _grain_of_rounded(values, tolerance)
        grains = [exact] if not values or values[-1] <= MAX_RATIO * exact else []
        grains += [near] if near is not None and near not in grains else []
        return tuple(self._as_multiple(function, grain) for grain in grains or [exact])

    def _values(self, function: Function) -> list[Fraction]:
        """The absolute values at positions after the begin symbol, but for 0, in order."""
        return sorted({abs(leaf.constant) for leaf in self._later_leaves(function)} - {ZERO})

    def _as_multiple(self, function: Function, grain: Fraction) -> Scaled:
        key = function, grain
        if key not in self._scaled:
            self._scaled[key] = self._multiple(function, grain)
        return self._scaled[key]

    def _multiple(self, function: Function, grain: Fraction) -> Scaled:
        first = self._constant(int(function.roots[0]))
        error: Numbers = np.zeros(self.positions)
        if grain == 0:
            none = np.zeros(self.positions, np.int64)
            return Scaled(None, 1, 1.0, float(first), none, none, error)

        def whole(leaf: Leaf) -> int:
            return self.leaf(round(leaf.constant / grain))

        integers = self.map_leaves(("whole", grain), function, whole)
        roots = integers.roots.copy()
        roots[0] = self.false
        integers = self.function(roots)
        values = self._values(function)
        off = max(abs(value - grain * round(value / grain)) for value in values)
        if off:
            error = float(off) * (1 + 1e-9) * np.arange(self.positions, dtype=np.float64)
        quantity, sign = self._quantity(integers)
        low, high = quantity.low, quantity.high
        if sign < 0:
            low, high = -high, -low
        return Scaled(quantity, sign, float(grain), float(first), low, high, error)

    def _later_leaves(self, function: Function) -> tuple[Leaf, ...]:
        roots = np.unique(function.roots[1:]).tolist()
        numbers = dict.fromkeys(leaf for root in roots for leaf in self.leaves(root))
        return tuple(self.items[number] for number in numbers)  # type: ignore[misc]

    def _quantity(self, function: Function) -> tuple[Quantity, int]:
        """The quantity that is the total of an integer function, or minus that."""
        if function in self._quantity_of:
            return self._quantity_of[function], 1
        opposite = self.scale(function, Fraction(-1))
        if opposite in self._quantity_of:
            return self._quantity_of[opposite], -1
        low, high = (bound.astype(np.int64) for bound in self.total_bounds(function))
        quantity = Quantity(len(self.quantities), function, low, high)
        self.quantities.append(quantity)
        self._quantity_of[function] = quantity
        return quantity, 1

    def at_least(self, scaled: Scaled, levels: Integers) -> Integers:
        """The diagrams of `sign * quantity >= level`, by position."""
        roots = np.where(levels <= scaled.low, self.true, self.false)
        open_ = (levels > scaled.low) & (levels <= scaled.high)
        if open_.any():
            assert scaled.quantity is not None
            number = scaled.quantity.number
            distinct, places = unique(levels[open_])
            if scaled.sign > 0:
                tests = [self.test((number, 0, level)) for level in distinct.tolist()]
            else:  # -q >= level is q <= -level
                tests = [
                    self.node((number, 0, 1 - level), self.true, self.false)
                    for level in distinct.tolist()
                ]
            roots[open_] = np.array(tests, np.int64)[places]
        return roots


def _grain(values: list[Fraction]) -> Fraction:
    """The largest number of which all of these positive numbers are multiples; 0 for none."""
    if not values:
        return ZERO
    denominator = lcm(*(value.denominator for value in values))
    return Fraction(gcd(*(int(value * denominator) for value in values)), denominator)


def _grain_of_rounded(values: list[Fraction], tolerance: float) -> Fraction | None:
    """A number of which all of these positive numbers, in order, are multiples but for rounding.

    Weights are rounded to the number format, so three times a slope need not be 3 times the slope
    as it is stored.
    """
    for divisor in range(1, MAX_DIVISOR + 1):
        grain = values[0] / divisor if values else ZERO
        if grain and all(abs(v - grain * round(v / grain)) <= tolerance * v for v in values):
            return grain
    return None
