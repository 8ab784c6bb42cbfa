"""Which values several totals can have together.

Two functions with different diagrams may still be equal: `#[j <= i] Q_a(j)` is never more than the
number of positions, and diagrams do not know that. Here it is a linear program. At position i, the
sums of some functions are

    sum over kinds k of positions and values v of that kind:  x_kv v,    sum over v of x_kv = n_k(i)

with x_kv >= 0: how many of the n_k(i) positions of kind k, up to i, have the values v. If some
bounds on the sums have no solution even in real numbers, they never hold together. This is shown by
a certificate (Farkas' lemma): weights y of the equations under which every x_kv has a coefficient
of at most 0, and the right-hand side is positive. A simplex search in float64 finds y; that it is a
certificate is checked in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from weft.crasp.proof.diagrams import Diagrams
from weft.crasp.proof.nodes import Function, Integers, Leaf, Node, Numbers
from weft.proofs.rounding import Array

MAX_KINDS = 40
MAX_COLUMNS = 600
"""Larger programs are not tried."""

MAX_SEARCHES = 12
"""How many certificates are looked for; each often serves many positions."""

MAX_PIVOTS = 300


@dataclass(frozen=True, eq=False)
class Bound:
    """A bound on the total of a function.

    Attributes:
        function: what is added up.
        is_lower: whether the total is at least the bound, or at most.
        bounds: the bound at each position.
    """

    function: Function
    is_lower: bool
    bounds: Numbers


def never_together(make: Diagrams, given: Sequence[Bound], positions: Integers) -> Array:
    """At which of some positions these bounds surely do not hold together."""
    excluded = np.zeros(len(positions), bool)
    system = _System.of(make, given)
    if system is None:
        return excluded
    sides = system.sides(positions)
    for _ in range(MAX_SEARCHES):
        left = np.flatnonzero(~excluded)
        if not len(left) or not _exclude_more(system, sides, left, excluded):
            break
    return excluded


def _exclude_more(system: _System, sides: Numbers, left: Integers, excluded: Array) -> bool:
    """Exclude more positions by a certificate for the first, the last or the middle one left."""
    for position in dict.fromkeys((left[0], left[-1], left[len(left) // 2])):
        certificate = system.certificate(sides[:, position])
        if certificate is not None:
            shown = certificate @ sides > 1e-6 * (1 + np.abs(certificate) @ np.abs(sides))
            if (shown & ~excluded).any():
                excluded |= shown
                return True
    return False


@dataclass(frozen=True, eq=False)
class _System:
    """The equations: one per kind of position, then one per bound, with a slack variable each.

    Attributes:
        columns: the coefficients of each variable, exactly.
        kinds: how many positions of each kind there are up to each position.
        bounds: the bounds at each position.
    """

    columns: list[dict[int, Fraction]]
    kinds: Numbers
    bounds: Numbers

    @staticmethod
    def of(make: Diagrams, given: Sequence[Bound]) -> _System | None:
        stacked = np.stack([bound.function.roots for bound in given], 1)
        kinds, places = np.unique(stacked, axis=0, return_inverse=True)
        if len(kinds) > MAX_KINDS:
            return None
        counts = np.stack([np.cumsum(places.reshape(-1) == k) for k in range(len(kinds))])
        columns: list[dict[int, Fraction]] = []
        for kind, roots in enumerate(kinds.tolist()):
            for values in _joint_values(make, tuple(roots)):
                column = {kind: Fraction(1)}
                column |= {len(kinds) + k: value for k, value in enumerate(values) if value}
                columns.append(column)
            if len(columns) > MAX_COLUMNS:
                return None
        for number, bound in enumerate(given):
            columns.append({len(kinds) + number: Fraction(-1 if bound.is_lower else 1)})
        bounds = np.stack([bound.bounds for bound in given])
        return _System(columns, counts.astype(np.float64), bounds)

    def sides(self, positions: Integers) -> Numbers:
        """The right-hand sides at some positions (equations, positions)."""
        return np.concatenate([self.kinds[:, positions], self.bounds[:, positions]])

    def certificate(self, side: Numbers) -> Numbers | None:
        """Weights of the equations that show that they have no solution; None if none is found."""
        matrix = np.zeros((len(side), len(self.columns)))
        for number, column in enumerate(self.columns):
            for row, value in column.items():
                matrix[row, number] = float(value)
        weights = _infeasible(matrix, side)
        if weights is None:
            return None
        exact = [Fraction(weight).limit_denominator(10_000) for weight in weights.tolist()]
        for column in self.columns:
            if sum((exact[row] * value for row, value in column.items()), Fraction(0)) > 0:
                return None
        return np.array([float(weight) for weight in exact])


def _joint_values(make: Diagrams, roots: tuple[int, ...]) -> set[tuple[Fraction, ...]]:
    """The values that several diagrams can have together."""
    seen: set[tuple[int, ...]] = set()
    found: set[tuple[Fraction, ...]] = set()

    def visit(here: tuple[int, ...]) -> None:
        if here in seen or len(found) > MAX_COLUMNS:
            return
        seen.add(here)
        items = [make.items[diagram] for diagram in here]
        tests = [item.test for item in items if isinstance(item, Node)]
        if not tests:
            found.add(tuple(item.constant for item in items if isinstance(item, Leaf)))
            return
        pairs = [make.branches(diagram, min(tests)) for diagram in here]
        visit(tuple(low for low, _ in pairs))
        visit(tuple(high for _, high in pairs))

    visit(roots)
    return found


def _infeasible(matrix: Numbers, side: Numbers) -> Numbers | None:
    """y with y matrix <= 0 and y side > 0, which exists if matrix x = side has no x >= 0.

    This is phase 1 of the simplex method; None if it finds a solution, or gives up.
    """
    rows, columns = matrix.shape
    signs = np.where(side < 0, -1.0, 1.0)
    table = np.concatenate([matrix * signs[:, None], np.eye(rows)], 1)
    right = side * signs
    basis = np.arange(columns, columns + rows)
    costs = -table.sum(0)
    costs[columns:] = 0.0
    for _ in range(MAX_PIVOTS):
        entering = np.flatnonzero(costs[:columns] < -1e-9)
        if not len(entering):
            break
        enter = int(entering[0])  # the first: no cycles
        column = table[:, enter]
        rising = np.flatnonzero(column > 1e-9)
        if not len(rising):
            return None
        ratios = right[rising] / column[rising]
        ties = rising[ratios <= ratios.min() + 1e-12]
        leave = int(ties[np.argmin(basis[ties])])
        pivot = table[leave, enter]
        table[leave] /= pivot
        right[leave] /= pivot
        others = np.arange(rows) != leave
        factors = table[others, enter]
        table[others] -= factors[:, None] * table[leave]
        right[others] -= factors * right[leave]
        costs = costs - costs[enter] * table[leave]
        basis[leave] = enter
    else:
        return None
    if right[basis >= columns].sum() < 1e-7:
        return None
    weights: Numbers = (1.0 - costs[columns:]) * signs
    return weights
