"""What each step of a run reads, and which earlier step wrote it."""

from __future__ import annotations

from dataclasses import dataclass

from weft.ptg.language import Program
from weft.ptg.lines import lines_of, names_of
from weft.ptg.tracing import Trace


@dataclass(frozen=True, slots=True)
class Read:
    """A variable that a step reads, and the number of the step that wrote it; 0 for an input."""

    name: str
    written_at: int


def reads_of(program: Program, trace: Trace) -> tuple[tuple[Read, ...], ...]:
    r"""For each step of a run, the variables that it reads and the steps that wrote them.

    The step of an append or a pop reads the list, and that of `if` or `while` its condition.

    Example:
        >>> from weft.ptg.interpreter import run
        >>> from weft.ptg.parser import parse
        >>> program = parse("def f(a):\n\tb = a + 1\n\tc = b + 1\n\treturn\n")
        >>> reads_of(program, run(program, {"a": 1}))
        ((Read(name='a', written_at=0),), (Read(name='b', written_at=1),), ())
    """
    lines = lines_of(program)
    written = dict.fromkeys(program.parameters, 0)
    result = []
    for number, step in enumerate(trace.steps, 1):
        line = lines[step.line - 1]
        names = list(dict.fromkeys(names_of([line])))
        if line.kind not in ("append", "pop", "if", "while"):
            names = list(dict.fromkeys(list(names_of([line]))[1:]))
        result.append(tuple(Read(name, written[name]) for name in names))
        if step.name:
            written[step.name] = number
    return tuple(result)
