"""The guards that hidden units test: from the weights alone, or from their activations on states.

With one-hot slots, a unit's pre-activation is a sum with one summand per variable,

    g_j = b1_j + Σ_variables w_j(value),    greatest if every variable has its best value.

A unit tests a guard, `variable in values` for each variable, if it has one level (within a
tolerance) when all constraints hold, and is off when one of them fails. Units need not have the
paper's weights: they may be scaled, and biases may be spread over slots.

From the weights alone, this must hold in all assignments. Training does not see assignments that
never occur, so a trained unit is tested on the states of D instead: the guard allows the values
that each variable has when the unit is on, and variables are left out, the last ones first, as long
as that changes no state of D. So no constraint of a guard could go (definition 1); there may be
other such guards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from weft.interpreter.states import StateSet
from weft.language.ranges import UNDEFINED
from weft.language.rules import Guard
from weft.theory.extraction.networks import HiddenLayer, stream_vectors
from weft.theory.optimum.reconstruction import Floats

if TYPE_CHECKING:
    from weft.models.slots import Layout, Slot

Bools = NDArray[np.bool_]


class Guards(Protocol):
    """The guards of hidden units.

    Attributes:
        level: the activation of each unit when it is on.
        good: whether each unit tests a guard at all.
    """

    level: Floats
    good: Bools

    def key(self, unit: int) -> bytes:
        """Equal for units that are on in the same states."""

    def passing(self, unit: int, name: str) -> tuple[Any, ...]:
        """The values of a variable for which a unit is on."""

    def guard(self, unit: int, own: str) -> Guard | None:
        """The variables that a unit tests besides its own, with the values that pass."""


class GuardsFromWeights:
    """The guards of units over all assignments, from the weights alone."""

    def __init__(self, net: HiddenLayer, layout: Layout, tolerance: float) -> None:
        self.slots = {slot.name: slot for slot in layout.values()}
        self.passes: dict[str, Bools] = {}
        weights = {slot.name: _summands(net, slot) for slot in self.slots.values()}
        top = net.bias + sum(w.max(1) for w in weights.values())
        self.level = net.activate(top)
        low, high = top.copy(), np.zeros(len(top))
        for name, w in weights.items():
            below = w - w.max(1)[:, None]
            alone = top[:, None] + below  # all other variables have their best values
            on = net.activate(alone) > self.level[:, None] / 2
            low += np.where(on, below, 0.0).min(1)
            high = np.maximum(high, np.where(on, 0.0, alone).max(1))
            self.passes[name] = on
        spread, leak = self.level - net.activate(low), net.activate(high)
        self.good = np.maximum(spread, leak) <= tolerance * self.level
        for slot in self.slots.values():
            if slot.kind != "categorical":
                self.good &= ~net.first[:, slot.dimensions].any(1)

    def key(self, unit: int) -> bytes:
        return b"".join(passes[unit].tobytes() for passes in self.passes.values())

    def passing(self, unit: int, name: str) -> tuple[Any, ...]:
        return _values(self.slots[name].size, np.flatnonzero(self.passes[name][unit]))

    def guard(self, unit: int, own: str) -> Guard | None:
        tested = (n for n, passes in self.passes.items() if n != own and not passes[unit].all())
        return tuple((name, self.passing(unit, name)) for name in tested)


class GuardsOnStates:
    """The guards of units on the states that occur."""

    def __init__(
        self, net: HiddenLayer, layout: Layout, states: StateSet, tolerance: float
    ) -> None:
        self.names = list(states.variables)
        self.sizes = [len(variable) for variable in states.variables.values()]
        self.codes = states.codes
        self.level = np.zeros(len(net.bias))
        for _, hidden in _activations(net, layout, states):
            self.level = np.maximum(self.level, hidden.max(0, initial=0.0))
        self.good = np.ones(len(net.bias), bool)
        self.on = np.zeros((len(net.bias), len(states)), bool)
        for part, hidden in _activations(net, layout, states):
            on = hidden > self.level / 2
            off_by = np.where(on, self.level - hidden, hidden)
            self.good &= (off_by <= tolerance * self.level).all(0)
            self.on[:, part] = on.T

    def key(self, unit: int) -> bytes:
        return np.packbits(self.on[unit]).tobytes()

    def passing(self, unit: int, name: str) -> tuple[Any, ...]:
        column = self.names.index(name)
        return _values(self.sizes[column], np.unique(self.codes[self.on[unit], column]))

    def guard(self, unit: int, own: str) -> Guard | None:
        """None if no conjunction of values holds in exactly the states in which the unit is on."""
        fails = [self._fails(unit, column) for column in range(len(self.names))]
        failed = np.sum(fails, axis=0)
        if not np.array_equal(failed == 0, self.on[unit]):
            return None
        kept = []
        for name, fail in zip(reversed(self.names), reversed(fails), strict=True):
            if name == own or (fail & (failed == 1)).any():
                kept.append(name)
            else:
                failed = failed - fail
        return tuple((n, self.passing(unit, n)) for n in reversed(kept) if n != own)

    def _fails(self, unit: int, column: int) -> Bools:
        """The states in which a variable has a value that it never has when the unit is on."""
        allowed = np.zeros(self.sizes[column] + 1, bool)
        allowed[self.codes[self.on[unit], column]] = True
        return ~allowed[self.codes[:, column]]


def _activations(
    net: HiddenLayer, layout: Layout, states: StateSet
) -> Iterator[tuple[slice, Floats]]:
    """The hidden units on all states, some rows at a time."""
    for part, vectors in stream_vectors(layout, states, net.width):
        yield part, net.hidden(vectors)


def _summands(net: HiddenLayer, slot: Slot) -> Floats:
    """What each code of a variable adds to each unit; an undefined head adds nothing."""
    weights = net.first[:, slot.dimensions]
    if slot.kind != "categorical":
        return np.zeros((len(weights), 1))  # a unit that reads it tests no guard; see `good`
    return np.pad(weights, ((0, 0), (0, 1))) if slot.is_head else weights


def _values(size: int, codes: NDArray[Any]) -> tuple[Any, ...]:
    return tuple(UNDEFINED if code == size else code for code in codes.tolist())
