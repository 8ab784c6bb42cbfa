"""What a program uses while it runs over some inputs (ALTA paper, appendix C.2).

    D   the assignments at the input of the feed-forward, of every layer and position of every input

A rule of a variable reads few of the others, so D is kept once for each variable that the step
writes, projected on what its update reads, without repetition: millions of assignments become a few
thousand rows. They tell which rules fired; inputs tell which tokens and positions were seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import WeftError
from weft.interpreter.batched import in_parts, run_batch
from weft.interpreter.reference import of_input, read_input
from weft.language.expressions import reads
from weft.language.program import Program, Variable, token_numbers
from weft.language.ranges import UNDEFINED

Codes = NDArray[np.int64]
Bools = NDArray[np.bool_]
Inputs = Iterable[str | Iterable[Any]]

POSITIONS_AT_ONCE = 1 << 14
"""About how many positions are traced together: their layers are all in memory."""

DENSE = 1 << 24
"""The most joint codes that are ticked off in a table; where there are more, they are sorted."""

WORD = 1 << 62
"""Joint codes stay below this in one whole number."""


@dataclass(frozen=True)
class Assignments:
    """Assignments to some variables, each once: codes (rows, variables).

    A head that is undefined has one code more than it has values.
    """

    variables: Mapping[str, Variable]
    names: tuple[str, ...]
    codes: Codes

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        values = [edge_values(self.variables[name]) for name in self.names]
        for row in self.codes.tolist():
            yield {n: v[code] for n, v, code in zip(self.names, values, row, strict=True)}

    def column(self, name: str) -> Codes:
        """The codes of one variable."""
        return self.codes[:, self.names.index(name)]


@dataclass(frozen=True)
class Used:
    """What a program used over some inputs.

    Attributes:
        inputs: their tokens.
        layers: how many layers each of them ran.
        tokens: the numbers of the tokens that occurred.
        positions: how many positions the longest input has.
        states: for each variable that the step writes, the assignments to what its update reads.
        heads: for each head, the codes that its output had, undefined left out.
    """

    program: Program
    inputs: tuple[tuple[Any, ...], ...]
    layers: tuple[int, ...]
    tokens: frozenset[int]
    positions: int
    states: Mapping[str, Assignments]
    heads: Mapping[str, frozenset[int]]


def edge_values(variable: Variable) -> tuple[Any, ...]:
    """The values of a variable in the order of their codes, undefined last where it can be."""
    values: tuple[Any, ...] = variable.range.values
    return (*values, UNDEFINED) if variable.is_head else values


def observe(program: Program, inputs: Inputs, *, layers: int | None = None) -> Used:
    """Run a program over inputs, and keep what it used.

    Example:
        >>> import weft
        >>> used = observe(weft.program("parity"), ["1", "10", "111"])
        >>> used.positions, len(used.states["done"])
        (4, 4)
        >>> next(iter(used.states["done"]))
        {'done': 0, 'done_left': 0}
    """
    given = read_inputs(program, inputs)
    seen = {name: Ticks(program, name) for name in program.updates.written}
    heads = {name: np.zeros(len(program.variables[name]) + 1, np.bool_) for name in program.heads}
    ran = np.zeros(len(given), np.int64)
    for moment in moments(program, given, layers):
        ran[moment.rows] += 1
        for ticks in seen.values():
            ticks.add(moment.columns)
        for name, known in heads.items():
            known[moment.columns[name]] = True
    return Used(
        program,
        tuple(map(tuple, given)),
        tuple(ran.tolist()),
        frozenset(number for tokens in given for number in token_numbers(program, tokens)),
        max(map(len, given), default=0),
        {name: ticks.assignments() for name, ticks in seen.items()},
        {name: frozenset(np.flatnonzero(known[:-1]).tolist()) for name, known in heads.items()},
    )


@dataclass(frozen=True)
class Moment:
    """The input of the feed-forward at one layer of some inputs.

    Attributes:
        rows: the input that each position belongs to.
        columns: the codes of every variable at these positions.
    """

    rows: NDArray[np.intp]
    columns: Mapping[str, NDArray[Any]]


def moments(
    program: Program, given: Sequence[Sequence[Any]], layers: int | None = None
) -> Iterator[Moment]:
    """Every layer of every input, some inputs at a time, so that memory is bounded."""
    start = 0
    for part in in_parts(given, POSITIONS_AT_ONCE):
        batch = run_batch(program, part, layers=layers, trace=True)
        lengths = np.asarray([len(tokens) for tokens in part])
        ran = np.where(lengths > 0, batch.layers, 0)
        for layer in range(1, int(ran.max(initial=0)) + 1):
            running = np.flatnonzero(ran >= layer)
            rows = np.repeat(start + running, lengths[running])
            yield Moment(rows, batch.states(layer, "attended"))
        start += len(part)


def read_inputs(program: Program, inputs: Inputs) -> list[list[Any]]:
    """The tokens of every input."""
    found: list[list[Any]] = []
    for index, given in enumerate(inputs):
        try:
            found.append(list(read_input(program, given)))
        except WeftError as error:
            raise of_input(error, index) from None
    return found


class Ticks:
    """The assignments to what a variable's update reads that have occurred, each once.

    Joint codes are numbers: a table has a tick for each where they are few, else they are sorted.
    """

    def __init__(self, program: Program, target: str) -> None:
        others = (name for name in reads(program.updates.values[target]) if name != target)
        self.variables = program.variables
        self.names = (target, *others)
        self.sizes = [len(edge_values(self.variables[name])) for name in self.names]
        self.words = _words(self.sizes)
        count = math.prod(self.sizes)
        self._table = np.zeros(count, np.bool_) if count <= DENSE else None
        self._known = np.zeros((0, len(self.words)), np.int64)

    def add(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Tick off the assignments of a layer."""
        keys = self.keys(columns)
        if self._table is not None:
            self._table[keys[:, 0]] = True
        else:
            self._known = _unique(np.concatenate([self._known, _unique(keys)]))

    def keys(self, columns: Mapping[str, NDArray[Any]]) -> Codes:
        """The joint codes of every position, as numbers (positions, words)."""
        return np.stack([self._joint(columns, word) for word in self.words], axis=1)

    def _joint(self, columns: Mapping[str, NDArray[Any]], word: slice) -> Codes:
        """The number of the codes of some of the variables, the last one fastest."""
        names, sizes = self.names[word], self.sizes[word]
        key = columns[names[0]].astype(np.int64)
        for name, size in zip(names[1:], sizes[1:], strict=True):
            key *= size
            key += columns[name]
        return key

    def assignments(self) -> Assignments:
        """What has been ticked off."""
        table = self._table
        known = self._known if table is None else np.flatnonzero(table)[:, None].astype(np.int64)
        codes: list[Codes] = []
        for place, word in enumerate(self.words):
            key, found = known[:, place].copy(), []
            for size in reversed(self.sizes[word]):
                found.append(key % size)
                key //= size
            codes += reversed(found)
        return Assignments(self.variables, self.names, np.stack(codes, axis=1))


def _words(sizes: list[int]) -> list[slice]:
    """Variables in groups whose joint codes fit one whole number."""
    words, start, count = [], 0, 1
    for place, size in enumerate(sizes):
        if count * size >= WORD:
            words.append(slice(start, place))
            start, count = place, 1
        count *= size
    return [*words, slice(start, len(sizes))]


def _unique(rows: Codes) -> Codes:
    if rows.shape[1] == 1:
        return np.unique(rows[:, 0])[:, None]
    return np.unique(rows, axis=0)
