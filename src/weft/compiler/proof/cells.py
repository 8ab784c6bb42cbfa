"""Bounds on what a feed-forward adds, for whole sets of states at once.

A cell allows a set of values for each variable. Within a cell a unit of the first layer has an
exact least and greatest input, variable by variable; further layers by interval arithmetic. Bounds
that meet decide the cell for all of its states. Units that are thresholds of one and the same sum
rise one after the other: if intervals alone do not decide, they are bounded together.

Bounds include rounding. Rounded addition is monotonic, so bounds whose terms lie on a grid on which
sums are exact (`rounding`) bound the computed values as they are; all others are widened.

    c  cells   u  units   v  values of one variable   o  entries of the slot that is looked at
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from weft.compiler.proof.findings import Unproved
from weft.proofs.rounding import LARGEST, NOTHING, Array, Precision, grid


@dataclass(frozen=True)
class Column:
    """One variable: what each of its values adds to the first layer's inputs, as bounds (u v).

    Attributes:
        name: the variable.
        low: the least that each value adds.
        high: the greatest.
        inexact: which values (v) are not exact in the stream: averages and mixtures.
        size: the greatest sum of absolute values (u) that is added up for a value.
        step: the grid (u) that the products of exact values lie on.
    """

    name: str
    low: Array
    high: Array
    inexact: Array
    size: Array
    step: Array


def exact_column(name: str, weights: Array, values: Array) -> Column:
    """A variable whose values are exact in the stream.

    Args:
        name: the variable.
        weights: of the first layer, on the dimensions of its slot (u d).
        values: what the slot holds for each value (v d).
    """
    added = weights @ values.T
    size = (np.abs(weights) @ np.abs(values).T).max(-1, initial=0)
    step = grid(weights).min(-1, initial=NOTHING) + int(grid(values).min(initial=0))
    return Column(name, added, added, np.zeros(len(values), bool), size, np.minimum(step, NOTHING))


@dataclass(frozen=True)
class Rounding:
    """What is known of the rounding of a network's sums.

    Attributes:
        first: which units of the first layer (u) add up exactly if their inputs are exact.
        worst: how far rounding can take the input of each (u) if they are not.
        later: for each further affine map, which rows add up exactly: given whole inputs, and given
            multiples of what the layer below puts out.
        held: what the entries that the last map is added to hold at most (o).
        roundoff: the largest relative error of one rounding.
    """

    first: Array
    worst: Array
    later: tuple[tuple[Array, Array], ...]
    held: Array
    roundoff: float


@dataclass(frozen=True)
class Network:
    """The part of a feed-forward that a few entries of the stream depend on."""

    columns: tuple[Column, ...]
    weights: tuple[Array, ...]  # of the second and later layers
    biases: tuple[Array, ...]
    clipped: bool
    rounding: Rounding

    @property
    def entries(self) -> int:
        """About how many numbers there are to compute for a cell."""
        widest = max((column.low.shape[1] for column in self.columns), default=1)
        return max(1, len(self.biases[0]) * widest)

    def pruned(self, masks: tuple[Array, ...]) -> Network:
        """The network without the units that are off in all of these cells."""
        together = tuple(mask.max(0, keepdims=True) for mask in masks)
        _, high, error, _ = self._inputs(together)
        kept = np.flatnonzero(self._activate(high + error)[0])
        if 2 * len(kept) > len(self.biases[0]):
            return self
        return replace(
            self,
            columns=tuple(
                replace(
                    column,
                    low=column.low[kept],
                    high=column.high[kept],
                    size=column.size[kept],
                    step=column.step[kept],
                )
                for column in self.columns
            ),
            weights=(self.weights[0][:, kept], *self.weights[1:]),
            biases=(self.biases[0][kept], *self.biases[1:]),
            rounding=replace(
                self.rounding, first=self.rounding.first[kept], worst=self.rounding.worst[kept]
            ),
        )

    # Bounds

    def bounds(self, masks: tuple[Array, ...]) -> tuple[Array, Array, Array]:
        """Bounds (c o) of what is added, and the spread that each variable causes (c columns)."""
        low, high, error, ranges = self._inputs(masks)
        low, high = self._activate(low - error), self._activate(high + error)
        open_ = low != high
        spread = np.stack([(r * open_).sum(-1) for r in ranges], -1) if ranges else low[:, :0]
        loose = open_ & (error > 0)
        low, high, loose = self._through(0, low, high, loose)
        return *self._onwards(low, high, loose), spread

    def close_bounds(self, masks: tuple[Array, ...]) -> tuple[Array, Array]:
        """Closer bounds (c o): thresholds of the same sum are looked at together."""
        least_sum, most_sum, error, _ = self._sums(masks)
        low, high = least_sum + self.biases[0], most_sum + self.biases[0]
        weight = self.weights[0]
        reached = self._activate(low - error), self._activate(high + error)
        loose = (error > 0) & (reached[0] != reached[1])
        error = np.where(loose, error, 0.0)
        least = np.broadcast_to(self.biases[1], (len(low), len(weight))).copy()
        most = least.copy()
        alone, groups = self.thresholds
        if len(alone):
            some = weight[:, alone]
            up, down = np.maximum(some, 0).T, np.minimum(some, 0).T
            least += reached[0][:, alone] @ up + reached[1][:, alone] @ down
            most += reached[1][:, alone] @ up + reached[0][:, alone] @ down
        for units in groups:
            first = units[0]
            sums = np.stack([least_sum[:, first], most_sum[:, first]], -1)
            points = self._turns(sums, self.biases[0][units])
            added = self._activate(points[..., None] + self.biases[0][units]) @ weight[:, units].T
            slack = error[:, units] @ np.abs(weight[:, units]).T
            least += added.min(1) - slack
            most += added.max(1) + slack
        open_ = reached[0] != reached[1]  # what lies between whole bounds need not be whole
        return self._onwards(*self._rounded(0, *reached, least, most, loose, open_))

    @cached_property
    def thresholds(self) -> tuple[Array, list[Array]]:
        """Units of the first layer: those alone, and groups whose inputs differ by the bias."""
        rows = np.hstack([part for column in self.columns for part in (column.low, column.high)])
        _, group, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        group = group.reshape(-1)
        alone = np.flatnonzero(counts[group] == 1)
        return alone, [np.flatnonzero(group == number) for number in np.flatnonzero(counts > 1)]

    def _turns(self, sums: Array, biases: Array) -> Array:
        """Both ends of each span (c 2), and where the units in between begin and end to rise."""
        ends = np.concatenate([-biases, 1 - biases] if self.clipped else [-biases])
        inner = np.clip(ends[None], sums[:, :1], sums[:, 1:])
        return np.concatenate([sums, inner], -1)

    def _inputs(self, masks: tuple[Array, ...]) -> tuple[Array, Array, Array, list[Array]]:
        """Least and greatest input of first units (c u), how far rounding takes both, and ranges.

        Ranges say by how much each variable moves each input.
        """
        low, high, error, ranges = self._sums(masks)
        return low + self.biases[0], high + self.biases[0], error, ranges

    def _sums(self, masks: tuple[Array, ...]) -> tuple[Array, Array, Array, list[Array]]:
        """The same without the units' own biases."""
        count = len(masks[0]) if masks else 1
        low = np.zeros((count, len(self.biases[0])))
        high = low.copy()
        ranges = []
        rounds = np.broadcast_to(~self.rounding.first, low.shape).copy()
        for column, mask in zip(self.columns, masks, strict=True):
            few, which = _distinct(mask)  # cells share most of their masks
            least = np.where(few[:, None, :], column.low[None], np.inf).min(-1)
            most = np.where(few[:, None, :], column.high[None], -np.inf).max(-1)
            low += least[which]
            high += most[which]
            ranges.append((most - least)[which])
            if column.inexact.any():
                parts = np.abs(column.low) + np.abs(column.high)
                touched = parts[:, column.inexact].sum(-1) > 0
                chosen = mask[:, column.inexact].sum(-1) > 0
                rounds |= chosen[:, None] & touched[None]
        return low, high, np.where(rounds, self.rounding.worst[None], 0.0), ranges

    def _through(
        self, place: int, low: Array, high: Array, loose: Array
    ) -> tuple[Array, Array, Array]:
        """Bounds after one affine map; `loose` says which bounds are not on a grid."""
        weight, bias = self.weights[place], self.biases[place + 1]
        up, down = np.maximum(weight, 0), np.minimum(weight, 0)
        least, most = low @ up.T + high @ down.T + bias, high @ up.T + low @ down.T + bias
        return self._rounded(place, low, high, least, most, loose)

    def _rounded(
        self,
        place: int,
        low: Array,
        high: Array,
        least: Array,
        most: Array,
        loose: Array,
        between: Array | None = None,
    ) -> tuple[Array, Array, Array]:
        """Bounds after an affine map, widened in rows that may round.

        Adding up n terms, zeros aside, rounds n - 1 times; and each product, unless the input is 1.
        """
        weight, bias = self.weights[place], self.biases[place + 1]
        used = (weight != 0).astype(float).T
        of_whole, of_steps = self.rounding.later[place]
        broken = (low != np.floor(low)) | (high != np.floor(high))
        broken = broken if between is None else broken | between
        exact = np.where(broken.astype(float) @ used > 0, of_steps[None], of_whole[None])
        rounds = ~exact | (loose.astype(float) @ used > 0)
        if not rounds.any():
            return least, most, rounds
        size = np.maximum(np.abs(low), np.abs(high)) @ np.abs(weight).T + np.abs(bias)
        terms = ((low != 0) | (high != 0)).astype(float) @ used + (bias != 0)
        if place == len(self.weights) - 1:  # it may be added to the stream term by term
            size, terms = size + self.rounding.held, terms + 1
        products = (broken | (high > 1)).astype(float) @ used
        error = 1.01 * self.rounding.roundoff * size * (np.maximum(terms - 1, 0) + products)
        error = np.where(rounds, error, 0.0)
        return least - error, most + error, error > 0

    def _onwards(self, low: Array, high: Array, loose: Array) -> tuple[Array, Array]:
        """From the inputs of the second layer to what is added, by intervals."""
        for place in range(1, len(self.weights)):
            low, high = self._activate(low), self._activate(high)
            low, high, loose = self._through(place, low, high, loose & (low != high))
        return low, high

    def _activate(self, x: Array) -> Array:
        return np.clip(x, 0, 1) if self.clipped else np.maximum(x, 0)


