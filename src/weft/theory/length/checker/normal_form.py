"""A C-RASP program as Boolean nodes and linear forms, for the product exploration.

The checker derives this from the graph of operations itself; it shares nothing with
`weft.crasp.analysis`. A comparison tests linear combinations of counts: the combination of its
unguarded counts is a *form*, which the exploration tracks as one integer. Conditional counts, `min`
and `max` are split into cases, each with guards, of which exactly one case holds at a position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, lcm

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
    Not,
    Or,
    Periodic,
    Position,
    Previous,
    Subtract,
    Symbol,
)
from weft.crasp.graph import graph_of, index_of
from weft.crasp.program import CraspProgram

MAX_CASES = 64
MAX_NODES = 20_000
MAX_NUMBER = 10**15
MAX_OFFSET = 64
MAX_PERIOD = 10_000
MAX_TERMS = 1_000_000
"""Terms of all sums that are formed, at most."""


class TooLarge(Exception):
    """The program is beyond what the checker explores; the message says why."""


@dataclass(frozen=True)
class Linear:
    """`scale * form + sum of coefficient * bit + constant`; form -1 stands for no form."""

    form: int
    scale: int
    bits: tuple[tuple[int, int], ...]
    constant: int


@dataclass(frozen=True)
class Case:
    """A linear value, and the nodes whose given values make it the one that holds."""

    guards: tuple[tuple[int, bool], ...]
    value: Linear


@dataclass(frozen=True)
class SymbolNode:
    """The letter at this position has this index."""

    letter: int


@dataclass(frozen=True)
class ConstantNode:
    """True or false."""

    value: bool


@dataclass(frozen=True)
class PositionNode:
    """A periodic predicate."""

    predicate: Periodic


@dataclass(frozen=True)
class NotNode:
    """Negation."""

    operand: int


@dataclass(frozen=True)
class JunctionNode:
    """Conjunction, or disjunction if `conjunction` is false."""

    conjunction: bool
    operands: tuple[int, ...]


@dataclass(frozen=True)
class ReadNode:
    """A node at the position `offset` before this one; false before position 1."""

    body: int
    offset: int


@dataclass(frozen=True)
class TestNode:
    """A linear value compared with 0; exactly one case applies."""

    operator: str
    cases: tuple[Case, ...]


Node = SymbolNode | ConstantNode | PositionNode | NotNode | JunctionNode | ReadNode | TestNode
Form = tuple[tuple[int, int], ...]
"""Counted nodes with their coefficients; the first is positive, and they have no common factor."""


@dataclass(frozen=True)
class NormalForm:
    """The nodes of a program in order, its forms, and the node that accepts.

    Attributes:
        nodes: in order; a node uses earlier ones only.
        forms: the combinations of counts that the tests compare.
        bounds: by form, beyond which magnitude no test tells values apart.
        columns: the earlier values that are kept: (node, offset).
        period: of all periodic predicates.
        accepting: the node of the accepting line.
    """

    nodes: tuple[Node, ...]
    forms: tuple[Form, ...]
    bounds: tuple[int, ...]
    columns: tuple[tuple[int, int], ...]
    period: int
    accepting: int


@dataclass(frozen=True)
class _Sum:
    counts: tuple[tuple[int, int], ...] = ()
    bits: tuple[tuple[int, int], ...] = ()
    constant: int = 0


_Cases = list[tuple[tuple[tuple[int, bool], ...], _Sum]]


class _Builder:
    def __init__(self, program: CraspProgram) -> None:
        self.alphabet = program.alphabet
        self.nodes: list[Node] = []
        self.forms: list[Form] = []
        self._index: dict[Node, int] = {}
        self._form_index: dict[Form, int] = {}
        self._booleans: dict[int, int] = {}
        self._counts: dict[int, _Cases] = {}
        self._terms = 0

    def build(self, program: CraspProgram) -> NormalForm:
        graph = graph_of(program)
        for number, operation in enumerate(graph.operations):
            self._add_operation(number, operation)
        return NormalForm(
            tuple(self.nodes),
            tuple(self.forms),
            self._bounds(),
            self._columns(),
            self._period(),
            self._booleans[graph.lines[program.accepting]],
        )

    def node(self, node: Node) -> int:
        if node not in self._index:
            if len(self.nodes) >= MAX_NODES:
                raise TooLarge(f"the program has more than {MAX_NODES:,} operations")
            self._index[node] = len(self.nodes)
            self.nodes.append(node)
        return self._index[node]

    def _boolean(self, reference: Expression) -> int:
        return self._booleans[index_of(reference)]

    def _cases(self, reference: Expression) -> _Cases:
        return self._counts[index_of(reference)]

    def _add_operation(self, number: int, operation: Expression) -> None:
        match operation:
            case Symbol(symbol):
                node: Node = SymbolNode(self.alphabet.index(symbol))
            case Constant(value):
                node = ConstantNode(value)
            case Position(predicate):
                node = PositionNode(Periodic(predicate.period, predicate.residues))
            case Not(operand):
                node = NotNode(self._boolean(operand))
            case And(inside) | Or(inside):
                members = tuple(dict.fromkeys(map(self._boolean, inside)))
                node = JunctionNode(isinstance(operation, And), members)
            case Comparison(operator, left, right):
                node = self._test(
                    operator, self._combined(self._cases(left), self._cases(right), -1)
                )
            case Exists(body, None):
                node = self._test(">=", [((), _Sum(((self._boolean(body), 1),), (), -1))])
            case Exists(body, Local(offsets)):
                node = JunctionNode(False, self._reads(body, offsets))
            case Previous(body):
                node = ReadNode(self._boolean(body), 1)
            case _:
                self._counts[number] = self._count(operation)
                return
        self._booleans[number] = self.node(node)

    def _count(self, operation: Expression) -> _Cases:
        match operation:
            case Integer(value):
                return [((), _Sum(constant=value))]
            case Counting(body, None):
                return [((), _Sum(counts=((self._boolean(body), 1),)))]
            case Counting(body, Local(offsets)):
                return [((), _Sum(bits=tuple((bit, 1) for bit in self._reads(body, offsets))))]
            case Add(left, right):
                return self._combined(self._cases(left), self._cases(right), 1)
            case Subtract(left, right):
                return self._combined(self._cases(left), self._cases(right), -1)
            case Conditional(condition, then, otherwise):
                guard = self._boolean(condition)
                return _limited(
                    [
                        ((*guards, (guard, truth)), value)
                        for truth, branch in ((True, then), (False, otherwise))
                        for guards, value in self._cases(branch)
                    ]
                )
            case Minimum(inside) | Maximum(inside):
                operator = "<=" if isinstance(operation, Minimum) else ">="
                chosen = self._cases(inside[0])
                for other in inside[1:]:
                    chosen = self._better(operator, chosen, self._cases(other))
                return chosen
        raise AssertionError(operation)

    def _better(self, operator: str, left: _Cases, right: _Cases) -> _Cases:
        """The cases of `min` or `max` of two counts."""
        cases: _Cases = []
        for left_guards, left_value in left:
            for right_guards, right_value in right:
                difference = self._added(left_value, right_value, -1)
                first = self.node(self._test(operator, [((), difference)]))
                guards = (*left_guards, *right_guards)
                cases.append(((*guards, (first, True)), left_value))
                cases.append(((*guards, (first, False)), right_value))
        return _limited(cases)

    def _combined(self, left: _Cases, right: _Cases, sign: int) -> _Cases:
        """The cases of a sum, or of a difference if the sign is -1."""
        return _limited(
            [
                ((*left_guards, *right_guards), self._added(left_value, right_value, sign))
                for left_guards, left_value in left
                for right_guards, right_value in right
            ]
        )

    def _added(self, left: _Sum, right: _Sum, sign: int) -> _Sum:
        return _Sum(
            self._merged(left.counts, right.counts, sign),
            self._merged(left.bits, right.bits, sign),
            left.constant + sign * right.constant,
        )

    def _merged(
        self, left: tuple[tuple[int, int], ...], right: tuple[tuple[int, int], ...], sign: int
    ) -> tuple[tuple[int, int], ...]:
        self._terms += len(left) + len(right) + 1
        if self._terms > MAX_TERMS:
            raise TooLarge(f"the program's comparisons have more than {MAX_TERMS:,} terms")
        total = dict(left)
        for key, coefficient in right:
            total[key] = total.get(key, 0) + sign * coefficient
            if abs(total[key]) > MAX_NUMBER:
                raise TooLarge(f"a comparison has numbers above {MAX_NUMBER:,}")
        return tuple(sorted((key, c) for key, c in total.items() if c))

    def _reads(self, body: Expression, offsets: Sequence[int]) -> tuple[int, ...]:
        if offsets and offsets[-1] > MAX_OFFSET:
            raise TooLarge(f"the program looks back more than {MAX_OFFSET} positions")
        return tuple(self.node(ReadNode(self._boolean(body), offset)) for offset in offsets)

    def _test(self, operator: str, cases: _Cases) -> TestNode:
        return TestNode(operator, tuple(Case(guards, self._linear(v)) for guards, v in cases))

    def _linear(self, value: _Sum) -> Linear:
        numbers = [value.constant, *(c for _, c in (*value.counts, *value.bits))]
        if max(map(abs, numbers)) > MAX_NUMBER:
            raise TooLarge(f"a comparison has numbers above {MAX_NUMBER:,}")
        if not value.counts:
            return Linear(-1, 0, value.bits, value.constant)
        scale = gcd(*(c for _, c in value.counts))
        if value.counts[0][1] < 0:
            scale = -scale
        form = tuple((body, c // scale) for body, c in value.counts)
        if form not in self._form_index:
            self._form_index[form] = len(self.forms)
            self.forms.append(form)
        return Linear(self._form_index[form], scale, value.bits, value.constant)

    def _bounds(self) -> tuple[int, ...]:
        bounds = [1] * len(self.forms)
        for node in self.nodes:
            if isinstance(node, TestNode):
                for case in node.cases:
                    value = case.value
                    if value.form >= 0:
                        most = abs(value.constant) + sum(abs(c) for _, c in value.bits)
                        step = sum(abs(c) for _, c in self.forms[value.form])
                        bound = most // abs(value.scale) + step + 1
                        bounds[value.form] = max(bounds[value.form], bound)
        return tuple(bounds)

    def _columns(self) -> tuple[tuple[int, int], ...]:
        depth: dict[int, int] = {}
        for node in self.nodes:
            if isinstance(node, ReadNode):
                depth[node.body] = max(depth.get(node.body, 0), node.offset)
        return tuple((body, k) for body, most in depth.items() for k in range(1, most + 1))

    def _period(self) -> int:
        period = 1
        for node in self.nodes:
            if isinstance(node, PositionNode):
                period = lcm(period, node.predicate.period)
                if period > MAX_PERIOD:
                    raise TooLarge(f"the common period is above {MAX_PERIOD:,}")
        return period


def _limited(cases: _Cases) -> _Cases:
    """Without the cases whose guards contradict each other, if they are not too many."""
    kept: _Cases = []
    for guards, value in cases:
        truth: dict[int, bool] = {}
        if all(truth.setdefault(node, wanted) == wanted for node, wanted in guards):
            kept.append((tuple(truth.items()), value))
    if len(kept) > MAX_CASES:
        raise TooLarge(f"a comparison has more than {MAX_CASES} cases")
    return kept


def normal_form(program: CraspProgram) -> NormalForm:
    """The nodes and forms of a program.

    Raises:
        TooLarge: if the program is beyond the checker's bounds.

    Example:
        >>> from weft.crasp import Comparison, Counting, CraspProgram, Line, Symbol
        >>> a, b = Counting(Symbol("a")), Counting(Symbol("b"))
        >>> program = CraspProgram(("a", "b"), (Line("accept", Comparison("==", a, b)),))
        >>> normal_form(program).forms
        (((0, 1), (1, -1)),)
    """
    return _Builder(program).build(program)
