"""The first error of a written trace: where it is, and which of eleven categories it belongs to.

Traces are compared line by line, and the first line that differs is classified by what it says
against what it should say. The categories exclude each other by their order:

    early end       the text ends, and what is there agrees with the trace
    late end        the text goes on after the whole trace
    malformed       the line is not a line of a trace, or the value does not fit the variable
    wrong step      the step number is wrong, in formats that have one
    wrong line      the line label is wrong
    wrong variable  the name is wrong, missing or superfluous
    list length     the list has another number of elements
    list element    the list has the right length, and an element is wrong
    stale value     the value is an earlier one, or follows from an earlier value of what is read
    off by one      the integer is wrong by one
    other value     any other integer or Boolean

`docs/ptg.md` has an example of each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from weft.ptg.inputs import check_inputs
from weft.ptg.interpreter import Fault, written_value
from weft.ptg.language import KINDS, Program, Value
from weft.ptg.lines import Line, LineKind, lines_of, names_of
from weft.ptg.tracing import L0_BENCH, Trace, TraceFormat, final_text, trace_text

Category: TypeAlias = Literal[
    "early end", "late end", "malformed", "wrong step", "wrong line", "wrong variable",
    "list length", "list element", "stale value", "off by one", "other value",
]  # fmt: skip
CATEGORIES: tuple[Category, ...] = get_args(Category)
"""The categories, in the order in which they are tried."""


@dataclass(frozen=True)
class FirstError:
    """The first difference between a written trace and the right one.

    Attributes:
        category: what is wrong.
        kind: what the line of the program does that the right trace line comes from; for a late
            end that is `return`, and `final state` in the format without a trace.
        step: the number of the trace line, from 1.
        line: the number of the line of the program; 0 in the format without a trace.
        column: the first character of the trace line that differs, from 0.
        expected: the right line; empty for a late end.
        written: the line as it is written; empty for an early end before the line.
    """

    category: Category
    kind: LineKind | Literal["final state"]
    step: int
    line: int
    column: int
    expected: str
    written: str


def first_error(
    program: Program,
    inputs: Mapping[str, Any],
    trace: Trace,
    written: str,
    form: TraceFormat = L0_BENCH,
) -> FirstError | None:
    r"""The first error of a written trace; None if it is right.

    Args:
        program: the program.
        inputs: its inputs.
        trace: the right trace, as `run` returns it.
        written: the text to judge, to its end token. A last line without a line break is judged as
            if it had one, unless it agrees with the trace as far as it goes.
        form: the format of the text.

    Example:
        >>> from weft.ptg.interpreter import run
        >>> from weft.ptg.parser import parse
        >>> program = parse("def f(a):\n\ta = a - 1\n\ta = a - 1\n\treturn\n")
        >>> trace = run(program, {"a": 1})
        >>> error = first_error(program, {"a": 1}, trace, "L2,a:0\nL3,a:-2\nL4,\n")
        >>> error.category, error.kind, error.step, error.column
        ('off by one', 'sum', 2, 6)
    """
    right = final_text(trace.final, form) if form.answer else trace_text(trace, form)
    if written == right:
        return None
    same = _agreement(right, written)
    begin = right.rfind("\n", 0, same) + 1
    expected, actual = _line_at(right, begin), _line_at(written, begin)
    step = right.count("\n", 0, begin) + 1
    lines = lines_of(program)
    kind: LineKind | Literal["final state"] = "final state"
    number = 0
    if not form.answer:
        number = trace.steps[min(step, len(trace.steps)) - 1].line
        kind = lines[number - 1].kind
    category: Category
    if same == len(written):
        category = "early end"
    elif same == len(right):
        category = "late end"
    else:
        state = check_inputs(program, inputs)
        category = _category(lines, state, trace, step, expected, actual, form)
    return FirstError(category, kind, step, number, same - begin, expected, actual)


def _agreement(first: str, second: str) -> int:
    """The number of characters that two texts have in common at their beginning."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(first), len(second)))


def _line_at(text: str, begin: int) -> str:
    end = text.find("\n", begin)
    return text[begin:] if end < 0 else text[begin:end]


# Lines of a trace

LINE = re.compile(
    r"(?:(?P<index>0|[1-9]\d*) )?L(?P<label>0|[1-9]\d*),(?:(?P<name>\w+):(?P<value>\S+))?", re.A
)
FINAL = re.compile(r"(?P<name>\w+):(?P<value>\S+)", re.A)
INTEGER = r"0|-?[1-9][0-9]*"
REVERSED = r"0|-?[0-9]*[1-9]"


