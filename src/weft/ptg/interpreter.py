"""The interpreter: execute a program on inputs, and record its trace.

It follows the lines of a program (`lines_of`), not Python: lists are tuples that are replaced, so
nothing is shared, and everything that CPython would raise an exception for, or that exceeds a
limit, is a `WeftError` with the line. The tests compare it with CPython and with other tracers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from weft.errors import TextLocation, WeftError
from weft.ptg.inputs import check_inputs
from weft.ptg.language import (
    KINDS,
    Comparison,
    Expression,
    Item,
    Length,
    Limits,
    Operand,
    Product,
    Program,
    Sum,
    Value,
)
from weft.ptg.lines import Line, code, lines_of, names_of
from weft.ptg.tracing import Step, Trace

DEFAULT_LIMITS = Limits()


def run(
    program: Program, inputs: Mapping[str, Any], limits: Limits = DEFAULT_LIMITS, file: str = ""
) -> Trace:
    r"""Execute a program.

    Args:
        program: the program.
        inputs: a value for each parameter; lists may be lists or tuples and are not changed.
        limits: bounds of the run.
        file: the file that the program comes from, for messages.

    Raises:
        WeftError: if an index is out of range or negative, an empty list is popped from, a variable
            is read before it is assigned, or a limit is exceeded; with the line.

    Example:
        >>> from weft.ptg.parser import parse
        >>> from weft.ptg.tracing import trace_text
        >>> program = parse("def f(lst_a):\n\tb = lst_a[1]\n\tlst_a.append(b)\n\treturn\n")
        >>> print(trace_text(run(program, {"lst_a": [4, 7]})), end="")
        L2,b:7
        L3,lst_a:[4,7,7]
        L4,
    """
    return Machine(program, inputs, limits, file).run()


class Machine:
    """A program in execution.

    Attributes:
        lines: the lines of the program.
        state: the value of every bound variable.
        line: the line that is executed next; 0 when the program has returned.
        steps: the trace so far.
    """

    def __init__(
        self,
        program: Program,
        inputs: Mapping[str, Any],
        limits: Limits = DEFAULT_LIMITS,
        file: str = "",
    ) -> None:
        self.lines: Sequence[Line] = lines_of(program)
        self.state: dict[str, Value] = check_inputs(program, inputs, limits)
        self.line = self.lines[0].next
        self.steps: list[Step] = []
        self._program = program
        self._limits = limits
        self._file = file

    def run(self) -> Trace:
        """Execute until the program returns."""
        while self.line:
            self.step()
        order = dict.fromkeys((*self._program.parameters, *names_of(self.lines)))
        final = {name: self.state[name] for name in order if name in self.state}
        return Trace(tuple(self.steps), final)

    def step(self) -> Step:
        """Execute one line."""
        line = self.lines[self.line - 1]
        if len(self.steps) >= self._limits.steps:
            self._fail(
                line,
                f"the program runs for more than {self._limits.steps:,} steps",
                "It may not end; raise the limit steps if it does",
            )
        self.line = line.next
        match line.kind:
            case "if" | "while":
                step = Step(line.number)
                self.line = line.next if self._read(line, line.target) else line.otherwise
            case "return":
                step = Step(line.number)
            case _:
                value = self._value(line)
                self.state[line.target] = value
                step = Step(line.number, line.target, value)
        self.steps.append(step)
        return step

    def _value(self, line: Line) -> Value:
        """What a line writes to its target."""
        try:
            value = written_value(line, self.state)
        except Fault as fault:
            self._fail(line, fault.what, fault.remedy)
        limits = self._limits
        if line.kind == "append" and isinstance(value, tuple) and len(value) > limits.list_length:
            self._fail(
                line,
                f"{line.target} has {len(value) - 1:,} elements already",
                f"The limit list_length is {limits.list_length:,}",
            )
        if isinstance(value, int) and abs(value) > limits.value:
            self._fail(
                line, f"{line.target} would be {value:,}", f"The limit value is {limits.value:,}"
            )
        return value

    def _read(self, line: Line, name: str) -> Value:
        try:
            return read(name, self.state)
        except Fault as fault:
            self._fail(line, fault.what, fault.remedy)

    def _fail(self, line: Line, what: str, remedy: str = "") -> NoReturn:
        written = "\t" * line.indent + code(line, self._program.parameters)
        where = TextLocation(self._file, line.number, line.indent, len(written), text=written)
        raise WeftError(what, where=where, remedy=remedy)


# Single lines


class Fault(Exception):
    """What a line cannot do in a state, for which CPython would raise an exception."""

    def __init__(self, what: str, remedy: str = "Give other inputs, or change the program") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def written_value(line: Line, state: Mapping[str, Value]) -> Value:
    """The value that a line writes to its target in a state.

    Raises:
        Fault: if it reads an unbound variable, indexes out of range or pops from an empty list.
    """
    expression = line.expression
    match line.kind, expression:
        case "append", int() | str():
            return (*_list(line.target, state), _operand(expression, state))
        case "pop", _:
            values = _list(line.target, state)
            if not values:
                raise Fault(f"{line.target} is empty, so nothing can be popped from it")
            return values[:-1]
        case _, Comparison(left, operator, right):
            equal = _operand(left, state) == _operand(right, state)
            return equal == (operator == "==")
    assert expression is not None
    assert not isinstance(expression, Comparison)
    return _integer(expression, state)


def read(name: str, state: Mapping[str, Value]) -> Value:
    """The value of a variable."""
    if name not in state:
        raise Fault(
            f"{name} is read before it is assigned",
            f"Assign the {KINDS[name]} variable on every path to this line",
        )
    return state[name]


def _integer(expression: Expression, state: Mapping[str, Value]) -> int:
    match expression:
        case Sum(left, "+", right):
            return _operand(left, state) + right
        case Sum(left, _, right):
            return _operand(left, state) - right
        case Product(left, right):
            return _operand(left, state) * _operand(right, state)
        case Item(name, index):
            values, place = _list(name, state), _operand(index, state)
            if not 0 <= place < len(values):
                plural = "" if len(values) == 1 else "s"
                has = f"{name} has {len(values)} element{plural}"
                raise Fault(f"index {place} is out of range: {has}")
            return values[place]
        case Length(name):
            return len(_list(name, state))
    return _operand(expression, state)


def _operand(operand: Operand, state: Mapping[str, Value]) -> int:
    value = operand if isinstance(operand, int) else read(operand, state)
    assert isinstance(value, int)
    return value


def _list(name: str, state: Mapping[str, Value]) -> tuple[int, ...]:
    value = read(name, state)
    assert isinstance(value, tuple)
    return value
