"""The reference interpreter: short, exact, one position at a time. It defines what programs mean.

A layer is attention, then the step. All heads read the stream as it was before the layer; the step
is executed as ordinary Python; then heads' outputs are cleared. A sequence stops when every
position has halted.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NoReturn

from weft.errors import Location, WeftError
from weft.interpreter.failures import StepError, no_layers, not_halted, undefined_read
from weft.interpreter.inputs import read_input, with_input_number
from weft.interpreter.trace import Layer, Run, Trace, halting_times, read_state
from weft.language.bounded import EndlessLoop, call_bounded
from weft.language.definition import head_write_error, unknown_variable
from weft.language.program import Head, Program, as_program, token_numbers
from weft.language.ranges import UNDEFINED, Number, OutOfRange
from weft.language.state import StateObject
from weft.language.state import __file__ as state_file
from weft.language.state_access import Escape, escape_error
from weft.language.stream import Cell, Stream, initial_stream


def run(
    program: Program | type[Program],
    given: str | Iterable[Any],
    *,
    layers: int | None = None,
    max_layers: int | None = None,
    trace: bool = False,
    index: int | None = None,
) -> Run:
    """Run a program on one input.

    Args:
        program: a program, or its class.
        given: text for the program's `encode`, or tokens as the program names them.
        layers: run this many layers, fewer if the program halts before; by default, until it halts.
        max_layers: the limit of layers for a program that should halt.
        trace: record every layer: streams, the positions that heads selected, rules that fired.
        index: the number of the input in error messages.

    Example:
        >>> import weft
        >>> run = weft.run(weft.program("parity"), "101")
        >>> run.result, run.layers
        (0, 3)
    """
    program = as_program(program)
    limit, must_halt = layer_limit(program, layers, max_layers)
    try:
        tokens = read_input(program, given)
        stream = initial_stream(program, token_numbers(program, tokens))
    except WeftError as error:
        raise with_input_number(error, index) from None
    streams, done = [stream], []
    while not has_halted(program, stream) and len(streams) <= limit:
        layer = _layer(program, stream, tokens, len(streams), index)
        stream = layer.after
        streams.append(stream)
        if trace:
            done.append(layer)
    if must_halt and not has_halted(program, stream):
        raise not_halted(program, tokens, limit, index)
    recorded = Trace(streams[0], tuple(done), halting_times(program, streams)) if trace else None
    return Run(program, tuple(tokens), stream, len(streams) - 1, recorded)


def layer_limit(program: Program, layers: int | None, max_layers: int | None) -> tuple[int, bool]:
    """How many layers may run, and whether it is an error not to have halted by then."""
    if layers is not None and layers < 0:
        raise WeftError(f"{layers} layers cannot be run", remedy="Give 0 or more")
    if layers is not None:
        return layers, False
    if program.definition.halt is None:
        if program.layers is None:
            raise no_layers(program)
        return program.layers, False
    return program.max_layers if max_layers is None else max_layers, True


def has_halted(program: Program, stream: Stream) -> bool:
    """Whether every position has halted."""
    halt = program.definition.halt
    return halt is not None and all(value == halt.value for value in stream[halt.variable])


def select(program: Program, head: Head, stream: Stream, position: int) -> tuple[int, ...]:
    """The positions that a head selects when it looks from one position."""
    return tuple(
        other
        for other in range(stream.positions)
        if (head.offsets is None or other - position in head.offsets)
        and (not program.causal or other <= position)
        and _matches(head, stream, position, other)
    )


def _matches(head: Head, stream: Stream, position: int, other: int) -> bool:
    if head.query is None or head.key is None:
        return True
    query, key = stream[head.query][position], stream[head.key][other]
    return key in query if isinstance(query, frozenset) else key == query


def aggregate(values: list[Any], numerical: bool) -> Cell:
    """The output of a head, from the values at the positions that it selected."""
    if numerical:
        return mean(values) if values else UNDEFINED
    return values[0] if len(values) == 1 else UNDEFINED


def mean(values: list[float]) -> float:
    """The mean, summed in the order of the values, so that the order of positions cannot matter."""
    total = 0.0
    for value, count in sorted(Counter(values).items()):
        total += count * value
    return total / len(values)


def attend(program: Program, stream: Stream) -> tuple[Stream, dict[str, Any]]:
    """The stream after attention, and what each head selected at each position."""
    columns: dict[str, tuple[Cell, ...]] = {}
    selected: dict[str, tuple[tuple[int, ...], ...]] = {}
    for name, head in program.heads.items():
        numerical = isinstance(program.variables[name].range, Number)
        keys = [select(program, head, stream, i) for i in range(stream.positions)]
        values = stream[head.value]
        columns[name] = tuple(aggregate([values[j] for j in chosen], numerical) for chosen in keys)
        selected[name] = tuple(keys)
    return stream.replaced(columns), selected


def _layer(
    program: Program, stream: Stream, tokens: Sequence[Any], number: int, index: int | None
) -> Layer:
    attended, selected = attend(program, stream)
    states = []
    for position in range(stream.positions):
        state = attended.at(position)
        try:
            states.append(step(program, state))
        except StepFailure as failure:
            raise failure.located(program, tokens, number, position, index, selected) from None
    after = {
        name: tuple(state[name] for state in states)
        for name, variable in program.variables.items()
        if not variable.is_head
    }
    cleared = dict.fromkeys(program.heads, (UNDEFINED,) * stream.positions)
    return Layer(program, stream, attended, attended.replaced({**after, **cleared}), selected)


def step(program: Program, state: dict[str, Any]) -> dict[str, Any]:
    """The state of one position after the step; heads' outputs are unchanged."""
    if program.listed_rules is not None:
        fired = program.listed_rules.transitions(read_state(program, state))
        if (pair := program.listed_rules.disagreement(fired)) is not None:
            first, second = (f"`{rule.show(program.variables)}`" for rule in pair)
            raise StepFailure(
                what=f"two rules hold together and disagree: {first}, {second}",
                where=pair[1].where,
                remedy="Add a constraint to one of them, so that they exclude each other",
            )
        return {**state, **{rule.variable: rule.new for rule in fired}}
    content = StateContent(program, read_state(program, state))
    failure = _execute(program, content)
    if content.error is not None:  # a handler of the step may have caught it
        raise content.error
    if failure is not None:
        raise failure
    after = dict(state)
    for name, value in content.written.items():
        try:
            after[name] = program.variables[name].range.store(value)
        except OutOfRange as error:
            raise StepFailure(
                what=f"'{name}' is written outside its range: {error}",
                where=_last_write(program, state, name),
                remedy="Enlarge the variable's range, or do not let the step reach this value",
            ) from None
    return after


