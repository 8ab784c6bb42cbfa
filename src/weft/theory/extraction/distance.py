"""How far a trained feed-forward is from the compiled optimum: in function, in rules, in weights.

The compiled optimum is the paper's construction of the rules that fire on D, resets of heads
included, since a feed-forward that runs in a model must make them. Rules are compared by what they
say and by what they do on D, weights unit by unit (`reading_weights`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from weft.interpreter.states import Ints, StateSet
from weft.language.program import Program, as_program
from weft.language.rules import Rule
from weft.theory.extraction.deep import Deep, net_of
from weft.theory.extraction.guards import Hidden, dimensions, laid_out
from weft.theory.extraction.rules import Reading, read_rules
from weft.theory.extraction.unit_distance import apart, norms
from weft.theory.optimum.derivatives import Penalty
from weft.theory.optimum.kinks import count_kinks
from weft.theory.optimum.reconstruction import Construction, Floats, construct

if TYPE_CHECKING:
    from weft.models.feed_forward import FeedForward
    from weft.models.slots import Layout

WITHIN = 0.1
"""How near every entry of an output must be for it to count as right, as in trace supervision."""
Kind = Literal["recovered", "alike", "extra"]


@dataclass(frozen=True)
class UnitDistance:
    """How far hidden units are from the compiled ones.

    Attributes:
        reading: what the units are.
        kinds: for each rule that was read, whether it is the program's as it is (`recovered`), does
            the same on all of D with other constraints (`alike`), or neither (`extra`).
        missing: the rules that fire on D of which neither was read.
        recovered: how many of the rules that fire on D were read from the weights as they are.
        alike: of the others, how many have a rule in the weights with other constraints, which
            does the same on all of D.
        extra: how many rules were read that are none of these.
        weights_l1: Σ|θ - θ^| over matched units and what is left over.
        weights_l2: the square root of the sum of squares of the same.
        compiled_l1: the norm of θ^, to compare with.
        compiled_l2: the same.
    """

    reading: Reading
    kinds: tuple[Kind, ...]
    missing: tuple[Rule, ...]
    recovered: int
    alike: int
    extra: int
    weights_l1: float
    weights_l2: float
    compiled_l1: float
    compiled_l2: float


@dataclass(frozen=True)
class Distance:
    """How far weights are from the compiled optimum.

    Attributes:
        wrong: the share of D whose output is somewhere off by more than `WITHIN`.
        reconstruction: the mean loss ||f - target||_1 of a state of D.
        loss: L(θ, D, α) of the trained weights.
        compiled_loss: the same of the compiled ones, which is the regulariser alone.
        rules: how many rules fire on D.
        units: how far its units are; None where they are no tests on the stream, and only what
            the feed-forward does can be compared.
        unreadable: why there are none; empty where there are.
    """

    wrong: float
    reconstruction: float
    loss: float
    compiled_loss: float
    rules: int
    units: UnitDistance | None
    unreadable: str = ""


def distance(
    feed_forward: FeedForward | Hidden,
    layout: Layout,
    program: Program | type[Program],
    states: StateSet,
    *,
    penalty: Penalty | None = None,
    tolerance: float = 0.1,
) -> Distance:
    """How far a feed-forward is from the compiled optimum for a program over some states.

    Example:
        >>> import weft
        >>> from weft.theory.extraction.distance import distance
        >>> from weft.interpreter.states import states_of
        >>> parity = weft.program("parity")
        >>> model = weft.compile(parity, level=0).model
        >>> met = states_of(parity, ["101", "11"])
        >>> found = distance(model.layers[0].feed_forward, model.layout, parity, met)
        >>> found.wrong, found.rules, found.units.recovered, found.units.alike
        (0.0, 7, 6, 1)
    """
    program, penalty = as_program(program), penalty or Penalty(0.01)
    net = feed_forward if isinstance(feed_forward, Hidden) else net_of(feed_forward)
    fired = _fired(construct(program.variables, program.rules, resets=True), states)
    best = _compiled(fired, dimensions(layout, states), net.width)
    off = _off(net, best, layout, states)
    weights = states.counts / max(1, states.total)
    reconstruction = float(weights @ off[0])
    units = None
    if isinstance(net, Hidden):
        units = _units(net, best, layout, fired, states, tolerance)
    return Distance(
        wrong=float(weights @ (off[1] > WITHIN)),
        reconstruction=reconstruction,
        loss=reconstruction * states.total + _regulariser(net, penalty),
        compiled_loss=_regulariser(best, penalty),
        rules=len(fired),
        units=units,
        unreadable=net.why if isinstance(net, Deep) else "",
    )


def _units(
    net: Hidden,
    best: Hidden,
    layout: Layout,
    fired: Construction,
    states: StateSet,
    tolerance: float,
) -> UnitDistance:
    reading = read_rules(net, layout, states, tolerance=tolerance)
    kinds, missing, alike = _compare(fired, reading, states)
    l1, l2 = apart(net, best, layout)
    compiled_l1, compiled_l2 = norms(best)
    return UnitDistance(
        reading=reading,
        kinds=kinds,
        missing=missing,
        recovered=kinds.count("recovered"),
        alike=alike,
        extra=kinds.count("extra"),
        weights_l1=l1,
        weights_l2=l2,
        compiled_l1=compiled_l1,
        compiled_l2=compiled_l2,
    )


def _fired(units: Construction, states: StateSet) -> Construction:
    fires = count_kinks(units, states).fires
    kept = tuple(rule for rule, often in zip(units.rules, fires.tolist(), strict=True) if often)
    return Construction(units.variables, kept)


def _compiled(units: Construction, places: Ints, width: int) -> Hidden:
    """The compiled weights in a layout."""
    at = units.parameters()
    first, second = np.zeros((len(units), width)), np.zeros((width, len(units)))
    first[:, places], second[places] = at.first, at.second
    return Hidden(first, at.bias, second, np.zeros(width), clipped=True)


def _off(
    net: Hidden | Deep, best: Hidden, layout: Layout, states: StateSet
) -> tuple[Floats, Floats]:
    """For every state, by how much the outputs differ: the sum, and the most."""
    total, most = np.zeros(len(states)), np.zeros(len(states))
    for part, vectors in laid_out(layout, states, net.width):
        apart = np.abs(net.added(vectors) - best.added(vectors))
        total[part], most[part] = apart.sum(1), apart.max(1, initial=0.0)
    return total, most


def _regulariser(net: Hidden | Deep, penalty: Penalty) -> float:
    each = np.abs if penalty.kind == "l1" else np.square
    return float(penalty.alpha * sum(each(part).sum() for part in net.parts))


def _compare(
    fired: Construction, reading: Reading, states: StateSet
) -> tuple[tuple[Kind, ...], tuple[Rule, ...], int]:
    """What each rule that was read is, which were not, and how many have one alike on all of D."""
    wanted = {_key(rule): _behaviour(rule, states) for rule in fired.rules}
    needed = set(wanted.values())
    mine = [(_key(found.rule), _behaviour(found.rule, states)) for found in reading.rules]
    kinds: list[Kind] = [
        "recovered" if key in wanted else "alike" if does in needed else "extra"
        for key, does in mine
    ]
    done, keys = {does for _, does in mine}, {key for key, _ in mine}
    left = [rule for rule in fired.rules if _key(rule) not in keys]
    missing = tuple(rule for rule in left if wanted[_key(rule)] not in done)
    return tuple(kinds), missing, len(left) - len(missing)


def _key(rule: Rule) -> object:
    return frozenset(rule.antecedent), rule.variable, rule.new


def _behaviour(rule: Rule, states: StateSet) -> object:
    """What a rule does on D: where it fires, and what it writes there."""
    fires = np.ones(len(states), bool)
    for place, (name, variable) in enumerate(states.variables.items()):
        for tested, values in rule.antecedent:
            if tested == name:
                codes = [variable.range.codes.get(value, len(variable)) for value in values]
                fires &= np.isin(states.codes[:, place], codes)
    return np.packbits(fires).tobytes(), rule.variable, rule.new
