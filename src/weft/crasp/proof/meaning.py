"""What a program says of each line: a canonical function of word and position.

A Boolean line is a function with the values 0 and 1. A count line has leaves `constant + (sum over
j <= i of t(j))`, which depend on the Booleans of its conditionals, minima and maxima. This is the
program's meaning as `weft.crasp.reference` defines it, in the terms of `diagrams`.

If minima and maxima are compared, their operands are: min(C, D) >= E is C >= E and D >= E. So the
comparison tests no more than it must, and equal comparisons are more often the same function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import product
from math import ceil, prod
from typing import TypeVar

import numpy as np

from weft.crasp.expressions import (
    Add,
    And,
    Comparison,
    Conditional,
    Constant,
    Counting,
    Exists,
    Expression,
    Integer,
    Local,
    Maximum,
    Minimum,
    Name,
    Not,
    Operator,
    Or,
    Position,
    Previous,
    Subtract,
    Symbol,
)
from weft.crasp.program import CraspProgram
from weft.crasp.proof.diagrams import Diagrams
from weft.crasp.proof.nodes import Function, Integers, Leaf

MINUS = Fraction(-1)

T = TypeVar("T")

MAX_PARTS = 256
"""How many functions a maximum of minima may have; larger ones are split into cases instead."""

Extremes = tuple[tuple[Function, ...], ...]
"""A count as a maximum of minima."""


@dataclass(frozen=True)
class Meaning:
    """The functions of a program's lines.

    Attributes:
        program: the program.
        diagrams: where the functions live.
        lines: the function of each line.
        comparisons: the comparisons, with the quantities that each of them tests.
    """

    program: CraspProgram
    diagrams: Diagrams
    lines: Mapping[str, Function]
    comparisons: tuple[tuple[Expression, frozenset[int]], ...]


def meaning_of(program: CraspProgram, longest: int) -> Meaning:
    """The meaning of a program on words of up to `longest` symbols.

    Args:
        program: the program.
        longest: the largest number of symbols.
    """
    diagrams = Diagrams(longest + 1, len(program.alphabet))
    reader = _Reader(program, diagrams)
    for line in program.lines:
        reader.lines[line.name] = reader.read(line.expression)
    return Meaning(program, diagrams, reader.lines, tuple(reader.comparisons.items()))


@dataclass
class _Reader:
    program: CraspProgram
    diagrams: Diagrams
    lines: dict[str, Function] = field(default_factory=dict)
    comparisons: dict[Expression, frozenset[int]] = field(default_factory=dict)
    known: dict[Expression, Function] = field(default_factory=dict)

    def read(self, expression: Expression) -> Function:
        """The function of an expression."""
        if expression not in self.known:
            self.known[expression] = self._read(expression)
        return self.known[expression]

    def _read(self, expression: Expression) -> Function:
        make = self.diagrams
        match expression:
            case Symbol(symbol):
                return make.of_symbol(0, [int(symbol == other) for other in self.program.alphabet])
            case Constant(value) | Integer(value):
                return make.constant(int(value))
            case Position(predicate):
                return make.of_positions(int(predicate.holds(i)) for i in range(make.positions))
            case Not(operand):
                return make.negate(self.read(operand))
            case And(operands):
                return reduce(make.both, map(self.read, operands))
            case Or(operands):
                negated = [make.negate(self.read(operand)) for operand in operands]
                return make.negate(reduce(make.both, negated))
            case Comparison(operator, left, right):
                return self._compared(expression, operator, Subtract(left, right))
            case Exists(body, local):
                excess = Subtract(Counting(body, local), Integer(1))
                return self._compared(expression, ">=", excess)
            case Previous(body):
                return self._counted(self.read(body), Local((1,)))
            case Counting(body, local):
                return self._counted(self.read(body), local)
            case Conditional(condition, then, otherwise):
                return make.choice(self.read(condition), self.read(then), self.read(otherwise))
            case Add(left, right):
                return make.add(self.read(left), self.read(right))
            case Subtract(left, right):
                return make.add(self.read(left), make.scale(self.read(right), MINUS))
            case Minimum(operands):
                return reduce(self._lesser, map(self.read, operands))
            case Maximum(operands):
                return reduce(self._greater, map(self.read, operands))
            case Name(name):
                return self.lines[name]

    def _counted(self, body: Function, local: Local | None) -> Function:
        """How often a Boolean holds; the begin symbol is never counted."""
        make = self.diagrams
        roots = body.roots.copy()
        roots[0] = make.false
        body = make.function(roots)
        if local is None:
            return make.total(body)
        positions = np.arange(make.positions)
        near = [make.fetch(body, np.maximum(positions - offset, 0)) for offset in local.offsets]
        return reduce(make.add, near)

    def _lesser(self, one: Function, other: Function) -> Function:
        less = self.diagrams.add(other, self.diagrams.scale(one, MINUS))
        return self.diagrams.choice(self._not_negative(less), one, other)

    def _greater(self, one: Function, other: Function) -> Function:
        return self.diagrams.scale(
            self._lesser(self.diagrams.scale(one, MINUS), self.diagrams.scale(other, MINUS)), MINUS
        )

    # Comparisons

    def _compared(
        self, expression: Expression, operator: Operator, difference: Expression
    ) -> Function:
        """A comparison of a difference with 0."""
        make, tested = self.diagrams, set[int]()
        parts = self._extremes(difference)
        least = self._all_or_any(parts, 0, tested)  # difference >= 0
        more = self._all_or_any(parts, -1, tested)  # difference >= 1
        self.comparisons[expression] = frozenset(tested)
        equal = make.both(least, make.negate(more))
        match operator:
            case ">=":
                return least
            case ">":
                return more
            case "==":
                return equal
            case "<":
                return make.negate(least)
            case "<=":
                return make.negate(more)
            case "!=":
                return make.negate(equal)

    def _all_or_any(self, parts: Extremes, added: int, tested: set[int]) -> Function:
        """Whether a maximum of minima, plus a constant, is not negative."""
        make, constant = self.diagrams, self.diagrams.constant(added)
        holds = [
            reduce(make.both, (self._not_negative(make.add(f, constant), tested) for f in minimum))
            for minimum in parts
        ]
        return make.negate(reduce(make.both, map(make.negate, holds)))

    def _not_negative(self, function: Function, tested: set[int] | None = None) -> Function:
        """`function >= 0`; adds the quantities that it tests."""
        make = self.diagrams

        def holds(leaf: Leaf, positions: Integers) -> Integers:
            if leaf.total is None:
                return np.full(len(positions), make.true if leaf.constant >= 0 else make.false)
            scaled = make.scaled(leaf.total)
            if scaled.quantity is not None and tested is not None:
                tested.add(scaled.quantity.number)
            level = ceil(-leaf.constant / Fraction(scaled.grain))
            return make.at_least(scaled, np.full(make.positions, level))[positions]

        return make.expand(function, holds)

    def _extremes(self, expression: Expression) -> Extremes:
        """A count as a maximum of minima of functions."""
        parts = self._split(expression)
        if sum(map(len, parts)) > MAX_PARTS:
            return ((self.read(expression),),)
        return parts

    def _split(self, expression: Expression) -> Extremes:
        make = self.diagrams
        match expression:
            case Minimum(operands):
                return reduce(_minimum, map(self._extremes, operands))
            case Maximum(operands):
                return reduce(lambda one, other: one + other, map(self._extremes, operands))
            case Add(left, right):
                return self._sum(self._extremes(left), self._extremes(right))
            case Subtract(left, right) if left == right:
                return ((make.constant(0),),)
            case Subtract(left, right):
                return self._sum(self._extremes(left), self._negative(self._extremes(right)))
            case Conditional(condition, then, otherwise):
                chosen = self.read(condition)
                return tuple(
                    tuple(make.choice(chosen, one, other) for one, other in _padded(first, second))
                    for first, second in _padded(self._extremes(then), self._extremes(otherwise))
                )
            case Name(name):
                return self._extremes(self.program.expressions[name])
            case _:
                return ((self.read(expression),),)

    def _sum(self, one: Extremes, other: Extremes) -> Extremes:
        return tuple(
            tuple(self.diagrams.add(a, b) for a in first for b in second)
            for first in one
            for second in other
        )

    def _negative(self, given: Extremes) -> Extremes:
        """Minus a maximum of minima is a minimum of maxima, and so a maximum of minima again."""
        if prod(map(len, given)) > MAX_PARTS:
            whole = reduce(self._greater, (reduce(self._lesser, part) for part in given))
            given = ((whole,),)
        negated = [[self.diagrams.scale(f, MINUS) for f in part] for part in given]
        return tuple(tuple(dict.fromkeys(chosen)) for chosen in product(*negated))


def _minimum(one: Extremes, other: Extremes) -> Extremes:
    return tuple(first + second for first in one for second in other)


def _padded(one: Sequence[T], other: Sequence[T]) -> Iterator[tuple[T, T]]:
    """Two sequences side by side, the shorter one with its last item again and again."""
    for place in range(max(len(one), len(other))):
        yield one[min(place, len(one) - 1)], other[min(place, len(other) - 1)]
