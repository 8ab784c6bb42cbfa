"""How far a trained feed-forward is from the compiled optimum: in function, in rules, in weights.

The compiled optimum is the paper's construction of the rules that fire on D, resets of heads
included, since a feed-forward that runs in a model must make them. Weights are compared unit by
unit: hidden units have no order, so each compiled unit is matched with the trained one nearest to
it, the nearest pairs first, and what is left over counts in full. A ReLU's scale is no part of what
it computes, so units are first scaled to the level 1 that compiled ones have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weft.language.program import Program, as_program
from weft.language.rules import Rule
from weft.theory.derivatives import Penalty
from weft.theory.derivatives_counts import count_kinks
from weft.theory.reading import Reading, hidden_layer, read_rules
from weft.theory.reading_guards import Hidden, dimensions, laid_out
from weft.theory.reconstruction import Construction, Floats, construct
from weft.theory.reconstruction_states import Ints, States

if TYPE_CHECKING:
    from weft.models.feed_forward import FeedForward
    from weft.models.layout import Layout

WITHIN = 0.1
"""How near every entry of an output must be for it to count as right, as in trace supervision."""


@dataclass(frozen=True)
class Distance:
    """How far weights are from the compiled optimum.

    Attributes:
        wrong: the share of D whose output is somewhere off by more than `WITHIN`.
        reconstruction: the mean loss ||f - target||_1 of a state of D.
        loss: L(θ, D, α) of the trained weights.
        compiled_loss: the same of the compiled ones, which is the regulariser alone.
        rules: how many rules fire on D.
        recovered: of these, how many were read from the weights as they are.
        alike: of the others, how many have a rule in the weights with other constraints, which
            does the same on all of D.
        extra: how many rules were read that are none of these.
        weights_l1: Σ|θ - θ^| over matched units and what is left over.
        weights_l2: the square root of the sum of squares of the same.
        compiled_l1: the norm of θ^, to compare with.
        compiled_l2: the same.
        reading: what the units are.
    """

    wrong: float
    reconstruction: float
    loss: float
    compiled_loss: float
    rules: int
    recovered: int
    alike: int
    extra: int
    weights_l1: float
    weights_l2: float
    compiled_l1: float
    compiled_l2: float
    reading: Reading


def distance(
    feed_forward: FeedForward | Hidden,
    layout: Layout,
    program: Program | type[Program],
    states: States,
    *,
    penalty: Penalty | None = None,
    tolerance: float = 0.1,
) -> Distance:
    """How far a feed-forward is from the compiled optimum for a program over some states.

    Example:
        >>> import weft
        >>> from weft.theory.reading_distance import distance
        >>> from weft.theory.reconstruction_states import states_of
        >>> parity = weft.program("parity")
        >>> model = weft.compile(parity, level=0).model
        >>> met = states_of(parity, ["101", "11"])
        >>> found = distance(model.layers[0].feed_forward, model.layout, parity, met)
        >>> found.wrong, found.weights_l1, found.rules, found.recovered, found.alike
        (0.0, 0.0, 7, 6, 1)
    """
    program, penalty = as_program(program), penalty or Penalty(0.01)
    net = feed_forward if isinstance(feed_forward, Hidden) else hidden_layer(feed_forward)
    units = _fired(construct(program.variables, program.rules, resets=True), states)
    best = _compiled(units, dimensions(layout, states), net.first.shape[1])
    off = _off(net, best, layout, states)
    weights = states.counts / max(1, states.total)
    reading = read_rules(net, layout, states, tolerance=tolerance)
    recovered, alike, extra = _compare(units, reading, states)
    rows = _as_rows(best, layout)
    l1, l2 = _apart(_as_rows(net, layout), rows)
    reconstruction = float(weights @ off[0])
    return Distance(
        wrong=float(weights @ (off[1] > WITHIN)),
        reconstruction=reconstruction,
        loss=reconstruction * states.total + _regulariser(net, penalty),
        compiled_loss=_regulariser(best, penalty),
        rules=len(units),
        recovered=recovered,
        alike=alike,
        extra=extra,
        weights_l1=l1,
        weights_l2=l2,
        compiled_l1=float(np.abs(rows).sum()),
        compiled_l2=float(np.sqrt(np.square(rows).sum())),
        reading=reading,
    )


def _fired(units: Construction, states: States) -> Construction:
    fires = count_kinks(units, states).fires
    kept = tuple(rule for rule, often in zip(units.rules, fires.tolist(), strict=True) if often)
    return Construction(units.variables, kept)


def _compiled(units: Construction, places: Ints, width: int) -> Hidden:
    """The compiled weights in a layout."""
    at = units.parameters()
    first, second = np.zeros((len(units), width)), np.zeros((width, len(units)))
    first[:, places], second[places] = at.first, at.second
    return Hidden(first, at.bias, second, np.zeros(width), clipped=True)


def _off(net: Hidden, best: Hidden, layout: Layout, states: States) -> tuple[Floats, Floats]:
    """For every state, by how much the outputs differ: the sum, and the most."""
    total, most = np.zeros(len(states)), np.zeros(len(states))
    for part, vectors in laid_out(layout, states, net.first.shape[1]):
        apart = np.abs(net.added(vectors) - best.added(vectors))
        total[part], most[part] = apart.sum(1), apart.max(1, initial=0.0)
    return total, most


def _regulariser(net: Hidden, penalty: Penalty) -> float:
    each = np.abs if penalty.kind == "l1" else np.square
    parts = (net.first, net.bias, net.second, net.output_bias)
    return float(penalty.alpha * sum(each(part).sum() for part in parts))


def _compare(units: Construction, reading: Reading, states: States) -> tuple[int, int, int]:
    """How many rules were recovered, have one alike on all states, and are extra."""
    mine = {_key(found.rule): _behaviour(found.rule, states) for found in reading.rules}
    wanted = {_key(rule): _behaviour(rule, states) for rule in units.rules}
    done, needed = set(mine.values()), set(wanted.values())
    recovered = len(mine.keys() & wanted.keys())
    alike = sum(key not in mine and does in done for key, does in wanted.items())
    return recovered, alike, sum(does not in needed for does in mine.values())


def _key(rule: Rule) -> object:
    return frozenset(rule.antecedent), rule.variable, rule.new


def _behaviour(rule: Rule, states: States) -> object:
    """What a rule does on D: where it fires, and what it writes there."""
    fires = np.ones(len(states), bool)
    for place, (name, variable) in enumerate(states.variables.items()):
        for tested, values in rule.antecedent:
            if tested == name:
                codes = [variable.range.codes.get(value, len(variable)) for value in values]
                fires &= np.isin(states.codes[:, place], codes)
    return np.packbits(fires).tobytes(), rule.variable, rule.new


def _as_rows(net: Hidden, layout: Layout) -> Floats:
    """A row a unit: what it reads, its bias, what it writes; ReLUs at level 1."""
    scale = np.ones(len(net.bias))
    if not net.clipped:
        best = [net.first[:, slot.dimensions].max(1) for slot in layout.values()]
        top = net.bias + np.sum(best, axis=0)
        scale = np.where(top > 0, np.maximum(top, 1e-12), 1.0)
    first, bias = net.first / scale[:, None], (net.bias / scale)[:, None]
    return np.concatenate([first, bias, net.second.T * scale[:, None]], axis=1)


def _apart(trained: Floats, compiled: Floats) -> tuple[float, float]:
    """Both distances between two sets of units, matched greedily, the nearest pairs first."""
    mine, best = np.square(trained).sum(1), np.square(compiled).sum(1)
    apart = np.maximum(mine[:, None] + best - 2 * trained @ compiled.T, 0.0)
    worth = apart < mine[:, None] + best  # otherwise each is nearer to nothing
    free, wanted = np.ones(len(mine), bool), np.ones(len(best), bool)
    l1 = squares = 0.0
    for pair in np.argsort(apart, axis=None, kind="stable"):
        unit, rule = divmod(int(pair), len(best))
        if free[unit] and wanted[rule] and worth[unit, rule]:
            free[unit] = wanted[rule] = False
            difference = trained[unit] - compiled[rule]
            l1 += float(np.abs(difference).sum())
            squares += float(np.square(difference).sum())
    left = np.concatenate([trained[free], compiled[wanted]])
    return l1 + float(np.abs(left).sum()), float(np.sqrt(squares + np.square(left).sum()))
