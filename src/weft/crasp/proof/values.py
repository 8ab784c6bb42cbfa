"""What a dimension of the stream holds: a function of word and position, and its rounding error.

The leaves of the function are `constant + (sum over j <= i of t(j)) / (i + 1)`: constants, and
shares of positions as attention computes them. Rounding errors are bounded for sums in any order:

- A sum is exact if all its products are multiples of 2^g and their absolute values add up to at
  most 2^(g + p), for a format with p significant bits.
- Otherwise K products and additions move it by at most (K + 1) u times the sum of absolute values.
- A uniform head gives every position the weight fl(1 / (i + 1)), as exp(0) = 1 and sums of ones
  are exact. Adding up N equal shares rounds every partial sum once: at most (N + 1) / 2 roundings
  of the whole, in any order.

bfloat16 is accumulated in float32 and rounded when it is stored, a few times at most.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from weft.crasp.proof.diagrams import Diagrams, Scaled
from weft.crasp.proof.nodes import Function, Integers, Leaf, Numbers
from weft.proofs.rounding import PRECISIONS, Precision, grid, is_power_of_two

Booleans = NDArray[np.bool_]

SLACK = 1 + 1e-9
"""Bounds are computed in float64; this covers their own rounding."""

STORES = 3
"""How often a bfloat16 sum is rounded when it is stored, at most: product, bias, residual."""

MEAN_STORES = 2
"""The same for a mean: its weights, and the result."""

TOLERANCE = 1 / 64
"""How far coefficients may be from integer multiples; what is missing counts as rounding error."""

STEEP = 2.0
"""Units with a steeper slope are comparisons; one that passes a share through has at most 1."""


@dataclass(frozen=True, eq=False)
class Known:
    """A value that is understood.

    Attributes:
        function: the value, in real numbers.
        error: how far the computed number is from it at each position, at most.
    """

    function: Function
    error: Numbers

    @property
    def is_exact(self) -> bool:
        """Whether the computed number is the value."""
        return not self.error.any()


@dataclass(frozen=True)
class Unknown:
    """A value that is not understood, which matters only if something depends on it."""

    reason: str


Value = Known | Unknown


@dataclass(frozen=True)
class Unclear:
    """A steep unit that is not certain to be 0 or 1.

    Attributes:
        position: the first position where rounding may blur it.
        quantity: the number of the quantity that it tests.
        level: what the quantity is compared with there.
        margin: how far the unit is from 0 or 1 in real numbers.
        error: how far rounding can move it.
    """

    position: int
    quantity: int
    level: int
    margin: float
    error: float


class Arithmetic:
    """Sums, means and activations of values in a number format."""

    def __init__(self, diagrams: Diagrams, dtype: str) -> None:
        self.diagrams = diagrams
        self.precision: Precision = PRECISIONS[dtype]
        self.is_wide = self.precision.bits < self.precision.softmax_bits
        self.accumulated = 2.0**-self.precision.softmax_bits  # the roundoff of sums
        self.stored = 2.0**-self.precision.bits
        self.places = np.arange(1, diagrams.positions + 1, dtype=np.float64)
        self.exact = np.zeros(diagrams.positions)
        self.unclear: list[Unclear] = []

    def constant(self, value: float) -> Known:
        """A constant."""
        return Known(self.diagrams.constant(Fraction(value)), self.exact)

    # Sums

    def linear(self, terms: Iterable[tuple[float, Value]], bias: float = 0.0) -> Value:
        """`sum of weight * value + bias`, as it is computed in some order."""
        known: list[tuple[float, Known]] = []
        for weight, value in terms:
            if weight == 0:
                continue
            if isinstance(value, Unknown):
                return value
            if not self._is_zero(value):
                known.append((weight, value))
        make = self.diagrams
        parts = [make.scale(value.function, Fraction(weight)) for weight, value in known]
        if bias or not parts:
            parts.append(make.constant(Fraction(bias)))
        return Known(reduce(make.add, parts), self._error(known, bias))

    def _is_zero(self, value: Known) -> bool:
        return value.is_exact and bool((value.function.roots == self.diagrams.false).all())

    def _error(self, terms: list[tuple[float, Known]], bias: float) -> Numbers:
        inherited = sum((abs(weight) * value.error for weight, value in terms), self.exact)
        if len(terms) == 1 and not bias and is_power_of_two(terms[0][0]):
            return inherited
        exact = self._sums_exactly(terms, bias)
        if exact.all():
            return inherited
        sizes = [abs(weight) * (self.size(value) + value.error) for weight, value in terms]
        size = sum(sizes, np.full(len(self.exact), abs(bias)))
        rounding = self._roundings(len(terms) + (bias != 0) + 1)
        return np.where(exact, inherited, (inherited + rounding * size) * SLACK)

    def _roundings(self, count: int) -> float:
        """The relative error of so many operations of a sum."""
        return count * self.accumulated * SLACK + self._stores(STORES)

    def _stores(self, count: int) -> float:
        """The relative error of storing a result so many times in a narrower format."""
        return (1 + self.stored) ** count - 1 if self.is_wide else 0.0

    def _sums_exactly(self, terms: list[tuple[float, Known]], bias: float) -> Booleans:
        """At which positions no product and no partial sum is rounded."""
        here = np.ones(len(self.exact), bool)
        for _, value in terms:
            here &= (value.error == 0) & self._has_constants(value.function)
        if not here.any():
            return here
        lowest, size = int(grid(np.array([bias]))[0]), abs(bias)
        for weight, value in terms:
            constants = self._constants(value.function, here)
            products = constants * weight
            if (products / weight != constants).any():  # it needs more digits than float64 has
                return here & False
            lowest = min(lowest, int(grid(products).min()))
            size += float(np.abs(products).max())
        fits = size == 0 or size <= 2.0 ** (lowest + self.precision.bits)
        return here & fits

    def _has_constants(self, function: Function) -> Booleans:
        """At which positions all leaves are constants."""
        roots, places = function.distinct
        make = self.diagrams
        constant = [
            all(make.items[leaf].total is None for leaf in make.leaves(root))  # type: ignore[union-attr]
            for root in roots.tolist()
        ]
        return np.array(constant)[places]

    def _constants(self, function: Function, here: Booleans) -> Numbers:
        """The constants of all leaves at some positions."""
        make = self.diagrams
        leaves = {leaf for root in np.unique(function.roots[here]) for leaf in make.leaves(root)}
        return np.array([float(make.items[leaf].constant) for leaf in leaves])  # type: ignore[union-attr]

    def size(self, value: Known) -> Numbers:
        """The largest absolute value at each position, in real numbers."""
        make = self.diagrams
        result = np.zeros(make.positions)
        roots, places = value.function.distinct
        for number, root in enumerate(roots.tolist()):
            here = places == number
            for leaf_number in make.leaves(root):
                leaf = make.items[leaf_number]
                assert isinstance(leaf, Leaf)
                low, high = self.bounds(leaf)
                size = np.maximum(np.abs(low), np.abs(high))
                result[here] = np.maximum(result[here], size[here])
        return result

    def bounds(self, leaf: Leaf) -> tuple[Numbers, Numbers]:
        """The least and the greatest value of a leaf at each position."""
        constant = float(leaf.constant)
        if leaf.total is None:
            return np.full(len(self.exact), constant), np.full(len(self.exact), constant)
        low, high = self.diagrams.total_bounds(leaf.total)
        return constant + low / self.places, constant + high / self.places

    # Attention

    def mean(self, value: Value) -> Value:
        """The mean of a value over all positions so far, with equal softmax weights."""
        if isinstance(value, Unknown):
            return value
        make = self.diagrams
        if not value.is_exact or not make.is_without_totals(value.function):
            return Unknown("a mean of numbers that are not exact")
        low, high = make.extremes(value.function)
        sizes = np.maximum(np.abs(low), np.abs(high))
        terms = np.cumsum(sizes > 0)
        values = {abs(leaf.constant) for leaf in make.leaves_of(value.function)} - {Fraction(0)}
        depth = (terms + 1) / 2 if len(values) <= 1 else terms  # roundings of the whole sum
        summing = (depth + 4) * self.accumulated
        if (terms * self.accumulated > 0.01).any():
            return Unknown("a mean over more positions than the number format can add up")
        relative = summing * 1.02 + self._stores(MEAN_STORES)
        error = np.cumsum(sizes) / self.places * relative * SLACK
        error[0] = 0.0  # one position with the weight 1
        return Known(make.total(value.function), error)

    def fetched(self, value: Value, sources: Integers) -> Value:
        """A value at one other position for each position, with the weight 1."""
        if isinstance(value, Unknown):
            return value
        if not value.is_exact or not self.diagrams.is_without_totals(value.function):
            return Unknown("a number that is not exact, fetched from another position")
        return Known(self.diagrams.fetch(value.function, sources), self.exact)

    # Activations

    def activate(self, value: Value, clipped: bool) -> Value:
        """`min(max(x, 0), 1)`, or `max(x, 0)` if it is not clipped."""
        if isinstance(value, Unknown):
            return value
        top = 1.0 if clipped else np.inf
        errors = np.zeros(len(value.error))  # stays 0 where the result is exact

        def change(leaf: Leaf, positions: Integers) -> Integers:
            if leaf.total is None:
                return self._activate_constant(leaf, positions, top, value.error, errors)
            return self._activate_total(leaf, positions, top, value.error, errors)

        return Known(self.diagrams.expand(value.function, change), errors)

    def _activate_constant(
        self, leaf: Leaf, positions: Integers, top: float, error: Numbers, errors: Numbers
    ) -> Integers:
        constant, moved = float(leaf.constant), error[positions] * SLACK
        within = leaf.constant if top == np.inf else min(leaf.constant, Fraction(1))
        sure = (moved == 0) | (constant + moved <= 0) | (constant - moved >= top)
        errors[positions] = np.where(sure, errors[positions], moved)
        return np.full(len(positions), self.diagrams.leaf(max(within, Fraction(0))))

    def _activate_total(
        self, leaf: Leaf, positions: Integers, top: float, error: Numbers, errors: Numbers
    ) -> Integers:
        """0, the leaf itself, or 1, depending on the quantity of its total."""
        make = self.diagrams
        assert leaf.total is not None
        for scaled in make.nearly_scaled(leaf.total, TOLERANCE):
            ramp = Ramp(scaled, float(leaf.constant), top, self.places, error)
            between = ramp.between[positions]
            if not between.any():
                break
        where = positions[between]
        result = make.at_least(scaled, ramp.level(ramp.ones))[positions]
        if not len(where):
            return result
        errors[where] = np.maximum(errors[where], ramp.moved[where])
        self._note_unclear(scaled, ramp, where)
        some = make.at_least(scaled, ramp.level(ramp.crossing(0.0)))[where]
        full = np.full(len(where), make.false)
        if top != np.inf:
            full = make.at_least(scaled, ramp.level(ramp.crossing(1.0)))[where]
        pairs, which = np.unique(np.stack([some, full]), axis=1, return_inverse=True)
        linear = make.leaf(leaf.constant, leaf.total)
        diagrams = [
            make.choose(second, make.true, make.choose(first, linear, make.false))
            for first, second in pairs.T.tolist()
        ]
        result[between] = np.array(diagrams, np.int64)[which.reshape(-1)]
        return result

    def _note_unclear(self, scaled: Scaled, ramp: Ramp, positions: Integers) -> None:
        if scaled.quantity is None or scaled.grain <= STEEP:
            return
        at = int(positions[0])
        level = int(np.clip(np.ceil(ramp.crossing(0.5)[at]), scaled.low[at], scaled.high[at]))
        below, above = (ramp.start[at] + ramp.per_step[at] * (level - k) for k in (1, 0))
        margin = min(-below, above - 1)
        if scaled.sign < 0:
            level = 1 - level
        unclear = Unclear(at, scaled.quantity.number, level, margin, float(ramp.moved[at]))
        self.unclear.append(unclear)


class Ramp:
    """`constant + total / (i + 1)` as a linear function of an integer, at every position.

    Attributes:
        per_step: how much it rises per unit of the quantity.
        start: its value if the quantity is 0.
        moved: how far rounding can move it.
        zeros: the greatest quantity at which it is surely at most 0.
        ones: the least at which it is surely at least `top`.
        between: whether some quantity that can occur lies between these two.
    """

    def __init__(
        self, scaled: Scaled, constant: float, top: float, places: Numbers, error: Numbers
    ) -> None:
        self.scaled = scaled
        self.per_step = scaled.grain / places
        self.start = constant + scaled.first / places
        computed = 1e-14 * (abs(constant) + abs(scaled.first) / places)
        self.moved = (error + scaled.error / places + computed) * SLACK
        below = (-self.start - self.moved) / self.per_step
        self.zeros = np.floor(below - _slack(below))
        self.ones = np.full(len(places), 2.0**62)
        if top != np.inf:
            above = (top - self.start + self.moved) / self.per_step
            self.ones = np.ceil(above + _slack(above))
        self.between = np.maximum(self.zeros + 1, scaled.low) <= np.minimum(
            self.ones - 1, scaled.high
        )

    def crossing(self, value: float) -> Numbers:
        """Where it has a value."""
        crossing: Numbers = (value - self.start) / self.per_step
        return crossing

    def level(self, bound: Numbers) -> Integers:
        """A bound on the quantity, within what can occur."""
        return np.clip(np.ceil(bound), self.scaled.low, self.scaled.high + 1).astype(np.int64)


def _slack(quotient: Numbers) -> Numbers:
    """More than the rounding error of a quotient that was computed in float64."""
    return 1e-9 + 1e-14 * np.abs(quotient)
