"""Attention over a batch, on codes.

The sequences of a batch are concatenated in flat columns. A head with neither offsets nor a causal
mask counts the keys of each sequence once; other heads go through their offsets one by one.

    n   positions of all sequences together
    r   sequences
    k   values of the key
    b   buckets of a numerical value
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.language.program import Head, Program
from weft.language.ranges import Number, Subset

Array = NDArray[Any]

SHIFTS_KEPT = 16
"""For how many offsets `Segments` caches the shifted places."""


@dataclass(frozen=True)
class Segments:
    """Where each sequence lies in the flat columns."""

    lengths: Array  # r
    starts: Array  # r
    rows: Array  # n: the sequence of each position
    _shifts: dict[int, tuple[Array, Array]] = field(default_factory=dict, repr=False)

    @property
    def longest(self) -> int:
        """The length of the longest sequence."""
        return int(self.lengths.max(initial=0))

    def shifted(self, offset: int) -> tuple[Array, Array]:
        """For each position, the place `offset` away, and whether it is in the same sequence."""
        shift = self._shifts.get(offset)
        if shift is None:
            count = len(self.rows)
            place = np.arange(count) + offset
            inside = (place >= 0) & (place < count)
            place = np.where(inside, place, 0)
            shift = place, inside & (self.rows[place] == self.rows)
            if len(self._shifts) < SHIFTS_KEPT:
                self._shifts[offset] = shift
        return shift


def segments_of(lengths: Array) -> Segments:
    """The segments of sequences with these lengths, none of them empty."""
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)
    return Segments(lengths, starts, np.repeat(np.arange(len(lengths)), lengths))


@dataclass(frozen=True)
class HeadOutput:
    """A head's output: codes and, if it is numerical, the numbers that they stand for."""

    codes: Array
    numbers: Array | None = None


class HeadPlan:
    """One head of a program, ready to run."""

    def __init__(self, program: Program, head: Head) -> None:
        self.head = head
        self.output = program.variables[head.name]
        self.value_range = program.variables[head.value].range
        self.causal = program.causal
        self.keys = len(program.variables[head.key]) if head.key is not None else 1
        self.members = _members(program, head)
        self.undefined = len(self.output)

    def run(self, columns: Mapping[str, Array], segments: Segments) -> HeadOutput:
        """The head's output at every position."""
        value = columns[self.head.value]
        if (
            self.head.query is None
            and self.head.offsets is not None
            and len(self.head.offsets) == 1
        ):
            return self._neighbour(value, segments)
        if self.head.offsets is None and not self.causal:
            return self._everywhere(columns, value, segments)
        return self._by_offset(columns, value, segments)

    def _neighbour(self, value: Array, segments: Segments) -> HeadOutput:
        """A head at one fixed offset: a shift."""
        (offset,) = self.head.offsets or (0,)
        place, inside = segments.shifted(offset)
        if self.causal and offset > 0:
            inside = np.zeros_like(inside)
        return self._if_single(value[place], inside.astype(np.intp))

    def _everywhere(
        self, columns: Mapping[str, Array], value: Array, segments: Segments
    ) -> HeadOutput:
        """A head without a mask: sum each sequence by key, then look up the sum of each query."""
        key = self._column(columns, self.head.key, segments)
        query = self._column(columns, self.head.query, segments)
        place = segments.rows * self.keys + key
        size = len(segments.lengths) * self.keys
        if isinstance(self.value_range, Number):
            buckets = len(self.value_range)
            counts = np.bincount(place * buckets + value, minlength=size * buckets)
            return self._mean(
                self._for_query(counts.reshape(-1, self.keys, buckets), query, segments)
            )
        counts = self._for_query(
            np.bincount(place, minlength=size).reshape(-1, self.keys, 1), query, segments
        )[:, 0]
        # If one position was selected, the sum of the values is its value.
        sums = np.bincount(place, weights=value, minlength=size).reshape(-1, self.keys, 1)
        total = self._for_query(sums, query, segments)[:, 0]
        return self._if_single(total.astype(np.intp), counts)

    def _for_query(self, by_key: Array, query: Array, segments: Segments) -> Array:
        """Sums per sequence and key (r k b) as each position's query picks them (n b)."""
        if self.members is None:
            return by_key[segments.rows, query]
        by_set = np.einsum("sk,rkb->rsb", self.members.astype(by_key.dtype), by_key)
        picked: Array = by_set[segments.rows, query]
        return picked

    def _by_offset(
        self, columns: Mapping[str, Array], value: Array, segments: Segments
    ) -> HeadOutput:
        """A head with a mask: go through the allowed offsets."""
        key = self._column(columns, self.head.key, segments)
        query = self._column(columns, self.head.query, segments)
        buckets = len(self.value_range) if isinstance(self.value_range, Number) else 1
        counts = np.zeros((len(value), buckets), np.intp)
        total = np.zeros(len(value), np.intp)
        positions = np.arange(len(value))
        for offset in self._offsets(segments.longest):
            place, chosen = segments.shifted(offset)
            chosen = chosen & self._matches(query, key[place])
            if buckets > 1:
                counts[positions[chosen], value[place[chosen]]] += 1
            else:
                counts[:, 0] += chosen
                total += np.where(chosen, value[place], 0)
        return (
            self._mean(counts)
            if isinstance(self.value_range, Number)
            else self._if_single(total, counts[:, 0])
        )

    def _offsets(self, longest: int) -> Iterable[int]:
        allowed = range(-longest + 1, 1 if self.causal else longest)
        if self.head.offsets is None:
            return allowed
        return [offset for offset in sorted(self.head.offsets) if offset in allowed]

    def _matches(self, query: Array, key: Array) -> Array:
        if self.members is not None:
            return self.members[query, key]
        same: Array = query == key
        return same

    def _column(self, columns: Mapping[str, Array], name: str | None, segments: Segments) -> Array:
        return columns[name] if name is not None else np.zeros(len(segments.rows), np.uint8)

    def _if_single(self, value: Array, counts: Array) -> HeadOutput:
        """The selected value if exactly one position was selected, otherwise undefined."""
        if isinstance(self.value_range, Number):
            buckets = np.asarray(self.value_range.values, np.float64)
            return self._read(np.where(counts == 1, buckets[value], np.nan))
        return HeadOutput(np.where(counts == 1, value, self.undefined))

    def _mean(self, counts: Array) -> HeadOutput:
        """The mean, from how often each bucket (n b) was selected; summed in bucket order."""
        total = np.zeros(len(counts), np.float64)
        assert isinstance(self.value_range, Number)
        for column, bucket in enumerate(self.value_range.buckets):
            total = total + counts[:, column] * bucket
        chosen = counts.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._read(np.where(chosen > 0, total / chosen, np.nan))

    def _read(self, numbers: Array) -> HeadOutput:
        """Numbers with the codes of their nearest buckets; NaN stands for undefined."""
        assert isinstance(self.output.range, Number)
        codes = np.searchsorted(np.asarray(self.output.range.borders), numbers, side="right")
        return HeadOutput(np.where(np.isnan(numbers), self.undefined, codes), numbers)


def _members(program: Program, head: Head) -> Array | None:
    """Which keys (columns) each value of a set-valued query (rows) selects; None for equality."""
    if head.query is None or not isinstance(program.variables[head.query].range, Subset):
        return None
    range_ = program.variables[head.query].range
    assert isinstance(range_, Subset)
    members = np.zeros((len(range_), range_.size), bool)
    for row, chosen in enumerate(range_.values):
        members[row, list(chosen)] = True  # type: ignore[arg-type]
    return members
