"""On how many states of D each unit is at a kink of σ: all that the derivatives depend on.

A unit's pre-activation is g_j = 1 where its rule is satisfied, 0 where exactly one constraint
fails, and negative elsewhere (eq. 11). A small change of it moves the output only at 1, downwards,
and at 0, upwards. So the derivatives of every parameter are made of two counts, and of the same
counts among the states in which some dimension is 1.

Nothing is compared unit by unit and state by state. Rules that test the same variables form a
group. The states are added up by their values of these variables, and of all but one of them:

    fires_j = M_j,   near_jk = M_j without constraint k - M_j,   near_j = Σ_k near_jk

where M counts the states that meet a set of constraints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from weft.theory.optimum.reconstruction import Construction
from weft.theory.optimum.states import Ints, States, distinct


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
class _Group:
    """Units whose rules test the same variables.

    Attributes:
        columns: these variables, as columns of the states.
        units: the units.
        codes: for each unit, the code that it asks of each column.
        places: for each unit, where each column stands in its antecedent.
    """

    columns: tuple[int, ...]
    units: Ints
    codes: Ints
    places: Ints


def count_kinks(construction: Construction, states: States) -> KinkCounts:
    """The counts of all units of a construction."""
    fires = np.zeros(len(construction), np.int64)
    near_by = np.zeros(construction.reads.shape, np.int64)
    for group in _groups(construction):
        met = _reduced(states, group.columns)
        fires[group.units] = _sums(met, group, range(len(group.columns)))[0]
        for left_out in range(len(group.columns)):
            rest = [place for place in range(len(group.columns)) if place != left_out]
            near_by[group.units, group.places[:, left_out]] = (
                _sums(met, group, rest)[0] - fires[group.units]
            )
    return KinkCounts(fires, near_by)


def count_kinks_with(construction: Construction, states: States) -> tuple[Ints, Ints]:
    """For each unit and dimension: states in which it is 1 and g = 1, and in which g = 0."""
    shape = len(construction), construction.width
    fires, near = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for group in _groups(construction):
        everywhere = range(len(group.columns))
        fires[group.units] = _sums(states, group, everywhere, with_dimensions=True)
        for left_out in everywhere:
            rest = [place for place in everywhere if place != left_out]
            near[group.units] += _sums(states, group, rest, with_dimensions=True)
        near[group.units] -= len(everywhere) * fires[group.units]
    return fires, near


def _groups(construction: Construction) -> Iterator[_Group]:
    column = {name: place for place, name in enumerate(construction.variables)}
    found: dict[tuple[int, ...], list[tuple[int, list[int], list[int]]]] = {}
    for unit, rule in enumerate(construction.rules):
        asked = [
            (column[name], construction.variables[name].range.codes[value], place)
            for place, (name, (value,)) in enumerate(rule.antecedent)
        ]
        columns, codes, places = zip(*sorted(asked), strict=True)
        found.setdefault(columns, []).append((unit, list(codes), list(places)))
    for columns, members in found.items():
        units, codes, places = zip(*members, strict=True)
        yield _Group(columns, np.array(units), np.array(codes), np.array(places))


def _sizes(states: States) -> list[int]:
    """How many codes each column may have, undefined included."""
    return [len(variable) + 1 for variable in states.variables.values()]


def _reduced(states: States, columns: tuple[int, ...]) -> States:
    """The states with all columns but these forgotten: far fewer rows."""
    sizes = _sizes(states)
    first, which = distinct([states.codes[:, c] for c in columns], [sizes[c] for c in columns])
    counts = _added(which, states.counts, len(first))
    return States(states.variables, states.codes[first], counts)


def _added(which: Ints, amounts: Ints, length: int) -> Ints:
    """Σ of the amounts that go to each place; exact, as no sum reaches 2^53."""
    return np.bincount(which, weights=amounts, minlength=length).astype(np.int64)


def _sums(
    states: States, group: _Group, places: range | list[int], *, with_dimensions: bool = False
) -> Ints:
    """For each unit of a group, how many states meet the constraints at these places.

    With dimensions: a row a unit, a column a dimension, only the states in which it is 1.
    Otherwise a single row.
    """
    sizes = _sizes(states)
    chosen = [group.columns[place] for place in places]
    joined = [
        np.concatenate([states.codes[:, column], group.codes[:, place]])
        for column, place in zip(chosen, places, strict=True)
    ]
    if not joined:  # a rule of one constraint, without it: all states meet nothing
        joined, chosen_sizes = [np.zeros(len(states) + len(group.units), np.int64)], [1]
    else:
        chosen_sizes = [sizes[column] for column in chosen]
    first, which = distinct(joined, chosen_sizes)
    mine, asked = which[: len(states)], which[len(states) :]
    if not with_dimensions:
        return _added(mine, states.counts, len(first))[asked][None]
    parts = []
    for column, size in enumerate(sizes):
        cells = _added(mine * size + states.codes[:, column], states.counts, len(first) * size)
        parts.append(cells.reshape(len(first), size)[:, : size - 1])
    return np.concatenate(parts, axis=1)[asked]
