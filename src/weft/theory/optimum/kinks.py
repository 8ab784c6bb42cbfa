"""How many states of D put each unit at a kink of σ: all that the derivatives depend on.

At the compiled weights, a unit's pre-activation g_j is 1 if its rule holds, 0 if exactly one
constraint fails, and negative otherwise (eq. 11). A small change moves the output only at 1,
downwards, and at 0, upwards. So the derivatives of every parameter follow from two counts, and from
the same counts among the states in which some dimension is 1.

Units and states are not compared one by one. Rules that test the same variables form a group, and
states are counted by their values of these variables, and of all but one of them:

    fires_j = M_j,   near_jk = M_j without constraint k - M_j,   near_j = Σ_k near_jk

M counts the states that meet a set of constraints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from weft.interpreter.states import Ints, Packing, StateSet, distinct
from weft.theory.optimum.reconstruction import Construction


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
