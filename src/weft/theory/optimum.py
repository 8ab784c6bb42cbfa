"""Whether compiled weights are a strict coordinate-wise local optimum (ALTA paper, B.5 and B.6).

Theorem 2 says that they are where the rules are minimal for D (Definition 1) and α is below 1; for
squared L2, below 1/(2K), K = max(1, max N_j - 1). It holds. Theorem 1 says that otherwise they are
not, and as printed that is false: W1_jk alone does affect the loss where its constraint could go,
since without b1_j moving too the unit falls below 1 wherever its rule fires. What holds, for α < 1:

    strict in every coordinate               if and only if  every rule fires on some state, and
                                             every rule of two or more constraints has a state that
                                             fails exactly one of them, whichever
    and along every removal of a constraint  if and only if  the rules are minimal

where the removal of constraint k moves b1_j up and W1_jk down by the same amount. The page
`docs/optimum.md` has the smallest counter-example and the proof. Parameters that are zero never
fail (lemma 2), so the check looks at the others, and stops at the first that does.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.language.program import Program, as_program
from weft.language.rules import Rule
from weft.theory.derivatives import Penalty, bias_derivatives, one_sided
from weft.theory.derivatives_counts import KinkCounts, count_kinks
from weft.theory.reconstruction import Construction, Floats, Regulariser, paper_rules
from weft.theory.reconstruction_states import States, require_categorical, states_of

UNITS_AT_ONCE = 1 << 15
"""How many units are looked at before the next rules are expanded."""


@dataclass(frozen=True)
class Offender:
    """A parameter in which the weights are no strict minimum.

    Attributes:
        parameter: its name, with the value that it reads or writes: `W2[done=1, 3]`.
        unit: the hidden unit that it belongs to, rules counted from 0.
        rule: the rule of that unit, with one value per constraint.
        weight: what it is in the compiled weights; of a removal, that of W1.
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


@dataclass(frozen=True)
class Optimum:
    """The answer; true where the weights are a strict optimum.

    Attributes:
        offender: the first parameter in which they are not.
        units: how many units were looked at; all of them, where there is no offender.
        states: how many distinct states there are.
        total: how many there are in D, repeated ones counted.
        penalty: the regulariser.
        removals: whether removals of constraints were looked at as well.
    """

    offender: Offender | None
    units: int
    states: int
    total: int
    penalty: Penalty
    removals: bool

    def __bool__(self) -> bool:
        return self.offender is None


def is_strict_coordinate_optimum(
    program: Program | type[Program],
    inputs: Iterable[str | Iterable[Any]],
    alpha: float = 0.5,
    *,
    regulariser: Regulariser = "l1",
    removals: bool = False,
    layers: int | None = None,
) -> Optimum:
    """Whether a program's compiled feed-forward is a strict optimum of the loss over some inputs.

    Args:
        program: one with categorical variables alone.
        inputs: the inputs whose states make up D.
        alpha: the weight of the regulariser.
        regulariser: `l1`, or `l2` for the sum of squares.
        removals: look along removals of single constraints too, which decides minimality.
        layers: how many to run, for programs that do not halt.

    Example:
        >>> import weft
        >>> from weft.theory.optimum import is_strict_coordinate_optimum
        >>> parity = weft.program("parity")
        >>> bool(is_strict_coordinate_optimum(parity, ["101", "11"]))
        True
        >>> found = is_strict_coordinate_optimum(parity, ["1"]).offender
        >>> found.parameter, found.left, found.right, found.why
        ('W2[parity=0, 0]', -0.5, -0.5, 'its rule never fires')
    """
    program = as_program(program)
    penalty = Penalty(alpha, regulariser)
    require_categorical(program)
    states = states_of(program, inputs, layers=layers)
    return check_rules(program.rules, states, penalty, removals=removals)


def check_rules(
    rules: Iterable[Rule], states: States, penalty: Penalty, *, removals: bool = False
) -> Optimum:
    """The same for a rule set and states; resets of heads are left out."""
    expanded = paper_rules(rules)
    seen = 0
    while block := tuple(itertools.islice(expanded, UNITS_AT_ONCE)):
        units = Construction(states.variables, block)
        found = next(offenders(units, states, penalty, removals=removals, first=seen), None)
        seen += len(block)
        if found is not None:
            return Optimum(found, seen, len(states), states.total, penalty, removals)
    return Optimum(None, seen, len(states), states.total, penalty, removals)


def offenders(
    units: Construction,
    states: States,
    penalty: Penalty,
    *,
    removals: bool = False,
    first: int = 0,
) -> Iterator[Offender]:
    """All parameters in which the weights are no strict minimum, unit by unit."""
    counts = count_kinks(units, states)
    tables = [*_writing(units, counts, penalty), *_reading(units, counts, penalty)]
    tables.append(_Table("b1", *bias_derivatives(units, counts, penalty), weight=None))
    if removals:
        tables += _removing(units, counts, penalty)
    wrong = np.stack([~penalty.is_strict(table.left, table.right) for table in tables])
    wrong &= np.stack([table.exists(units) for table in tables])
    for unit in np.flatnonzero(wrong.any(0)).tolist():
        for place in np.flatnonzero(wrong[:, unit]).tolist():
            yield tables[place].offender(units, counts, unit, first)


@dataclass(frozen=True, eq=False)
class _Table:
    """Both derivatives in one kind of parameter, of which every unit has at most one.

    `place` is a place in the antecedent for W1 and removals, the old (0) or new (1) value for W2.
    """

    kind: str
    left: Floats
    right: Floats
    weight: float | None
    place: int = 0

    def exists(self, units: Construction) -> Any:
        """Which units have this parameter, not zero."""
        if self.kind == "b1":
            return np.ones(len(units), bool)
        if self.kind == "W2":
            return units.strength > 0
        return units.reads[:, self.place] >= 0

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


def _writing(units: Construction, counts: KinkCounts, penalty: Penalty) -> Iterator[_Table]:
    """W2: -1 for the old value, +1 for the new one (lemma 4)."""
    for place, weight in enumerate((-1.0, 1.0)):
        weights = np.full(len(units), weight)
        left, right = one_sided(penalty, weights, counts.fires, counts.fires)
        yield _Table("W2", left, right, weight, place)


def _reading(units: Construction, counts: KinkCounts, penalty: Penalty) -> Iterator[_Table]:
    """W1: 1 for each constraint (lemma 6). Wherever a rule fires, its constraints hold."""
    ones = np.ones(len(units))
    for place in range(units.reads.shape[1]):
        rising = units.strength * (counts.near - counts.near_by[:, place])
        left, right = one_sided(penalty, ones, units.strength * counts.fires, rising)
        yield _Table("W1", left, right, 1.0, place)


def _removing(units: Construction, counts: KinkCounts, penalty: Penalty) -> Iterator[_Table]:
    """Along b1_j + ε, W1_jk - ε: only states that fail constraint k change g, at 0 upwards."""
    ones, bias = np.ones(len(units)), units.biases
    for place in range(units.reads.shape[1]):
        rising = units.strength * counts.near_by[:, place]
        left = penalty.left(bias) - penalty.right(ones)
        right = penalty.right(bias) - penalty.left(ones) + rising
        yield _Table("removal", left, right, 1.0, place)
