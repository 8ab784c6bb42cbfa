"""What is compiled: the live part of a program, with the values that can occur in it.

A pass takes a `Problem` and returns the next one, with a note of what it did.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from weft.language.program import Head, Program, Variable
from weft.language.ranges import OutOfRange, PartialRange
from weft.language.updates import Update


@dataclass(frozen=True)
class Reached(PartialRange):
    """The values of a range that can occur; no other is stored."""

    def store(self, value: Any) -> Any:
        stored = self.whole.store(value)
        if stored not in self.codes:
            raise OutOfRange(f"{stored!r} does not occur")
        return stored


@dataclass(frozen=True)
class Problem:
    """A program on its way to weights.

    Attributes:
        program: the program.
        variables: the variables that matter, with the values that can occur.
        heads: the heads that matter, each under the name of its output.
        aliases: heads that were merged, and into which.
        updates: what a step does to these variables.
        notes: what each pass did.
    """

    program: Program
    variables: Mapping[str, Variable]
    heads: Mapping[str, Head]
    aliases: Mapping[str, str]
    updates: tuple[Update, ...]
    notes: tuple[tuple[str, str], ...] = ()

    def noted(self, name: str, what: str) -> Problem:
        """The problem with one more note."""
        return replace(self, notes=(*self.notes, (name, what)))

    def codes(self, name: str) -> list[int]:
        """The codes of the values that can occur, in the whole range of a variable."""
        whole = self.program.variables[name].range
        return [whole.codes[value] for value in self.variables[name].range.values]


def start(program: Program) -> Problem:
    """The problem of compiling all that a program declares."""
    return Problem(
        program, dict(program.variables), dict(program.heads), {}, tuple(iter(program.updates))
    )


def restricted(variable: Variable, values: frozenset[Any]) -> Variable:
    """A variable with fewer values, in their order."""
    range_ = variable.range.whole if isinstance(variable.range, Reached) else variable.range
    kept = tuple(value for value in range_.values if value in values)
    return replace(variable, range=Reached(kept, whole=range_))
