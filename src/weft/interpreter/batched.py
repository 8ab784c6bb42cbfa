"""The batched interpreter: NumPy over many inputs at once, the same results bit for bit.

What it computes is defined by `reference`; where an input fails, that input is run there again, so
that the error is the same one.

    n   positions of all sequences together
    r   sequences
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import WeftError
from weft.interpreter import reference
from weft.interpreter.errors import not_halted
from weft.interpreter.heads import HeadPlan, Layout, layout_of
from weft.interpreter.plan import Plan, code_type
from weft.interpreter.trace import Layer, Run, Trace, halting_times
from weft.language.program import Program, as_program, token_numbers
from weft.language.ranges import UNDEFINED, Undefined, Value
from weft.language.stream import Stream, initial_stream

Array = NDArray[Any]

POSITIONS_AT_ONCE = 1 << 16
"""About how many positions are computed together: as many as stay in a core's cache."""


@dataclass(frozen=True)
class Moment:
    """The columns of the sequences that were running, at one moment of one layer."""

    sequences: Array
    layout: Layout
    columns: dict[str, Array]
    numbers: dict[str, Array]


@dataclass(frozen=True)
class BatchRun(Sequence[Run]):
    """What a program made of a batch; indexing gives the `Run` of one input.

    Attributes:
        tokens: the inputs.
        layers: how many layers each input ran.
    """

    program: Program = field(repr=False)
    tokens: tuple[tuple[Any, ...], ...]
    layers: tuple[int, ...]
    _columns: dict[str, Array] = field(repr=False)
    _starts: Array = field(repr=False)
    _history: list[list[tuple[Moment, Moment, Moment]]] = field(repr=False)
    _chunks: Array = field(repr=False)

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        return self._run(range(len(self))[index], bool(self._history))

    def _run(self, place: int, traced: bool) -> Run:
        span = slice(self._starts[place], self._starts[place + 1])
        stream = Stream(
            {
                name: (UNDEFINED,) * len(self.tokens[place])
                if variable.is_head
                else tuple(variable.range.values[c] for c in self._columns[name][span].tolist())
                for name, variable in self.program.variables.items()
            }
        )
        trace = self._trace(place) if traced else None
        return Run(self.program, self.tokens[place], stream, self.layers[place], trace)

    def __iter__(self) -> Iterator[Run]:
        return (self[place] for place in range(len(self)))

    @property
    def outputs(self) -> list[tuple[Any, ...]]:
        """The output variable at every position of every input."""
        name = self.program.definition.output
        values = self.program.variables[name].range.values
        cells = [values[code] for code in self._columns[name].tolist()]
        bounds = self._starts.tolist()
        return [tuple(cells[a:b]) for a, b in pairwise(bounds)]

    @property
    def results(self) -> list[Any]:
        """The answers, decoded by the program."""
        return [self._run(place, traced=False).result for place in range(len(self))]

    def states(self, layer: int, stage: str) -> dict[str, Array]:
        """The codes of every variable at one layer of a traced batch of one chunk.

        The positions of all sequences that ran this layer, one after the other. `stage` is
        `attended` or `after`; an undefined head has one code more than it has values.
        """
        (history,) = self._history
        moment = history[layer - 1][1 if stage == "attended" else 2]
        running = (moment.sequences >= 0)[moment.layout.rows]
        return {name: column[running] for name, column in moment.columns.items()}

    def averages(self, layer: int) -> dict[str, Array]:
        """What heads of numbers averaged at one layer, with the positions of `states`.

        Where a head is undefined, the number means nothing.
        """
        (history,) = self._history
        moment = history[layer - 1][1]
        running = (moment.sequences >= 0)[moment.layout.rows]
        return {name: numbers[running] for name, numbers in moment.numbers.items()}

    @property
    def traced(self) -> int:
        """How many layers `states` has, of a traced batch of one chunk."""
        return max((len(history) for history in self._history), default=0)

    def observed(self) -> dict[str, set[int]]:
        """The codes that every variable of a traced batch had anywhere, at any layer."""
        seen: dict[str, set[int]] = {name: set() for name in self.program.variables}
        for name, column in self._columns.items():
            seen[name] |= set(np.unique(column).tolist())
        for history in self._history:
            for moments in history:
                for moment in moments:
                    for name, column in moment.columns.items():
                        seen[name] |= set(np.unique(column).tolist())
        return seen

    def _trace(self, place: int) -> Trace:
        layers: list[Layer] = []
        if not self.tokens[place]:
            nothing = initial_stream(self.program, [])
            unselected: dict[str, tuple[tuple[int, ...], ...]] = dict.fromkeys(
                self.program.heads, ()
            )
            empty = Layer(self.program, nothing, nothing, nothing, unselected)
            layers = [empty] * self.layers[place]
        for moments in self._history[int(self._chunks[place])]:
            if place in moments[0].sequences:
                before, attended, after = (_stream(self.program, m, place) for m in moments)
                selected = {
                    name: tuple(
                        reference.select(self.program, head, before, i)
                        for i in range(before.positions)
                    )
                    for name, head in self.program.heads.items()
                }
                layers.append(Layer(self.program, before, attended, after, selected))
        numbers = token_numbers(self.program, self.tokens[place])
        start = layers[0].before if layers else initial_stream(self.program, numbers)
        streams = [start, *(layer.after for layer in layers)]
        return Trace(start, tuple(layers), halting_times(self.program, streams))


