"""The parameters in which compiled weights are not a strict minimum, each with the reason.

Parameters that are zero never fail: the reconstruction loss cannot fall and the regulariser rises
(lemma 2). So each unit has few that may: two of W2, one of W1 per constraint, and b1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.interpreter.states import StateSet
from weft.language.rules import Rule
from weft.theory.optimum.derivatives import Penalty, bias_derivatives, one_sided
from weft.theory.optimum.kinks import KinkCounts, count_kinks
from weft.theory.optimum.reconstruction import Construction, Floats


@dataclass(frozen=True)
class Offender:
    """A parameter in which the weights are not a strict minimum.

    Attributes:
        parameter: its name, with the value that it reads or writes: `W2[done=1, 3]`.
        unit: the hidden unit that it belongs to, rules counted from 0.
        rule: the rule of that unit, with one value per constraint.
        weight: its value in the compiled weights; for a removal, that of W1.
        left: the left derivative of the loss, which should be negative.
        right: the right derivative, which should be positive.
        why: what is missing in D.
    """

    parameter: str
    unit: int
    rule: Rule
    weight: float
    left: float
    right: float
    why: str


def offenders(
    units: Construction,
    states: StateSet,
    penalty: Penalty,
    *,
    removals: bool = False,
    first: int = 0,
) -> Iterator[Offender]:
    """All parameters in which the weights are not a strict minimum, unit by unit."""
    counts = count_kinks(units, states)
    kinds = [*_writing(units, counts, penalty), *_reading(units, counts, penalty)]
    kinds.append(_ParameterKind("b1", *bias_derivatives(units, counts, penalty), weight=None))
    if removals:
        kinds += _removing(units, counts, penalty)
    wrong = np.stack([~penalty.is_strict(kind.left, kind.right) for kind in kinds])
    wrong &= np.stack([kind.exists(units) for kind in kinds])
    for unit in np.flatnonzero(wrong.any(0)).tolist():
        for place in np.flatnonzero(wrong[:, unit]).tolist():
            yield kinds[place].offender(units, counts, unit, first)


@dataclass(frozen=True, eq=False)
class _ParameterKind:
    """Both derivatives in one kind of parameter; every unit has at most one of each kind.

    `place` is a place in the antecedent for W1 and removals, the old (0) or new (1) value for W2.
    """

    kind: str
    left: Floats
    right: Floats
    weight: float | None
    place: int = 0

    def exists(self, units: Construction) -> NDArray[np.bool_]:
        """Which units have this parameter with a value other than zero."""
        if self.kind == "b1":
            return np.ones(len(units), bool)
        if self.kind == "W2":
            return np.asarray(units.strength > 0)
        last = units.constraints if self.kind == "W1" else units.constraints - 1
        return np.asarray(self.place < last)  # the last constraint is the one on the old value

    def offender(self, units: Construction, counts: KinkCounts, unit: int, first: int) -> Offender:
        rule, number = units.rules[unit], first + unit
        if self.kind == "b1":
            parameter = f"b1[{number}]"
        elif self.kind == "W2":
            parameter = f"W2[{units.describe(int(units.writes[self.place][unit]))}, {number}]"
        else:
            read = units.describe(int(units.reads[unit, self.place]))
            parameter = f"W1[{number}, {read}]"
            if self.kind == "removal":
                parameter += f" down, b1[{number}] up"
        return Offender(
            parameter,
            number,
            rule,
            float(units.biases[unit]) if self.weight is None else self.weight,
            float(self.left[unit]),
            float(self.right[unit]),
            self._why(units, counts, unit),
        )

    def _why(self, units: Construction, counts: KinkCounts, unit: int) -> str:
        if not units.strength[unit]:
            return "its rule changes nothing"
        if not counts.fires[unit]:
            return "its rule never fires"
        if self.kind == "b1" and not counts.near[unit]:
            return "no state fails exactly one constraint of its rule"
        if self.kind == "removal" and not counts.near_by[unit, self.place]:
            return f"no state fails {units.describe(int(units.reads[unit, self.place]))} alone"
        return "too few states weigh against the regulariser"


def _writing(units: Construction, counts: KinkCounts, penalty: Penalty) -> Iterator[_ParameterKind]:
    """W2: -1 for the old value, +1 for the new one (lemma 4)."""
    for place, weight in enumerate((-1.0, 1.0)):
        weights = np.full(len(units), weight)
        left, right = one_sided(penalty, weights, counts.fires, counts.fires)
        yield _ParameterKind("W2", left, right, weight, place)


def _reading(units: Construction, counts: KinkCounts, penalty: Penalty) -> Iterator[_ParameterKind]:
    """W1: 1 for each constraint (lemma 6). Wherever a rule fires, its constraints hold."""
    ones = np.ones(len(units))
    for place in range(units.reads.shape[1]):
        rising = units.strength * (counts.near - counts.near_by[:, place])
        left, right = one_sided(penalty, ones, units.strength * counts.fires, rising)
        yield _ParameterKind("W1", left, right, 1.0, place)


def _removing(
    units: Construction, counts: KinkCounts, penalty: Penalty
) -> Iterator[_ParameterKind]:
    """Along b1_j + ε, W1_jk - ε, g changes only in states that fail constraint k, at 0 upwards.

    A rule cannot lose the constraint on its own variable's old value (B.1), so that one stays.
    """
    ones, bias = np.ones(len(units)), units.biases
    for place in range(units.reads.shape[1]):
        rising = units.strength * counts.near_by[:, place]
        left = penalty.left(bias) - penalty.right(ones)
        right = penalty.right(bias) - penalty.left(ones) + rising
        yield _ParameterKind("removal", left, right, 1.0, place)
