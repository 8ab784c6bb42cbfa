"""A circuit as matrices: units sorted into hidden layers, with carries for values that skip one.

A hidden layer reads only the layer before it. What a unit needs from further back is carried: a
unit's value by a unit that copies it, a form by one unit that holds it, scaled into 0..1 by a power
of two, which is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from weft.models.slots import Layout, encode
from weft.weights.circuit import Circuit, Form, Unit
from weft.weights.layers import FeedForwardMatrices


@dataclass
class _Row:
    """A hidden unit: its weights on what is below, and its bias."""

    weights: dict[int, float]
    bias: float


@dataclass
class _Placed:
    """A value as a linear function of a hidden layer's units (or of the stream)."""

    weights: dict[int, float] = field(default_factory=dict)
    bias: float = 0.0

    def add(self, other: _Placed, times: float = 1.0) -> None:
        for place, weight in other.weights.items():
            self.weights[place] = self.weights.get(place, 0.0) + times * weight
        self.bias += times * other.bias


class _Placer:
    def __init__(self, circuit: Circuit, layout: Layout) -> None:
        self.circuit = circuit
        self.layout = layout
        self.rows: list[list[_Row]] = []
        self._units: dict[tuple[int, Unit], _Placed] = {}
        self._forms: dict[tuple[int, Form], _Placed] = {}
        self._carriers: dict[tuple[int, Form], _Placed] = {}

    def _new(self, level: int, source: _Placed) -> _Placed:
        """A new unit on a hidden layer (counted from 1)."""
        while len(self.rows) < level:
            self.rows.append([])
        self.rows[level - 1].append(_Row(source.weights, source.bias))
        return _Placed({len(self.rows[level - 1]) - 1: 1.0})

    def unit(self, unit: Unit, level: int) -> _Placed:
        """A unit's value as a hidden layer has it."""
        if (level, unit) not in self._units:
            own = unit.level == level
            source = self._inputs(unit) if own else self.unit(unit, level - 1)
            self._units[level, unit] = self._new(level, source)
        return self._units[level, unit]

    def _inputs(self, unit: Unit) -> _Placed:
        total = _Placed(bias=float(unit.bias))
        for name, place, weight in unit.raw:
            start = self.layout[name].start
            total.add(_Placed({start + place: weight}))
        for term, weight in unit.forms:
            total.add(self.form(term, unit.level - 1), weight)
        for below, weight in unit.units:
            total.add(self.unit(below, unit.level - 1), weight)
        return total

    def form(self, term: Form, level: int) -> _Placed:
        """A form's value as a hidden layer has it; level 0 is the stream."""
        if (level, term) not in self._forms:
            self._forms[level, term] = self._place_form(term, level)
        return self._forms[level, term]

    def _place_form(self, term: Form, level: int) -> _Placed:
        if level == 0:
            placed = _Placed()
            for name, weights in term.terms:
                start = self.layout[name].start
                placed.add(_Placed({start + c: float(w) for c, w in enumerate(weights) if w}))
            return placed
        low, high = term.bounds(self.circuit.variables)
        scale = 2.0 ** max(0, int(np.ceil(np.log2(max(1, high - low)))))
        if level > 1:
            below = self._carrier(term, level - 1)
            carried = self._new(level, below)
        else:
            source = _Placed(bias=-low / scale)
            source.add(self.form(term, 0), 1 / scale)
            carried = self._new(1, source)
        self._carriers[level, term] = carried
        placed = _Placed(bias=float(low))
        placed.add(carried, scale)
        return placed

    def _carrier(self, term: Form, level: int) -> _Placed:
        self.form(term, level)
        return self._carriers[level, term]


def lay_out(circuit: Circuit, layout: Layout, width: int) -> FeedForwardMatrices:
    """The matrices of a circuit."""
    placer = _Placer(circuit, layout)
    units = circuit.used_units()
    depth = max((unit.level for unit in units), default=1)
    final: dict[int, _Placed] = {}
    for write in circuit.writes:
        source = placer.unit(write.unit, depth)
        slot = layout[write.variable]
        written = {slot.start: 1.0} if write.code is None else encode(slot, write.code)
        for dimension, amount in written.items():
            final.setdefault(dimension, _Placed()).add(source, write.times * amount)
    while len(placer.rows) < depth:
        placer.rows.append([])
    weights, biases = [], []
    before = width
    for rows in placer.rows:
        matrix, bias = np.zeros((len(rows), before)), np.zeros(len(rows))
        for number, row in enumerate(rows):
            for place, weight in row.weights.items():
                matrix[number, place] = weight
            bias[number] = row.bias
        weights.append(matrix)
        biases.append(bias)
        before = len(rows)
    last = np.zeros((width, before))
    for dimension, placed in final.items():
        for place, weight in placed.weights.items():
            last[dimension, place] = weight
    weights.append(last)
    biases.append(np.zeros(width))
    return FeedForwardMatrices(tuple(weights), tuple(biases))
