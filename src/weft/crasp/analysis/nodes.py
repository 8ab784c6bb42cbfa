"""Booleans of programs as nodes, and the integers that they compare.

    Booleans   tests of symbol and position, negation, conjunction, disjunction, the value of a node
               some positions before, and thresholds: comparisons of an integer with 0
    integers   linear combinations of counts and of node values; choices between integers

A comparison becomes one threshold of the difference of its sides. If a side is a conditional
count, a minimum or a maximum, it is split into cases, each with one linear combination to compare:

    (P ? C : D) < E    (P and C - E < 0) or (not P and D - E < 0)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import gcd
from typing import TypeAlias

from weft.crasp.expressions import (
    BOOLEANS,
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
from weft.crasp.graph import index_of
from weft.crasp.reference import OPERATORS

MAX_CASES = 64
"""A comparison is split into at most this many cases; beyond, it compares a sum of choices."""


# Booleans. A node refers to others by their numbers, which are smaller than its own.


@dataclass(frozen=True)
class Atom:
    """A test of the symbol or of the position, or a constant."""

    expression: Symbol | Position | Constant


@dataclass(frozen=True)
class Negation:
    """The negation of a node."""

    operand: int


@dataclass(frozen=True)
class Junction:
    """The conjunction or the disjunction of nodes."""

    conjunction: bool
    operands: tuple[int, ...]


@dataclass(frozen=True)
class Read:
    """The value of a node at position i - offset, for an offset of at least 1; false before 1."""

    body: int
    offset: int


@dataclass(frozen=True)
class Threshold:
    """A comparison of an integer with 0."""

    operator: Operator
    value: Value


Node: TypeAlias = Atom | Negation | Junction | Read | Threshold

# Integers


@dataclass(frozen=True)
class Linear:
    """A constant, plus counts of nodes and values of nodes, each with a coefficient."""

    counts: tuple[tuple[int, int], ...] = ()
    bits: tuple[tuple[int, int], ...] = ()
    constant: int = 0
    cases = 1

    def plus(self, other: Linear, sign: int) -> Linear:
        """The sum, or the difference if the sign is -1."""
        return Linear(
            _added(self.counts, other.counts, sign),
            _added(self.bits, other.bits, sign),
            self.constant + sign * other.constant,
        )

    @cached_property
    def form(self) -> Form | None:
        """The counts divided by `scale`: equal for multiples. None if there are no counts."""
        return tuple((node, c // self.scale) for node, c in self.counts) if self.counts else None

    @cached_property
    def scale(self) -> int:
        """The common divisor of the counts' coefficients, with the sign of the first."""
        divisor = gcd(*(coefficient for _, coefficient in self.counts))
        return -divisor if self.counts and self.counts[0][1] < 0 else divisor


@dataclass(frozen=True)
class Choice:
    """One integer if a node holds, otherwise another."""

    condition: int
    then: Value
    otherwise: Value

    @cached_property
    def cases(self) -> int:
        """The number of integers that it chooses from."""
        return self.then.cases + self.otherwise.cases


@dataclass(frozen=True)
class Total:
    """A sum of integers with signs that would be a choice between too many cases."""

    summands: tuple[tuple[Value, int], ...]
    cases = MAX_CASES


Value: TypeAlias = Linear | Choice | Total
Form: TypeAlias = tuple[tuple[int, int], ...]
"""Counted nodes with coefficients, which have no common divisor; the first is positive."""


