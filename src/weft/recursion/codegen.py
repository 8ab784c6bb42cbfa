"""Equations as Python code: for evaluation, and for the reduction of one call.

The patterns of a function become nested decisions on constructors, of which each is made once; the
right-hand side of the equation that is found becomes an expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

from weft.recursion.coverage import heads
from weft.recursion.expressions import (
    Apply,
    Build,
    Call,
    Expression,
    Match,
    Open,
    Pattern,
    Variable,
    build,
    calls_in,
)
from weft.recursion.inductive import InductiveMeta, is_alphabet

if TYPE_CHECKING:
    from weft.recursion.function import Equation, Function


class OutOfSteps(Exception):
    """An evaluation has applied as many equations as it may."""


Row = tuple[list[Pattern], dict[str, str], "Equation"]
"""An equation that is still possible: patterns that are left, code for variables, the equation."""


class Writer:
    """Writes the equations of functions as Python code.

    Attributes:
        space: the names that the code uses.
    """

    def __init__(self, **space: Any) -> None:
        self.space: dict[str, Any] = {"new": tuple.__new__, **space}
        self.constants: dict[int, str] = {}

    def constant(self, value: Any) -> str:
        """The name of a constructor, a symbol or a term in the code."""
        if id(value) not in self.constants:
            self.constants[id(value)] = f"c{len(self.constants)}"
            self.space[self.constants[id(value)]] = value
        return self.constants[id(value)]

    def body(self, function: Function) -> Iterator[str]:
        """The decisions of a function, whose parameters are a0, a1, ..."""
        rows: list[Row] = [(list(one.patterns), {}, one) for one in function.equations]
        places = [f"a{number}" for number in range(function.arity)]
        types = [kind for _, kind in function.parameters]
        yield from self.decision(rows, places, types, " ", count())

    def decision(
        self,
        rows: list[Row],
        places: list[str],
        types: list[InductiveMeta],
        indent: str,
        fresh: Iterator[int],
    ) -> Iterator[str]:
        """The choice of an equation: a switch on the first place where a pattern has a head."""
        column = next(
            (
                number
                for number in range(len(places))
                if any(isinstance(row[number], Match) for row, _, _ in rows)
            ),
            None,
        )
        if column is None:
            yield from self.found(rows[0], places, indent)
            return
        place, kind = places[column], types[column]
        options = [
            (head, inner, chosen)
            for head, inner in heads(kind)
            if (chosen := [row for row in rows if _accepts(row[0][column], head)])
        ]
        subject = place
        if not is_alphabet(kind):
            subject = "head"
            yield f"{indent}head = {self.head_of(place)}"
        others = [row for row in rows if isinstance(row[0][column], Variable)]
        tests = self.tests(subject, [head for head, _, _ in options])
        for (_, inner, chosen), test in zip(options, tests, strict=True):
            yield f"{indent}{test}:"
            new = [f"v{next(fresh)}" for _ in inner]
            if new:
                listed = f"{', '.join(new)}{',' if len(new) == 1 else ''}"
                yield f"{indent} {listed} = {self.parts_of(place)}"
            yield from self.decision(
                [_narrowed(row, column, inner, place) for row in chosen],
                new + places[:column] + places[column + 1 :],
                list(inner) + types[:column] + types[column + 1 :],
                indent + " ",
                fresh,
            )
        yield from self.otherwise(
            [_narrowed(row, column, [], place) for row in others],
            places[:column] + places[column + 1 :],
            types[:column] + types[column + 1 :],
            indent,
            fresh,
        )

    def found(self, row: Row, places: list[str], indent: str) -> Iterator[str]:
        """The code for an equation, all of whose patterns match."""
        patterns, bound, equation = row
        names = dict(bound)
        for one, place in zip(patterns, places, strict=True):
            if isinstance(one, Variable):
                names[one.name] = place
        for number, (name, _) in enumerate(equation.function.parameters):
            names.setdefault(name, f"a{number}")
        yield from self.result(equation, names, indent)

    # What differs

    def head_of(self, place: str) -> str:
        """Code for the constructor at the head of a term."""
        return f"type({place})"

    def parts_of(self, place: str) -> str:
        """Code for the arguments at the head of a term."""
        return place

    def tests(self, subject: str, wanted: list[Any]) -> list[str]:
        """The conditions of a switch; one of them holds."""
        found = [f"elif {subject} is {self.constant(head)}" for head in wanted]
        found[0] = found[0][2:]
        found[-1] = "else" if len(found) > 1 else "if True"
        return found

    def otherwise(
        self,
        rows: list[Row],
        places: list[str],
        types: list[InductiveMeta],
        indent: str,
        fresh: Iterator[int],
    ) -> Iterator[str]:
        """What follows a switch none of whose conditions holds."""
        yield from ()

    def result(self, equation: Equation, names: dict[str, str], indent: str) -> Iterator[str]:
        """The return of what an equation gives."""
        yield f"{indent}return {self.expression(equation.right, names)}"

    def expression(self, expression: Expression, names: dict[str, str]) -> str:
        """A right-hand side as code."""
        if isinstance(expression, Variable):
            return names[expression.name]
        inner = [self.expression(one, names) for one in expression.arguments]
        if isinstance(expression, Apply):
            return self.call(expression, inner)
        if not isinstance(expression.head, InductiveMeta):
            return self.constant(expression.head)
        if not inner:
            return self.constant(expression.head._only)
        return self.build(expression, inner)

    def call(self, call: Apply, arguments: list[str]) -> str:
        """A call as code."""
        raise NotImplementedError

    def build(self, made: Build, arguments: list[str]) -> str:
        """A constructor with arguments as code."""
        return f"new({self.constant(made.head)}, ({', '.join(arguments)},))"


def _accepts(pattern: Pattern, head: Any) -> bool:
    return isinstance(pattern, Variable) or pattern.head is head


def _narrowed(row: Row, column: int, inner: list[InductiveMeta], place: str) -> Row:
    """A row after a switch on one of its columns, with patterns for the arguments in front."""
    patterns, bound, equation = row
    first = patterns[column]
    rest = patterns[:column] + patterns[column + 1 :]
    if isinstance(first, Variable):
        return [Variable("_", one) for one in inner] + rest, bound | {first.name: place}, equation
    return list(first.arguments) + rest, bound, equation


class EvaluationWriter(Writer):
    """Functions that return values; see `weft.recursion.evaluation`."""

    def __init__(
        self,
        functions: tuple[Function, ...],
        fuel: list[int],
        counted: set[Function],
        generators: bool,
    ) -> None:
        super().__init__(fuel=fuel, OutOfSteps=OutOfSteps)
        self.names = {one: f"f{number}" for number, one in enumerate(functions)}
        self.counted, self.generators = counted, generators

    def lines(self) -> Iterator[str]:
        """The code of all functions."""
        for function, name in self.names.items():
            parameters = ", ".join(f"a{number}" for number in range(function.arity))
            yield f"def {name}({parameters}):"
            yield " left = fuel[0]"
            yield " if left <= 0: raise OutOfSteps"
            yield " fuel[0] = left - 1"
            if function in self.counted:
                yield " fuel[1] += 1"
                yield " if fuel[1] > fuel[2]: fuel[2] = fuel[1]"
            yield from self.body(function)

    def result(self, equation: Equation, names: dict[str, str], indent: str) -> Iterator[str]:
        value = self.expression(equation.right, names)
        if equation.function in self.counted:
            yield f"{indent}result = {value}"
            yield f"{indent}fuel[1] -= 1"
            value = "result"
        yield f"{indent}return {value}"
        if self.generators:
            yield f"{indent}yield"  # makes it a generator even if it calls nothing

    def call(self, call: Apply, arguments: list[str]) -> str:
        called = f"{self.names[call.function]}({', '.join(arguments)})"
        return f"(yield {called})" if self.generators else called


def compile_evaluation(
    function: Function, fuel: list[int], *, counted: bool = False, generators: bool = False
) -> Callable[..., Any]:
    """A function as Python code, with all that it calls.

    Args:
        function: the function.
        fuel: equations left, depth now, greatest depth.
        counted: whether the depth is counted.
        generators: whether the code consists of generators that yield calls.
    """
    group = set(function.group) if counted else set()
    writer = EvaluationWriter(function.functions, fuel, group, generators)
    found: Callable[..., Any] = _compiled(writer, writer.lines(), function, "f0")
    return found


class ContractionWriter(Writer):
    """A function that reduces one call, whose arguments may hold calls themselves.

    It returns the number of the equation and the reduct, or None if no equation matches yet.
    """

    def __init__(self) -> None:
        super().__init__(Open=Open, Call=Call, build=build)

    def lines(self, function: Function) -> Iterator[str]:
        """The code."""
        parameters = ", ".join(f"a{number}" for number in range(function.arity))
        yield f"def contract({parameters}):"
        yield from self.body(function)

    def head_of(self, place: str) -> str:
        return f"{place}[0] if type({place}) is Open else type({place})"

    def parts_of(self, place: str) -> str:
        return f"{place}[1:] if type({place}) is Open else {place}"

    def tests(self, subject: str, wanted: list[Any]) -> list[str]:
        found = [f"elif {subject} is {self.constant(head)}" for head in wanted]
        found[0] = found[0][2:]
        return found

    def otherwise(
        self,
        rows: list[Row],
        places: list[str],
        types: list[InductiveMeta],
        indent: str,
        fresh: Iterator[int],
    ) -> Iterator[str]:
        yield f"{indent}else:"
        if rows:
            yield from self.decision(rows, places, types, indent + " ", fresh)
        else:
            yield f"{indent} return None"

    def result(self, equation: Equation, names: dict[str, str], indent: str) -> Iterator[str]:
        yield f"{indent}return {equation.number}, {self.expression(equation.right, names)}"

    def call(self, call: Apply, arguments: list[str]) -> str:
        return f"new(Call, ({self.constant(call.function)}, {', '.join(arguments)}))"

    def build(self, made: Build, arguments: list[str]) -> str:
        listed = f"({', '.join(arguments)},)"
        if calls_in(made):
            return f"new(Open, ({self.constant(made.head)}, *{listed}))"
        return f"build({self.constant(made.head)}, {listed})"


def compile_contraction(function: Function) -> Callable[..., tuple[int, Any] | None]:
    """The reduction of one call of a function as Python code."""
    writer = ContractionWriter()
    found: Callable[..., tuple[int, Any] | None]
    found = _compiled(writer, writer.lines(function), function, "contract")
    return found


def _compiled(writer: Writer, lines: Iterator[str], function: Function, name: str) -> Any:
    code = compile("\n".join(lines), f"<equations of {function.name}>", "exec")
    exec(code, writer.space)
    return writer.space[name]
