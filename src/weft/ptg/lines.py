"""The lines of a program: what each does, and which line is executed next.

A program is shown, traced and executed line by line. `lines_of` flattens the syntax tree into one
`Line` per line of source, with the jumps of blocks and loops resolved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from weft.ptg.language import (
    COUNTERS,
    Append,
    Assign,
    Comment,
    Compare,
    Comparison,
    CountedLoop,
    DataLoop,
    Expression,
    If,
    Item,
    Length,
    Pop,
    Product,
    Program,
    Statement,
    Sum,
)

LineKind: TypeAlias = Literal[
    "def", "constant", "copy", "sum", "product", "item", "len", "comparison", "append", "pop",
    "if", "else", "counter start", "loop test", "while", "counter step", "comment", "return",
]  # fmt: skip
"""What a line does.

`comparison` is a statement; `loop test` sets the condition of a loop, before and at its end.
"""

TRACED: tuple[LineKind, ...] = (
    "constant", "copy", "sum", "product", "item", "len", "comparison", "append", "pop",
    "if", "counter start", "loop test", "while", "counter step", "return",
)  # fmt: skip
"""The kinds of line that are executed, each of which adds a line to the trace."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of source.

    Attributes:
        number: of the line, from 1, which is the line of `def`.
        indent: tabs before the code.
        kind: what the line does.
        target: the variable that it writes; of `if` and `while`, the Boolean that it tests.
        expression: what is assigned, compared or appended; None for other kinds.
        next: the line executed next; of `if` and `while`, if the condition holds. Of `def`, the
            first line executed. 0 for lines that are never executed, and after `return`.
        otherwise: of `if` and `while`, the line executed next if the condition does not hold.
        length: of a comment, its number of signs; of `def`, 0.
    """

    number: int
    indent: int
    kind: LineKind
    target: str = ""
    expression: Expression | Comparison | None = None
    next: int = 0
    otherwise: int = 0
    length: int = 0


Jump: TypeAlias = tuple[int, bool]
"""A jump whose target is not known yet: the index of a line, and whether it is `otherwise`."""


def lines_of(program: Program) -> tuple[Line, ...]:
    """The lines of a program; line n is at index n - 1."""
    writer = _Writer()
    writer.add(0, "def", [])
    writer.land(writer.block(program.body, 1, 0, [(0, False)]))
    writer.add(1, "return", [])
    return tuple(writer.lines)


class _Writer:
    """Appends lines; `arriving` are jumps that lead to the line added next."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def add(
        self,
        indent: int,
        kind: LineKind,
        arriving: Sequence[Jump],
        target: str = "",
        expression: Expression | Comparison | None = None,
        length: int = 0,
    ) -> int:
        """Add a line that `arriving` lead to; return its index."""
        self.land(arriving)
        index = len(self.lines)
        self.lines.append(Line(index + 1, indent, kind, target, expression, length=length))
        return index

    def land(self, arriving: Sequence[Jump], number: int = 0) -> None:
        """Point jumps to a line, by default the one added next."""
        number = number or len(self.lines) + 1
        for index, otherwise in arriving:
            line = self.lines[index]
            self.lines[index] = (
                replace(line, otherwise=number) if otherwise else replace(line, next=number)
            )

    def block(
        self, statements: Sequence[Statement], indent: int, loops: int, arriving: list[Jump]
    ) -> list[Jump]:
        """Add statements; return the jumps that leave them."""
        for statement in statements:
            arriving = self.statement(statement, indent, loops, arriving)
        return arriving

    def statement(
        self, statement: Statement, indent: int, loops: int, arriving: list[Jump]
    ) -> list[Jump]:
        """Add one statement; return the jumps that leave it."""
        match statement:
            case Comment(length):
                self.add(indent, "comment", [], length=length)
                return arriving
            case If(condition, body, otherwise):
                head = self.add(indent, "if", arriving, condition)
                leaving = self.block(body, indent + 1, loops, [(head, False)])
                if not otherwise:
                    return [*leaving, (head, True)]
                self.add(indent, "else", [])
                return leaving + self.block(otherwise, indent + 1, loops, [(head, True)])
            case CountedLoop(condition, trips, body):
                counter = COUNTERS[loops]
                comparison = Comparison(counter, "!=", trips)
                start = self.add(indent, "counter start", arriving, counter, 0)
                arriving = [(start, False)]
                return self.loop(condition, comparison, body, indent, loops, arriving, counter)
            case DataLoop(condition, comparison, body):
                return self.loop(condition, comparison, body, indent, loops, arriving)
            case Assign(target, expression):
                kind = _assignment_kind(expression)
                return [(self.add(indent, kind, arriving, target, expression), False)]
            case Compare(target, comparison):
                return [(self.add(indent, "comparison", arriving, target, comparison), False)]
            case Append(name, operand):
                return [(self.add(indent, "append", arriving, name, operand), False)]
            case Pop(name):
                return [(self.add(indent, "pop", arriving, name), False)]

    def loop(
        self,
        condition: str,
        comparison: Comparison,
        body: Sequence[Statement],
        indent: int,
        loops: int,
        arriving: list[Jump],
        counter: str = "",
    ) -> list[Jump]:
        """Add the test, the header and the body of a loop."""
        test = self.add(indent, "loop test", arriving, condition, comparison)
        head = self.add(indent, "while", [(test, False)], condition)
        leaving = self.block(body, indent + 1, loops + bool(counter), [(head, False)])
        if counter:
            step = Sum(counter, "+", 1)
            leaving = [(self.add(indent + 1, "counter step", leaving, counter, step), False)]
        test = self.add(indent + 1, "loop test", leaving, condition, comparison)
        self.land([(test, False)], head + 1)
        return [(head, True)]


def _assignment_kind(expression: Expression) -> LineKind:
    match expression:
        case int():
            return "constant"
        case str():
            return "copy"
        case Sum():
            return "sum"
        case Product():
            return "product"
        case Item():
            return "item"
        case Length():
            return "len"


def code(line: Line, parameters: Sequence[str] = ()) -> str:
    """The source of a line, without its tabs; `def` also needs the program's parameters."""
    target = line.target
    match line.kind:
        case "def":
            return f"def f({','.join(parameters)}):"
        case "append":
            return f"{target}.append({line.expression})"
        case "pop":
            return f"{target}.pop()"
        case "if" | "while":
            return f"{line.kind} {target}:"
        case "else":
            return "else:"
        case "comment":
            return "#" * line.length
        case "return":
            return "return"
    return f"{target} = {_expression(line.expression)}"


def _expression(expression: Expression | Comparison | None) -> str:
    match expression:
        case Sum(left, sign, right):
            return f"{left} {sign} {right}"
        case Product(left, right):
            return f"{left} * {right}"
        case Item(name, index):
            return f"{name}[{index}]"
        case Length(name):
            return f"len({name})"
        case Comparison(left, operator, right):
            return f"{left} {operator} {right}"
    return str(expression)


def names_of(lines: Sequence[Line]) -> Iterator[str]:
    """The variables of lines in the order of the text, with repetitions."""
    for line in lines:
        if line.target:
            yield line.target
        match line.expression:
            case str(name) | Sum(name, _, _) | Length(name):
                yield name
            case Product(name, other) | Item(name, other) | Comparison(name, _, other):
                yield name
                if isinstance(other, str):
                    yield other
