"""Bounds on what a feed-forward gives, for whole sets of states at once.

A cell allows a set of values for each variable. Within a cell a unit of the first layer has an
exact least and greatest input, variable by variable; further layers by interval arithmetic. Bounds
that meet decide the cell for all of its states. Units that are thresholds of one and the same sum
rise one after the other: where intervals alone do not decide, they are bounded together.

    c  cells   u  units   v  values of one variable   o  entries of the slot that is looked at
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Column:
    """One variable: what each of its values adds to the first layer's inputs, as bounds (u v)."""

    name: str
    low: Array
    high: Array


@dataclass(frozen=True)
class Network:
    """The part of a feed-forward that a few entries of the stream depend on."""

    columns: tuple[Column, ...]
    weights: tuple[Array, ...]  # of the second and later layers
    biases: tuple[Array, ...]
    clipped: bool

    def bounds(self, masks: tuple[Array, ...]) -> tuple[Array, Array, Array]:
        """Bounds (c o) of what is added, and the spread that each variable causes (c columns)."""
        low, high, ranges = self._inputs(masks)
        low, high = self._activate(low), self._activate(high)
        open_ = low != high
        spread = np.stack([(r * open_).sum(-1) for r in ranges], -1) if ranges else low[:, :0]
        weight, bias = self.weights[0], self.biases[1]
        up, down = np.maximum(weight, 0), np.minimum(weight, 0)
        low, high = low @ up.T + high @ down.T + bias, high @ up.T + low @ down.T + bias
        return *self._onwards(low, high), spread

    def close_bounds(self, masks: tuple[Array, ...]) -> tuple[Array, Array]:
        """Closer bounds (c o): thresholds of the same sum are looked at together."""
        low, high, _ = self._inputs(masks)
        weight = self.weights[0]
        least = np.broadcast_to(self.biases[1], (len(low), len(weight))).copy()
        most = least.copy()
        for units in self.thresholds:
            first = units[0]
            sums = np.stack([low[:, first], high[:, first]], -1) - self.biases[0][first]
            points = self._turns(sums, self.biases[0][units])
            added = self._activate(points[..., None] + self.biases[0][units]) @ weight[:, units].T
            least += added.min(1)
            most += added.max(1)
        return self._onwards(least, most)

    @cached_property
    def thresholds(self) -> list[Array]:
        """Units of the first layer, in groups whose inputs differ by their bias alone."""
        if not self.columns:
            return [np.arange(len(self.biases[0]))]
        rows = np.hstack([part for column in self.columns for part in (column.low, column.high)])
        _, group = np.unique(rows, axis=0, return_inverse=True)
        group = group.reshape(-1)
        return [np.flatnonzero(group == number) for number in range(group.max(initial=-1) + 1)]

    def _turns(self, sums: Array, biases: Array) -> Array:
        """Both ends of each span (c 2), and where the units in between begin and end to rise."""
        ends = np.concatenate([-biases, 1 - biases] if self.clipped else [-biases])
        inner = np.clip(ends[None], sums[:, :1], sums[:, 1:])
        return np.concatenate([sums, inner], -1)

    def _inputs(self, masks: tuple[Array, ...]) -> tuple[Array, Array, list[Array]]:
        """Least and greatest input of first units (c u), and by how much each variable moves it."""
        count = len(masks[0]) if masks else 1
        low = np.broadcast_to(self.biases[0], (count, len(self.biases[0]))).copy()
        high = low.copy()
        ranges = []
        for column, mask in zip(self.columns, masks, strict=True):
            least = np.where(mask[:, None, :], column.low[None], np.inf).min(-1)
            most = np.where(mask[:, None, :], column.high[None], -np.inf).max(-1)
            low += least
            high += most
            ranges.append(most - least)
        return low, high, ranges

    def _onwards(self, low: Array, high: Array) -> tuple[Array, Array]:
        """From the inputs of the second layer to what is added, by intervals."""
        for weight, bias in zip(self.weights[1:], self.biases[2:], strict=True):
            low, high = self._activate(low), self._activate(high)
            up, down = np.maximum(weight, 0), np.minimum(weight, 0)
            low, high = low @ up.T + high @ down.T + bias, high @ up.T + low @ down.T + bias
        return low, high

    def _activate(self, x: Array) -> Array:
        return np.clip(x, 0, 1) if self.clipped else np.maximum(x, 0)


@dataclass(frozen=True)
class Cells:
    """Cells with what is expected of each: masks (c v) for each column, expected (c o)."""

    masks: tuple[Array, ...]
    expected: Array

    def __len__(self) -> int:
        return len(self.expected)

    def take(self, chosen: Array) -> Cells:
        """Some of the cells."""
        return replace(
            self, masks=tuple(m[chosen] for m in self.masks), expected=self.expected[chosen]
        )


@dataclass(frozen=True)
class Outcome:
    """How a proof went: cells looked at, and the codes of a state that differs, if one does."""

    cells: int
    differs: dict[str, int] | None = None
    found: Array | None = None
    wanted: Array | None = None


ENTRIES = 1 << 22
"""About how many numbers are computed at once."""


def prove_cells(network: Network, cells: Cells) -> Outcome:
    """Show that what is added is as expected in every state of every cell."""
    largest = max((column.low.size for column in network.columns), default=1)
    at_once = max(1, ENTRIES // max(1, largest))
    waiting = list(_parts(cells, at_once))
    looked_at = 0
    while waiting:
        part = waiting.pop()
        looked_at += len(part)
        low, high, spread = network.bounds(part.masks)
        right = ((low == part.expected) & (high == part.expected)).all(-1)
        wrong = ((low > part.expected) | (high < part.expected)).any(-1)
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            return _difference(network, part, place, looked_at, low[place])
        left, spread = part.take(~right), spread[~right]
        if len(left):
            low, high = network.close_bounds(left.masks)
            open_ = ~((low == left.expected) & (high == left.expected)).all(-1)
            left, spread, low = left.take(open_), spread[open_], low[open_]
        if len(left):
            halves = _split(left, spread)
            if halves is None:
                return _difference(network, left, 0, looked_at, low[0])
            waiting += _parts(halves, at_once)
    return Outcome(looked_at)


def _parts(cells: Cells, at_once: int) -> Iterator[Cells]:
    for begin in range(0, len(cells), at_once):
        yield cells.take(np.arange(begin, min(begin + at_once, len(cells))))


def _split(cells: Cells, spread: Array) -> Cells | None:
    """Each cell in two, along the variable that causes the most doubt; None if one cannot be."""
    several = np.stack([mask.sum(-1) > 1 for mask in cells.masks], -1)
    if not several.any(-1).all():
        return None
    doubt = np.where(several, spread + 1e-9, -1.0)
    chosen = doubt.argmax(-1)
    first, second = [], []
    for place, mask in enumerate(cells.masks):
        order = mask.cumsum(-1)
        half = mask & (order <= (mask.sum(-1) // 2)[:, None])
        here = (chosen == place)[:, None]
        first.append(np.where(here, half, mask))
        second.append(np.where(here, mask & ~half, mask))
    return Cells(
        tuple(np.concatenate(pair) for pair in zip(first, second, strict=True)),
        np.concatenate([cells.expected, cells.expected]),
    )


def _difference(network: Network, cells: Cells, place: int, looked_at: int, low: Array) -> Outcome:
    """A state of a cell that is wrong (or cannot be decided)."""
    codes = {
        column.name: int(np.flatnonzero(mask[place])[0])
        for column, mask in zip(network.columns, cells.masks, strict=True)
    }
    return Outcome(looked_at, codes, low, cells.expected[place])
