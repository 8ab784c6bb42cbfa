"""Bounds on what a feed-forward gives, for whole sets of states at once.

A cell allows a set of values for each variable. Within a cell a unit of the first layer has an
exact least and greatest input, variable by variable; further layers by interval arithmetic. Bounds
that meet decide the cell for all of its states.

    c  cells   u  units   v  values of one variable   o  entries of the slot that is looked at
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
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
        low, high = self._activate(low), self._activate(high)
        open_ = low != high
        spread = np.stack([(r * open_).sum(-1) for r in ranges], -1) if ranges else low[:, :0]
        for place, (weight, bias) in enumerate(zip(self.weights, self.biases[1:], strict=True)):
            up, down = np.maximum(weight, 0), np.minimum(weight, 0)
            low, high = low @ up.T + high @ down.T + bias, high @ up.T + low @ down.T + bias
            if place < len(self.weights) - 1:
                low, high = self._activate(low), self._activate(high)
        return low, high, spread

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
        left = part.take(~right)
        if len(left):
            halves = _split(left, spread[~right])
            if halves is None:
                return _difference(network, left, 0, looked_at, low[~right][0])
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
