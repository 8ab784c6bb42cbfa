"""The results of a batch and, if it was traced, every layer.

n   positions of all sequences together
r   sequences
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.interpreter import reference
from weft.interpreter.batched.batched_heads import Segments
from weft.interpreter.trace import Layer, Run, Trace, halting_times
from weft.language.program import Program, token_numbers
from weft.language.ranges import UNDEFINED, Undefined, Value
from weft.language.stream import Stream, initial_stream

Array = NDArray[Any]


@dataclass(frozen=True)
class Snapshot:
    """The columns of a batch at one stage of one layer; a sequence that has ended is -1."""

    sequences: Array
    segments: Segments
    columns: dict[str, Array]
    numbers: dict[str, Array]


@dataclass(frozen=True)
class BatchRun(Sequence[Run]):
    """The results of a batch; indexing gives the `Run` of one input.

    Attributes:
        tokens: the inputs.
        layers: how many layers each input ran.
    """

    program: Program = field(repr=False)
    tokens: tuple[tuple[Any, ...], ...]
    layers: tuple[int, ...]
    _columns: dict[str, Array] = field(repr=False)
    _starts: Array = field(repr=False)
    _history: list[list[tuple[Snapshot, Snapshot, Snapshot]]] = field(repr=False)
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
        """The codes of every variable at one layer, for a traced batch of one chunk.

        Covers the positions of all sequences that ran this layer, concatenated. `stage` is
        `attended` or `after`; an undefined head has the code after its last value.
        """
        (history,) = self._history
        snapshot = history[layer - 1][1 if stage == "attended" else 2]
        running = (snapshot.sequences >= 0)[snapshot.segments.rows]
        return {name: column[running] for name, column in snapshot.columns.items()}

    def averages(self, layer: int) -> dict[str, Array]:
        """What heads with a numerical output averaged at one layer, at the positions of `states`.

        If a head is undefined at a position, the number there means nothing.
        """
        (history,) = self._history
        snapshot = history[layer - 1][1]
        running = (snapshot.sequences >= 0)[snapshot.segments.rows]
        return {name: numbers[running] for name, numbers in snapshot.numbers.items()}

    @property
    def traced(self) -> int:
        """How many layers `states` has, for a traced batch of one chunk."""
        return max((len(history) for history in self._history), default=0)

    def observed(self) -> dict[str, set[int]]:
        """The codes that each variable had at any layer of a traced batch."""
        seen: dict[str, set[int]] = {name: set() for name in self.program.variables}
        for name, column in self._columns.items():
            seen[name] |= set(np.unique(column).tolist())
        for history in self._history:
            for snapshots in history:
                for snapshot in snapshots:
                    for name, column in snapshot.columns.items():
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
        for snapshots in self._history[int(self._chunks[place])]:
            if place in snapshots[0].sequences:
                before, attended, after = (_stream(self.program, m, place) for m in snapshots)
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


def _stream(program: Program, snapshot: Snapshot, sequence: int) -> Stream:
    """The symbolic stream of one sequence in a snapshot."""
    row = int(np.flatnonzero(snapshot.sequences == sequence)[0])
    start = snapshot.segments.starts[row]
    span = slice(start, start + snapshot.segments.lengths[row])

    def cells(name: str) -> tuple[Value | Undefined, ...]:
        variable = program.variables[name]
        codes = snapshot.columns[name][span].tolist()
        if variable.is_head and name in snapshot.numbers:
            pairs = zip(codes, snapshot.numbers[name][span].tolist(), strict=True)
            return tuple(UNDEFINED if c == len(variable) else x for c, x in pairs)
        return tuple(UNDEFINED if c == len(variable) else variable.range.values[c] for c in codes)

    return Stream({name: cells(name) for name in program.variables})
