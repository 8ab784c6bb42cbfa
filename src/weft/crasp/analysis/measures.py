"""Measures of a program: counting depth, size, and the predicates that it uses.

Counting depth is how deep counts over all positions are nested. Local counts, `previous` and
periodic predicates add nothing to it, as in the logic with counting, `Y` and `MOD` (Yang and
Chiang 2024; Huang et al. 2025).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

from weft.crasp.expressions import (
    And,
    Constant,
    Counting,
    Exists,
    Expression,
    Integer,
    Maximum,
    Minimum,
    Name,
    Or,
    Position,
    Symbol,
    operands,
    walk,
)
from weft.crasp.graph import Graph, graph_of, inputs_of
from weft.crasp.program import CraspProgram
from weft.errors import WeftError

ATOMS = (Symbol, Constant, Position, Integer, Name)
"""Expressions that are not operations: they have nothing inside them."""


@dataclass(frozen=True)
class Measures:
    """What a program costs and needs.

    Attributes:
        depth: of nested counts over all positions.
        size: the number of operations as they are written. Symbols, constants, periodic predicates
            and names are none; `and`, `or`, `min` and `max` of k operands are k - 1.
        lines: how many it has.
        period: the smallest common period of its periodic predicates; 1 if it has none.
        offsets: of its local predicates, ascending; `previous` is 1.
        layers: of the transformer that is constructed for it; None if the construction refuses it.
        heads: of each of these layers.
    """

    depth: int
    size: int
    lines: int
    period: int
    offsets: tuple[int, ...]
    layers: int | None
    heads: tuple[int, ...]

    @property
    def needs(self) -> str:
        """The predicates that it needs: `none`, `periodic`, `local` or `both`."""
        periodic, local = self.period > 1, any(offset > 0 for offset in self.offsets)
        if periodic and local:
            return "both"
        return "periodic" if periodic else "local" if local else "none"


def measure(program: CraspProgram) -> Measures:
    """Measure a program.

    Example:
        >>> from weft.crasp import library
        >>> measure(library.load("tomita-4"))
        Measures(depth=1, size=8, lines=2, period=1, offsets=(1, 2), layers=2, heads=(3, 1))
    """
    offsets = {offset for local in program.locals for offset in local.offsets}
    heads = heads_by_layer(program)
    return Measures(
        depth=max(counting_depths(graph_of(program))),
        size=size(program),
        lines=len(program.lines),
        period=lcm(*(predicate.period for predicate in program.periodics)),
        offsets=tuple(sorted(offsets)),
        layers=None if heads is None else len(heads),
        heads=heads or (),
    )


def heads_by_layer(program: CraspProgram) -> tuple[int, ...] | None:
    """How many heads each layer of the program's transformer has; None if it cannot be constructed.

    A layer has one uniform head for everything that it counts, and one head per offset that it
    reads. If counts are compared, the first layer has the uniform head in any case, for 1/(i + 1).
    `weft.crasp.limit.schedule` says which layer counts and reads what.
    """
    from weft.crasp.limit.construct import limit_transformer

    try:
        return tuple(len(layer.heads) for layer in limit_transformer(program).layers)
    except WeftError:
        return None


def counting_depths(graph: Graph) -> list[int]:
    """The counting depth of every operation.

    Example:
        >>> from weft.crasp import library
        >>> graph = graph_of(library.load("dyck-1"))
        >>> depths = counting_depths(graph)
        >>> depths[graph.lines["bad"]], depths[graph.lines["accept"]]
        (1, 2)
    """
    depths: list[int] = []
    for operation in graph.operations:
        everywhere = isinstance(operation, (Counting, Exists)) and operation.local is None
        inside = (depths[index] for index in inputs_of(operation))
        depths.append(max(inside, default=0) + everywhere)
    return depths


def size(program: CraspProgram) -> int:
    """The number of operations of a program, as `Measures.size` counts them."""
    return sum(operation_size(part) for line in program.lines for part in walk(line.expression))


def operation_size(expression: Expression) -> int:
    """How many operations an expression is, without those inside it."""
    if isinstance(expression, (And, Or, Minimum, Maximum)):
        return len(operands(expression)) - 1
    return 0 if isinstance(expression, ATOMS) else 1
