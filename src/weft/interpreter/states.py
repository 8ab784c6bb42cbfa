"""Distinct states with counts: what the feed-forward reads while a program runs.

A state holds the variables of one position after attention, one code per variable; an undefined
head has the code after its last value. Runs repeat few states many times, so a `StateSet` keeps
each distinct state once, with the number of times it occurred:

    n  states, or positions   v  variables, in the order of their declaration   w  words per state

To count states, each one is packed into 64-bit words (mixed radix) and equal rows are merged by
sorting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.interpreter.batched import in_parts, run_batch
from weft.interpreter.inputs import read_input
from weft.language.program import Program, Variable, as_program
from weft.language.ranges import UNDEFINED

Array = NDArray[Any]
Words = NDArray[np.uint64]
Ints = NDArray[np.int64]

POSITIONS_AT_ONCE = 1 << 14
"""About how many positions are traced together; all their layers are in memory at once."""
MERGE_AT = 1 << 16
"""How many states are collected before they are first merged."""

TABLE_SIZE = 1 << 16
"""Packed states below this are counted in a table."""


def code_values(variable: Variable) -> tuple[Any, ...]:
    """The values of a variable in the order of their codes; for a head, undefined comes last."""
    values: tuple[Any, ...] = variable.range.values
    return (*values, UNDEFINED) if variable.is_head else values


@dataclass(frozen=True, eq=False)
class StateSet:
    """Distinct states with counts.

    Attributes:
        variables: the variables that the columns stand for, in order.
        codes: n v, the code of each variable.
        counts: n, how often each state occurred.
    """

    variables: Mapping[str, Variable]
    codes: Array
    counts: Ints

    @classmethod
    def from_values(
        cls, variables: Mapping[str, Variable], states: Iterable[Mapping[str, Any]]
    ) -> StateSet:
        """Count states that are given as values by name.

        Example:
            >>> import weft
            >>> variables = {"done": weft.program("parity").variables["done"]}
            >>> states = StateSet.from_values(variables, [{"done": 1}, {"done": 0}, {"done": 1}])
            >>> list(states), states.counts.tolist()
            ([{'done': 0}, {'done': 1}], [1, 2])
        """
        tables = [
            {value: code for code, value in enumerate(code_values(variable))}
            for variable in variables.values()
        ]
        rows = [
            [codes[state[name]] for name, codes in zip(variables, tables, strict=True)]
            for state in states
        ]
        codes = np.array(rows, np.int32).reshape(len(rows), len(tables))
        return cls(variables, codes, np.ones(len(rows), np.int64)).project(variables)

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        values = [code_values(variable) for variable in self.variables.values()]
        for row in self.codes.tolist():
            cells = zip(self.variables, values, row, strict=True)
            yield {name: table[code] for name, table, code in cells}

    @property
    def total(self) -> int:
        """How many states occurred, repetitions included."""
        return int(self.counts.sum())

    def values(self, row: int) -> dict[str, Any]:
        """One state as values by name."""
        return next(iter(self.take(slice(row, row + 1))))

    def column(self, name: str) -> Array:
        """The codes of one variable."""
        return self.codes[:, list(self.variables).index(name)]

    def take(self, rows: Array | slice) -> StateSet:
        """The states at some rows."""
        return replace(self, codes=self.codes[rows], counts=self.counts[rows])

    def project(self, names: Iterable[str]) -> StateSet:
        """The distinct states of some of the variables, in the order of their codes."""
        variables = {name: self.variables[name] for name in names}
        packing = Packing.of(variables)
        rows = packing.pack([self.column(name) for name in variables], len(self))
        rows, counts = sorted_rows(*merge_rows(rows, self.counts))
        return StateSet(variables, packing.unpack(rows), counts)

    def once(self) -> StateSet:
        """The same states, each with a count of 1."""
        return replace(self, counts=np.ones(len(self), np.int64))

    def one_hot(self) -> NDArray[np.float64]:
        """The states as vectors: variables side by side, one-hot, zero for an undefined head."""
        sizes = [len(variable) for variable in self.variables.values()]
        parts = [
            np.eye(size + 1, size)[column]  # the row after the last value is zero
            for size, column in zip(sizes, self.codes.T, strict=True)
        ]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(self), 0))


class Packing:
    """Mixed-radix packing of codes into 64-bit words; the last column varies fastest.

    Attributes:
        sizes: how many codes each column has.
        words: for each word, the columns that it holds.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        self.words: list[range] = []
        start, count = 0, 1
        for column, size in enumerate(self.sizes):
            if count * size > 1 << 64:
                self.words.append(range(start, column))
                start, count = column, 1
            count *= size
        self.words.append(range(start, len(self.sizes)))

    @staticmethod
    def of(variables: Mapping[str, Variable]) -> Packing:
        """The packing of a state of these variables."""
        return Packing([len(variable) + variable.is_head for variable in variables.values()])

    def pack(self, columns: Sequence[Array], count: int) -> Words:
        """The words (n w) of `count` states, given column by column."""
        rows = np.zeros((count, len(self.words)), np.uint64)
        for place, word in enumerate(self.words):
            packed = np.zeros(count, np.uint64)
            for column in word:
                packed *= np.uint64(self.sizes[column])
                packed += columns[column].astype(np.uint64)
            rows[:, place] = packed
        return rows

    def unpack(self, rows: Words) -> Array:
        """The codes (n v) of packed states."""
        codes = np.zeros((len(rows), len(self.sizes)), np.int32)
        for place, word in enumerate(self.words):
            packed = rows[:, place].copy()
            for column in reversed(word):
                size = np.uint64(self.sizes[column])
                codes[:, column] = packed % size
                packed //= size
        return codes


