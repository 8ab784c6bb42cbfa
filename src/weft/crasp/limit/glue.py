"""Boolean glue: the functions of a layer as few units of a feed-forward.

A first-level unit reads the stream. It is a conjunction of literals (a variable takes one of some
values) and of at most one comparison of a form with an integer, or a weighted vote of literals. A
second-level unit reads first-level units. A function is written as a sum of units:

- of its disjoint cases, or 1 minus those of its negation, whichever takes fewer units. A case with
  one comparison is one unit, with an interval two units, as in [form >= 0] - [form >= 1].
- A function without counts that is a weighted vote, such as "at least 3 of these", is one unit.
- Cases with comparisons of two or more forms are second-level units, and so are functions whose
  literals decide between comparisons in too many ways to list: each way is a sum of first-level
  units itself. If a layer has second-level units, its feed-forward has two hidden layers, and every
  function ends in a second-level unit.

Units that several functions use are shared. The choice is greedy: each function takes the way that
adds the fewest units to those of the functions before it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from weft.crasp.limit.intervals import Diagrams, Node
from weft.crasp.limit.normal_form import Form, Linear, Residue, TokenAt, interval_bounds, values_of
from weft.errors import WeftError
from weft.weights.cubes import minimise

MAX_CASES = 1024
"""Functions with more disjoint cases must be written in another way, or are refused."""
MAX_BRANCHES = 256
"""Literals may choose between at most this many functions of forms."""
BRANCHING_PAYS = 8
"""From this many units on, branches and a second hidden layer are tried as well."""
VOTE_ROUNDS = 40
"""How often the weights of a vote are corrected before it is given up."""

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
    circuits = [_built(cases, targets, gates, two_levels)]
    if not two_levels and len(circuits[0].first) > BRANCHING_PAYS:
        circuits.append(_built(cases, targets, gates, two_levels=True))
    return min(circuits, key=lambda circuit: len(circuit.first) + len(circuit.second))


def _built(
    cases: Mapping[Node, _Cases],
    targets: Mapping[Hashable, Node],
    gates: Sequence[tuple[Hashable, Node, Linear]],
    two_levels: bool,
) -> Circuit:
    circuit = Circuit()
    for target, node in targets.items():
        given = cases[node]
        options = given.second_level if two_levels else given.first_level
        circuit.write(target, min(options, key=lambda option: circuit.cost([option])))
    for target, guard, linear in gates:
        for total in _gated(cases[guard].positive, linear, two_levels):
            circuit.write(target, total)
    return circuit


class _Cases:
    """The cases of a function and of its negation, and the sums of units that compute it."""

    def __init__(self, diagrams: Diagrams, symbols: int, node: Node) -> None:
        self.diagrams, self.symbols, self.node = diagrams, symbols, node

    @cached_property
    def _sides(self) -> list[tuple[list[Case], int]]:
        """The cases of the function, and of its negation (-1), if they are few enough."""
        return [
            (self._of(at), sign)
            for at, sign in ((self.node, 1), (self.diagrams.negate(self.node), -1))
            if self.diagrams.count_paths(at, MAX_CASES + 1) <= MAX_CASES
        ]

    @property
    def positive(self) -> list[Case]:
        """The cases in which the function holds."""
        for cases, sign in self._sides:
            if sign > 0:
                return cases
        raise _too_many_cases()

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
        cases = []
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
            cases.append(Case(tuple(literals), tuple(forms)))
        return cases

    @cached_property
    def first_level(self) -> list[UnitSum]:
        """Sums of first-level units; empty if there are none."""
        sums = []
        for cases, sign in self._sides:
            if all(len(case.forms) <= 1 for case in cases):
                sums.append(_signed(_merged(_first_level(case) for case in cases), sign))
        if not self._has_form and all(len(total.terms) > 1 for total in sums):
            sums += filter(None, (self._vote(), self._votes()))
        if not sums and not self._has_form:
            raise _too_many_cases()
        return sums

    @property
    def _has_form(self) -> bool:
        return any(isinstance(v, Form) for v in self.diagrams.support(self.node))

    @cached_property
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
        if vote is not None:
            sums.append(UnitSum(((vote, 1),)))
        if all(len(total.terms) > BRANCHING_PAYS for total in sums):
            try:
                sums.append(self._branches())
            except WeftError:
                if not sums:
                    raise
        return sums

    # Literals that decide between functions of forms

    def _branches(self) -> UnitSum:
        """The function as a sum over the functions of forms that its literals lead to.

        If these imply one another, as in `n bits + form >= c`, the sum is over their differences,
        and the literals must lead to the function or to a weaker one, which is a vote.
        """
        ends = self._ends(self.node)
        if len(ends) > MAX_BRANCHES:
            raise _too_many_cases()
        diagrams = self.diagrams
        chain = sorted(ends, key=lambda end: sum(implies(diagrams, end, other) for other in ends))
        if all(implies(diagrams, b, a) for a, b in pairwise(chain)):
            steps = []
            for place, end in enumerate(chain):  # the weakest first
                stronger = chain[place + 1] if place + 1 < len(chain) else diagrams.false
                difference = diagrams.both(end, diagrams.negate(stronger))
                steps.append((set(chain[: place + 1]), difference))
        else:
            steps = [({end}, end) for end in chain]
        units: dict[SecondUnit, None] = {}
        for leading, end in steps:
            if end == diagrams.false:
                continue
            literals = self._leading_to(leading)
            way = min(literals.first_level, key=lambda total: len(total.terms))
            for case in _Cases(diagrams, self.symbols, end).positive:
                inputs, bias = _inputs(case, gated=False)
                terms = [*inputs, *way.terms]
                units[_second(terms, bias + way.constant - 1)] = None
        return UnitSum(tuple((unit, 1) for unit in units))

    def _ends(self, node: Node) -> list[Node]:
        """The functions of forms alone that literals lead to."""
        ends: dict[Node, None] = {}
        seen: set[Node] = set()
        waiting = [node]
        while waiting:
            at = waiting.pop()
            step = self.diagrams.step(at)
            if at not in seen:
                seen.add(at)
                if step is None or isinstance(step.variable, Form):
                    ends[at] = None
                else:
                    waiting.extend(step.children)
        return list(ends)

    def _leading_to(self, ends: set[Node]) -> _Cases:
        """Whether the literals lead to one of some functions of forms."""
        leading: dict[Node, Node] = {}

        def leads(at: Node) -> Node:
            if at not in leading:
                step = self.diagrams.step(at)
                if step is None or isinstance(step.variable, Form):
                    leading[at] = self.diagrams.leaf(at in ends)
                else:
                    parts = tuple(leads(child) for child in step.children)
                    leading[at] = self.diagrams.select(step.variable, step.cuts, parts)
            return leading[at]

        return _Cases(self.diagrams, self.symbols, leads(self.node))

    # Weighted votes

    def _vote(self) -> UnitSum | None:
        """The function as a weighted vote of literals."""
        learned = find_vote(self.diagrams, self.node)
        if learned is None:
            return None
        return UnitSum(((self._unit(learned.weights, learned.least), 1),))

    def _unit(self, weights: Mapping[Any, tuple[int, ...]], least: int) -> Vote:
        """Whether the weights of the intervals add up to `least` or more."""
        cuts = self.diagrams.cuts(self.node)
        literals = []
        for variable, by_interval in weights.items():
            for number, weight in enumerate(by_interval):
                if weight:
                    values = values_of(cuts[variable], (number,), self._size(variable))
                    literals.append(((variable, frozenset(values)), weight))
        return Vote(tuple(literals), 1 - least)

    def _votes(self) -> UnitSum | None:
        """A function of the number of literals that hold, as in "exactly 3 of these"."""
        steps = find_steps(self.diagrams, self.node)
        if steps is None:
            return None
        terms: list[tuple[Unit, int]] = []
        values = [False, *(steps.holds[total] for total in sorted(steps.holds))]
        for total, (before, after) in zip(sorted(steps.holds), pairwise(values), strict=True):
            if after != before:
                terms.append((self._unit(steps.weights, total), 1 if after else -1))
        return UnitSum(tuple(terms))

    def _vote_of_forms(self) -> SecondUnit | None:
        """A function of forms alone as a weighted vote of comparisons."""
        cuts = self.diagrams.cuts(self.node)
        if not cuts or not all(isinstance(variable, Form) for variable in cuts):
            return None
        learned = find_vote(self.diagrams, self.node)
        if learned is None:
            return None
        terms: list[tuple[FirstUnit, int]] = []
        bias = 1 - learned.least
        for variable, by_interval in learned.weights.items():
            bias += by_interval[0]
            for cut, (before, after) in zip(cuts[variable], pairwise(by_interval), strict=True):
                if after != before:
                    terms.append((Conjunction((), variable, cut), after - before))
        return _second(terms, bias)


@dataclass(frozen=True)
class LearnedVote:
    """A function as a vote: it holds if the weights of the intervals add up to `least` or more."""

    weights: Mapping[Any, tuple[int, ...]]
    least: int


def implies(diagrams: Diagrams, first: Node, second: Node) -> bool:
    """Whether a function implies another one."""
    return diagrams.both(first, diagrams.negate(second)) == diagrams.false


def find_vote(diagrams: Diagrams, node: Node) -> LearnedVote | None:
    """A function as a weighted vote of the intervals of its variables; None if none is found.

    In a vote, the functions that remain when one variable is fixed imply one another. Their order
    gives the initial weights; they are corrected by the perceptron rule on the points that are
    furthest on the wrong side, which are paths of the diagram.
    """
    cuts = diagrams.cuts(node)
    weights: dict[Any, tuple[int, ...]] = {}
    for variable, taken in cuts.items():
        rest = [diagrams.restrict(node, variable, value) for value in (taken[0] - 1, *taken)]
        weaker = [
            len({other for other in rest if other != part and implies(diagrams, other, part)})
            for part in rest
        ]
        order = sorted(range(len(rest)), key=lambda place: weaker[place])
        if not all(implies(diagrams, rest[a], rest[b]) for a, b in pairwise(order)):
            return None
        weights[variable] = tuple(weaker)
    for _ in range(VOTE_ROUNDS):
        least, low = _extreme(diagrams, node, weights, cuts, holds=True)
        most, high = _extreme(diagrams, node, weights, cuts, holds=False)
        if least > most:
            return LearnedVote(weights, least)
        for variable in weights:
            changed = list(weights[variable])
            changed[low[variable]] += 1
            changed[high[variable]] -= 1
            weights[variable] = tuple(changed)
    return None


@dataclass(frozen=True)
class Steps:
    """A function of a sum of weights: whether it holds, by the sum."""

    weights: Mapping[Any, tuple[int, ...]]
    holds: Mapping[int, bool]


def find_steps(diagrams: Diagrams, node: Node) -> Steps | None:
    """A function as one of the number of variables that are not as at the begin symbol.

    None if it is not such a function. A variable counts if its interval makes another function of
    the rest than the interval of 0 does.
    """
    cuts = diagrams.cuts(node)
    weights = {}
    for variable, taken in cuts.items():
        rest = [diagrams.restrict(node, variable, value) for value in (taken[0] - 1, *taken)]
        weights[variable] = tuple(int(function != rest[0]) for function in rest)
    states: dict[Node, set[int]] = {node: {0}}
    for variable in sorted(cuts, key=lambda v: v.key):
        below: dict[Node, set[int]] = {}
        for at, sums in states.items():
            step = diagrams.step(at)
            for number, weight in enumerate(weights[variable]):
                child = at
                if step is not None and step.variable == variable:
                    value = cuts[variable][number - 1] if number else cuts[variable][0] - 1
                    child = step.children[bisect_right(step.cuts, value)]
                below.setdefault(child, set()).update(total + weight for total in sums)
        states = below
    yes, no = states.get(diagrams.true, set()), states.get(diagrams.false, set())
    if yes & no:
        return None
    return Steps(weights, {total: total in yes for total in yes | no})


def _extreme(
    diagrams: Diagrams,
    node: Node,
    weights: Mapping[Any, tuple[int, ...]],
    cuts: Mapping[Any, tuple[int, ...]],
    *,
    holds: bool,
) -> tuple[int, dict[Any, int]]:
    """The least sum of weights where a function holds, or the largest where it does not.

    Also returned: the interval of each variable at such a point.
    """
    sign = 1 if holds else -1
    free = {v: min(range(len(w)), key=lambda n: sign * w[n]) for v, w in weights.items()}
    rest = {v: weights[v][free[v]] for v in weights}  # of a variable that does not matter
    best: dict[Node, tuple[float, Any, int, Node] | None] = {}

    def visit(at: Node) -> float:
        """The least signed sum below a node, over what it costs to leave all variables free."""
        step = diagrams.step(at)
        if step is None:
            return 0.0 if (at == diagrams.true) == holds else math.inf
        if at not in best:
            variable, every = step.variable, cuts[step.variable]
            options = []
            for number in range(len(every) + 1):
                value = every[number - 1] if number else every[0] - 1
                child = step.children[bisect_right(step.cuts, value)]
                extra = sign * (weights[variable][number] - rest[variable])
                options.append((extra + visit(child), variable, number, child))
            best[at] = min(options, key=lambda option: option[0])
        option = best[at]
        assert option is not None
        return option[0]

    total = visit(node)
    chosen = dict(free)
    at = node
    while diagrams.step(at) is not None:
        option = best[at]
        assert option is not None
        _, variable, number, at = option
        chosen[variable] = number
    return int(sign * total) + sum(rest.values()), chosen


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
