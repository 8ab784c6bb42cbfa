"""Trace supervision: what the feed-forward reads and writes, each distinct state once.

The ALTA paper (appendix C.1) trains the feed-forward on pairs: a position's variables after
attention, and after the step. Over all layers, positions and inputs few pairs are distinct, so each
is kept once with the number of times it occurred:

    n  distinct states   v  variables, in the order of their declaration   h  heads that average

If there are too many states for memory, they are written to disk in parts, by a hash of their
content. Equal states are in the same part, so each part can be merged on its own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.interpreter.batched import step_codes
from weft.interpreter.inputs import read_input
from weft.interpreter.states import (
    Ints,
    StateCounter,
    StateSet,
    Words,
    hash_rows,
    layer_states,
    merge_rows,
    sorted_rows,
)
from weft.language.program import Program, as_program
from weft.language.ranges import Number

Array = NDArray[Any]

STATES_IN_MEMORY = 1 << 21
"""How many distinct states are counted in memory before they are written to disk."""
PART_BITS = 4
PARTS = 1 << PART_BITS


@dataclass(frozen=True)
class TraceSet:
    """Distinct states of a program's runs, and what the step makes of each.

    Attributes:
        program: the program that ran.
        states: the states after attention, with counts. If heads average, states that differ in
            averages alone have a row each.
        averages: n h, what each head with a numerical output averaged; 0 if it is undefined.
        after: n v, the codes after the step.
        inputs: how many inputs were run.
    """

    program: Program = field(repr=False)
    states: StateSet
    averages: Array
    after: Array
    inputs: int

    def __len__(self) -> int:
        return len(self.states)

    @property
    def counts(self) -> Array:
        """n, how often each state occurred."""
        return self.states.counts

    @property
    def occurrences(self) -> int:
        """How many states occurred, over all layers and positions of all inputs."""
        return self.states.total


def averaging_heads(program: Program) -> tuple[str, ...]:
    """The heads with a numerical output, which average what they select."""
    variables = program.variables
    return tuple(name for name in program.heads if isinstance(variables[name].range, Number))


class TraceCounter(StateCounter):
    """Counts states with averages, in memory or, if there are too many, in parts on disk."""

    def __init__(self, program: Program, folder: Path, limit: int = STATES_IN_MEMORY) -> None:
        super().__init__(program, averaging_heads(program))
        self.folder, self.limit = folder, limit
        self.inputs = 0
        self._spilled = False

    def run(self, inputs: Iterable[Any], layers: int | None = None) -> None:
        """Run the program and count the states of all its layers."""
        for layer in layer_states(self.program, self._read(inputs), layers):
            self.add(layer)

    def _read(self, inputs: Iterable[Any]) -> Iterator[Any]:
        for given in inputs:
            self.inputs += 1
            yield read_input(self.program, given)

    def merge(self) -> None:
        super().merge()
        if len(self._rows) > self.limit:
            self._spill()

    def _spill(self) -> None:
        """Append what is in memory to the files of its parts."""
        counted = np.concatenate([self._rows, self._counts[:, None].astype(np.uint64)], 1)
        parts = _part(self._rows)
        for part in range(PARTS):
            with (self.folder / f"part-{part}").open("ab") as file:
                file.write(np.ascontiguousarray(counted[parts == part]).tobytes())
        self._rows, self._counts = self._rows[:0], self._counts[:0]
        self._spilled = True

    def parts(self) -> Iterator[tuple[Words, Ints]]:
        """All distinct rows, part by part: the same whether or not the disk was needed."""
        self.merge()
        if self._spilled:
            self._spill()
        in_memory = _part(self._rows)
        for part in range(PARTS):
            if self._spilled:
                stored = np.fromfile(self.folder / f"part-{part}", np.uint64)
                stored = stored.reshape(-1, self._rows.shape[1] + 1)
                rows, counts = merge_rows(stored[:, :-1], stored[:, -1].astype(np.int64))
            else:
                rows, counts = self._rows[in_memory == part], self._counts[in_memory == part]
            yield sorted_rows(rows, counts)

    def unpack(self, rows: Words) -> tuple[Array, Array, Array]:
        """The states (n v), averages (n h) and codes after the step (n v) of some rows."""
        codes = self.packing.unpack(rows)
        averages = np.ascontiguousarray(rows[:, len(self.packing.words) :]).view(np.float64)
        return codes, averages, step_codes(self.program, codes)


def _part(rows: Words) -> Array:
    """The part that each row belongs to: the highest bits of its hash."""
    return (hash_rows(rows) >> np.uint64(64 - PART_BITS)).astype(np.intp)


def collect(
    program: Program | type[Program], inputs: Iterable[Any], *, layers: int | None = None
) -> TraceSet:
    """Count the distinct states of a program's runs on some inputs, in memory.

    Example:
        >>> import weft
        >>> from weft.training.traces.dataset import collect
        >>> traces = collect(weft.program("parity"), ["101", "0", "1101"])
        >>> len(traces), traces.occurrences
        (12, 34)
    """
    program = as_program(program)
    with tempfile.TemporaryDirectory() as folder:
        counter = TraceCounter(program, Path(folder))
        counter.run(inputs, layers)
        parts = list(counter.parts())
    codes, averages, after = counter.unpack(np.concatenate([rows for rows, _ in parts]))
    counts = np.concatenate([counts for _, counts in parts])
    states = StateSet(program.variables, codes, counts)
    return TraceSet(program, states, averages, after, counter.inputs)
