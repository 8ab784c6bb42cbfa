"""Simplification: a smaller program with the same values.

A pass rewrites the graph of operations from the bottom up and writes it as lines again:

- Constants: Boolean and integer arithmetic on constants; comparisons that the bounds of their
  counts decide; periodic predicates that hold everywhere or nowhere; local counts without offsets.
- Repetitions: an expression that occurs several times is computed once, in a line of its own;
  duplicate, contradictory and absorbed operands; double negation; a term on both sides of a
  comparison.
- Dead lines: those that neither acceptance nor any line `NEXT_a` depends on.

Passes repeat as long as the program gets smaller. So the result is never larger than the program,
and simplifying it again changes nothing. Lines that stay keep their names, and their values at
every position of every word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count

from weft.crasp.analysis.measures import ATOMS, size
from weft.crasp.analysis.rewriting import Rewriter
from weft.crasp.expressions import Counting, Expression, Name, Symbol, walk, with_operands
from weft.crasp.graph import Graph, graph_of, index_of, inputs_of
from weft.crasp.program import CraspProgram, Line


def simplify(program: CraspProgram) -> CraspProgram:
    """A program with the same values in the fewest operations that the rules reach.

    The accepting line and the lines `NEXT_a` stay; other lines stay if these depend on them.

    Example:
        >>> from weft.crasp import And, Constant, CraspProgram, Line, Name, Not, Symbol
        >>> lines = (
        ...     Line("unused", Symbol("0")),
        ...     Line("never", And((Symbol("0"), Symbol("1")))),
        ...     Line("accept", And((Not(Not(Symbol("1"))), Not(Name("never"))))),
        ... )
        >>> simplify(CraspProgram(("0", "1"), lines)).lines
        (Line(name='accept', expression=Symbol(symbol='1')),)
    """
    while True:
        graph = graph_of(program)
        passes = [_rewritten(program, graph, through=through) for through in (True, False)]
        smallest = min(passes, key=_cost)
        if _cost(smallest) >= _cost(program):
            return program
        program = smallest


def required_lines(program: CraspProgram) -> list[str]:
    """The lines that are a program's results, in order: every `NEXT_a`, and the accepting line."""
    results = {*program.next_symbols.values(), program.accepting}
    return [line.name for line in program.lines if line.name in results]


def _cost(program: CraspProgram) -> tuple[int, int, int]:
    """What simplification reduces: operations, then lines, then periods."""
    periods = sum(predicate.period for predicate in program.periodics)
    return size(program), len(program.lines), periods


def _rewritten(program: CraspProgram, graph: Graph, *, through: bool) -> CraspProgram:
    """A program after one pass of the rules.

    Args:
        program: what to rewrite.
        graph: its operations.
        through: whether rules look through operations that are used once.
    """
    lines = {graph.lines[name] for name in _live_lines(program)}
    results = [graph.lines[name] for name in required_lines(program)]
    uses = _uses(graph.operations, results)
    rewriter = Rewriter()
    new: dict[int, Name] = {}
    for index, operation in enumerate(graph.operations):
        if uses[index]:
            inside = [new[operand] for operand in inputs_of(operation)]
            new[index] = rewriter.add(with_operands(operation, inside) if inside else operation)
            if through and uses[index] == 1 and index not in lines:
                rewriter.single.add(index_of(new[index]))
            else:
                rewriter.single.discard(index_of(new[index]))
    lines_now = {name: index_of(new[index]) for name, index in graph.lines.items() if index in new}
    return _Writer(program, rewriter.operations, lines_now).write()


def _live_lines(program: CraspProgram) -> set[str]:
    """The lines that the results use by name, and the results."""
    live: set[str] = set()
    waiting = required_lines(program)
    while waiting:
        name = waiting.pop()
        if name not in live:
            live.add(name)
            expression = program.expressions[name]
            waiting += [part.name for part in walk(expression) if isinstance(part, Name)]
    return live


def _uses(operations: Sequence[Expression], results: Sequence[int]) -> Counter[int]:
    """How often every operation is used by operations that matter to the results, or is one."""
    uses = Counter(results)
    for index in range(len(operations) - 1, -1, -1):
        if uses[index]:
            uses.update(inputs_of(operations[index]))
    return uses


class _Writer:
    """Writes a graph of operations as the lines of a program.

    Attributes:
        program: which says what lines are called.
        operations: to write.
        index: the operation of each line of the program that may stay.
    """

    def __init__(
        self, program: CraspProgram, operations: Sequence[Expression], index: Mapping[str, int]
    ) -> None:
        self.program = program
        self.operations = operations
        self.index = index
        self._required = required_lines(program)
        self._names = self._choose_names()
        self._lines: dict[str, Expression] = {}

    def write(self) -> CraspProgram:
        """The program: its lines in order, each after those that it uses."""
        for line in self.program.lines:
            index = self.index.get(line.name)
            if index is not None and self._names.get(index) == line.name:
                self._write_line(index)
            elif index is not None and line.name in self._required:  # another line is the same
                self._lines[line.name] = self._expression(index)
        lines = tuple(Line(name, expression) for name, expression in self._lines.items())
        return replace(self.program, lines=lines)

    def _choose_names(self) -> dict[int, str]:
        """By operation, the line that holds it.

        Operations have a line if the program has one for them, or if they are used twice. Atoms
        have none. The accepting line must come last, so no other line uses it by name.
        """
        results = [self.index[name] for name in self._required]
        uses = _uses(self.operations, results)
        live = _live_lines(self.program)
        names: dict[int, str] = {}
        for name, index in self.index.items():
            inside = uses[index] > results.count(index)  # other operations use it, too
            stays = name in self._required or (inside and (name in live or uses[index] > 1))
            if stays and not (inside and name == self.program.accepting) and self._is_long(index):
                names.setdefault(index, name)
        taken = set(self.program.kinds)
        taken |= {predicate.name for predicate in self.program.periodics}
        taken |= {predicate.name for predicate in self.program.locals}
        for index in range(len(self.operations)):
            if uses[index] > 1 and index not in names and self._is_long(index):
                names[index] = self._new_name(index, taken)
                taken.add(names[index])
        return names

    def _is_long(self, index: int) -> bool:
        return not isinstance(self.operations[index], ATOMS)

    def _new_name(self, index: int, taken: Collection[str]) -> str:
        operation = self.operations[index]
        if isinstance(operation, Counting) and operation.local is None:
            body = self.operations[index_of(operation.body)]
            if isinstance(body, Symbol) and body.symbol.isascii() and body.symbol.isalnum():
                if (name := f"count_{body.symbol}") not in taken:
                    return name
        return next(name for k in count(1) if (name := f"shared_{k}") not in taken)

    def _write_line(self, index: int) -> None:
        if self._names[index] not in self._lines:
            self._lines[self._names[index]] = self._operation(index)

    def _expression(self, index: int) -> Expression:
        if index not in self._names:
            return self._operation(index)
        self._write_line(index)
        return Name(self._names[index])

    def _operation(self, index: int) -> Expression:
        operation = self.operations[index]
        inside = [self._expression(operand) for operand in inputs_of(operation)]
        return with_operands(operation, inside) if inside else operation
