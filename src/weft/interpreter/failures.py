"""Errors while a program runs, worded the same in both interpreters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.errors import Location, WeftError
from weft.language.program import Program


class StepError(WeftError):
    """A layer that could not be computed at some position.

    Attributes:
        layer: the layer, counted from 1.
        position: the position, counted from 0.
        input: the number of the input in its batch, counted from 0; None if only one was run.
    """

    def __init__(
        self,
        program: Program,
        what: str,
        *,
        tokens: Sequence[Any],
        layer: int,
        position: int,
        input: int | None,
        where: Location | None,
        remedy: str,
    ) -> None:
        self.layer = layer
        self.position = position
        self.input = input
        named = (
            f"input {input} ({shown(program, tokens)})"
            if input is not None
            else (f"input {shown(program, tokens)}")
        )
        super().__init__(
            f"{named}, layer {layer}, position {position}: {what}",
            subject=program.name,
            where=where,
            remedy=remedy,
        )


class NotHalted(WeftError):
    """A program did not halt within its limit of layers."""


class InterpretersDisagree(WeftError):
    """One interpreter fails on an input and the other does not: a bug in Weft."""


def shown(program: Program, tokens: Sequence[Any]) -> str:
    """An input in quotes, cut if it is long."""
    text = program.vocabulary.show(tokens)
    return repr(text if len(text) <= 40 else text[:37] + "...")


def not_halted(program: Program, tokens: Sequence[Any], limit: int, input: int | None) -> NotHalted:
    """The error for a program that did not halt."""
    number = f"input {input} " if input is not None else "input "
    assert program.definition.halt is not None
    halt = program.definition.halt
    return NotHalted(
        f"{number}{shown(program, tokens)}: it has not halted after {limit:,} layers "
        f"({halt.variable} = {halt.value} at every position)",
        subject=program.name,
        remedy="Give a larger max_layers if it needs more, or `layers` to run that many and stop",
    )


def no_layers(program: Program) -> WeftError:
    """The error if nothing says how many layers to run."""
    return WeftError(
        "it has neither a halting condition nor a number of layers",
        subject=program.name,
        remedy="Say how many to run (layers=N, on the command line --layers N), or declare `halt`",
    )


def undefined_read(program: Program, head: str, selected: int) -> tuple[str, str]:
    """Message and remedy for a step that reads an undefined head."""
    declared = program.heads[head]
    looks = declared.describe()
    if selected == 0:
        why = f"nothing was selected (it looks for {looks})"
    else:
        why = f"{selected} positions were selected, not one (it looks for {looks})"
    remedy = "Test something else first, so that the head is read only if it selects one position"
    if declared.query is None and selected == 0:
        remedy = (
            "There is no such neighbour there: test something else first, so "
            "that the head is not read there"
        )
    return f"the step reads the head '{head}', which is undefined here: {why}", remedy
