"""A program as a graph of operations: names are resolved, equal sub-expressions are one operation.

Operation k is an expression whose operands are references `Name("j")` to operations j < k. So the
expressions of `weft.crasp.expressions` serve here too, and a pass over the operations in order is
linear in the size of the program, however often a line is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from weft.crasp.expressions import (
    Add,
    And,
    Comparison,
    Conditional,
    Counting,
    Exists,
    Expression,
    Integer,
    Local,
    Maximum,
    Minimum,
    Name,
    Operator,
    Or,
    Periodic,
    Position,
    Previous,
    Subtract,
    operands,
    with_operands,
)
from weft.crasp.program import CraspProgram

Bounds = tuple[float, float]
"""The least and the largest value of a count: integers, or infinite."""

MIRRORED: dict[Operator, Operator] = {
    "<": ">",
    "<=": ">=",
    "==": "==",
    "!=": "!=",
    ">=": "<=",
    ">": "<",
}
"""The operator that compares the same two counts in the other order."""


@dataclass(frozen=True)
class Graph:
    """The operations of one program or of several.

    Attributes:
        operations: in order; operands are references to earlier ones.
        lines: by the name of a line, the index of its operation.
    """

    operations: tuple[Expression, ...]
    lines: Mapping[str, int]


class GraphBuilder:
    """Collects operations, each once."""

    def __init__(self) -> None:
        self.operations: list[Expression] = []
        self._index: dict[Expression, int] = {}

    def add(self, operation: Expression) -> Name:
        """A reference to an operation, which is new or known; its operands are references."""
        if isinstance(operation, Name):
            return operation
        key = _key(operation)
        if key not in self._index:
            self._index[key] = len(self.operations)
            self.operations.append(operation)
        return Name(str(self._index[key]))

    def add_expression(self, expression: Expression, lines: Mapping[str, Name]) -> Name:
        """A reference to the operation of an expression; `lines` are the names that it may use."""
        if isinstance(expression, Name):
            return lines[expression.name]
        inside = [self.add_expression(operand, lines) for operand in operands(expression)]
        return self.add(with_operands(expression, inside) if inside else expression)

    def add_program(self, program: CraspProgram) -> dict[str, Name]:
        """References to the operations of a program's lines, by name."""
        lines: dict[str, Name] = {}
        for line in program.lines:
            lines[line.name] = self.add_expression(line.expression, lines)
        return lines

    def at(self, reference: Expression) -> Expression:
        """The operation that a reference stands for."""
        return self.operations[index_of(reference)]


def graph_of(program: CraspProgram) -> Graph:
    """The operations of a program.

    Example:
        >>> from weft.crasp import Comparison, Counting, CraspProgram, Line, Symbol
        >>> ones = Counting(Symbol("1"))
        >>> graph = graph_of(CraspProgram(("1",), (Line("never", Comparison("<", ones, ones)),)))
        >>> len(graph.operations), graph.lines  # Q_1, its count, the comparison
        (3, {'never': 2})
    """
    builder = GraphBuilder()
    lines = builder.add_program(program)
    return Graph(tuple(builder.operations), {name: index_of(at) for name, at in lines.items()})


def index_of(reference: Expression) -> int:
    """The index of the operation that a reference stands for."""
    assert isinstance(reference, Name)
    return int(reference.name)


def inputs_of(operation: Expression) -> tuple[int, ...]:
    """The indices of the operations that an operation uses, with repetitions."""
    return tuple(index_of(operand) for operand in operands(operation))


def count_bounds(graph: Graph, length: float = inf) -> list[Bounds | None]:
    """Bounds on every count of a graph, on words up to a length; None for Booleans.

    Example:
        >>> from weft.crasp import Counting, CraspProgram, Integer, Line, Subtract, Symbol
        >>> expression = Subtract(Counting(Symbol("1")), Integer(2))
        >>> lines = (Line("n", expression), Line("accept", Symbol("1")))
        >>> count_bounds(graph_of(CraspProgram(("1",), lines)), 10)
        [None, (0, 10), (2, 2), (-2, 8)]
    """
    bounds: list[Bounds | None] = []
    for operation in graph.operations:
        bounds.append(operation_bounds(operation, bounds, length))
    return bounds


def operation_bounds(
    operation: Expression, earlier: Sequence[Bounds | None], length: float = inf
) -> Bounds | None:
    """Bounds on a count from those on earlier operations; None for a Boolean."""

    def of(reference: Expression) -> Bounds:
        bounds = earlier[index_of(reference)]
        assert bounds is not None
        return bounds

    match operation:
        case Integer(value):
            return value, value
        case Counting(_, local):
            return 0, length if local is None else min(length, len(local.offsets))
        case Add(left, right):
            return plus(of(left)[0], of(right)[0]), plus(of(left)[1], of(right)[1])
        case Subtract(left, right):
            return plus(of(left)[0], -of(right)[1]), plus(of(left)[1], -of(right)[0])
        case Conditional(_, then, otherwise):
            both = (of(then), of(otherwise))
            return min(low for low, _ in both), max(high for _, high in both)
        case Minimum(chosen):
            return min(of(each)[0] for each in chosen), min(of(each)[1] for each in chosen)
        case Maximum(chosen):
            return max(of(each)[0] for each in chosen), max(of(each)[1] for each in chosen)
    return None


def plus(left: float, right: float) -> float:
    """The sum of two integers or infinities of one sign, exact for integers of any size."""
    return left if abs(left) == inf else right if abs(right) == inf else left + right


def _key(operation: Expression) -> Expression:
    """The same for operations that have the same values by definition.

    They differ in the order of operands that may be swapped, in the names of predicates, or in that
    one is `previous`.
    """
    match operation:
        case And(inside) | Or(inside) | Minimum(inside) | Maximum(inside):
            return type(operation)(tuple(sorted(inside, key=index_of)))
        case Add(left, right) if index_of(left) > index_of(right):
            return Add(right, left)
        case Comparison(operator, left, right) if index_of(left) > index_of(right):
            return Comparison(MIRRORED[operator], right, left)
        case Position(predicate):
            return Position(Periodic(predicate.period, predicate.residues))
        case Counting(body, Local(offsets)) | Exists(body, Local(offsets)):
            return type(operation)(body, Local(offsets))
        case Previous(body):
            return Exists(body, Local((1,)))
    return operation
