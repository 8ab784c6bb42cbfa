"""Exact one-sided derivatives of the regularised reconstruction loss at the compiled weights.

At θ^ the loss of every state is zero (eq. 16), and each parameter changes one unit only. A unit's
pre-activation g_j is 1 if its rule holds, 0 if exactly one constraint fails, and negative otherwise
(eq. 11), so a small change moves its output only at 1, downwards, and at 0, upwards. With c_j =
Σ_i |W2_ij|, a step ε of a parameter raises the loss (appendix B.8, eq. 35, 39, 46):

    parameter    by |ε| times, for ε > 0             by |ε| times, for ε < 0
    W2_ij        states with g_j = 1                 the same
    b1_j         c_j * states with g_j = 0           c_j * states with g_j = 1
    W1_jk        c_j * those of them with z_k = 1    c_j * those of them with z_k = 1

The regulariser adds ±α (L1), or 2αw (squared L2). These are equalities, not bounds, as long as |ε|
is below 1: the loss is linear on either side, plus αε² for L2. So the point is a strict minimum in
a coordinate if and only if left < 0 < right; for L2, since ε² decides ties, if and only if
left <= 0 <= right.

The derivatives therefore follow from counts of states at these two kinks of σ (`KinkCounts`). Units
and states are not compared one by one. Rules that test the same variables form a group, and states
are counted by their values of these variables, and of all but one of them:

    fires_j = M_j,   near_jk = M_j without constraint k - M_j,   near_j = Σ_k near_jk

M counts the states that meet a set of constraints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.errors import WeftError
from weft.interpreter.states import Ints, Packing, StateSet, distinct
from weft.theory.optimum.reconstruction import Construction, Floats, Regulariser, Weights


@dataclass(frozen=True)
class Penalty:
    """The regulariser α R(θ)."""

    alpha: float
    kind: Regulariser = "l1"

    def __post_init__(self) -> None:
        if self.kind not in ("l1", "l2"):
            raise WeftError(f"there is no regulariser '{self.kind}'", remedy="Give l1 or l2")
        if not 0 < self.alpha < np.inf:
            raise WeftError(
                f"alpha is {self.alpha}", remedy="Give a number above 0, as in the paper"
            )

    def left(self, weights: Floats) -> Floats:
        """Its left derivative at some weights (eq. 20)."""
        return self._slope(weights, np.where(weights > 0, 1.0, -1.0))

    def right(self, weights: Floats) -> Floats:
        """Its right derivative at some weights (eq. 21)."""
        return self._slope(weights, np.where(weights < 0, -1.0, 1.0))

    def _slope(self, weights: Floats, signs: Floats) -> Floats:
        return self.alpha * (signs if self.kind == "l1" else 2.0 * weights)

    def is_strict(self, left: Floats, right: Floats) -> NDArray[np.bool_]:
        """Which of these derivatives are those of a strict minimum."""
        if self.kind == "l1":
            return (left < 0) & (right > 0)
        return (left <= 0) & (right >= 0)


@dataclass(frozen=True, eq=False)
class KinkCounts:
    """How many states of D put each unit at a kink.

    Attributes:
        fires: for each unit, the states that satisfy its rule (g = 1).
        near_by: for each unit and each place in its antecedent, the states that fail that
            constraint alone (g = 0).
    """

    fires: Ints
    near_by: Ints

    @property
    def near(self) -> Ints:
        """For each unit, the states that fail exactly one of its constraints."""
        total: Ints = self.near_by.sum(1)
        return total


@dataclass(frozen=True)
class _UnitGroup:
    """Units whose rules test the same variables.

    Attributes:
        names: the variables.
        units: the units.
        codes: for each unit, the code that it requires of each variable.
        places: for each unit, the place of each variable in its antecedent.
    """

    names: tuple[str, ...]
    units: Ints
    codes: Ints
    places: Ints

    def without(self, place: int) -> list[int]:
        """All places but one."""
        return [other for other in range(len(self.names)) if other != place]


def count_kinks(construction: Construction, states: StateSet) -> KinkCounts:
    """Count the states at the kinks of every unit of a construction."""
    fires = np.zeros(len(construction), np.int64)
    near_by = np.zeros(construction.reads.shape, np.int64)
    for group in _groups(construction):
        projected = states.project(group.names)
        fires[group.units] = _sums(projected, group, range(len(group.names)))[0]
        for place in range(len(group.names)):
            near_by[group.units, group.places[:, place]] = (
                _sums(projected, group, group.without(place))[0] - fires[group.units]
            )
    return KinkCounts(fires, near_by)


def fired_units(construction: Construction, states: StateSet) -> Construction:
    """The units whose rules fire on some state."""
    fires = count_kinks(construction, states).fires.tolist()
    kept = tuple(rule for rule, count in zip(construction.rules, fires, strict=True) if count)
    return Construction(construction.variables, kept)


def count_kinks_with(construction: Construction, states: StateSet) -> tuple[Ints, Ints]:
    """For each unit and dimension: the states in which it is 1 and g = 1, and in which g = 0."""
    shape = len(construction), construction.width
    fires, near = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for group in _groups(construction):
        places = range(len(group.names))
        fires[group.units] = _sums(states, group, places, with_dimensions=True)
        for place in places:
            near[group.units] += _sums(states, group, group.without(place), with_dimensions=True)
        near[group.units] -= len(places) * fires[group.units]
    return fires, near


def _groups(construction: Construction) -> Iterator[_UnitGroup]:
    groups: dict[tuple[str, ...], list[tuple[int, list[int], list[int]]]] = {}
    for unit, rule in enumerate(construction.rules):
        constraints = sorted(
            (name, construction.variables[name].range.codes[value], place)
            for place, (name, (value,)) in enumerate(rule.antecedent)
        )
        names, codes, places = zip(*constraints, strict=True)
        groups.setdefault(names, []).append((unit, list(codes), list(places)))
    for names, members in groups.items():
        units, codes, places = zip(*members, strict=True)
        yield _UnitGroup(names, np.array(units), np.array(codes), np.array(places))


def _sums(
    states: StateSet,
    group: _UnitGroup,
    places: Sequence[int],
    *,
    with_dimensions: bool = False,
) -> Ints:
    """For each unit of a group, how many states meet the constraints at these places.

    With dimensions, one row per unit and one column per dimension, which counts only the states in
    which it is 1. Otherwise a single row.
    """
    names = [group.names[place] for place in places]
    columns = [
        np.concatenate([states.column(name), group.codes[:, place]])
        for name, place in zip(names, places, strict=True)
    ]
    packing = Packing([len(states.variables[name]) + 1 for name in names])
    first, kinds = distinct(packing.pack(columns, len(states) + len(group.units)))
    of_states, of_units = kinds[: len(states)], kinds[len(states) :]
    if not with_dimensions:
        return _added(of_states, states.counts, len(first))[of_units][None]
    parts = []
    for name, variable in states.variables.items():
        size = len(variable) + 1  # undefined has no dimension
        cells = _added(of_states * size + states.column(name), states.counts, len(first) * size)
        parts.append(cells.reshape(len(first), size)[:, :-1])
    return np.concatenate(parts, axis=1)[of_units]


def _added(places: Ints, amounts: Ints, length: int) -> Ints:
    """The sum of the amounts that go to each place; exact, as no sum reaches 2^53."""
    return np.bincount(places, weights=amounts, minlength=length).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Derivatives:
    """The left and the right derivative of the loss in every parameter."""

    left: Weights
    right: Weights


def one_sided(
    penalty: Penalty, weights: Floats, falling: Ints, rising: Ints
) -> tuple[Floats, Floats]:
    """Both derivatives, from the slopes of the reconstruction loss on either side."""
    return penalty.left(weights) - falling, penalty.right(weights) + rising


def bias_derivatives(
    construction: Construction, counts: KinkCounts, penalty: Penalty
) -> tuple[Floats, Floats]:
    """Both derivatives in every b1_j (eq. 42)."""
    strength = construction.strength
    return one_sided(penalty, construction.biases, strength * counts.fires, strength * counts.near)


def derivatives(construction: Construction, states: StateSet, penalty: Penalty) -> Derivatives:
    """Both derivatives in every parameter, zero ones included: dense, like the weights.

    Example:
        >>> import weft
        >>> from weft.theory.optimum.derivatives import Penalty, derivatives
        >>> from weft.theory.optimum.reconstruction import construct
        >>> from weft.interpreter.states import states_of
        >>> parity = weft.program("parity")
        >>> units = construct(parity.variables, parity.rules)
        >>> slopes = derivatives(units, states_of(parity, ["101", "11"]), Penalty(0.5))
        >>> slopes.left.bias.tolist(), slopes.right.bias.tolist()
        ([-2.5, -4.5, -10.5], [5.5, 9.5, 15.5])
    """
    at = construction.weights()
    fires, near = count_kinks_with(construction, states)
    strength = construction.strength[:, None]
    first = one_sided(penalty, at.first, strength * fires, strength * near)
    counts = count_kinks(construction, states)
    bias = bias_derivatives(construction, counts, penalty)
    firing = np.broadcast_to(counts.fires, at.second.shape)
    second = one_sided(penalty, at.second, firing, firing)
    left, right = zip(first, bias, second, strict=True)
    return Derivatives(Weights(*left), Weights(*right))
