"""Evaluation by the equations: compiled to Python, and without a limit of depth.

The equations of a function and of all that it calls are compiled once, in two forms. The direct
form consists of Python functions that call each other. The other form consists of generators that
yield the calls they need to a loop, which keeps the stack; it is slower, has no limit of depth, and
takes over where Python's recursion limit ends the direct form. Both count the equations applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.errors import WeftError
from weft.recursion.coverage import heads
from weft.recursion.expressions import Apply, Expression, Match, Pattern, Variable
from weft.recursion.inductive import InductiveMeta, is_alphabet

if TYPE_CHECKING:
    from weft.recursion.function import Equation, Function

MAX_STEPS = 10_000_000
"""Equations that an evaluation applies before it is an error."""


class OutOfSteps(Exception):
    """An evaluation has applied as many equations as it may."""


def evaluate(function: Function, *arguments: Any, max_steps: int | None = None) -> Any:
    """The value of a function by its equations, call by value.

    Args:
        function: the function.
        arguments: values, one for each parameter.
        max_steps: equations to apply before an error; MAX_STEPS if None.

    Raises:
        WeftError: if the arguments have the wrong types, or after `max_steps` equations.
    """
    function.check_arguments(arguments)
    return compiled(function).value(arguments, max_steps)


def equations_applied(function: Function, *arguments: Any, max_steps: int | None = None) -> int:
    """The number of equations that the evaluation of a call applies.

    Example:
        >>> from weft.recursion import definition, equations_applied
        >>> from weft.recursion.library.binary import One, X1
        >>> equations_applied(definition("successor"), X1(X1(One())))
        3
    """
    function.check_arguments(arguments)
    program = compiled(function)
    program.value(arguments, max_steps)
    return program.applied


def recursion_depth(function: Function, *arguments: Any, max_steps: int | None = None) -> int:
    """The largest number of nested recursive calls in the evaluation of a call.

    Recursive are the calls of the function itself and of those mutually recursive with it; calls of
    auxiliary functions do not count.

    Example:
        >>> from weft.recursion import definition, recursion_depth
        >>> from weft.recursion.library.binary import One, X1
        >>> recursion_depth(definition("successor"), X1(X1(One())))
        2
    """
    return measure(function, *arguments, max_steps=max_steps).depth


class Measure(NamedTuple):
    """What an evaluation gives.

    Attributes:
        value: the value.
        depth: the recursion depth: the largest number of nested recursive calls.
        equations: how many equations were applied.
    """

    value: Any
    depth: int
    equations: int


def measure(function: Function, *arguments: Any, max_steps: int | None = None) -> Measure:
    """The value of a call, with its recursion depth and the number of equations applied.

    Example:
        >>> from weft.recursion import definition, measure
        >>> from weft.recursion.library.binary import One, X1
        >>> measure(definition("successor"), X1(X1(One())))
        Measure(value=XO(XO(XO(01))), depth=2, equations=3)
    """
    function.check_arguments(arguments)
    return compiled(function).measure(arguments, max_steps)


def compiled(function: Function) -> CompiledFunction:
    """The compiled equations of a function, made at its first evaluation."""
    if function._compiled is None:
        function._compiled = CompiledFunction(function)
    return function._compiled


class CompiledFunction:
    """A function and all that it calls as Python code.

    Attributes:
        function: the function.
        applied: equations that the last evaluation applied.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.applied = 0
        self._fuel = [0, 0, 0]  # equations left, depth now, greatest depth
        self._direct = _compile(function, self._fuel)
        self._measured: Callable[..., Any] | None = None
        self._generators: Callable[..., Any] | None = None

    def value(self, arguments: tuple[Any, ...], max_steps: int | None = None) -> Any:
        """The value for arguments of the right types."""
        return self._run(self._direct, arguments, max_steps)

    def measure(self, arguments: tuple[Any, ...], max_steps: int | None = None) -> Measure:
        """The value, the depth and the number of equations."""
        if self._measured is None:
            self._measured = _compile(self.function, self._fuel, counted=True)
        value = self._run(self._measured, arguments, max_steps)
        return Measure(value, self._fuel[2] - 1, self.applied)

    def _run(
        self, code: Callable[..., Any], arguments: tuple[Any, ...], max_steps: int | None
    ) -> Any:
        """The value by one form, or by generators where Python's recursion ends it."""
        limit = MAX_STEPS if max_steps is None else max_steps
        fuel = self._fuel
        fuel[:] = (limit, 0, 0)
        try:
            try:
                result = code(*arguments)
            except RecursionError:
                if self._generators is None:
                    self._generators = _compile(self.function, fuel, counted=True, generators=True)
                fuel[:] = (limit, 0, 0)
                result = run_generators(self._generators(*arguments))
        except OutOfSteps:
            raise self._too_long(limit) from None
        self.applied = limit - fuel[0]
        return result

    def _too_long(self, limit: int) -> WeftError:
        return WeftError(
            f"its evaluation takes more than {limit:,} steps",
            subject=self.function.name,
            remedy="Give a smaller term, or more steps (max_steps)",
        )


def run_generators(start: Any) -> Any:
    """The value that a generator returns, which yields the generators of the calls it needs."""
    stack, value = [start], None
    while stack:
        try:
            called = stack[-1].send(value)
        except StopIteration as ended:
            stack.pop()
            value = ended.value
        else:
            stack.append(called)
            value = None
    return value