def hash_rows(rows: Words) -> Words:
    """A hash of each row; of rows of one word it is a bijection."""
    total = np.zeros(len(rows), np.uint64)
    for word in rows.T:
        total = (total ^ word) * np.uint64(0x9E3779B97F4A7C15)
    return total


def _grouped(rows: Words) -> tuple[Ints, Ints]:
    """An order that puts equal rows side by side, and where in it each distinct row starts."""
    keys = rows[:, 0] if rows.shape[1] == 1 else hash_rows(rows)
    order = np.argsort(keys)
    new = _changes(rows[order])
    hashes = keys[order]
    if np.any(new[1:] & (hashes[1:] == hashes[:-1])):  # different rows with the same hash
        order = np.lexsort(rows.T)
        new = _changes(rows[order])
    return order, np.flatnonzero(new)


def _changes(rows: Words) -> NDArray[np.bool_]:
    """Which rows differ from the one before."""
    new = np.ones(len(rows), np.bool_)
    new[1:] = (rows[1:] != rows[:-1]).any(1)
    return new


def distinct(rows: Words) -> tuple[Ints, Ints]:
    """The place of one row of each kind, and for every row the kind that it belongs to."""
    order, starts = _grouped(rows)
    kinds = np.empty(len(rows), np.int64)
    kinds[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(rows)))
    return order[starts], kinds


def merge_rows(rows: Words, counts: Ints) -> tuple[Words, Ints]:
    """Each distinct row once, with the sum of its counts."""
    if not len(rows):
        return rows, counts
    order, starts = _grouped(rows)
    return rows[order[starts]], np.add.reduceat(counts[order], starts)


def _count_values(values: Words) -> tuple[Words, Ints]:
    """Each distinct number once, with how often it occurs."""
    if not len(values) or values.max() >= TABLE_SIZE:
        return np.unique(values, return_counts=True)
    table = np.bincount(values.astype(np.intp))
    occurring = np.flatnonzero(table)
    return occurring.astype(np.uint64), table[occurring]


def sorted_rows(rows: Words, counts: Ints) -> tuple[Words, Ints]:
    """Rows in the order of their codes, with their counts."""
    order = np.lexsort(rows.T[::-1])
    return rows[order], counts[order]


