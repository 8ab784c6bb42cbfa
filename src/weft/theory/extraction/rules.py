"""Rules read back out of a feed-forward's weights, found by training or compiled.

`reading_guards` finds what each hidden unit tests. What units with the same test write together is
a rule if it takes one value of a variable that the test fixes and puts another (or nothing, for a
head's output) in its place. So one rule may have several units, and one unit several rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.errors import WeftError
from weft.interpreter.states import StateSet
from weft.language.ranges import UNDEFINED
from weft.language.rules import Rule
from weft.theory.extraction.guards import Bools, Everywhere, Guards, Hidden, OnStates
from weft.theory.optimum.reconstruction import Floats

if TYPE_CHECKING:
    from weft.models.feed_forward import FeedForward
    from weft.models.slots import Layout, Slot


@dataclass(frozen=True)
class ReadRule:
    """A rule, and the hidden units that are it."""

    rule: Rule
    units: tuple[int, ...]


@dataclass(frozen=True)
class Unread:
    """Hidden units that are not a rule, and why."""

    units: tuple[int, ...]
    why: str


@dataclass(frozen=True)
class Reading:
    """What a feed-forward's units are.

    Attributes:
        rules: what could be read; a unit that writes two variables is in two of them.
        unread: units that are not interpretable as rules.
        idle: units that write nothing, whatever the state.
        output_bias: the largest entry of the last bias, which rules do not have.
    """

    rules: tuple[ReadRule, ...]
    unread: tuple[Unread, ...]
    idle: tuple[int, ...]
    output_bias: float


def unreadable(feed_forward: FeedForward) -> str:
    """Why no rules are read from a feed-forward; empty where they are.

    Units of a second hidden layer test units of the first and not the stream, and other
    activations have no level that is off.
    """
    depth = len(feed_forward.weights) - 1
    if depth == 1 and feed_forward.activation in ("clipped", "relu"):
        return ""
    layers = "one hidden layer" if depth == 1 else f"{depth} hidden layers"
    return (
        f"rules are read from one hidden layer of ReLUs, and this has {layers} "
        f"of '{feed_forward.activation}'"
    )


def hidden_layer(feed_forward: FeedForward) -> Hidden:
    """The arrays of a feed-forward; it must have one hidden layer of (clipped) ReLUs."""
    if why := unreadable(feed_forward):
        raise WeftError(
            why,
            remedy="Train or compile it with activation relu or clipped, one hidden width, and "
            "categorical variables",
        )
    arrays = [weight.detach().double().cpu().numpy() for weight in feed_forward.weights]
    first, second = arrays
    biases = [bias.detach().double().cpu().numpy() for bias in feed_forward.biases]
    bias, last = biases or [np.zeros(len(first)), np.zeros(len(second))]
    return Hidden(first, bias, second, last, feed_forward.activation == "clipped")


def read_rules(
    feed_forward: FeedForward | Hidden,
    layout: Layout,
    states: StateSet | None = None,
    *,
    tolerance: float = 0.1,
) -> Reading:
    """The rules in a feed-forward's weights.

    Args:
        feed_forward: one hidden layer of ReLUs or clipped ReLUs.
        layout: which dimensions of the stream hold which variable.
        states: read what units do on these, instead of what they would do in every assignment.
        tolerance: how far levels and written values may be off.

    Example:
        >>> import weft
        >>> from weft.theory.extraction.rules import read_rules
        >>> compiled = weft.compile(weft.program("parity"), level=0)
        >>> reading = read_rules(compiled.model.layers[0].feed_forward, compiled.model.layout)
        >>> print(reading.rules[0].rule.show(compiled.program.variables))
        done = 0, parity_left = 1, done_left = 1 => parity: 0 -> 1
    """
    net = feed_forward if isinstance(feed_forward, Hidden) else hidden_layer(feed_forward)
    tests: Guards
    if states is None:
        tests = Everywhere(net, layout, tolerance)
    else:
        tests = OnStates(net, layout, states, tolerance)
    idle = tests.level * np.abs(net.second).max(0, initial=0.0) < tolerance
    no_test = np.flatnonzero(~idle & ~tests.good).tolist()
    rules: list[ReadRule] = []
    unread = [
        Unread((unit,), "it is no test: it has more levels than on and off") for unit in no_test
    ]
    for units in _alike(tests, ~idle & tests.good):
        written = net.second[:, list(units)] @ tests.level[list(units)]
        found, why = _interpret(tests, layout, units[0], written, tolerance)
        rules += [ReadRule(rule, units) for rule in found]
        unread += [Unread(units, why)] if why else []
    quiet = tuple(np.flatnonzero(idle).tolist())
    bias = float(np.abs(net.output_bias).max(initial=0.0))
    return Reading(tuple(rules), tuple(unread), quiet, bias)


def _alike(tests: Guards, chosen: Bools) -> Iterator[tuple[int, ...]]:
    """Units with the same test, in the order of their first."""
    groups: dict[bytes, list[int]] = {}
    for unit in np.flatnonzero(chosen).tolist():
        groups.setdefault(tests.key(unit), []).append(unit)
    yield from (tuple(units) for units in groups.values())


def _interpret(
    tests: Guards, layout: Layout, unit: int, written: Floats, tolerance: float
) -> tuple[list[Rule], str]:
    """The rules of a test with all that is written under it; none, and why, if it is no rule."""
    rules = []
    for slot in layout.values():
        amounts = written[slot.dimensions]
        if np.abs(amounts).max(initial=0.0) < tolerance:
            continue
        change = _change(slot, amounts, tolerance)
        if change is None:
            return [], f"what it writes to {slot.name} is no change from one value to another"
        old, new = change
        if tests.passing(unit, slot.name) != (old,):
            return [], f"it writes {slot.name} without testing its old value"
        guard = tests.guard(unit, slot.name)
        if guard is None:
            return [], "it is on in states that no one guard holds in"
        rules.append(Rule(guard, slot.name, old, new))
    return rules, "" if rules else "it writes too little"


def _change(slot: Slot, amounts: Floats, tolerance: float) -> tuple[int, Any] | None:
    """(old, new) where the amounts are -1 and +1, or -1 alone for a head."""
    whole = np.rint(amounts)
    if slot.kind != "categorical" or np.abs(amounts - whole).max() > tolerance:
        return None
    down, up = np.flatnonzero(whole == -1).tolist(), np.flatnonzero(whole == 1).tolist()
    if len(down) != 1 or len(down) + len(up) != np.count_nonzero(whole):
        return None
    if len(up) == 1:
        return down[0], up[0]
    return (down[0], UNDEFINED) if slot.is_head and not up else None