def _execute(program: Program, content: StateContent) -> StepFailure | None:
    """Execute the step; return how it failed, if it did."""
    traced = program._step_has_loop
    try:
        call_bounded(program.run_step, StepState(content), traced=traced)
    except UndefinedRead as error:
        return StepFailure(head=error.head, where=_place(error.__traceback__))
    except EndlessLoop as error:
        return StepFailure(what=f"the step fails: {error}", where=error.where)
    except (Exception, SystemExit) as error:
        said = error.line if isinstance(error, WeftError) else error
        what = f"the step fails: {type(error).__name__}: {said}".rstrip(": ")
        return StepFailure(what=what, where=_place(error.__traceback__))
    return None


class UndefinedRead(Exception):
    """The step read an undefined head."""

    def __init__(self, head: str) -> None:
        super().__init__(head)
        self.head = head


class StepFailure(Exception):
    """A step that failed; where in which run is added by `located`."""

    def __init__(
        self,
        *,
        what: str = "",
        head: str | None = None,
        where: Location | None = None,
        remedy: str = "Make sure that the step cannot reach this, or guard it with a test",
    ) -> None:
        super().__init__(what)
        self.what, self.head, self.where, self.remedy = what, head, where, remedy

    def located(
        self,
        program: Program,
        tokens: Sequence[Any],
        layer: int,
        position: int,
        index: int | None,
        selected: dict[str, Any],
    ) -> StepError:
        """The error with its place in the run."""
        what, remedy = self.what, self.remedy
        if self.head is not None:
            what, remedy = undefined_read(program, self.head, len(selected[self.head][position]))
        return StepError(
            program,
            what,
            tokens=tokens,
            layer=layer,
            position=position,
            input=index,
            where=self.where,
            remedy=remedy,
        )


@dataclass
class StateContent:
    """The content of a `StepState`."""

    program: Program
    values: dict[str, Any]
    written: dict[str, Any] = field(default_factory=dict)
    places: dict[str, Location | None] | None = None
    error: WeftError | None = None

    def refuse(self, error: WeftError) -> NoReturn:
        """Fail, even if the step catches exceptions."""
        self.error = self.error or error
        raise error

    def refuse_unknown(self, name: str) -> NoReturn:
        """Fail because a variable does not exist."""
        self.refuse(unknown_variable(self.program.name, name, self.values, _caller()))


class StepState(StateObject):
    """The `z` of a step: the variables of one position, by attribute or by name.

    Everything else is behind one name that no variable can have.
    """

    __slots__ = ("__content__",)
    __content__: StateContent

    def __init__(self, content: StateContent) -> None:
        object.__setattr__(self, "__content__", content)

    def __getitem__(self, name: str) -> Any:
        content = self.__content__
        if name not in content.values:
            content.refuse_unknown(name)
        value = content.values[name]
        if value is UNDEFINED:
            raise UndefinedRead(name)
        return value

    def __setitem__(self, name: str, value: Any) -> None:
        content = self.__content__
        if name not in content.values:
            content.refuse_unknown(name)
        if content.program.variables[name].is_head:
            content.refuse(head_write_error(content.program.name, name, _caller()))
        content.values[name] = content.written[name] = value
        if content.places is not None:
            content.places[name] = _caller()

    __getattr__ = __getitem__
    __setattr__ = __setitem__

    def __escape__(self, what: str) -> NoReturn:
        content, where = self.__content__, _caller()
        assert where is not None
        content.refuse(escape_error(content.program.name, Escape(what, where)))


def _last_write(program: Program, state: dict[str, Any], name: str) -> Location | None:
    """Where the step last wrote a variable; the step runs again to find out."""
    content = StateContent(program, read_state(program, state), places={})
    program.run_step(StepState(content))
    return (content.places or {}).get(name)


_OWN_FILES = (__file__, state_file)


def _caller() -> Location | None:
    frame = sys._getframe(1)
    while frame.f_code.co_filename in _OWN_FILES:
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return Location(frame.f_code.co_filename, frame.f_lineno)


def _place(traceback: TracebackType | None) -> Location | None:
    """The innermost line of the step, or of one of its helpers, in a traceback."""
    place = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename not in _OWN_FILES:
            positions = list(code.co_positions())
            line, end, column, stop = positions[traceback.tb_lasti // 2]
            same = line == end
            place = Location(
                code.co_filename,
                line or traceback.tb_lineno,
                column if same else None,
                stop if same else None,
            )
        traceback = traceback.tb_next
    return place
