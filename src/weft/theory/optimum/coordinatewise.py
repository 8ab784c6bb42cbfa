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
and the proof. Parameters that are zero never fail (lemma 2), so the check looks at the others and
stops at the first that does.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weft.interpreter.states import StateSet, states_of
from weft.language.program import Program, as_program
from weft.language.rules import Rule
from weft.theory.minimal.minimality import Offence, Reading, is_minimal
from weft.theory.optimum.derivatives import Penalty
from weft.theory.optimum.kinks import count_kinks
from weft.theory.optimum.offenders import Offender, offenders
from weft.theory.optimum.reconstruction import (
    Construction,
    Regulariser,
    construct,
    paper_rules,
    require_categorical,
)

UNITS_AT_ONCE = 1 << 15
"""How many units are checked before the next rules are expanded."""


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
