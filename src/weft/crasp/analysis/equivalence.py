"""Whether two programs are equal: a search over the configurations that words reach.

Two programs run side by side, as one machine (`analysis.machine`) whose result is that they
differ. The search goes through the configurations that words reach, length by length. Each is
visited once, with the smallest of its words, so its cost is the number of configurations and not
that of words: two programs that each compare two counts have about n of them up to length n, where
there are 2^n words.

Within a length, configurations are in the order of their words, and the symbols are tried in the
order of the alphabet. So the first difference is at the shortest word, and among these at the first
one in alphabetical order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.crasp.analysis.machine import MAX_VALUE, Configurations, Machine
from weft.crasp.analysis.nodes import NodeBuilder
from weft.crasp.graph import GraphBuilder
from weft.crasp.program import NEXT, CraspProgram
from weft.errors import WeftError

MAX_CONFIGURATIONS = 5_000_000
"""A search ends with an error beyond this many configurations."""

BATCH = 1 << 15
"""Configurations that make a step together: enough for NumPy, and few enough for the cache."""


_Keys: TypeAlias = NDArray[Any]
"""Keys of configurations: integers, or bytes if they do not fit."""


@dataclass(frozen=True)
class EqualitySearch:
    """The result of a search.

    Attributes:
        word: the smallest word on which the programs differ; None if there is none.
        length: words up to this length were searched.
        configurations: how many there are up to this length.
        complete: whether longer words reach no other configurations, so that programs without a
            difference are equal on all words.
    """

    word: tuple[str, ...] | None
    length: int
    configurations: int
    complete: bool


def equal(
    left: CraspProgram,
    right: CraspProgram,
    length: int = 40,
    *,
    max_configurations: int = MAX_CONFIGURATIONS,
) -> tuple[str, ...] | None:
    """The smallest word, up to a length, on which two programs differ; None if they are equal.

    Programs differ on a word if one accepts it and the other does not; for transduction, if at its
    end different symbols may come next. `search_difference` says more about the search.

    Args:
        left: a program.
        right: another one over the same symbols. Its first difference is sought in the order of
            the symbols of `left`.
        length: of the longest words.
        max_configurations: how many configurations may be visited before the search fails.

    Example:
        >>> from weft.crasp import Comparison, Counting, CraspProgram, Line, Symbol
        >>> zeros, ones = Counting(Symbol("0")), Counting(Symbol("1"))
        >>> more, enough = (
        ...     CraspProgram(("0", "1"), (Line("accept", Comparison(operator, ones, zeros)),))
        ...     for operator in (">", ">=")
        ... )
        >>> equal(more, enough), equal(more, more)
        ((), None)
    """
    return search_difference(left, right, length, max_configurations=max_configurations).word


def search_difference(
    left: CraspProgram,
    right: CraspProgram,
    length: int = 40,
    *,
    max_configurations: int = MAX_CONFIGURATIONS,
    progress: Callable[[int, int], None] | None = None,
) -> EqualitySearch:
    """Search for the smallest word on which two programs differ.

    Args:
        left: a program.
        right: another one.
        length: of the longest words.
        max_configurations: how many configurations may be visited before the search fails.
        progress: called after each length with the length and the number of configurations.
    """
    machine = _joint_machine(left, right)
    machine.check_numbers(length)
    if machine.result_at_begin():
        return EqualitySearch((), 0, 1, complete=False)
    return _Search(machine, length, max_configurations).run(progress)


def compared_lines(left: CraspProgram, right: CraspProgram) -> list[tuple[str | None, str | None]]:
    """The lines in which programs must agree, in pairs; None stands for a line that is missing.

    Lines `NEXT_a` correspond; a missing one is false. Accepting lines correspond, unless one of
    them is a `NEXT_a`: then there is only transduction to compare.
    """
    transductions = [bool(program.next_symbols) for program in (left, right)]
    if any(transductions) and not all(transductions):
        without = (left, right)[transductions.index(False)]
        raise WeftError(
            "one program says which symbols may come next, and the other does not",
            remedy=f"Add lines {NEXT}a to {without.name or 'the other program'}",
        )
    pairs: list[tuple[str | None, str | None]] = []
    for symbol in left.alphabet:
        names = (left.next_symbols.get(symbol), right.next_symbols.get(symbol))
        if any(names):
            pairs.append(names)
    if not any(program.accepting.startswith(NEXT) for program in (left, right)):
        pairs.append((left.accepting, right.accepting))
    return pairs


def _joint_machine(left: CraspProgram, right: CraspProgram) -> Machine:
    """The machine whose result is that the programs differ."""
    if set(left.alphabet) != set(right.alphabet):
        only = sorted(set(left.alphabet) ^ set(right.alphabet))
        raise WeftError(
            f"the alphabets differ: only one of them has {', '.join(only)}",
            remedy="Compare programs over the same symbols",
        )
    pairs = compared_lines(left, right)
    graph = GraphBuilder()
    lines = (graph.add_program(left), graph.add_program(right))
    nodes = NodeBuilder(left.alphabet, graph.operations)
    differences = []
    for pair in pairs:
        both = [
            nodes.constant(False) if name is None else nodes.boolean(of_program[name])
            for name, of_program in zip(pair, lines, strict=True)
        ]
        differences.append(nodes.differ(*both))
    return Machine(nodes, nodes.any(differences))


class _Search:
    """A search through the configurations of a machine, length by length."""

    def __init__(self, machine: Machine, length: int, max_configurations: int) -> None:
        self.machine = machine
        self.length = length
        self.max_configurations = max_configurations
        self.configurations = 1
        self._packing = _Packing(machine, length)
        self._visited = _KeySet()
        self._places: list[NDArray[np.intp]] = []  # by length: parent times symbols plus symbol

    def run(self, progress: Callable[[int, int], None] | None) -> EqualitySearch:
        """Search until programs differ, no configuration is new, or the length is reached."""
        reached, residues, matters = self.machine.reduce(self.machine.start(), 0)
        self._visited.add(self._packing.keys(reached, residues))
        reached = reached[matters]
        for position in range(1, self.length + 1):
            if len(reached) == 0:  # longer words reach nothing new
                return EqualitySearch(None, self.length, self.configurations, complete=True)
            last = position == self.length
            difference, reached = self._advance(position, reached, last=last)
            if difference is not None:
                word = self._word(difference)
                return EqualitySearch(word, position, self.configurations, complete=False)
            if progress is not None:
                progress(position, self.configurations)
        return EqualitySearch(None, self.length, self.configurations, complete=False)

    def _advance(
        self, position: int, reached: Configurations, *, last: bool
    ) -> tuple[int | None, Configurations]:
        """Read one more symbol.

        Returns:
            Where the programs differ: configuration times symbols plus symbol; and the new
            configurations, in the order of their words.
        """
        batches: list[tuple[NDArray[np.intp], _Keys, Configurations]] = []
        for start in range(0, len(reached), BATCH):
            batch = reached[start : start + BATCH]
            differs, after = self.machine.step(position, batch)
            offset = start * len(self.machine.alphabet)
            if differs.any():
                return offset + int(differs.argmax()), reached
            if not last:
                configurations, residues, matters = self.machine.reduce(after(), position)
                keys = self._packing.keys(configurations, residues)
                distinct, first = np.unique(keys, return_index=True)
                first = np.sort(first[matters[first] & self._visited.lacks(distinct)])
                batches.append((first + offset, keys[first], configurations[first]))
        if last:
            return None, reached
        keys = np.concatenate([keys for _, keys, _ in batches])
        first = np.sort(np.unique(keys, return_index=True)[1])
        self._visited.add(keys[first])
        places = np.concatenate([places for places, _, _ in batches])[first]
        self._places.append(places)
        self.configurations += len(first)
        if self.configurations > self.max_configurations:
            raise WeftError(
                f"more than {self.max_configurations:,} configurations; the programs agree on all "
                f"words up to length {position}",
                remedy="Search shorter words, or allow more configurations",
            )
        forms = np.concatenate([each.forms for _, _, each in batches])
        history = np.concatenate([each.history for _, _, each in batches])
        return None, Configurations(forms, history)[first]

    def _word(self, place: int) -> tuple[str, ...]:
        """The word that led to a configuration and a symbol, given by their place."""
        word: list[str] = []
        for places in [*reversed(self._places), None]:
            configuration, symbol = divmod(place, len(self.machine.alphabet))
            word.append(self.machine.alphabet[symbol])
            place = 0 if places is None else int(places[configuration])
        return tuple(reversed(word))


class _Packing:
    """Packs configurations into keys: numbers of mixed radix, in as many words as it takes."""

    def __init__(self, machine: Machine, length: int) -> None:
        ranges = machine.form_ranges(length)
        self._lows = np.array([low for low, _ in ranges], np.int64)
        sizes = [high - low + 1 for low, high in ranges]
        sizes += [2] * len(machine.columns) + [machine.period]
        self._weights: list[tuple[int, int]] = []  # by column, its word and its weight there
        word, weight = 0, 1
        for size in sizes:
            if weight * size > MAX_VALUE:
                word, weight = word + 1, 1
            self._weights.append((word, weight))
            weight *= size
        self._words = word + 1

    def keys(self, configurations: Configurations, residues: NDArray[np.int64]) -> _Keys:
        """One key per configuration: equal keys are equal configurations."""
        words = np.zeros((len(configurations), self._words), np.int64)
        columns = (
            *(configurations.forms - self._lows).T,
            *configurations.history.T,
            residues,
        )
        for column, (word, weight) in zip(columns, self._weights, strict=True):
            words[:, word] += column * weight
        if self._words == 1:
            return words[:, 0]
        return words.view(f"S{words.itemsize * self._words}")[:, 0]  # compared as bytes


class _KeySet:
    """A set of keys, as sorted arrays of sizes that differ by factors of two or more."""

    def __init__(self) -> None:
        self._runs: list[_Keys] = []

    def add(self, keys: _Keys) -> None:
        """Add keys, none of which it has."""
        run = np.sort(keys)
        while self._runs and len(self._runs[-1]) <= 2 * len(run):
            run = np.sort(np.concatenate([self._runs.pop(), run]), kind="stable")
        self._runs.append(run)

    def lacks(self, keys: _Keys) -> NDArray[np.bool_]:
        """Which keys it does not have."""
        missing = np.ones(len(keys), np.bool_)
        for run in self._runs:
            places = np.searchsorted(run, keys)
            places[places == len(run)] = 0
            missing &= run[places] != keys
        return missing
