"""What hidden units test: guards read from weights alone, or from what the units do on states.

With one-hot slots a unit's pre-activation is a sum with one summand for each variable,

    g_j = b1_j + Σ_variables w_j(value),    greatest where every variable has its best value.

A unit is the test of a guard, `variable in values` for each variable, if it has one level (within
a tolerance) wherever all of them hold, and is off as soon as one of them fails. This does not ask
for the paper's weights: units may be scaled, and biases spread over slots.

From weights alone this is asked of all assignments. Training knows nothing of those that never
occur, so a trained unit is asked on the states of D instead: the guard allows what each variable
has where the unit is on, and variables are left out, the last ones first, as long as that changes
no state of D. So no constraint of a guard could go (Definition 1); there can be other such guards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from weft.errors import WeftError
from weft.interpreter.states import Ints, StateSet
from weft.language.ranges import UNDEFINED
from weft.language.rules import Guard
from weft.theory.optimum.reconstruction import Floats

if TYPE_CHECKING:
    from weft.models.slots import Layout, Slot

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Hidden:
    """A feed-forward of one hidden layer, as arrays: W2 σ(W1 z + b1) + b2."""

    first: Floats
    bias: Floats
    second: Floats
    output_bias: Floats
    clipped: bool

    @property
    def width(self) -> int:
        """How many dimensions the stream has."""
        return len(self.output_bias)

    @property
    def parts(self) -> tuple[Floats, ...]:
        """All weights and biases."""
        return self.first, self.bias, self.second, self.output_bias

    def hidden(self, vectors: Floats) -> Floats:
        """The units on each row of a stream."""
        return self.activate(vectors @ self.first.T + self.bias)

    def activate(self, before: Floats) -> Floats:
        """σ: a ReLU, or one that ends at 1."""
        return np.clip(before, 0.0, 1.0 if self.clipped else None)

    def added(self, vectors: Floats) -> Floats:
        """What it adds to each row of a stream."""
        return self.hidden(vectors) @ self.second.T + self.output_bias


class Guards(Protocol):
    """What units test.

    Attributes:
        level: for each unit, what it is where it is on.
        good: for each unit, whether it is a test at all.
    """

    level: Floats
    good: Bools

    def key(self, unit: int) -> bytes:
        """The same for units that are on in the same states."""

    def passing(self, unit: int, name: str) -> tuple[Any, ...]:
        """The values of a variable with which a unit is on."""

    def guard(self, unit: int, own: str) -> Guard | None:
        """The variables that a unit tests beside its own, with the values that pass."""


class Everywhere:
    """The tests of units in all assignments, from weights alone."""

    def __init__(self, net: Hidden, layout: Layout, tolerance: float) -> None:
        self.slots = {slot.name: slot for slot in layout.values()}
        self.passes: dict[str, Bools] = {}
        weights = {slot.name: _summands(net, slot) for slot in self.slots.values()}
        top = net.bias + sum(w.max(1) for w in weights.values())
        self.level = net.activate(top)
        low, high = top.copy(), np.zeros(len(top))
        for name, w in weights.items():
            below = w - w.max(1)[:, None]
            alone = top[:, None] + below  # all other variables at their best
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


class OnStates:
    """The tests of units on the states that occur."""

    def __init__(self, net: Hidden, layout: Layout, states: StateSet, tolerance: float) -> None:
        self.names = list(states.variables)
        self.sizes = [len(variable) for variable in states.variables.values()]
        self.codes = states.codes
        self.level = np.zeros(len(net.bias))
        for _, hidden in through(net, layout, states):
            self.level = np.maximum(self.level, hidden.max(0, initial=0.0))
        self.good = np.ones(len(net.bias), bool)
        self.on = np.zeros((len(net.bias), len(states)), bool)
        for part, hidden in through(net, layout, states):
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
        """None where no conjunction of values is on in these states alone."""
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
        """The states in which a variable has a value that it never has where the unit is on."""
        allowed = np.zeros(self.sizes[column] + 1, bool)
        allowed[self.codes[self.on[unit], column]] = True
        return ~allowed[self.codes[:, column]]


STATES_AT_ONCE = 1 << 12
"""How many states go through a feed-forward together."""


def through(net: Hidden, layout: Layout, states: StateSet) -> Iterator[tuple[slice, Floats]]:
    """The hidden units on all states, some at a time."""
    for part, vectors in laid_out(layout, states, net.width):
        yield part, net.hidden(vectors)


def laid_out(layout: Layout, states: StateSet, width: int) -> Iterator[tuple[slice, Floats]]:
    """The vectors of states as a model's stream has them, some at a time."""
    places = dimensions(layout, states)
    for start in range(0, len(states), STATES_AT_ONCE):
        part = slice(start, start + STATES_AT_ONCE)
        rows = states.take(part)
        vectors = np.zeros((len(rows), width))
        vectors[:, places] = rows.one_hot()
        yield part, vectors


def dimensions(layout: Layout, states: StateSet) -> Ints:
    """For each dimension of the theory, variables side by side, the one in a layout."""
    found: list[int] = []
    for name, variable in states.variables.items():
        slot = layout[name]
        if slot.size != len(variable):
            raise WeftError(
                f"'{name}' has {slot.size} dimensions in this layout and {len(variable)} values "
                "in the program",
                remedy="Give the layout of the same program, compiled at level 0",
            )
        found += range(slot.start, slot.start + slot.size)
    return np.array(found, np.int64)


def _summands(net: Hidden, slot: Slot) -> Floats:
    """What each code of a variable adds to each unit; an undefined head adds nothing."""
    weights = net.first[:, slot.dimensions]
    if slot.kind != "categorical":
        return np.zeros((len(weights), 1))  # a unit that reads it is no test; see `good`
    return np.pad(weights, ((0, 0), (0, 1))) if slot.is_head else weights


def _values(size: int, codes: NDArray[Any]) -> tuple[Any, ...]:
    return tuple(UNDEFINED if code == size else code for code in codes.tolist())
