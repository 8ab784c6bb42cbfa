"""Two functions side by side: the ways through their diagrams, and which of them no word takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from weft.crasp.proof.diagrams import Diagrams
from weft.crasp.proof.feasibility import Bound, never_together
from weft.crasp.proof.model_checks import Unproved
from weft.crasp.proof.nodes import Function, Integers, Leaf, Node, Test
from weft.proofs.rounding import Array

MAX_PATHS = 5_000
"""How many ways in which two functions may differ are looked at."""

Tests = tuple[tuple[Test, bool], ...]
"""Tests with their results."""

Way = tuple[Tests, int, int]
"""Tests with their results, and the leaves of two functions that they lead to."""


@dataclass(frozen=True, eq=False)
class Path:
    """Tests with their results, and the leaves of two functions that they lead to.

    Attributes:
        tests: the tests.
        one: the leaf of the first function.
        other: that of the second.
        positions: where the two functions have these diagrams.
    """

    tests: Tests
    one: Leaf
    other: Leaf
    positions: Integers

    def excluded(self, make: Diagrams, *further: Bound) -> Array:
        """At which positions the tests surely cannot have these results, with further bounds."""
        result = np.zeros(len(self.positions), bool)
        for offset in {0, *(test[1] for test, _ in self.tests)}:
            bounds = [*further] if offset == 0 else []
            for (number, back, level), holds in self.tests:
                quantity = make.quantities[number]
                if quantity is not None and back == offset:
                    limit = np.full(make.positions, float(level if holds else level - 1))
                    bounds.append(Bound(quantity.function, holds, limit))
            if bounds:
                result |= never_together(make, bounds, self.positions - offset)
        return result


def paths(make: Diagrams, one: Function, other: Function, *, equal: bool = False) -> Iterator[Path]:
    """The ways through the diagrams of two functions to their leaves.

    Args:
        make: the diagrams.
        one: a function.
        other: another.
        equal: whether equal leaves mean the same in both; then ways to these are left out.
    """
    stacked = np.stack([one.roots, other.roots], 1)
    pairs, places = np.unique(stacked, axis=0, return_inverse=True)
    for number, (a, b) in enumerate(pairs.tolist()):
        positions = np.flatnonzero(places.reshape(-1) == number)
        if a == b:  # on every way to a leaf of the one, the other comes to the same
            ways: list[Way] = [] if equal else [((), leaf, leaf) for leaf in make.leaves(a)]
        else:
            ways = list(islice(_ways(make, a, b, equal, ()), MAX_PATHS + 1))
        if len(ways) > MAX_PATHS:
            raise Unproved("two functions differ in more ways than can be looked at")
        for tests, x, y in ways:
            yield Path(tests, make.items[x], make.items[y], positions)  # type: ignore[arg-type]


def _ways(make: Diagrams, one: int, other: int, equal: bool, tests: Tests) -> Iterator[Way]:
    if equal and one == other:
        return
    items = [make.items[diagram] for diagram in (one, other)]
    nodes = [item.test for item in items if isinstance(item, Node)]
    if not nodes:
        yield tests, one, other
        return
    test = min(nodes)
    for holds in (False, True):
        branch = [make.branches(diagram, test)[holds] for diagram in (one, other)]
        yield from _ways(make, branch[0], branch[1], equal, (*tests, (test, holds)))
