"""What a run did: its streams, the positions that heads selected, the rules that fired.

A run is written as JSON by `Run.to_json` and read back by `run_from_json`. The schema is documented
in `docs/interpreters.md`; `VERSION` goes up when it changes in a way that readers must know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from weft.config import require
from weft.errors import WeftError
from weft.language.program import Program, Variable, as_program
from weft.language.ranges import UNDEFINED, Subset
from weft.language.rules import Rule
from weft.language.stream import Cell, Stream
from weft.language.user_code import decode_stream

VERSION = 1

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
        """The rules that fired at each position; resets of heads come last."""
        return tuple(
            self.program.rules.fired(read_state(self.program, self.attended.at(position)))
            for position in range(self.attended.positions)
        )

    def to_json(self) -> dict[str, Any]:
        """The layer as plain values; the stream before it is the one after the previous layer."""
        variables = self.program.variables
        return {
            "attended": plain(self.attended),
            "after": plain(self.after),
            "selected": plain(self.selected),
            "fired": [
                [rule.show(variables) for rule in rules if not rule.is_reset]
                for rules in self.fired
            ],
        }


@dataclass(frozen=True)
class Trace:
    """A run, layer by layer.

    Attributes:
        start: the stream before the first layer.
        layers: the layers, in order.
        halted: for each position, the number of layers after which it had first halted.
    """

    start: Stream
    layers: tuple[Layer, ...]
    halted: tuple[int | None, ...]

    def to_json(self) -> dict[str, Any]:
        """The trace as plain values."""
        return {
            "start": plain(self.start),
            "halted": list(self.halted),
            "layers": [layer.to_json() for layer in self.layers],
        }


@dataclass(frozen=True)
class Run:
    """The result of running a program on one input.

    Attributes:
        program: the program.
        tokens: the input, as the program names its tokens.
        stream: the last stream.
        layers: how many layers ran.
        trace: every layer, if the run was traced.
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

    def to_json(self) -> dict[str, Any]:
        """The run as plain values: sets as sorted lists, undefined as null, tokens as text.

        Example:
            >>> import weft
            >>> run = weft.run(weft.program("parity"), "10")
            >>> run.to_json()["stream"]["parity_left"]
            [None, None, None]
        """
        values: dict[str, Any] = {
            "version": VERSION,
            "program": self.program.name,
            "input": [str(token) for token in self.tokens],
            "outputs": plain(self.outputs),
            "result": plain(self.result),
            "layers": self.layers,
            "stream": plain(self.stream),
        }
        return values if self.trace is None else {**values, "trace": self.trace.to_json()}


def run_from_json(program: Program | type[Program], values: Any) -> Run:
    """The run that `Run.to_json` wrote, of the same program.

    `outputs`, `result` and `fired` are not read: they follow from the rest.
    """
    program = as_program(program)
    remedy = "Write it again: weft run PROGRAM INPUT --trace --json"
    keys = {"version": int, "program": str, "input": list, "layers": int, "stream": dict}
    require(values, keys, "the run", remedy)
    if values["version"] != VERSION:
        raise WeftError(
            f"the run has version {values['version']}; this Weft reads {VERSION}", remedy=remedy
        )
    if values["program"] != program.name:
        raise WeftError(
            f"the run is of {values['program']}", subject=program.name, remedy="Give that program"
        )
    try:
        tokens = tuple(_token(program, text) for text in values["input"])
        trace = _trace(program, values["trace"]) if "trace" in values else None
        return Run(program, tokens, _stream(program, values["stream"]), values["layers"], trace)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        reason = error.what if isinstance(error, WeftError) else f"{type(error).__name__}: {error}"
        raise WeftError(
            f"the run cannot be read: {reason}", subject=program.name, remedy=remedy
        ) from None


def _token(program: Program, text: str) -> Any:
    names = program.vocabulary.names
    return int(text) if names is None else {str(name): name for name in names}[text]


def _trace(program: Program, values: Mapping[str, Any]) -> Trace:
    start = _stream(program, values["start"])
    layers: list[Layer] = []
    for layer in values["layers"]:
        selected = {
            head: tuple(map(tuple, layer["selected"][head]))  # one tuple per position
            for head in program.heads
        }
        before = layers[-1].after if layers else start
        attended, after = _stream(program, layer["attended"]), _stream(program, layer["after"])
        layers.append(Layer(program, before, attended, after, selected))
    return Trace(start, tuple(layers), tuple(values["halted"]))


def _stream(program: Program, values: Mapping[str, Any]) -> Stream:
    return Stream(
        {
            name: tuple(_cell(variable, value) for value in values[name])
            for name, variable in program.variables.items()
        }
    )


def _cell(variable: Variable, value: Any) -> Cell:
    if value is None and variable.is_head:
        return UNDEFINED
    if isinstance(variable.range, Subset):
        value = frozenset(value)
    nearest = variable.range.nearest(value)  # a head may average to a number between two buckets
    if nearest not in variable.range.codes:
        raise WeftError(f"{value!r} is not a value of '{variable.name}'")
    return value  # type: ignore[no-any-return]


def plain(value: Any) -> Any:
    """A value for JSON: sets as sorted lists, undefined as null."""
    if value is UNDEFINED:
        return None
    if isinstance(value, (frozenset, set)):
        return sorted(value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


def read_state(program: Program, state: Mapping[str, Any]) -> dict[str, Any]:
    """A state as a step reads it: numbers as their nearest bucket."""
    return {
        name: value if value is UNDEFINED else program.variables[name].range.nearest(value)
        for name, value in state.items()
    }


def halting_times(program: Program, streams: list[Stream]) -> tuple[int | None, ...]:
    """For each position, the number of layers after which it had first halted."""
    halt = program.definition.halt
    positions = range(streams[0].positions)
    if halt is None:
        return tuple(None for _ in positions)
    return tuple(
        next((t for t, s in enumerate(streams) if s[halt.variable][i] == halt.value), None)
        for i in positions
    )