def network_of(
    columns: tuple[Column, ...],
    weights: tuple[Array, ...],
    biases: tuple[Array, ...],
    *,
    clipped: bool,
    precision: Precision,
    held: Array,
) -> Network:
    """A network, with what can be said of its rounding.

    Args:
        columns: what each variable adds to the first layer's inputs.
        weights: of the second and later affine maps.
        biases: of all affine maps.
        clipped: whether units are clipped at 1.
        precision: the number format.
        held: what the stream holds where the last map is added to it (values, o).
    """
    bits = precision.bits
    lowest, sizes = grid(biases[0]), np.abs(biases[0])
    terms = np.ones(len(sizes))
    for column in columns:
        sizes = sizes + column.size
        terms = terms + column.low.shape[1] * (column.size > 0)
        lowest = np.minimum(lowest, column.step)
    first = sizes <= _power(lowest + bits)
    worst = (terms + 2) * precision.roundoff * sizes
    below, largest, later = np.minimum(lowest, 0), sizes, []
    most_held = np.abs(held).max(0, initial=0)
    for place, (weight, bias) in enumerate(zip(weights, biases[1:], strict=True)):
        largest = np.minimum(largest, 1.0) if clipped else largest
        steps, of_bias = grid(weight), grid(bias)
        whole = np.minimum(steps.min(-1, initial=NOTHING), of_bias)
        scaled = np.where(weight != 0, steps + below, NOTHING)
        lowest = np.minimum(scaled.min(-1, initial=NOTHING), of_bias)
        largest = np.abs(weight) @ largest + np.abs(bias)
        if place == len(weights) - 1:
            of_held = grid(held).min(0, initial=NOTHING)
            whole, lowest = np.minimum(whole, of_held), np.minimum(lowest, of_held)
            largest = largest + most_held
        later.append((largest <= _power(whole + bits), largest <= _power(lowest + bits)))
        below = np.minimum(lowest, 0)
    if not (sizes.max(initial=0) < LARGEST and largest.max(initial=0) < LARGEST):
        raise Unproved("sums of the feed-forward may overflow")
    rounding = Rounding(first, worst, tuple(later), most_held, precision.roundoff)
    return Network(columns, weights, biases, clipped, rounding)


