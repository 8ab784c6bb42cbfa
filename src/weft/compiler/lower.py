"""Level 2: from guarded updates to a small circuit.

Tests of single variables cost no unit: they are summands of a unit's input. A test such as
`position == pointer` compares a sum of functions of single variables with a number. It takes one or
two threshold units in a hidden layer before, which all updates share. Other tests are split into
cubes.

A variable is overwritten without naming its old value: clear the slot, then add the new one. A
value such as `(a + b + carry) % 10` is a function of one whole number L: one unit for each L at
which the function changes. With one-hot summands, that is O(N) units where rules take O(N^3).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.compiler.one_hot import Expansion
from weft.compiler.problem import Problem
from weft.compiler.terms import COMPARED, Conjunction, Terms
from weft.errors import WeftError
from weft.language.expressions import (
    Apply,
    Choice,
    Constant,
    Expression,
    Written,
    evaluate,
    reads,
    show,
    value_key,
)
from weft.language.ranges import Categorical, OutOfRange
from weft.language.updates import Update
from weft.weights.circuit import Sum
from weft.weights.cubes import Cube, minimise


@dataclass(frozen=True)
class Steps:
    """A value as a step function of an integer, by the integers at which its code changes."""

    total: Sum
    changes: tuple[tuple[int, int], ...]


Cases = list[tuple[Conjunction, int]]
"""Mutually exclusive conditions, each with the code of a value."""


class Lowering(Terms):
    """The circuit of a problem."""

    def __init__(self, problem: Problem, expansion: Expansion, spread: int = 4) -> None:
        super().__init__(problem, expansion, spread)
        for update in problem.updates:
            for guard in self.condition(update.guard):
                self.assign(update, guard, update.expression)

    def assign(self, update: Update, guard: Conjunction, node: Expression) -> None:
        """Add the units that assign an expression's value if a guard holds."""
        if isinstance(node, Choice) and len(reads(node)) > 1 and not update.whole:
            for held, side in ((True, node.then), (False, node.otherwise)):
                for part in self.test(node.test, held):
                    both = guard.both(part)
                    if both is not None:
                        self.assign(update, both, side)
            return
        value = self.value(update.variable, node, bool(guard.indicators))
        if isinstance(value, Steps) and self.spread and self.small(node):
            value = self._cheaper(update.variable, guard, node, value)
        note = f"{update.variable} := {show(node)}"
        if isinstance(value, Steps):
            self._assign_steps(update.variable, guard, value, note)
        else:
            self._assign_cases(update.variable, guard, value, note)

    def value(self, variable: str, node: Expression, deep: bool) -> Steps | Cases:
        """A value as a step function of a sum, or as cases."""
        names = reads(node)
        if not names:
            return self._constant_cases(variable, node)
        if len(names) == 1 and not deep:
            return self._single_cases(variable, names[0], node)
        steps = self._steps(variable, node)
        if steps is None:
            if len(names) == 1:
                return self._single_cases(variable, names[0], node)
            return self._cube_cases(variable, node)
        return steps

    def _cheaper(
        self, variable: str, guard: Conjunction, node: Expression, steps: Steps
    ) -> Steps | Cases:
        """Cases, if they take fewer units than a step function of a sum."""
        try:
            cases = self._cube_cases(variable, node)
        except WeftError:
            return steps  # it depends on a head in a way that only sums can express
        olds = len(self._old_codes(variable, guard))
        possible = self._possible(guard, cases)
        naming = sum(len(changed) for _, _, changed in self._named(variable, possible))
        fewer = min(naming, len(possible) + olds) < len(steps.changes) + olds
        return cases if fewer else steps

    def _cube_cases(self, variable: str, node: Expression) -> Cases:
        """A value of several variables: the cubes in which it has each of its values."""
        found = self._decision(node)
        by_value: dict[Any, tuple[Any, list[Cube]]] = {}
        for guard, result in found.ways(found.root):
            _, listed = by_value.setdefault(value_key(result), (result, []))
            listed.append({name: frozenset(values) for name, values in guard})
        pairs = [(c, result) for result, cubes in by_value.values() for c in minimise(cubes)]
        return self._cases(variable, pairs)

    def _constant_cases(self, variable: str, node: Expression) -> Cases:
        try:
            return self._cases(variable, [({}, evaluate(node, {}))])
        except Exception:
            return []  # the step always fails there

    def _single_cases(self, variable: str, name: str, node: Expression) -> Cases:
        by_value: dict[Any, tuple[Any, set[Any]]] = {}
        for value in self.variables[name].range.values:
            try:
                result = evaluate(node, {name: value})
            except Exception:
                continue
            by_value.setdefault(value_key(result), (result, set()))[1].add(value)
        pairs = [({name: frozenset(values)}, result) for result, values in by_value.values()]
        return self._cases(variable, pairs)

    def _cases(self, variable: str, pairs: list[tuple[Cube, Any]]) -> Cases:
        range_ = self.whole[variable].range
        cases: Cases = []
        for cube, result in pairs:
            try:
                cases.append((Conjunction(dict(cube)), range_.codes[range_.store(result)]))
            except OutOfRange:
                continue  # the step fails there
        return cases

    def _steps(self, variable: str, node: Expression) -> Steps | None:
        """The value as a function of one integer sum, under functions of one argument."""
        inner, outer = _peeled(node)
        total = self.sum(inner) if len(reads(inner)) == 1 or _is_arithmetic(inner) else None
        if total is None and isinstance(inner, Apply) and inner.function in COMPARED:
            left, right = (self.sum(argument) for argument in inner.arguments)
            if left is not None and right is not None:
                total = left.plus(right, -1)
                compare = inner.function
                outer = [lambda difference: compare(difference, 0), *outer]
        if total is None:
            return None
        total = total.joined()
        low, high = total.bounds(self.whole)
        range_ = self.whole[variable].range
        changes: list[tuple[int, int]] = []
        for number in range(low, high + 1):
            try:
                result: Any = number
                for function in outer:
                    result = function(result)
                code = range_.codes[range_.store(result)]
            except Exception:
                continue  # the step fails there
            if not changes or changes[-1][1] != code:
                changes.append((number, code))
        return Steps(total, tuple(changes))

    def _assign_steps(self, variable: str, guard: Conjunction, steps: Steps, note: str) -> None:
        if not steps.changes:
            return
        self._write_steps(variable, guard, steps, 1, note)
        self._clear(variable, guard)

    def _write_steps(
        self, variable: str, guard: Conjunction, steps: Steps, times: int, note: str
    ) -> None:
        """Add (or subtract) the value of a step function of a sum."""
        previous: int | None = None
        for number, code in steps.changes:
            above = None if previous is None else steps.total.shifted(1 - number)
            unit = self.gate(guard, above, note)
            self.circuit.write(unit, variable, code, times)
            if previous is not None:
                self.circuit.write(unit, variable, previous, -times)
            previous = code

    def _old_codes(self, variable: str, guard: Conjunction) -> list[int]:
        whole = self.whole[variable].range
        allowed = guard.atoms.get(variable)
        return [
            whole.codes[value]
            for value in self.variables[variable].range.values
            if allowed is None or value in allowed
        ]

    def _clear(self, variable: str, guard: Conjunction) -> None:
        """Subtract the old value if a guard holds."""
        values = self.whole[variable].range.values
        olds = self._old_codes(variable, guard)
        if len(olds) == 1:
            self.circuit.write(self.gate(guard), variable, olds[0], -1)
        elif guard.indicators and isinstance(self.whole[variable].range, Categorical):
            total = self._weighted(variable, {values[code]: code for code in olds})
            rest = Conjunction(
                {n: v for n, v in guard.atoms.items() if n != variable}, guard.indicators
            )
            limited = guard if variable in guard.atoms else rest
            steps = Steps(total, tuple((code, code) for code in olds))
            self._write_steps(variable, limited, steps, -1, f"clear {variable}")
        else:
            for code in olds:
                old = guard.both(Conjunction({variable: frozenset([values[code]])}))
                if old is not None:
                    self.circuit.write(self.gate(old, note=f"clear {variable}"), variable, code, -1)

    def _assign_cases(self, variable: str, guard: Conjunction, cases: Cases, note: str) -> None:
        """Add the new value case by case, testing the old value too if that is cheaper."""
        possible = self._possible(guard, cases)
        named = self._named(variable, possible)
        naming = sum(len(changed) for _, _, changed in named)
        if naming > len(possible) + len(self._old_codes(variable, guard)):
            for both, code in possible:
                self.circuit.write(self.gate(both, note=note), variable, code)
            self._clear(variable, guard)
            return
        for _, code, changed in named:
            for old, only in changed:
                unit = self.gate(only, note=note)
                self.circuit.write(unit, variable, code)
                self.circuit.write(unit, variable, old, -1)

    def _possible(self, guard: Conjunction, cases: Cases) -> Cases:
        """The cases that can occur if a guard holds."""
        pairs = ((guard.both(case), code) for case, code in cases)
        return [(both, code) for both, code in pairs if both is not None]

    def _named(
        self, variable: str, cases: Cases
    ) -> list[tuple[Conjunction, int, list[tuple[int, Conjunction]]]]:
        """Each case with the old values that it changes, and the condition on each of them."""
        values = self.whole[variable].range.values
        result = []
        for both, code in cases:
            olds = self._old_codes(variable, both)
            changed = []
            for old in olds:
                named = both.both(Conjunction({variable: frozenset([values[old]])}))
                if old != code and named is not None:
                    changed.append((old, both if len(olds) == 1 else named))
            result.append((both, code, changed))
        return result


def _peeled(node: Expression) -> tuple[Expression, list[Callable[[Any], Any]]]:
    """The innermost varying expression under functions of one argument, and those functions."""
    outer: list[Callable[[Any], Any]] = []
    while True:
        if isinstance(node, Written):
            node = node.value
            continue
        if not isinstance(node, Apply) or node.lazy:
            return node, outer
        varying = [place for place, a in enumerate(node.arguments) if not isinstance(a, Constant)]
        if len(varying) != 1:
            return node, outer
        outer.insert(0, _with_constants(node, varying[0]))
        node = node.arguments[varying[0]]


def _is_arithmetic(node: Expression) -> bool:
    return isinstance(node, Apply) and node.function in (
        operator.add,
        operator.sub,
        operator.neg,
        operator.mul,
    )


def _with_constants(node: Apply, place: int) -> Callable[[Any], Any]:
    constants = [a.value if isinstance(a, Constant) else None for a in node.arguments]

    def apply(value: Any) -> Any:
        return node.function(*constants[:place], value, *constants[place + 1 :])

    return apply
