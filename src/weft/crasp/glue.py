"""Boolean glue: the functions of a layer as few units of a feed-forward.

A first-level unit reads the stream. It is a conjunction of literals (a variable takes one of some
values) and of at most one comparison of a form with an integer, or a weighted vote of literals. A
second-level unit reads first-level units. A function is written as a sum of units:

- of its disjoint cases, or 1 minus those of its negation, whichever takes fewer units. A case with
  one comparison is one unit, with an interval two units, as in [form >= 0] - [form >= 1].
- A function without counts that is a weighted vote is one unit.
- Cases with comparisons of two or more forms are second-level units. If a layer has any, its
  feed-forward has two hidden layers, and every function ends in a second-level unit.

Units that several functions use are shared. The choice is greedy: each function takes the way that
adds the fewest units to those of the functions before it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

from weft.crasp.intervals import Diagrams, Node
from weft.crasp.normal_form import Form, Linear, Residue, TokenAt, interval_bounds, values_of
from weft.errors import WeftError
from weft.weights.cubes import minimise

MAX_CASES = 2048
"""Functions with more disjoint cases are refused."""
MAX_VOTE_POINTS = 128
"""Weighted votes are looked for if there are at most this many combinations of values."""
VOTE_ROUNDS = 60

Literal = tuple[Any, frozenset[int]]
"""A variable, and the values that it may take."""
Bounds = tuple[int | None, int | None]


@dataclass(frozen=True)
class Conjunction:
    """1 if all literals hold and the form, if there is one, is at least `cut` (or, below it)."""

    literals: tuple[Literal, ...]
    form: Form | None = None
    cut: int = 0
    below: bool = False


@dataclass(frozen=True)
class Vote:
    """1 if the sum of the weights of the literals that hold is at least 1."""

    weights: tuple[tuple[Literal, int], ...]
    bias: int


@dataclass(frozen=True)
class Gate:
    """`linear` / `scale` if all literals hold, otherwise 0; all coefficients are positive."""

    literals: tuple[Literal, ...]
    linear: Linear
    scale: int


FirstUnit = Conjunction | Vote | Gate


@dataclass(frozen=True)
class SecondUnit:
    """A unit over first-level units.

    It is 1 if the weighted sum plus `bias` is at least 1. If it is a `gate`, it is the positive
    part of the sum.
    """

    inputs: tuple[tuple[FirstUnit, int], ...]
    bias: int
    gate: bool = False


Unit = FirstUnit | SecondUnit


@dataclass(frozen=True)
class UnitSum:
    """A weighted sum of units, plus a constant."""

    terms: tuple[tuple[Unit, int], ...]
    constant: int = 0


@dataclass
class Circuit:
    """The units of a feed-forward, and what it adds to the stream.

    Attributes:
        first: the units of the first hidden layer.
        second: the units of the second; empty if there is none.
        writes: by target, what is added.
    """

    first: dict[FirstUnit, None] = field(default_factory=dict)
    second: dict[SecondUnit, None] = field(default_factory=dict)
    writes: dict[Hashable, list[UnitSum]] = field(default_factory=dict)

    def cost(self, sums: Iterable[UnitSum]) -> int:
        """The number of units that sums would add."""
        return len({unit for total in sums for unit in _units(total)} - {*self.first, *self.second})

    def write(self, target: Hashable, total: UnitSum) -> None:
        """Add a sum to a target."""
        for unit in _units(total):
            if isinstance(unit, SecondUnit):
                self.second[unit] = None
            else:
                self.first[unit] = None
        self.writes.setdefault(target, []).append(total)


def _units(total: UnitSum) -> list[Unit]:
    units: list[Unit] = []
    for unit, _ in total.terms:
        if isinstance(unit, SecondUnit):
            units.extend(first for first, _ in unit.inputs)
        units.append(unit)
    return units


@dataclass(frozen=True)
class Case:
    """A conjunction: literals, and for each form the intervals that it may lie in."""

    literals: tuple[Literal, ...]
    forms: tuple[tuple[Form, tuple[Bounds, ...]], ...]


def glue(
    diagrams: Diagrams,
    symbols: int,
    targets: Mapping[Hashable, Node],
    gates: Sequence[tuple[Hashable, Node, Linear]] = (),
) -> Circuit:
    """Units that compute some functions.

    Args:
        diagrams: where the functions are.
        symbols: the number of symbols.
        targets: the functions, by what they are written to.
        gates: guarded summands of counts: target, guard and what is added where the guard holds.
    """
    cases = {
        node: _Cases(diagrams, symbols, node)
        for node in dict.fromkeys([*targets.values(), *(guard for _, guard, _ in gates)])
    }
    two_levels = any(not cases[node].first_level for node in targets.values()) or any(
        case.forms for _, guard, _ in gates for case in cases[guard].positive
    )
    circuit = Circuit()
    for target, node in targets.items():
        given = cases[node]
        options = given.second_level() if two_levels else given.first_level
        circuit.write(target, min(options, key=lambda option: circuit.cost([option])))
    for target, guard, linear in gates:
        for total in _gated(cases[guard].positive, linear, two_levels):
            circuit.write(target, total)
    return circuit


class _Cases:
    """The cases of a function and of its negation, and the sums of units that compute it."""

    def __init__(self, diagrams: Diagrams, symbols: int, node: Node) -> None:
        self.diagrams, self.symbols, self.node = diagrams, symbols, node
        negated = diagrams.negate(node)
        self._sides = [
            (self._of(at), sign)
            for at, sign in ((node, 1), (negated, -1))
            if diagrams.count_paths(at, MAX_CASES + 1) <= MAX_CASES
        ]
        if not self._sides:
            raise _too_many_cases()

    @property
    def positive(self) -> list[Case]:
        """The cases in which the function holds."""
        cases, sign = self._sides[0]
        if sign < 0:
            raise _too_many_cases()
        return cases

    def _size(self, variable: Any) -> int:
        """The number of values of a variable that is not a form."""
        if isinstance(variable, TokenAt):
            return self.symbols + 1
        return variable.period if isinstance(variable, Residue) else 2

    def _of(self, node: Node) -> list[Case]:
        """Disjoint cases of a function."""
        cuts = self.diagrams.cuts(node)
        names = {f"{place:04}": v for place, v in enumerate(sorted(cuts, key=lambda v: v.key))}
        numbers = {variable: name for name, variable in names.items()}
        cubes = [
            {numbers[v]: taken for v, taken in path.items()} for path in self.diagrams.paths(node)
        ]
        before = -1
        while len(cubes) != before:
            before = len(cubes)
            cubes = [
                {name: t for name, t in cube.items() if len(t) <= len(cuts[names[name]])}
                for cube in minimise(cubes)
            ]
        found = []
        for cube in cubes:
            literals: list[Literal] = []
            forms: list[tuple[Form, tuple[Bounds, ...]]] = []
            for name, taken in sorted(cube.items()):
                variable = names[name]
                if isinstance(variable, Form):
                    forms.append((variable, tuple(interval_bounds(cuts[variable], taken))))
                else:
                    values = values_of(cuts[variable], taken, self._size(variable))
                    literals.append((variable, frozenset(values)))
            found.append(Case(tuple(literals), tuple(forms)))
        return found

    @cached_property
    def first_level(self) -> list[UnitSum]:
        """Sums of first-level units; empty if a case compares several forms."""
        sums = []
        for cases, sign in self._sides:
            if all(len(case.forms) <= 1 for case in cases):
                sums.append(_signed(_merged(_first_level(case) for case in cases), sign))
        has_form = any(isinstance(v, Form) for v in self.diagrams.support(self.node))
        if not has_form and all(len(total.terms) > 1 for total in sums):
            vote = self._vote()
            if vote is not None:
                sums.append(UnitSum(((vote, 1),)))
        return sums

    def second_level(self) -> list[UnitSum]:
        """Sums of second-level units."""
        sums = []
        for total in self.first_level:
            if not total.terms:
                sums.append(total)
            else:
                sums.append(UnitSum(((_second(total.terms, total.constant), 1),)))
        for cases, sign in self._sides:
            if any(len(case.forms) > 1 for case in cases):
                for gated in (False, True):
                    units = [_conjunction(case, gated) for case in cases]
                    terms = tuple((unit, 1) for unit in dict.fromkeys(units))
                    sums.append(_signed(UnitSum(terms), sign))
        vote = self._vote_of_forms()
        return sums if vote is None else [*sums, UnitSum(((vote, 1),))]

    def _vote(self) -> Vote | None:
        """The function as a weighted vote of literals."""
        cuts = self.diagrams.cuts(self.node)
        features = [
            (variable, frozenset(values_of(taken, (number,), self._size(variable))))
            for variable, taken in cuts.items()
            for number in range(1, len(taken) + 1)
        ]
        learned = self._learned(
            cuts,
            lambda point: [int(min(values) <= point[v] <= max(values)) for v, values in features],
        )
        if learned is None:
            return None
        weights, bias = learned
        return Vote(tuple((f, w) for f, w in zip(features, weights, strict=True) if w), bias)

    def _vote_of_forms(self) -> SecondUnit | None:
        """A function of forms alone as a weighted vote of comparisons."""
        cuts = self.diagrams.cuts(self.node)
        if not cuts or not all(isinstance(variable, Form) for variable in cuts):
            return None
        features = [(variable, cut) for variable, taken in cuts.items() for cut in taken]
        learned = self._learned(cuts, lambda point: [int(point[v] >= cut) for v, cut in features])
        if learned is None:
            return None
        weights, bias = learned
        terms = [
            (Conjunction((), variable, cut), weight)
            for (variable, cut), weight in zip(features, weights, strict=True)
            if weight
        ]
        return _second(terms, bias)

    def _learned(self, cuts: Mapping[Any, tuple[int, ...]], features: Any) -> Any:
        """Integer weights and bias that separate True from False, by the perceptron rule."""
        sizes = [len(taken) + 1 for taken in cuts.values()]
        points = 1
        for size in sizes:
            points *= size
        if points > MAX_VOTE_POINTS:
            return None
        starts = [(taken[0] - 1, *taken) for taken in cuts.values()]
        samples = []
        for values in product(*starts):
            point = dict(zip(cuts, values, strict=True))
            samples.append((features(point), self.diagrams.evaluate(self.node, point.__getitem__)))
        weights, bias = [0] * len(samples[0][0]), 0
        for _ in range(VOTE_ROUNDS):
            wrong = False
            for inputs, wanted in samples:
                total = sum(w * x for w, x in zip(weights, inputs, strict=True)) + bias
                if (total >= 1) != wanted:
                    wrong, change = True, 1 if wanted else -1
                    bias += change
                    weights = [w + change * x for w, x in zip(weights, inputs, strict=True)]
            if not wrong:
                return weights, bias
        return None


def _too_many_cases() -> WeftError:
    return WeftError(
        f"a Boolean function has more than {MAX_CASES:,} cases",
        remedy="Split its line into several that are counted or read apart",
    )


def _first_level(case: Case) -> UnitSum:
    """A case with at most one form, as first-level units."""
    if not case.forms:
        if not case.literals:
            return UnitSum((), 1)
        return UnitSum(((Conjunction(case.literals), 1),))
    form, runs = case.forms[0]
    return _merged(_run(case.literals, form, run) for run in runs)


def _run(literals: tuple[Literal, ...], form: Form, bounds: Bounds) -> UnitSum:
    """Whether literals hold and a form lies in an interval."""
    low, high = bounds
    if low is None:
        assert high is not None
        if literals:
            return UnitSum(((Conjunction(literals, form, high, below=True), 1),))
        return UnitSum(((Conjunction((), form, high), -1),), 1)
    from_low = (Conjunction(literals, form, low), 1)
    if high is None:
        return UnitSum((from_low,))
    return UnitSum((from_low, (Conjunction(literals, form, high), -1)))


def _merged(sums: Iterable[UnitSum]) -> UnitSum:
    terms: dict[Unit, int] = {}
    constant = 0
    for total in sums:
        constant += total.constant
        for unit, weight in total.terms:
            terms[unit] = terms.get(unit, 0) + weight
    return UnitSum(tuple((unit, w) for unit, w in terms.items() if w), constant)


def _signed(total: UnitSum, sign: int) -> UnitSum:
    """A sum, or 1 minus it."""
    if sign > 0:
        return total
    return UnitSum(tuple((unit, -weight) for unit, weight in total.terms), 1 - total.constant)


def _second(terms: Iterable[tuple[Any, int]], bias: int, gate: bool = False) -> SecondUnit:
    ordered = sorted(terms, key=lambda term: repr(term))
    return SecondUnit(tuple(ordered), bias, gate)


def _inputs(case: Case, gated: bool) -> tuple[list[tuple[FirstUnit, int]], int]:
    """First-level units whose weighted sum plus the constant is at least 1 if the case holds.

    Otherwise it is at most 0. If `gated`, the literals are part of the units of one form.
    """
    forms = sorted(case.forms, key=lambda item: sum(len(set(run) - {None}) for run in item[1]))
    parts = [_merged(_run((), form, run) for run in runs) for form, runs in forms]
    if case.literals:
        if gated and forms:
            parts[0] = _merged(_run(case.literals, forms[0][0], run) for run in forms[0][1])
        else:
            parts.append(UnitSum(((Conjunction(case.literals), 1),)))
    total = _merged(parts)
    return list(total.terms), total.constant - (len(parts) - 1)  # type: ignore[arg-type]


def _conjunction(case: Case, gated: bool) -> SecondUnit:
    terms, bias = _inputs(case, gated)
    return _second(terms, bias)


def _gated(cases: list[Case], linear: Linear, two_levels: bool) -> Iterable[UnitSum]:
    """A linear combination where a guard holds: its positive minus its negative part."""
    for sign in (1, -1):
        terms = tuple((atom, abs(c)) for atom, c in linear.terms if c * sign > 0)
        constant = max(0, sign * linear.constant)
        part = Linear(terms, constant)
        if part == Linear():
            continue
        largest = max(sum(c for _, c in terms), constant)
        scale = 1 << (largest - 1).bit_length()
        for case in cases:
            if not two_levels:
                yield UnitSum(((Gate(case.literals, part, scale), sign * scale),))
            elif not case.forms:
                gate = Gate(case.literals, part, scale)
                yield UnitSum(((_second([(gate, 1)], 0, gate=True), sign * scale),))
            else:
                inputs, bias = _inputs(case, gated=False)
                carried = Gate((), part, scale)
                unit = _second([*inputs, (carried, 1)], bias - 1, gate=True)
                yield UnitSum(((unit, sign * scale),))