@dataclass(frozen=True)
class LayerStates:
    """The states after attention at one layer of some inputs.

    Attributes:
        inputs: n, the number of the input that each position belongs to.
        columns: for each variable its codes (n).
        averages: for each head with a numerical output, what it averaged (n); if the head is
            undefined at a position, the number there means nothing.
    """

    inputs: Ints
    columns: Mapping[str, Array]
    averages: Mapping[str, Array]


def layer_states(
    program: Program, inputs: Iterable[Sequence[Any]], layers: int | None = None
) -> Iterator[LayerStates]:
    """Run a program; yield every layer of every input, some inputs at a time to bound memory."""
    start = 0
    for part in in_parts(inputs, POSITIONS_AT_ONCE):
        run = run_batch(program, part, layers=layers, trace=True)
        lengths = np.asarray([len(tokens) for tokens in part])
        ran = np.where(lengths > 0, run.layers, 0)
        for layer in range(1, int(ran.max(initial=0)) + 1):
            running = np.flatnonzero(ran >= layer)
            rows = np.repeat(start + running, lengths[running])
            yield LayerStates(rows, run.states(layer, "attended"), run.averages(layer))
        start += len(part)


class StateCounter:
    """Counts the states of a program's layers.

    Attributes:
        packing: how states become rows of words; after those, a row has one word per average.
    """

    def __init__(self, program: Program, averaging: Sequence[str] = ()) -> None:
        self.program, self.averaging = program, averaging
        self.packing = Packing.of(program.variables)
        self._rows = np.zeros((0, len(self.packing.words) + len(averaging)), np.uint64)
        self._counts = np.zeros(0, np.int64)
        self._pending: list[Words] = []

    def add(self, layer: LayerStates) -> None:
        """Count the states of a layer; with averages, states that differ in them are different."""
        columns = [layer.columns[name] for name in self.program.variables]
        parts = [self.packing.pack(columns, len(layer.inputs))]
        for name in self.averaging:
            defined = layer.columns[name] < len(self.program.variables[name])
            numbers = np.where(defined, layer.averages[name], 0.0) + 0.0  # no minus zero
            parts.append(numbers.astype(np.float64).view(np.uint64)[:, None])
        self._pending.append(np.concatenate(parts, axis=1) if self.averaging else parts[0])
        if sum(map(len, self._pending)) >= max(len(self._rows), MERGE_AT):
            self.merge()

    def merge(self) -> None:
        """Merge what was added since the last merge."""
        added = np.concatenate([self._rows[:0], *self._pending])
        counts = np.ones(len(added), np.int64)
        if added.shape[1] == 1:  # counting numbers is faster than sorting rows with their counts
            values, counts = _count_values(added[:, 0])
            added = values[:, None]
        rows = np.concatenate([self._rows, added])
        self._rows, self._counts = merge_rows(rows, np.concatenate([self._counts, counts]))
        self._pending = []

    def rows(self) -> tuple[Words, Ints]:
        """All distinct rows in the order of their codes, with their counts."""
        self.merge()
        return sorted_rows(self._rows, self._counts)

    def states(self) -> StateSet:
        """The states that were counted; those that differ in averages alone are still separate."""
        rows, counts = self.rows()
        return StateSet(self.program.variables, self.packing.unpack(rows), counts)


def states_of(
    program: Program | type[Program],
    inputs: Iterable[str | Iterable[Any]],
    *,
    layers: int | None = None,
) -> StateSet:
    """Count the states that the feed-forward reads when a program runs on some inputs.

    Example:
        >>> import weft
        >>> from weft.interpreter.states import states_of
        >>> states = states_of(weft.program("parity"), ["101", "11"])
        >>> len(states), states.total
        (9, 18)
    """
    program = as_program(program)
    counter = StateCounter(program)
    for layer in layer_states(program, (read_input(program, given) for given in inputs), layers):
        counter.add(layer)
    return counter.states()
