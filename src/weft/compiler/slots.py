"""The stream layout of a program: variables side by side, in the order of their declaration."""

from __future__ import annotations

from weft.compiler.problem import Problem
from weft.language.program import Variable
from weft.language.ranges import Categorical, Number, Subset
from weft.models.slots import Layout, Slot


def make_layout(problem: Problem) -> Layout:
    """A slot for every variable that matters; merged heads share theirs."""
    slots: dict[str, Slot] = {}
    start = 0
    for name in problem.variables:
        if name not in problem.aliases:
            slots[name] = _slot(problem.program.variables[name], start)
            start += slots[name].size
    for name, into in problem.aliases.items():
        slots[name] = _slot(problem.program.variables[name], slots[into].start)
    return Layout(tuple(slots[name] for name in problem.variables))


def _slot(variable: Variable, start: int) -> Slot:
    range_ = variable.range
    if isinstance(range_, Categorical):
        return Slot(variable.name, "categorical", start, len(range_), variable.is_head)
    if isinstance(range_, Number):
        return Slot(variable.name, "number", start, 1, variable.is_head, range_.values)
    assert isinstance(range_, Subset)
    return Slot(variable.name, "set", start, range_.size, variable.is_head, range_.values)