def run_batch(
    program: Program | type[Program],
    inputs: Iterable[str | Iterable[Any]],
    *,
    layers: int | None = None,
    max_layers: int | None = None,
    trace: bool = False,
) -> BatchRun:
    """Run a program on many inputs at once; the arguments are those of `run`.

    Example:
        >>> import weft
        >>> weft.run_batch(weft.program("parity"), ["101", "1", "0111"]).results
        [0, 1, 1]
    """
    program = as_program(program)
    limit, must_halt = reference.layer_limit(program, layers, max_layers)
    tokens, numbers, unreadable = _read_inputs(program, inputs)
    bounds = np.cumsum([0, *(len(t) for t in tokens)])
    engine = _Engine.of(program)
    results = {
        name: np.zeros(bounds[-1], engine.types[name])
        for name, variable in program.variables.items()
        if not variable.is_head
    }
    ran = np.zeros(len(tokens), np.intp)
    history: list[list[tuple[Moment, Moment, Moment]]] = []
    chunks = np.zeros(len(tokens), np.intp)
    for number, chunk in enumerate(_chunks(bounds)):
        chunks[chunk] = number
        batch = _Batch(engine, chunk, numbers, bounds, results, ran)
        failed = batch.run(limit, must_halt, trace)
        if failed is not None:
            given = {"layers": layers, "max_layers": max_layers}
            raise _error(program, tokens, failed, limit, given)
        if trace:
            history.append(batch.history)
    if unreadable is not None:
        raise unreadable
    return BatchRun(
        program,
        tuple(tuple(t) for t in tokens),
        tuple(ran.tolist()),
        results,
        bounds,
        history,
        chunks,
    )


def _read_inputs(
    program: Program, inputs: Iterable[str | Iterable[Any]]
) -> tuple[list[Sequence[Any]], list[list[int]], Exception | None]:
    """The inputs up to the first that cannot be read, and what is wrong with that one."""
    tokens, numbers = [], []
    for index, given in enumerate(inputs):
        try:
            read = reference.read_input(program, given)
            numbers.append(token_numbers(program, read))
            tokens.append(read)
        except WeftError as error:
            return tokens, numbers, reference.of_input(error, index)
    return tokens, numbers, None


def _chunks(bounds: Array) -> Iterator[Array]:
    """The inputs in groups of about as many positions as are computed together."""
    start = 0
    while start < len(bounds) - 1:
        end = int(np.searchsorted(bounds, bounds[start] + POSITIONS_AT_ONCE))
        end = min(max(end, start + 1), len(bounds) - 1)
        yield np.arange(start, end)
        start = end


@dataclass(frozen=True)
class Failed:
    """The first input of a batch that does not come to its end, and why."""

    sequence: int
    halts: bool


