"""What the feed-forward reads and writes on a program's run, each distinct state once (C.1).

The ALTA paper trains the feed-forward on pairs: a position's variables after attention, and after
the step. Of all pairs of all layers, positions and inputs few are distinct, so each is kept once
with the number of times it occurred:

    n  distinct states   v  variables, in the order of their declaration   h  heads that average

States are packed into whole numbers, a word or a few for each, and merged by sorting. Where they
grow too many for memory they are put aside on disk in parts, by a hash of their content: equal
states lie in the same part, so each part is merged by itself.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.interpreter.batched import BatchRun, in_parts, run_batch
from weft.interpreter.reference import read_input
from weft.language.program import Program, as_program
from weft.language.ranges import Number

Words = NDArray[np.uint64]
Array = NDArray[Any]

AT_ONCE = 1 << 13
"""About how many positions are traced together; all their layers are in memory at once."""
MOST = 1 << 21
"""How many distinct states are kept in memory before they are put aside."""
PARTS = 16


@dataclass(frozen=True)
class TraceSet:
    """Distinct states of a program's runs.

    Attributes:
        program: whose they are.
        states: n v, the code of each variable after attention; one more than the last where a head
            is undefined.
        averages: n h, what each head of numbers averaged; 0 where it is undefined.
        after: n v, the codes after the step.
        counts: n, how often each occurred.
        inputs: how many inputs were run.
    """

    program: Program = field(repr=False)
    states: Array
    averages: Array
    after: Array
    counts: Array
    inputs: int

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def occurrences(self) -> int:
        """All layers and positions of all inputs."""
        return int(self.counts.sum())


@dataclass(frozen=True)
class Packing:
    """How a state and what becomes of it are packed into words."""

    program: Program

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The heads that average."""
        variables = self.program.variables
        return tuple(n for n in self.program.heads if isinstance(variables[n].range, Number))

    @cached_property
    def groups(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For each word its columns, states before what follows, with how many codes each has."""
        sizes = [len(variable) + 1 for variable in self.program.variables.values()]
        found: list[list[tuple[int, int]]] = [[]]
        product = 1
        for column, size in enumerate([*sizes, *sizes]):
            if product * size >= 1 << 63:
                found.append([])
                product = 1
            found[-1].append((column, size))
            product *= size
        return tuple(map(tuple, found))

    def pack(self, run: BatchRun, layer: int) -> Words:
        """The words (n w) of all positions at a layer."""
        names = list(self.program.variables)
        states, after = run.states(layer, "attended"), run.states(layer, "after")
        columns = [states[name] for name in names] + [after[name] for name in names]
        words = [self._word(columns, group) for group in self.groups]
        averages = run.averages(layer)
        for name in self.numbers:
            defined = states[name] < len(self.program.variables[name])
            numbers = np.where(defined, averages[name], 0.0) + 0.0  # no minus zero
            words.append(numbers.astype(np.float64).view(np.uint64))
        return np.stack(words, 1)

    def _word(self, columns: list[Array], group: tuple[tuple[int, int], ...]) -> Words:
        word = np.zeros(len(columns[0]), np.uint64)
        for column, size in group:
            word = word * np.uint64(size) + columns[column].astype(np.uint64)
        return word

    def unpack(self, rows: Words) -> tuple[Array, Array, Array]:
        """States, averages and what follows, from their words."""
        count = len(self.program.variables)
        codes = np.zeros((len(rows), 2 * count), np.int32)
        for place, group in enumerate(self.groups):
            word = rows[:, place].copy()
            for column, size in reversed(group):
                codes[:, column] = word % np.uint64(size)
                word //= np.uint64(size)
        averages = np.ascontiguousarray(rows[:, len(self.groups) :]).view(np.float64)
        return codes[:, :count], averages, codes[:, count:]


def merged(rows: Words, counts: Array) -> tuple[Words, Array]:
    """Each distinct row once, in order, with the sum of its counts."""
    if not len(rows):
        return rows, counts
    order = np.lexsort(rows.T[::-1])
    rows, counts = rows[order], counts[order]
    new = np.ones(len(rows), bool)
    new[1:] = (rows[1:] != rows[:-1]).any(1)
    starts = np.flatnonzero(new)
    return rows[starts], np.add.reduceat(counts, starts)


def part_of(rows: Words) -> Array:
    """The part in which each row lies: the highest bits of a hash of its words."""
    total = np.zeros(len(rows), np.uint64)
    for word in rows.T:
        total = (total ^ word) * np.uint64(0x9E3779B97F4A7C15)
    return (total >> np.uint64(64 - int(math.log2(PARTS)))).astype(np.intp)


class Tally:
    """Rows with their counts, in memory or, where there are too many, in parts on disk."""

    def __init__(self, width: int, folder: Path, most: int = MOST) -> None:
        self.width, self.folder, self.most = width, folder, most
        self._rows = np.zeros((0, width), np.uint64)
        self._counts = np.zeros(0, np.int64)
        self._pending: list[Words] = []
        self.spilled = 0

    def add(self, rows: Words) -> None:
        """Count these rows, too."""
        self._pending.append(rows)
        if sum(map(len, self._pending)) >= max(len(self._rows), AT_ONCE):
            self._merge()
        if len(self._rows) > self.most:
            self._spill()

    def _merge(self) -> None:
        new = np.concatenate([np.zeros((0, self.width), np.uint64), *self._pending])
        rows = np.concatenate([self._rows, new])
        counts = np.concatenate([self._counts, np.ones(len(new), np.int64)])
        self._rows, self._counts = merged(rows, counts)
        self._pending = []

    def _spill(self) -> None:
        """Add what is in memory to the files of its parts."""
        whole = np.concatenate([self._rows, self._counts[:, None].astype(np.uint64)], 1)
        parts = part_of(self._rows)
        for part in range(PARTS):
            with (self.folder / f"part-{part}").open("ab") as file:
                file.write(np.ascontiguousarray(whole[parts == part]).tobytes())
        self._rows, self._counts = self._rows[:0], self._counts[:0]
        self.spilled += 1

    def parts(self) -> Iterator[tuple[Words, Array]]:
        """All distinct rows in order, part by part: the same whether or not the disk was needed."""
        self._merge()
        if self.spilled:
            self._spill()
        parts = part_of(self._rows)
        for part in range(PARTS):
            if self.spilled:
                stored = np.fromfile(self.folder / f"part-{part}", np.uint64)
                stored = stored.reshape(-1, self.width + 1)
                yield merged(stored[:, :-1], stored[:, -1].astype(np.int64))
            else:
                yield self._rows[parts == part], self._counts[parts == part]


def collect(
    program: Program | type[Program], inputs: Iterable[Any], *, layers: int | None = None
) -> TraceSet:
    """The distinct states of a program's runs on some inputs, in memory.

    Example:
        >>> import weft
        >>> from weft.training.traces.dataset import collect
        >>> traces = collect(weft.program("parity"), ["101", "0", "1101"])
        >>> len(traces), traces.occurrences
        (12, 34)
    """
    program = as_program(program)
    packing = Packing(program)
    with tempfile.TemporaryDirectory() as folder:
        tally, count = counted(packing, inputs, Path(folder), layers=layers)
        parts = list(tally.parts())
    rows = np.concatenate([rows for rows, _ in parts])
    states, averages, after = packing.unpack(rows)
    counts = np.concatenate([counts for _, counts in parts])
    return TraceSet(program, states, averages, after, counts, count)


def counted(
    packing: Packing,
    inputs: Iterable[Any],
    folder: Path,
    *,
    layers: int | None = None,
    most: int = MOST,
) -> tuple[Tally, int]:
    """All states of a program's runs on some inputs, counted; and how many inputs there are."""
    tally = Tally(len(packing.groups) + len(packing.numbers), folder, most)
    count = 0
    tokens = (read_input(packing.program, given) for given in inputs)
    for part in in_parts(tokens, AT_ONCE):
        count += len(part)
        run = run_batch(packing.program, part, layers=layers, trace=True)
        for layer in range(1, run.traced + 1):
            tally.add(packing.pack(run, layer))
    return tally, count
