"""What a run did: all streams, the keys that heads selected, the rules that fired, who halted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from weft.language.program import Program
from weft.language.ranges import UNDEFINED
from weft.language.rules import Rule
from weft.language.stream import Stream
from weft.language.user_code import decode_stream

Selection = Mapping[str, tuple[tuple[int, ...], ...]]
"""For each head and each position, the positions that were selected."""


@dataclass(frozen=True)
class Layer:
    """One layer: the stream before it, after attention, and after the step."""

    program: Program = field(repr=False, compare=False)
    before: Stream
    attended: Stream
    after: Stream
    selected: Selection

    @cached_property
    def fired(self) -> tuple[tuple[Rule, ...], ...]:
        """The rules that fired, for each position; heads' resets last."""
        return tuple(
            self.program.rules.fired(read_state(self.program, self.attended.at(position)))
            for position in range(self.attended.positions)
        )


@dataclass(frozen=True)
class Trace:
    """A run, layer by layer.

    Attributes:
        start: the stream before the first layer.
        layers: the layers, in order.
        halted: for each position, the number of layers after which it first had halted.
    """

    start: Stream
    layers: tuple[Layer, ...]
    halted: tuple[int | None, ...]


@dataclass(frozen=True)
class Run:
    """What a program made of one input.

    Attributes:
        tokens: the input, as the program names its tokens.
        stream: the last stream.
        layers: how many layers ran.
        trace: all that happened, where it was asked for.
    """

    program: Program = field(repr=False, compare=False)
    tokens: tuple[Any, ...]
    stream: Stream
    layers: int
    trace: Trace | None = None

    @property
    def outputs(self) -> tuple[Any, ...]:
        """The output variable at every position."""
        return self.stream[self.program.definition.output]

    @property
    def result(self) -> Any:
        """The answer, decoded by the program."""
        return decode_stream(self.program, self.stream)


def read_state(program: Program, state: Mapping[str, Any]) -> dict[str, Any]:
    """A state as a step reads it: numbers as their nearest bucket."""
    return {
        name: value if value is UNDEFINED else program.variables[name].range.nearest(value)
        for name, value in state.items()
    }


def halting_times(program: Program, streams: list[Stream]) -> tuple[int | None, ...]:
    """For each position, after how many layers it first had halted."""
    halt = program.definition.halt
    positions = range(streams[0].positions)
    if halt is None:
        return tuple(None for _ in positions)
    return tuple(
        next((t for t, s in enumerate(streams) if s[halt.variable][i] == halt.value), None)
        for i in positions
    )