class NodeBuilder:
    """Collects the nodes of Boolean operations, each once."""

    def __init__(self, alphabet: Sequence[str], operations: Sequence[Expression]) -> None:
        self.alphabet = tuple(alphabet)
        self.nodes: list[Node] = []
        self._operations = operations
        self._numbers: dict[Node, int] = {}
        self._booleans: dict[int, int] = {}
        self._values: dict[int, Value] = {}
        symbols = tuple(self.add(Atom(Symbol(symbol))) for symbol in alphabet)
        self._at_symbol = self.add(Junction(False, symbols))  # not at the begin symbol
        for index, operation in enumerate(operations):  # in order, so that recursion is shallow
            reference = Name(str(index))
            if isinstance(operation, BOOLEANS):
                self.boolean(reference)
            else:
                self.value(reference)

    def add(self, node: Node) -> int:
        """The number of a node."""
        if node not in self._numbers:
            self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return self._numbers[node]

    def constant(self, value: bool) -> int:
        """The node of a constant."""
        return self.add(Atom(Constant(value)))

    def differ(self, left: int, right: int) -> int:
        """Whether two nodes have different values."""
        if left == right:
            return self.constant(False)
        only_left = Junction(True, (left, self.add(Negation(right))))
        only_right = Junction(True, (right, self.add(Negation(left))))
        return self.add(Junction(False, (self.add(only_left), self.add(only_right))))

    def any(self, nodes: Sequence[int]) -> int:
        """Whether one of some nodes holds."""
        return self.add(Junction(False, tuple(nodes)))

    def boolean(self, reference: Expression) -> int:
        """The node of a Boolean operation."""
        index = index_of(reference)
        if index not in self._booleans:
            self._booleans[index] = self._boolean(self._operations[index])
        return self._booleans[index]

    def _boolean(self, operation: Expression) -> int:
        match operation:
            case Symbol() | Position() | Constant():
                return self.add(Atom(operation))
            case Not(operand):
                return self.add(Negation(self.boolean(operand)))
            case And(operands) | Or(operands):
                inside = tuple(map(self.boolean, operands))
                return self.add(Junction(isinstance(operation, And), inside))
            case Comparison(operator, left, right):
                return self._compare(operator, _plus(self.value(left), self.value(right), -1))
            case Exists(body, local):
                return self._compare(">", self._counted(body, local))
            case Previous(body):
                return self.add(Read(self.boolean(body), 1))
        raise AssertionError(f"{operation} is not Boolean")

    def value(self, reference: Expression) -> Value:
        """The integer of a count operation."""
        index = index_of(reference)
        if index not in self._values:
            self._values[index] = self._value(self._operations[index])
        return self._values[index]

    def _value(self, operation: Expression) -> Value:
        match operation:
            case Counting(body, local):
                return self._counted(body, local)
            case Integer(value):
                return Linear(constant=value)
            case Conditional(condition, then, otherwise):
                return _choose(self.boolean(condition), self.value(then), self.value(otherwise))
            case Add(left, right):
                return _plus(self.value(left), self.value(right), 1)
            case Subtract(left, right):
                return _plus(self.value(left), self.value(right), -1)
            case Minimum(operands):
                return reduce(lambda c, d: self._extreme("<", c, d), map(self.value, operands))
            case Maximum(operands):
                return reduce(lambda c, d: self._extreme(">", c, d), map(self.value, operands))
        raise AssertionError(f"{operation} is not a count")

    def _counted(self, body: Expression, local: Local | None) -> Linear:
        node = self.boolean(body)
        if local is None:
            return Linear(counts=((node, 1),))
        near = [self.add(Read(node, offset)) for offset in local.offsets if offset]
        if 0 in local.offsets:
            near.append(self.add(Junction(True, (node, self._at_symbol))))
        return Linear(bits=tuple((bit, 1) for bit in sorted(near)))

    def _extreme(self, operator: Operator, left: Value, right: Value) -> Value:
        return _choose(self._compare(operator, _plus(left, right, -1)), left, right)

    def _compare(self, operator: Operator, value: Value) -> int:
        """The node that compares an integer with 0, case by case."""
        match value:
            case Choice(condition, then, otherwise) if value.cases <= MAX_CASES:
                holds = (condition, self._compare(operator, then))
                fails = (self.add(Negation(condition)), self._compare(operator, otherwise))
                cases = (self.add(Junction(True, holds)), self.add(Junction(True, fails)))
                return self.add(Junction(False, cases))
            case Linear(counts=(), bits=()):
                return self.constant(bool(OPERATORS[operator](value.constant, 0)))
        return self.add(Threshold(operator, value))


def _added(left: Form, right: Form, sign: int) -> Form:
    total = dict(left)
    for node, coefficient in right:
        total[node] = total.get(node, 0) + sign * coefficient
    return tuple((node, total[node]) for node in sorted(total) if total[node])


def _choose(condition: int, then: Value, otherwise: Value) -> Value:
    return then if then == otherwise else Choice(condition, then, otherwise)


def _plus(left: Value, right: Value, sign: int) -> Value:
    """The sum of two integers, or their difference if the sign is -1."""
    if isinstance(left, Linear) and isinstance(right, Linear):
        return left.plus(right, sign)
    if left.cases * right.cases > MAX_CASES:
        return Total((*_summands(left, 1), *_summands(right, sign)))
    if isinstance(left, Choice) and isinstance(right, Choice):
        if left.condition == right.condition:
            then = _plus(left.then, right.then, sign)
            return _choose(left.condition, then, _plus(left.otherwise, right.otherwise, sign))
    if isinstance(left, Choice):
        then = _plus(left.then, right, sign)
        return _choose(left.condition, then, _plus(left.otherwise, right, sign))
    if isinstance(right, Choice):
        then = _plus(left, right.then, sign)
        return _choose(right.condition, then, _plus(left, right.otherwise, sign))
    return Total((*_summands(left, 1), *_summands(right, sign)))


def _summands(value: Value, sign: int) -> tuple[tuple[Value, int], ...]:
    inside = value.summands if isinstance(value, Total) else ((value, 1),)
    return tuple((summand, sign * times) for summand, times in inside)


def linear_parts(value: Value) -> Iterator[Linear]:
    """All linear combinations inside an integer."""
    match value:
        case Linear():
            yield value
        case Choice(_, then, otherwise):
            yield from linear_parts(then)
            yield from linear_parts(otherwise)
        case Total(summands):
            for summand, _ in summands:
                yield from linear_parts(summand)


def conditions(value: Value) -> Iterator[int]:
    """The nodes of all choices inside an integer."""
    match value:
        case Choice(condition, then, otherwise):
            yield condition
            yield from conditions(then)
            yield from conditions(otherwise)
        case Total(summands):
            for summand, _ in summands:
                yield from conditions(summand)