def _error(
    program: Program, tokens: list[Sequence[Any]], failed: Failed, limit: int, given: dict[str, Any]
) -> Exception:
    """The error that the reference interpreter gives for an input."""
    sequence = failed.sequence
    if not failed.halts:
        return not_halted(program, tokens[sequence], limit, sequence)
    try:
        reference.run(program, tokens[sequence], index=sequence, **given)
    except Exception as error:
        return error
    return AssertionError(f"{program.name}: the interpreters disagree on input {sequence}")


class _Engine:
    """A program made ready for batches; kept with the program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.plan = Plan(program)
        self.heads = [HeadPlan(program, head) for head in program.heads.values()]
        self.types = {
            name: code_type(len(variable) + 1) for name, variable in program.variables.items()
        }

    @staticmethod
    def of(program: Program) -> _Engine:
        """The engine of a program, made once."""
        engine: _Engine | None = vars(program).get("_engine")
        if engine is None:
            engine = _Engine(program)
            vars(program)["_engine"] = engine
        return engine

    def initial(self, numbers: list[int], layout: Layout) -> tuple[dict[str, Array], Array]:
        """The first columns, and which positions cannot be initialised."""
        tokens = np.asarray(numbers, np.intp)
        places = np.arange(len(tokens)) - layout.starts[layout.rows]
        failed = np.zeros(len(tokens), bool)
        columns = {}
        for name, variable in self.program.variables.items():
            by = places if variable.position is not None else tokens
            codes = np.zeros(int(by.max(initial=0)) + 1, np.intp)
            for value in np.flatnonzero(np.bincount(by)):
                codes[value] = self._initial_code(name, int(value))
            column = codes[by]
            failed |= column < 0
            columns[name] = np.maximum(column, 0).astype(self.types[name])
        return columns, failed

    def _initial_code(self, name: str, given: int) -> int:
        variable = self.program.variables[name]
        if variable.is_head:
            return len(variable)
        try:
            token = self.program.vocabulary.name(given) if variable.token is not None else None
            value = variable.initial(token, given)
        except Exception:
            return -1
        return variable.range.codes[value]  # type: ignore[index]


class _Batch:
    """Some sequences on their way through the layers."""

    def __init__(
        self,
        engine: _Engine,
        sequences: Array,
        numbers: list[list[int]],
        bounds: Array,
        results: dict[str, Array],
        ran: Array,
    ) -> None:
        self.engine = engine
        self.program = engine.program
        self.bounds, self.results, self.ran = bounds, results, ran
        lengths = np.asarray([len(numbers[s]) for s in sequences], np.intp)
        self.empty = sequences[lengths == 0]
        self.sequences = sequences[lengths > 0]
        self.layout = layout_of(lengths[lengths > 0])
        flat = [number for s in self.sequences for number in numbers[s]]
        self.columns, failed = engine.initial(flat, self.layout)
        self.numbers: dict[str, Array] = {}
        self.running = np.ones(len(self.sequences), bool)
        self.failed: int | None = None
        self.history: list[tuple[Moment, Moment, Moment]] = []
        self._fail(failed)

    def run(self, limit: int, must_halt: bool, trace: bool) -> Failed | None:
        """Run to the end; the first input that failed, if one did."""
        self.ran[self.empty] = 0 if self.program.definition.halt is not None else limit
        layer = 0
        self._finish(self._halted(), layer)
        while self.running.any() and layer < limit:
            layer += 1
            self._layer(trace)
            self._finish(self._halted(), layer)
        unfinished = self.sequences[self.running]
        if must_halt and len(unfinished) and (self.failed is None or unfinished[0] < self.failed):
            return Failed(int(unfinished[0]), halts=False)
        if self.failed is not None:
            return Failed(self.failed, halts=True)
        self._finish(self.running.copy(), layer)
        return None

    def _layer(self, trace: bool) -> None:
        before = self._moment() if trace else None
        for head in self.engine.heads:  # all of them read columns that no head writes
            found = head.run(self.columns, self.layout)
            name = head.head.name
            self.columns[name] = found.codes.astype(self.engine.types[name])
            if found.numbers is not None:
                self.numbers[name] = found.numbers
        attended = self._moment() if trace else None
        new, failed = self.engine.plan.run(self.columns)
        for name, codes in new.items():  # a step that fails leaves everything as it was
            kept = codes if failed is None else np.where(failed, self.columns[name], codes)
            self.columns[name] = kept.astype(self.engine.types[name], copy=False)
        if before is not None and attended is not None:
            for name in self.program.heads:
                self.columns[name] = np.full_like(
                    self.columns[name], len(self.program.variables[name])
                )
            self.history.append((before, attended, self._moment()))
        if failed is not None:
            self._fail(failed)

    def _moment(self) -> Moment:
        return Moment(
            np.where(self.running, self.sequences, -1),
            self.layout,
            dict(self.columns),
            dict(self.numbers),
        )

    def _halted(self) -> Array:
        """The running sequences all of whose positions have halted."""
        halt = self.program.definition.halt
        if halt is None or not len(self.sequences):
            return np.zeros(len(self.sequences), bool)
        range_ = self.program.variables[halt.variable].range
        there = self.columns[halt.variable] == range_.codes[halt.value]
        return self.running & np.logical_and.reduceat(there, self.layout.starts)

    def _fail(self, positions: Array) -> None:
        """Stop the sequences of these positions, and all after the first of them."""
        rows = self.layout.rows[positions & self.running[self.layout.rows]]
        if len(rows):
            first = int(self.sequences[rows.min()])
            self.failed = first if self.failed is None else min(first, self.failed)
            self.running &= self.sequences < self.failed

    def _finish(self, rows: Array, layer: int) -> None:
        """Keep the results of sequences that are done, and drop them when they are many."""
        if not rows.any():
            return
        chosen = rows[self.layout.rows]
        within = np.arange(len(chosen)) - self.layout.starts[self.layout.rows]
        target = (self.bounds[self.sequences][self.layout.rows] + within)[chosen]
        for name, result in self.results.items():
            result[target] = self.columns[name][chosen]
        self.ran[self.sequences[rows]] = layer
        self.running &= ~rows
        if self.running.sum() < 0.9 * len(self.running):
            self._drop()

    def _drop(self) -> None:
        kept = self.running[self.layout.rows]
        self.columns = {name: column[kept] for name, column in self.columns.items()}
        self.numbers = {name: column[kept] for name, column in self.numbers.items()}
        self.layout = layout_of(self.layout.lengths[self.running])
        self.sequences = self.sequences[self.running]
        self.running = np.ones(len(self.sequences), bool)


def _stream(program: Program, moment: Moment, sequence: int) -> Stream:
    """The symbolic stream of one sequence at a moment."""
    row = int(np.flatnonzero(moment.sequences == sequence)[0])
    start = moment.layout.starts[row]
    span = slice(start, start + moment.layout.lengths[row])

    def cells(name: str) -> tuple[Value | Undefined, ...]:
        variable = program.variables[name]
        codes = moment.columns[name][span].tolist()
        if variable.is_head and name in moment.numbers:
            found = moment.numbers[name][span].tolist()
            pairs = zip(codes, found, strict=True)
            return tuple(UNDEFINED if c == len(variable) else x for c, x in pairs)
        return tuple(UNDEFINED if c == len(variable) else variable.range.values[c] for c in codes)

    return Stream({name: cells(name) for name in program.variables})


def in_parts(inputs: Iterable[Sequence[Any]], positions: int) -> Iterator[list[Sequence[Any]]]:
    """Inputs in groups of about so many positions, to be traced together.

    Example:
        >>> from weft.interpreter.batched import in_parts
        >>> list(in_parts(["101", "11", "0"], positions=5))
        [['101', '11'], ['0']]
    """
    part: list[Sequence[Any]] = []
    size = 0
    for tokens in inputs:
        if part and size + len(tokens) > positions:
            yield part
            part, size = [], 0
        part.append(tokens)
        size += len(tokens)
    if part:
        yield part