@dataclass(frozen=True)
class TraceLine:
    """A line of a trace as it is written.

    Attributes:
        index: the step number; None in formats without one.
        label: the line label; None in the format without a trace.
        name: the variable; empty if there is none.
        value: its value; None if there is no variable.
    """

    index: int | None
    label: int | None
    name: str
    value: Value | None


def read_trace_line(text: str, form: TraceFormat = L0_BENCH) -> TraceLine | None:
    """A line of a trace; None if it is malformed.

    Example:
        >>> read_trace_line("L4,lst_a:[1,-2]")
        TraceLine(index=None, label=4, name='lst_a', value=(1, -2))
        >>> read_trace_line("L4,lst_a:3") is None
        True
    """
    found = (FINAL if form.answer else LINE).fullmatch(text)
    if found is None:
        return None
    parts = found.groupdict()
    index, name = parts.get("index"), parts["name"] or ""
    if (index is not None) != (form.step_index and not form.answer):
        return None
    value = _read_value(name, parts["value"], form) if name else None
    if name and value is None:
        return None
    try:
        label = None if form.answer else int(parts["label"])
        return TraceLine(None if index is None else int(index), label, name, value)
    except ValueError:  # more digits than Python converts
        return None


def _read_value(name: str, text: str, form: TraceFormat) -> Value | None:
    """A value of the kind that a name has; None if it is not one."""
    kind = KINDS.get(name)
    if kind == "Boolean":
        return {"True": True, "False": False}.get(text)
    if kind == "list":
        if not (text.startswith("[") and text.endswith("]")):
            return None
        items = [_read_integer(item, form) for item in text[1:-1].split(",")] if text[1:-1] else []
        return None if None in items else tuple(item for item in items if item is not None)
    return None if kind is None else _read_integer(text, form)


def _read_integer(text: str, form: TraceFormat) -> int | None:
    if not re.fullmatch(REVERSED if form.reversed_digits else INTEGER, text, re.A):
        return None
    if form.reversed_digits:
        sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
        text = sign + digits[::-1]
    try:
        return int(text)
    except ValueError:  # more digits than Python converts
        return None


# Categories


def _category(
    lines: tuple[Line, ...],
    inputs: Mapping[str, Value],
    trace: Trace,
    step: int,
    expected: str,
    written: str,
    form: TraceFormat,
) -> Category:
    """The category of a line that differs from the right one."""
    right, wrong = read_trace_line(expected, form), read_trace_line(written, form)
    assert right is not None
    if wrong is None:
        return "malformed"
    if wrong.index != right.index:
        return "wrong step"
    if wrong.label != right.label:
        return "wrong line"
    if wrong.name != right.name:
        return "wrong variable"
    if isinstance(wrong.value, tuple) and isinstance(right.value, tuple):
        return "list length" if len(wrong.value) != len(right.value) else "list element"
    assert isinstance(wrong.value, int)
    assert isinstance(right.value, int)
    last = len(trace.steps) + 1 if form.answer else step
    line = None if form.answer else lines[trace.steps[step - 1].line - 1]
    if wrong.value in stale_values(right.name, line, inputs, trace, last):
        return "stale value"
    if not isinstance(wrong.value, bool) and abs(wrong.value - right.value) == 1:
        return "off by one"
    return "other value"


def stale_values(
    name: str, line: Line | None, inputs: Mapping[str, Value], trace: Trace, step: int
) -> set[Value]:
    """The values that a step could write if it used an earlier value of a variable.

    These are, for an integer, all values that `name` has had before the step, and what the line
    computes if one variable that it reads had any of its earlier values. For a Boolean they are the
    value that it had just before the step.

    Args:
        name: the variable that the step writes.
        line: the line that it executes; None for the final state.
        inputs: the inputs of the program.
        trace: the trace of the run.
        step: the number of the step, from 1.
    """
    history: dict[str, list[Value]] = {key: [value] for key, value in inputs.items()}
    for past in trace.steps[: step - 1]:
        if past.value is not None:
            history.setdefault(past.name, []).append(past.value)
    values = history.get(name, [])
    if KINDS[name] == "Boolean":
        return set(values[-2:-1] if line is None else values[-1:])
    result = set(values)
    if line is not None:
        result |= set(_with_earlier_operands(line, history))
    return result


def _with_earlier_operands(line: Line, history: Mapping[str, list[Value]]) -> Iterator[Value]:
    """What a line computes if one variable that it reads had an earlier value."""
    now = {name: values[-1] for name, values in history.items()}
    for name in dict.fromkeys(list(names_of([line]))[1:]):
        for earlier in history.get(name, [])[:-1]:
            try:
                yield written_value(line, {**now, name: earlier})
            except Fault:
                continue
