"""Whether compiled weights are a strict coordinate-wise local optimum (ALTA paper, B.5 and B.6).

Theorem 2 says that they are if the rules are minimal for D (definition 1) and α is below 1; for
squared L2, below 1/(2K), K = max(1, max N_j - 1). It holds for the readings `weights` and `logic`
of definition 1, and is false for `exclusive` (`weft.theory.minimal.minimality`). Theorem 1 says
that otherwise they are not. As printed, that is false: W1_jk alone does affect the loss even if its
constraint could go, since unless b1_j moves too, the unit falls below 1 wherever its rule fires.
Definition 2 as printed allows ε = 0, so that nothing satisfies it; here, ε ≠ 0. If α < 1:

    strict in every coordinate               if and only if  every rule fires on some state, and
                                             every rule of two or more constraints has a state that
                                             fails exactly one of them
    and along every removal of a constraint  if and only if  no unit and no such constraint can go
                                             without changing what the feed-forward makes of D:
                                             the rules are minimal by `weights`

The removal of constraint k moves b1_j up and W1_jk down by the same amount; the constraint on the
old value is part of every rule (B.1) and stays. `docs/optimum.md` has the smallest counterexample
and the proof. Parameters that are zero never fail: the reconstruction loss cannot fall and the
regulariser rises (lemma 2). So each unit has few that may, two of W2, one of W1 per constraint, and
b1, and the check stops at the first that does.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.interpreter.states import StateSet, states_of
from weft.language.program import Program, as_program
from weft.language.rules import Rule
from weft.theory.minimal.minimality import Offence, Reading, is_minimal
from weft.theory.optimum.derivatives import (
    KinkCounts,
    Penalty,
    bias_derivatives,
    count_kinks,
    one_sided,
)
from weft.theory.optimum.reconstruction import (
    Construction,
    Floats,
    Regulariser,
    construct,
    paper_rules,
    require_categorical,
)

UNITS_AT_ONCE = 1 << 15
"""How many units are checked before the next rules are expanded."""


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


@dataclass(frozen=True)
class Optimum:
    """Whether the weights are a strict optimum; true if they are.

    Attributes:
        offender: the first parameter in which they are not.
        units: how many units were checked; all of them, if there is no offender.
        states: how many distinct states there are.
        total: how many states D has, repetitions included.
        penalty: the regulariser.
        removals: whether removals of constraints were checked as well.
        reading: the reading of definition 1 by which minimality was checked; None without removals.
        offence: what can be removed from the rules by this reading, if anything.
    """

    offender: Offender | None
    units: int
    states: int
    total: int
    penalty: Penalty
    removals: bool
    reading: Reading | None = None
    offence: Offence | None = None

    def __bool__(self) -> bool:
        return self.offender is None and self.offence is None

    @property
    def minimal(self) -> bool | None:
        """Whether the rules are minimal by the reading; None without removals."""
        if self.reading is None:
            return None
        return bool(self) if self.reading == "weights" else self.offence is None


def is_strict_coordinate_optimum(
    program: Program | type[Program],
    inputs: Iterable[str | Iterable[Any]],
    alpha: float = 0.5,
    *,
    regulariser: Regulariser = "l1",
    removals: bool = False,
    reading: Reading = "weights",
    layers: int | None = None,
) -> Optimum:
    """Whether a program's compiled feed-forward is a strict optimum of the loss over some inputs.

    Args:
        program: a program with categorical variables only.
        inputs: the inputs whose states make up D.
        alpha: the weight of the regulariser.
        regulariser: `l1`, or `l2` for the sum of squares.
        removals: also check along removals of single constraints: are the rules minimal?
        reading: with `removals`, the reading of definition 1.
        layers: how many layers to run, for programs that do not halt.

    Example:
        >>> import weft
        >>> from weft.theory.optimum.coordinatewise import is_strict_coordinate_optimum
        >>> parity = weft.program("parity")
        >>> bool(is_strict_coordinate_optimum(parity, ["101", "11"]))
        True
        >>> offender = is_strict_coordinate_optimum(parity, ["1"]).offender
        >>> offender.parameter, offender.left, offender.right, offender.why
        ('W2[parity=0, 0]', -0.5, -0.5, 'its rule never fires')
    """
    program = as_program(program)
    penalty = Penalty(alpha, regulariser)
    require_categorical(program)
    states = states_of(program, inputs, layers=layers)
    return check_rules(program.rules, states, penalty, removals=removals, reading=reading)


def check_rules(
    rules: Iterable[Rule],
    states: StateSet,
    penalty: Penalty,
    *,
    removals: bool = False,
    reading: Reading = "weights",
) -> Optimum:
    """Check a rule set over states; resets of heads are left out.

    With `removals`, the rules must be minimal too. For `weights` that is equivalent to a strict
    optimum along the removals themselves, and is decided by the derivatives. The other readings do
    not correspond to directions, so definition 1 is checked besides the coordinates.
    """
    if removals and reading != "weights":
        single = list(paper_rules(rules))
        strict = check_rules(single, states, penalty)
        offence = is_minimal(single, list(states), reading=reading).offence
        return replace(strict, removals=True, reading=reading, offence=offence)
    of_definition = reading if removals else None
    expanded = paper_rules(rules)
    seen = 0
    while block := tuple(itertools.islice(expanded, UNITS_AT_ONCE)):
        units = Construction(states.variables, block)
        offender = next(offenders(units, states, penalty, removals=removals, first=seen), None)
        seen += len(block)
        if offender is not None:
            return Optimum(
                offender, seen, len(states), states.total, penalty, removals, of_definition
            )
    return Optimum(None, seen, len(states), states.total, penalty, removals, of_definition)


def alpha_limit(rules: Iterable[Rule], states: StateSet, kind: Regulariser = "l1") -> float:
    """The largest α below which the weights are a strict optimum.

    Rule j fires F_j times and has Z_j states that fail exactly one of its N_j constraints. The
    limit is the minimum of F_j and 2 Z_j (L1), or of F_j / 2 and Z_j / (N_j - 1) (squared L2); the
    terms in Z_j only for rules of two or more constraints.

    Example:
        >>> import weft
        >>> from weft.theory.optimum.coordinatewise import alpha_limit
        >>> from weft.interpreter.states import states_of
        >>> parity = weft.program("parity")
        >>> alpha_limit(parity.rules, states_of(parity, ["101", "11"]))
        1.0
    """
    units = construct(states.variables, rules)
    counts = count_kinks(units, states)
    fires = np.where(units.strength > 0, counts.fires, 0)
    longer = units.constraints > 1
    near, further = counts.near[longer], units.constraints[longer] - 1
    bounds = (fires / 1, 2.0 * near) if kind == "l1" else (fires / 2, near / further)
    return float(np.concatenate(bounds).min(initial=np.inf))


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
