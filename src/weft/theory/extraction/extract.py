"""Rules extracted from a feed-forward's weights, trained or compiled.

`guards` determines which guard each hidden unit tests. What units with the same guard write
together is a rule if it removes one value of a variable that the guard fixes and adds another (or
nothing, for a head's output). So a rule may have several units, and a unit several rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.interpreter.states import StateSet
from weft.language.ranges import UNDEFINED
from weft.language.rules import Rule
from weft.theory.extraction.guards import Bools, Guards, GuardsFromWeights, GuardsOnStates
from weft.theory.extraction.networks import HiddenLayer, hidden_layer
from weft.theory.optimum.reconstruction import Floats

if TYPE_CHECKING:
    from weft.models.feed_forward import FeedForward
    from weft.models.slots import Layout, Slot


@dataclass(frozen=True)
class ExtractedRule:
    """A rule, and the hidden units that implement it."""

    rule: Rule
    units: tuple[int, ...]


@dataclass(frozen=True)
class UnreadUnits:
    """Hidden units that do not form a rule, and why."""

    units: tuple[int, ...]
    why: str


@dataclass(frozen=True)
class ExtractedRules:
    """What the units of a feed-forward implement.

    Attributes:
        rules: the rules that could be read; a unit that writes two variables is in two of them.
        unread: units that cannot be interpreted as rules.
        idle: units that write nothing in any state.
        output_bias: the largest magnitude in the output bias, which rules do not use.
    """

    rules: tuple[ExtractedRule, ...]
    unread: tuple[UnreadUnits, ...]
    idle: tuple[int, ...]
    output_bias: float


def read_rules(
    feed_forward: FeedForward | HiddenLayer,
    layout: Layout,
    states: StateSet | None = None,
    *,
    tolerance: float = 0.1,
) -> ExtractedRules:
    """The rules in a feed-forward's weights.

    Args:
        feed_forward: one hidden layer of ReLUs or clipped ReLUs.
        layout: which dimensions of the stream hold which variable.
        states: read what units do on these states; by default, on all assignments.
        tolerance: how far levels and written values may be off.

    Example:
        >>> import weft
        >>> from weft.theory.extraction.extract import read_rules
        >>> compiled = weft.compile(weft.program("parity"), level=0)
        >>> reading = read_rules(compiled.model.layers[0].feed_forward, compiled.model.layout)
        >>> print(reading.rules[0].rule.show(compiled.program.variables))
        done = 0, parity_left = 1, done_left = 1 => parity: 0 -> 1
    """
    net = feed_forward if isinstance(feed_forward, HiddenLayer) else hidden_layer(feed_forward)
    tests: Guards
    if states is None:
        tests = GuardsFromWeights(net, layout, tolerance)
    else:
        tests = GuardsOnStates(net, layout, states, tolerance)
    idle = tests.level * np.abs(net.second).max(0, initial=0.0) < tolerance
    no_test = np.flatnonzero(~idle & ~tests.good).tolist()
    rules: list[ExtractedRule] = []
    unread = [
        UnreadUnits((unit,), "it is not a test: it has more levels than on and off")
        for unit in no_test
    ]
    for units in _alike(tests, ~idle & tests.good):
        written = net.second[:, list(units)] @ tests.level[list(units)]
        written_rules, why = _interpret(tests, layout, units[0], written, tolerance)
        rules += [ExtractedRule(rule, units) for rule in written_rules]
        unread += [UnreadUnits(units, why)] if why else []
    quiet = tuple(np.flatnonzero(idle).tolist())
    bias = float(np.abs(net.output_bias).max(initial=0.0))
    return ExtractedRules(tuple(rules), tuple(unread), quiet, bias)


def _alike(tests: Guards, chosen: Bools) -> Iterator[tuple[int, ...]]:
    """Units with the same guard, in the order of the first of each."""
    groups: dict[bytes, list[int]] = {}
    for unit in np.flatnonzero(chosen).tolist():
        groups.setdefault(tests.key(unit), []).append(unit)
    yield from (tuple(units) for units in groups.values())


def _interpret(
    tests: Guards, layout: Layout, unit: int, written: Floats, tolerance: float
) -> tuple[list[Rule], str]:
    """The rules that a guard and what is written under it stand for; if none, the reason."""
    rules = []
    for slot in layout.values():
        amounts = written[slot.dimensions]
        if np.abs(amounts).max(initial=0.0) < tolerance:
            continue
        change = _change(slot, amounts, tolerance)
        if change is None:
            return [], f"what it writes to {slot.name} does not change one value to another"
        old, new = change
        if tests.passing(unit, slot.name) != (old,):
            return [], f"it writes {slot.name} without testing its old value"
        guard = tests.guard(unit, slot.name)
        if guard is None:
            return [], "no single guard holds in exactly the states in which it is on"
        rules.append(Rule(guard, slot.name, old, new))
    return rules, "" if rules else "it writes too little"


def _change(slot: Slot, amounts: Floats, tolerance: float) -> tuple[int, Any] | None:
    """(old, new) if the amounts are -1 and +1, or -1 alone for a head; otherwise None."""
    whole = np.rint(amounts)
    if slot.kind != "categorical" or np.abs(amounts - whole).max() > tolerance:
        return None
    down, up = np.flatnonzero(whole == -1).tolist(), np.flatnonzero(whole == 1).tolist()
    if len(down) != 1 or len(down) + len(up) != np.count_nonzero(whole):
        return None
    if len(up) == 1:
        return down[0], up[0]
    return (down[0], UNDEFINED) if slot.is_head and not up else None