def _power(exponents: Array) -> Array:
    """2 to some exponents, which may be the very large ones of zeros."""
    return 2.0 ** np.minimum(exponents, 1000).astype(np.float64)


@dataclass(frozen=True)
class Cells:
    """Cells with what is expected of each: masks (c v) for each column, bounds (c o)."""

    masks: tuple[Array, ...]
    least: Array
    most: Array

    def __len__(self) -> int:
        return len(self.least)

    def take(self, chosen: Array) -> Cells:
        """Some of the cells."""
        masks = tuple(mask[chosen] for mask in self.masks)
        return replace(self, masks=masks, least=self.least[chosen], most=self.most[chosen])


@dataclass(frozen=True)
class Outcome:
    """How a proof went: cells looked at, and for a cell in doubt its masks, one per column."""

    cells: int
    doubt: tuple[Array, ...] | None = None


ENTRIES = 1 << 22
"""About how many numbers are computed at once."""

MAX_UNPRUNED_UNITS = 64
"""Networks of up to this many units are not pruned."""


def prove_cells(network: Network, cells: Cells) -> Outcome:
    """Show that what is added is as expected in every state of every cell.

    Neighbouring cells have most units off in common, so cells are worked through in order, in
    ever smaller parts with ever fewer units.
    """
    waiting = [(network, cells)]
    looked_at = 0
    while waiting:
        network, part = waiting.pop()
        if len(network.biases[0]) > MAX_UNPRUNED_UNITS and len(part):
            network = network.pruned(part.masks)
        if len(part) > 1 and len(part) * network.entries > ENTRIES:
            middle = len(part) // 2
            waiting.append((network, part.take(np.arange(middle, len(part)))))
            waiting.append((network, part.take(np.arange(middle))))
            continue
        looked_at += len(part)
        low, high, spread = network.bounds(part.masks)
        wrong = ((low > part.most) | (high < part.least)).any(-1)
        if wrong.any():
            return _doubt(part, int(np.flatnonzero(wrong)[0]), looked_at)
        open_ = _outside(part, low, high)
        left, spread = part.take(open_), spread[open_]
        if len(left) and network.thresholds[1]:
            low, high = network.close_bounds(left.masks)
            open_ = _outside(left, low, high)
            left, spread = left.take(open_), spread[open_]
        if len(left):
            halves, single = _split(left, spread)
            if single is not None:
                return _doubt(left, single, looked_at)
            waiting.append((network, halves))
    return Outcome(looked_at)


