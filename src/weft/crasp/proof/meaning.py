"""What a program says of each line: a canonical function of word and position.

A Boolean line is a function with the values 0 and 1. A count line has leaves `constant + (sum over
j <= i of t(j))`, which depend on the Booleans of its conditionals, minima and maxima. This is the
program's meaning as `weft.crasp.reference` defines it, in the terms of `diagrams`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from math import ceil

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
from weft.crasp.proof.diagrams import Diagrams, Function, Integers, Leaf

MINUS = Fraction(-1)


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
                return self._compared(expression, operator, self.read(left), self.read(right))
            case Exists(body, local):
                count = self._counted(self.read(body), local)
                return self._compared(expression, ">=", count, make.constant(1))
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
        return self.diagrams.choice(self._at_least(other, one), one, other)

    def _greater(self, one: Function, other: Function) -> Function:
        return self.diagrams.choice(self._at_least(one, other), one, other)

    def _compared(
        self, expression: Expression, operator: Operator, left: Function, right: Function
    ) -> Function:
        tested: set[int] = set()
        least = self._at_least(left, right, tested)  # left >= right
        more = self._at_least(left, self.diagrams.add(right, self.diagrams.constant(1)), tested)
        self.comparisons[expression] = frozenset(tested)
        equal = self.diagrams.both(least, self.diagrams.negate(more))
        match operator:
            case ">=":
                return least
            case ">":
                return more
            case "==":
                return equal
            case "<":
                return self.diagrams.negate(least)
            case "<=":
                return self.diagrams.negate(more)
            case "!=":
                return self.diagrams.negate(equal)

    def _at_least(
        self, left: Function, right: Function, tested: set[int] | None = None
    ) -> Function:
        """`left >= right`, and the quantities that it tests."""
        make = self.diagrams

        def holds(leaf: Leaf, positions: Integers) -> Integers:
            if leaf.total is None:
                return np.full(len(positions), make.true if leaf.constant >= 0 else make.false)
            scaled = make.scaled(leaf.total)
            if scaled.quantity is not None and tested is not None:
                tested.add(scaled.quantity.number)
            level = ceil(-leaf.constant / Fraction(scaled.grain))
            return make.at_least(scaled, np.full(make.positions, level))[positions]

        return make.expand(make.add(left, make.scale(right, MINUS)), holds)
