"""Traces: the steps of a run, and how programs, calls and traces are written as text.

A trace has one line per executed line of source: `L4,a:3` if line 4 writes 3 to `a`, the whole list
after an append or a pop, and `L6,` for `if`, `while` and `return`. The header of a loop adds a line
for every test, the one that fails included.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from weft.config import check_bounds, check_types
from weft.ptg.language import Inputs, Program, Value, shown
from weft.ptg.lines import code, lines_of

TAB = "\t"
LITERAL = re.compile(r"\b[0-9]+\b")
"""A number in a program; the 2 of `cnt_2` is part of a name."""


@dataclass(frozen=True, slots=True)
class Step:
    """One executed line: its number, and the variable it writes with its new value, if any."""

    line: int
    name: str = ""
    value: Value | None = None


@dataclass(frozen=True)
class Trace:
    """A run.

    Attributes:
        steps: the executed lines, in order; the last is `return`.
        final: the value of every variable that is bound at the end, counters included, in the order
            in which the variables first occur in the source.
    """

    steps: tuple[Step, ...]
    final: Mapping[str, Value]


@dataclass(frozen=True)
class TraceFormat:
    """How a document is written; the defaults give the format of L0-Bench.

    Attributes:
        step_index: whether every trace line starts with its number and a blank, as in `3 L4,a:2`.
        reversed_digits: whether numbers are written with the least significant digit first, after
            the sign: -12 is `-21`. It applies to values in the call and the trace and to numbers in
            the program, not to line labels and step numbers.
        answer: whether the trace is replaced by the final state, one line such as `a:3` per bound
            variable.
        first_label: the label of the line of `def`. A random first label per document trains
            labels that are larger than any program is long.
    """

    step_index: bool = False
    reversed_digits: bool = False
    answer: bool = False
    first_label: int = 1

    def __post_init__(self) -> None:
        check_types(self, "trace format")
        check_bounds(self, {"first_label": (0, 1_000_000)}, "trace format")


L0_BENCH = TraceFormat()
"""The default format."""


@dataclass(frozen=True)
class Document:
    """A program, a call and what the model should write, each ending in a line break."""

    program: str
    call: str
    target: str

    @property
    def text(self) -> str:
        """The whole document."""
        return self.program + self.call + self.target


def document(
    program: Program, inputs: Inputs, trace: Trace, form: TraceFormat = L0_BENCH
) -> Document:
    """The document of a run."""
    target = final_text(trace.final, form) if form.answer else trace_text(trace, form)
    return Document(program_text(program, form), call_text(program, inputs, form), target)


def number_text(value: int, form: TraceFormat = L0_BENCH) -> str:
    """An integer with its digits in the order of the format.

    Example:
        >>> number_text(-12), number_text(-12, TraceFormat(reversed_digits=True))
        ('-12', '-21')
    """
    if not form.reversed_digits:
        return str(value)
    return "-" * (value < 0) + str(abs(value))[::-1]


def value_text(value: Value, form: TraceFormat = L0_BENCH) -> str:
    """A value as calls and traces write it."""
    if isinstance(value, bool) or not form.reversed_digits:
        return shown(value)
    if isinstance(value, tuple | list):
        return f"[{','.join(number_text(item, form) for item in value)}]"
    return number_text(value, form)


def program_text(program: Program, form: TraceFormat = L0_BENCH) -> str:
    """The program with a label before every line: `L1 def f(a):`, then `L2 `, a tab and so on."""
    texts = []
    for line in lines_of(program):
        written = code(line, program.parameters)
        if form.reversed_digits:
            written = LITERAL.sub(lambda found: number_text(int(found[0]), form), written)
        texts.append(f"L{line.number - 1 + form.first_label} {TAB * line.indent}{written}\n")
    return "".join(texts)


def call_text(program: Program, inputs: Inputs, form: TraceFormat = L0_BENCH) -> str:
    """The call: `f(a=3,lst_a=[0,9])`, with arguments in the order of the parameters."""
    arguments = (f"{name}={value_text(inputs[name], form)}" for name in program.parameters)
    return f"f({','.join(arguments)})\n"


def trace_text(trace: Trace, form: TraceFormat = L0_BENCH) -> str:
    """The lines of a trace."""
    return "".join(
        f"{step_text(step, number, form)}\n" for number, step in enumerate(trace.steps, 1)
    )


def step_text(step: Step, number: int = 1, form: TraceFormat = L0_BENCH) -> str:
    """One line of a trace, of which `number` is the step number from 1.

    Example:
        >>> step_text(Step(4, "lst_a", (1, -2))), step_text(Step(5))
        ('L4,lst_a:[1,-2]', 'L5,')
        >>> step_text(Step(4, "a", 3), 12, TraceFormat(step_index=True, first_label=10))
        '12 L13,a:3'
    """
    index = f"{number} " if form.step_index else ""
    head = f"{index}L{step.line - 1 + form.first_label},"
    return head if step.value is None else f"{head}{step.name}:{value_text(step.value, form)}"


def final_text(final: Mapping[str, Value], form: TraceFormat = L0_BENCH) -> str:
    """The final state, one line such as `a:3` per variable."""
    return "".join(f"{name}:{value_text(value, form)}\n" for name, value in final.items())