def _outside(cells: Cells, low: Array, high: Array) -> Array:
    """Which cells have bounds that reach beyond what is expected."""
    beyond: Array = np.asarray(((low < cells.least) | (high > cells.most)).any(-1))
    return beyond


def _distinct(mask: Array) -> tuple[Array, Array]:
    """The distinct rows of a mask, and which of them each row is."""
    packed = np.ascontiguousarray(np.packbits(mask, axis=1))
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return mask[first], which.reshape(-1)


def _split(cells: Cells, spread: Array) -> tuple[Cells, int | None]:
    """Each cell in two, along the variable that causes the most doubt; or one that cannot be."""
    several = np.stack([mask.sum(-1) > 1 for mask in cells.masks], -1)
    if not several.any(-1).all():
        return cells, int(np.flatnonzero(~several.any(-1))[0])
    chosen = np.where(several, spread + 1e-9, -1.0).argmax(-1)
    first, second = [], []
    for place, mask in enumerate(cells.masks):
        order = mask.cumsum(-1)
        half = mask & (order <= (mask.sum(-1) // 2)[:, None])
        here = (chosen == place)[:, None]
        first.append(np.where(here, half, mask))
        second.append(np.where(here, mask & ~half, mask))
    halves = Cells(
        tuple(_interleaved(*pair) for pair in zip(first, second, strict=True)),
        np.repeat(cells.least, 2, 0),
        np.repeat(cells.most, 2, 0),
    )
    return halves, None


def _interleaved(first: Array, second: Array) -> Array:
    """Both halves of each cell side by side."""
    return np.stack([first, second], 1).reshape(-1, first.shape[1])


def _doubt(cells: Cells, place: int, looked_at: int) -> Outcome:
    return Outcome(looked_at, tuple(mask[place] for mask in cells.masks))