def _compile(
    function: Function, fuel: list[int], *, counted: bool = False, generators: bool = False
) -> Callable[..., Any]:
    """The functions as Python code; the result is the code of the first.

    Args:
        function: the first.
        fuel: equations left, depth now, greatest depth.
        counted: whether the depth is counted.
        generators: whether the code consists of generators.
    """
    names = {one: f"f{number}" for number, one in enumerate(function.functions)}
    space: dict[str, Any] = {"fuel": fuel, "new": tuple.__new__, "OutOfSteps": OutOfSteps}
    writer = _Writer(names, space, generators, set(function.group) if counted else set())
    lines = [line for one in names for line in writer.function(one)]
    exec(compile("\n".join(lines), f"<equations of {function.name}>", "exec"), space)
    found: Callable[..., Any] = space["f0"]
    return found


class _Writer:
    """Writes functions as Python code: decisions on constructors, then a term."""

    def __init__(
        self,
        names: dict[Function, str],
        space: dict[str, Any],
        generators: bool,
        counted: set[Function],
    ) -> None:
        self.names, self.space, self.generators, self.counted = names, space, generators, counted
        self.constants: dict[int, str] = {}

    def constant(self, value: Any) -> str:
        """The name of a constructor, a symbol or a term in the code."""
        if id(value) not in self.constants:
            self.constants[id(value)] = f"c{len(self.constants)}"
            self.space[self.constants[id(value)]] = value
        return self.constants[id(value)]

    def function(self, function: Function) -> Iterator[str]:
        """The code of a function."""
        places = [f"a{number}" for number in range(function.arity)]
        yield f"def {self.names[function]}({', '.join(places)}):"
        yield " left = fuel[0]"
        yield " if left <= 0: raise OutOfSteps"
        yield " fuel[0] = left - 1"
        if function in self.counted:
            yield " fuel[1] += 1"
            yield " if fuel[1] > fuel[2]: fuel[2] = fuel[1]"
        rows: list[tuple[list[Pattern], dict[str, str], Equation]] = [
            (list(equation.patterns), {}, equation) for equation in function.equations
        ]
        types = [kind for _, kind in function.parameters]
        yield from self.decision(rows, places, types, " ", count())

    def decision(
        self,
        rows: list[tuple[list[Pattern], dict[str, str], Equation]],
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
            patterns, bound, equation = rows[0]
            names = bound | {
                one.name: place
                for one, place in zip(patterns, places, strict=True)
                if isinstance(one, Variable)
            }
            for (name, _), place in zip(
                equation.function.parameters,
                (f"a{number}" for number in range(equation.function.arity)),
                strict=True,
            ):
                names.setdefault(name, place)
            yield from self.result(equation, names, indent)
            return
        place, kind = places[column], types[column]
        options = [
            (head, inner, chosen)
            for head, inner in heads(kind)
            if (chosen := [row for row in rows if _accepts(row[0][column], head)])
        ]
        if not is_alphabet(kind):
            yield f"{indent}head = type({place})"
        for number, (head, inner, chosen) in enumerate(options):
            last = number == len(options) - 1
            subject = place if is_alphabet(kind) else "head"
            test = f"{subject} is {self.constant(head)}"
            word = "if" if number == 0 else "elif"
            line = f"{word} {test}" if not last else "else" if number else "if True"
            yield f"{indent}{line}:"
            new = [f"v{next(fresh)}" for _ in inner]
            narrowed = []
            for patterns, bound, equation in chosen:
                first = patterns[column]
                sub: list[Pattern] = (
                    list(first.arguments)
                    if isinstance(first, Match)
                    else [Variable("_", one) for one in inner]
                )
                also = {} if isinstance(first, Match) else {first.name: place}
                rest = patterns[:column] + patterns[column + 1 :]
                narrowed.append((sub + rest, bound | also, equation))
            if new:
                yield f"{indent} {', '.join(new)}{',' if len(new) == 1 else ''} = {place}"
            yield from self.decision(
                narrowed,
                new + places[:column] + places[column + 1 :],
                list(inner) + types[:column] + types[column + 1 :],
                indent + " ",
                fresh,
            )

    def result(self, equation: Equation, names: dict[str, str], indent: str) -> Iterator[str]:
        """The return of an equation's right-hand side."""
        value = self.expression(equation.right, names)
        if equation.function in self.counted:
            yield f"{indent}result = {value}"
            yield f"{indent}fuel[1] -= 1"
            value = "result"
        yield f"{indent}return {value}"
        if self.generators:
            yield f"{indent}yield"  # makes it a generator even if it calls nothing

    def expression(self, expression: Expression, names: dict[str, str]) -> str:
        """A right-hand side as code."""
        if isinstance(expression, Variable):
            return names[expression.name]
        inner = [self.expression(one, names) for one in expression.arguments]
        if isinstance(expression, Apply):
            call = f"{self.names[expression.function]}({', '.join(inner)})"
            return f"(yield {call})" if self.generators else call
        if not isinstance(expression.head, InductiveMeta):
            return self.constant(expression.head)
        if not inner:
            return self.constant(expression.head._only)
        return f"new({self.constant(expression.head)}, ({', '.join(inner)},))"


def _accepts(pattern: Pattern, head: Any) -> bool:
    return isinstance(pattern, Variable) or pattern.head is head
