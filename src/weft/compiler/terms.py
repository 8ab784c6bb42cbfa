"""The terms that units are built from: conditions as 0/1 sums, and integers as sums.

A test of one variable costs no unit. A comparison of integer sums takes one or two threshold units,
in a hidden layer before. Any other test is split into cubes, with one unit per cube.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from weft.compiler.one_hot import Expansion
from weft.compiler.problem import Problem
from weft.errors import WeftError
from weft.language.diagrams import Decision, decision
from weft.language.expressions import (
    Apply,
    Choice,
    Constant,
    Expression,
    Written,
    evaluate,
    literals,
    reads,
    show,
)
from weft.language.ranges import UNDEFINED, Categorical
from weft.language.tables import passing_values, truth
from weft.weights.circuit import Sum, Unit, form
from weft.weights.cubes import Cube, minimise

MANY = 256
"""An integer that is not a sum is built from at most this many cubes."""


@dataclass(frozen=True)
class Conjunction:
    """Values allowed for single variables, and sums that must be 1."""

    atoms: dict[str, frozenset[Any]] = field(default_factory=dict)
    indicators: tuple[Sum, ...] = ()

    def both(self, other: Conjunction) -> Conjunction | None:
        """The conjunction of both; None if they exclude each other."""
        atoms = dict(self.atoms)
        for name, values in other.atoms.items():
            atoms[name] = atoms[name] & values if name in atoms else values
            if not atoms[name]:
                return None
        mine = self.indicators
        return Conjunction(atoms, (*mine, *(i for i in other.indicators if i not in mine)))


MAX_CUBES = 2
"""A condition of at most this many cubes becomes guards rather than a threshold."""

SMALL = 4096
"""Expressions over at most this many states are enumerated."""


class Terms:
    """The terms of one problem; units are created on demand."""

    def __init__(self, problem: Problem, expansion: Expansion, spread: int = 4) -> None:
        self.problem = problem
        self.spread = spread  # a test of at most this many cubes becomes guards
        self.variables = problem.variables
        self.whole = problem.program.variables
        self.circuit = expansion.circuit
        self.expansion = expansion
        self._tests: dict[tuple[int, bool], list[Conjunction]] = {}
        self._sums: dict[int, Sum | None] = {}

    # Conditions

    def condition(self, guard: Iterable[tuple[Expression, bool]]) -> list[Conjunction]:
        """A guard as mutually exclusive conditions; empty if it cannot hold."""
        result = [Conjunction()]
        for test, held in guard:
            pairs = ((one, part) for one in result for part in self.test(test, held))
            result = [both for one, part in pairs if (both := one.both(part)) is not None]
        return result

    def test(self, node: Expression, held: bool) -> list[Conjunction]:
        """A test with a given outcome, as mutually exclusive conditions; empty if impossible."""
        key = (id(node), held)
        if key not in self._tests:
            self._tests[key] = self._test(node, held)
        return self._tests[key]

    def _test(self, node: Expression, held: bool) -> list[Conjunction]:
        split = literals(node, held)
        if len(split) > 1 or split[0][0] is not node:
            return self.condition(split)
        names = reads(node)
        if not names:
            return [Conjunction()] if _constant_outcome(node) is held else []
        if len(names) == 1:
            return self._single(names[0], node, held)
        few = self._few_cubes(node, held)
        if few is not None:
            return few
        compared = self._compared(node, held)
        return [compared] if compared is not None else self._by_cubes(node, held)

    def _few_cubes(self, node: Expression, held: bool) -> list[Conjunction] | None:
        """A test that holds in very few cubes, as guards: cheaper than thresholds of sums."""
        if not self.spread or not self.small(node):
            return None
        try:
            cubes = self._cubes(node, lambda result: truth(result) is held)
        except WeftError:
            return None  # it depends on a head in a way that only sums can express
        return [Conjunction(dict(cube)) for cube in cubes] if len(cubes) <= MAX_CUBES else None

    def small(self, node: Expression) -> bool:
        """Whether the states that an expression depends on are few enough to enumerate."""
        return math.prod(len(self.variables[name]) for name in reads(node)) <= SMALL

    def _single(self, name: str, node: Expression, held: bool) -> list[Conjunction]:
        """A test of one variable: the values that pass."""
        passing = passing_values(node, held, self.variables[name])
        if not passing:
            return []
        some = len(passing) < len(self.variables[name])
        return [Conjunction({name: frozenset(passing)} if some else {})]

    def _compared(self, node: Expression, held: bool) -> Conjunction | None:
        """A comparison of integer sums, as threshold units; None if the test is not one."""
        if not isinstance(node, Apply) or node.function not in COMPARED:
            return None
        left, right = (self.sum(argument) for argument in node.arguments)
        if left is None or right is None:
            return None
        total = left.plus(right, -1).joined()
        compare = node.function if held else _OPPOSITE[node.function]
        return Conjunction({}, (self._indicator(total, compare, show(node)),))

    def _indicator(self, total: Sum, function: Callable[..., Any], note: str) -> Sum:
        """1 if the sum compares with 0 as given, otherwise 0."""
        one, minus = Sum(bias=1), -1
        cases: dict[Any, Callable[[], Sum]] = {
            operator.ge: lambda: self._at_least(total, 0, note),
            operator.gt: lambda: self._at_least(total, 1, note),
            operator.lt: lambda: one.plus(self._at_least(total, 0, note), minus),
            operator.le: lambda: one.plus(self._at_least(total, 1, note), minus),
            operator.eq: lambda: self._equal(total, note),
            operator.ne: lambda: one.plus(self._equal(total, note), minus),
        }
        return cases[function]()

    def _equal(self, total: Sum, note: str) -> Sum:
        return self._at_least(total, 0, note).plus(self._at_least(total, 1, note), -1)

    def _at_least(self, total: Sum, bound: int, note: str) -> Sum:
        low, high = total.bounds(self.whole)
        if low >= bound:
            return Sum(bias=1)
        if high < bound:
            return Sum()
        unit = self.circuit.unit(total.shifted(1 - bound), f"{note}: at least {bound}")
        return Sum(units=((unit, 1),))

    def _by_cubes(self, node: Expression, held: bool) -> list[Conjunction]:
        """Any other test of several variables, as the cubes in which it has the outcome."""
        cubes = self._cubes(node, lambda result: truth(result) is held)
        if len(cubes) <= max(1, self.spread):
            return [Conjunction(dict(cube)) for cube in cubes]
        others = self._cubes(node, lambda result: truth(result) is (not held))
        if len(others) < len(cubes):
            total = Sum(bias=1).plus(self._any_of(others, show(node)), -1)
        else:
            total = self._any_of(cubes, show(node))
        return [Conjunction({}, (total,))]

    def _decision(self, node: Expression) -> Decision:
        """The diagram of an expression, with heads tested last and only if they are read.

        A head that selected several positions leaves a mixture in its slot, so no unit may depend
        on a head in a state in which the step does not read it.
        """
        result = decision(node, self.variables, heads_last=True)
        for guard, _ in result.ways(result.root):
            for name, values in guard:
                if UNDEFINED in values and not self._at_most_one(name):
                    raise WeftError(
                        f"`{show(node)}` depends on the head '{name}' where it may be undefined",
                        subject=self.problem.program.name,
                        remedy=f"Test what makes sure of '{name}' in an `if` of its own first",
                    )
        return result

    def _at_most_one(self, head: str) -> bool:
        offsets = self.problem.program.heads[head].offsets
        return offsets is not None and len(offsets) == 1

    def _cubes(self, node: Expression, wanted: Callable[[Any], bool]) -> list[Cube]:
        found = self._decision(node)
        return minimise(
            {name: frozenset(values) for name, values in guard}
            for guard, result in found.ways(found.root)
            if wanted(result)
        )

    def _any_of(self, cubes: list[Cube], note: str) -> Sum:
        """1 if one of some mutually exclusive cubes holds."""
        total = Sum()
        for cube in cubes:
            total = total.plus(Sum(units=((self.gate(Conjunction(cube), note=note), 1),)))
        return total

    # Integers

    def sum(self, node: Expression) -> Sum | None:
        """An expression as an integer sum; None if it is not one."""
        if id(node) not in self._sums:
            self._sums[id(node)] = self._sum(node)
        return self._sums[id(node)]

    def _sum(self, node: Expression) -> Sum | None:
        names = reads(node)
        if isinstance(node, Written):
            return self.sum(node.value)
        if not names:
            return _constant_sum(node)
        if len(names) == 1:
            return self._single_sum(names[0], node)
        if isinstance(node, Apply):
            return self._applied_sum(node)
        if isinstance(node, Choice):
            return self._chosen_sum(node)
        return None

    def _single_sum(self, name: str, node: Expression) -> Sum | None:
        weights: dict[Any, int] = {}
        for value in self.variables[name].range.values:
            try:
                result = evaluate(node, {name: value})
            except Exception:
                continue  # a value at which the step fails
            if not isinstance(result, int):
                return None
            weights[value] = int(result)
        return self._weighted(name, weights)

    def _weighted(self, name: str, weights: dict[Any, int]) -> Sum:
        """A function of one variable."""
        name = self.problem.aliases.get(name, name)
        whole = self.whole[name].range
        if isinstance(whole, Categorical):
            terms = form({name: [weights.get(value, 0) for value in whole.values]})
            return Sum(((terms, 1),)) if terms.terms else Sum()
        return self.expansion.weighted(name, weights)

    def _applied_sum(self, node: Apply) -> Sum | None:
        if node.function in (operator.add, operator.sub):
            left, right = (self.sum(argument) for argument in node.arguments)
            if left is None or right is None:
                return None
            return left.plus(right, 1 if node.function is operator.add else -1).joined()
        if node.function is operator.neg:
            inner = self.sum(node.arguments[0])
            return None if inner is None else inner.scaled(-1)
        if node.function is operator.mul:
            for one, other in (node.arguments, node.arguments[::-1]):
                if isinstance(one, Constant) and isinstance(one.value, int):
                    inner = self.sum(other)
                    return None if inner is None else inner.scaled(one.value)
        return self._few_valued_sum(node)

    def _chosen_sum(self, node: Choice) -> Sum | None:
        then, otherwise = self.sum(node.then), self.sum(node.otherwise)
        if then is not None and otherwise is not None:
            difference = then.plus(otherwise, -1).joined()
            if not difference.forms and not difference.units:
                indicator = self._as_sum(self.test(node.test, True))
                return otherwise.plus(indicator, difference.bias)
        return self._few_valued_sum(node)

    def _few_valued_sum(self, node: Expression) -> Sum | None:
        """Any integer with few values: each value times the cubes in which it occurs."""
        found = self._decision(node)
        by_value: dict[Any, list[Cube]] = {}
        for guard, result in found.ways(found.root):
            if not isinstance(result, int):
                return None
            cube = {name: frozenset(values) for name, values in guard}
            by_value.setdefault(int(result), []).append(cube)
        if sum(map(len, by_value.values())) > 64 * MANY:
            return None
        cubes = {value: minimise(listed) for value, listed in by_value.items()}
        common = max(cubes, key=lambda value: len(cubes[value]), default=0)
        if sum(len(listed) for value, listed in cubes.items() if value != common) > MANY:
            return None
        total = Sum(bias=common)
        for value, listed in cubes.items():
            if value != common:
                total = total.plus(self._any_of(listed, show(node)), value - common)
        return total

    def _as_sum(self, conditions: list[Conjunction]) -> Sum:
        """Mutually exclusive conditions, as a sum that is 1 if one of them holds."""
        total = Sum()
        for condition in conditions:
            total = total.plus(self._condition_as_sum(condition))
        return total

    def _condition_as_sum(self, condition: Conjunction) -> Sum:
        if not condition.atoms and len(condition.indicators) == 1:
            return condition.indicators[0]
        if len(condition.atoms) == 1 and not condition.indicators:
            ((name, values),) = condition.atoms.items()
            return self._atom(name, values)
        return Sum(units=((self.gate(condition), 1),))

    # Units

    def gate(self, condition: Conjunction, above: Sum | None = None, note: str = "") -> Unit:
        """A unit that is 1 if a condition holds and the sum, if given, is at least 1.

        The parts of a mixture can round to slightly more than 1 in total. A unit that reads a head
        with mixtures therefore has a margin in states in which its condition does not hold.
        """
        atoms = Sum()
        count = 0
        for name, values in condition.atoms.items():
            atoms = atoms.plus(self._atom(name, values))
            count += 1
        total = atoms.joined()
        for indicator in condition.indicators:
            total = total.plus(indicator)
            count += 1
        mixes = self._may_mix(total) or (above is not None and self._may_mix(above))
        if above is None:
            total = total.shifted(-count).scaled(2 if mixes else 1).shifted(1)
        else:
            low, high = above.bounds(self.whole)
            force = max(1, high) + (1 + high - low if mixes else 0)
            total = above.plus(total.shifted(-count), force)
        if not total.units:
            total = total.joined()
        return self.circuit.unit(total, note)

    def _may_mix(self, total: Sum | Unit) -> bool:
        """Whether a sum depends on a head that can select several positions."""
        names = {name for form_, _ in total.forms for name, _ in form_.terms}
        return any(
            self.whole[name].is_head and not self._at_most_one(name) for name in names
        ) or any(self._may_mix(unit) for unit, _ in total.units)

    def _atom(self, name: str, values: frozenset[Any]) -> Sum:
        """1 if a variable has one of some values."""
        known = self.whole[name].range.values
        if UNDEFINED in values:
            others = {value: 1 for value in known if value not in values}
            return Sum(bias=1).plus(self._weighted(name, others), -1)
        return self._weighted(name, dict.fromkeys(values, 1))


def _constant_outcome(node: Expression) -> bool | None:
    """The outcome of a test without variables; None if the step always fails."""
    try:
        return truth(evaluate(node, {}))
    except Exception:
        return None


def _constant_sum(node: Expression) -> Sum | None:
    """A sum without variables; None also if the step always fails."""
    try:
        value = evaluate(node, {})
    except Exception:
        return None
    return Sum(bias=int(value)) if isinstance(value, int) else None


COMPARED = {operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge}
_OPPOSITE = {
    operator.eq: operator.ne,
    operator.ne: operator.eq,
    operator.lt: operator.ge,
    operator.ge: operator.lt,
    operator.gt: operator.le,
    operator.le: operator.gt,
}
