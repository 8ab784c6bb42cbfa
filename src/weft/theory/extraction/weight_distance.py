"""How far a trained feed-forward is from the compiled optimum: in function, rules and weights.

The compiled optimum is the paper's construction for the rules that fire on D, resets of heads
included, since the feed-forward of a model must perform them. Rules are compared by what they say
and by what they do on D.

Weights are compared unit by unit. Hidden units have no order, so each compiled unit is matched with
the nearest trained one, the nearest pairs first, and unmatched units count in full. Differences
that do not change what a unit computes are removed first:

- The scale of a ReLU: units are matched at level 1, as compiled ones have it, and an unmatched unit
  counts at the scale at which it is smallest. So an idle unit counts next to nothing.
- A bias that is spread over the values of a variable, one of which always holds: the smallest of
  their weights is moved into the bias, as in compiled units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from weft.interpreter.states import Ints, StateSet
from weft.language.program import Program, as_program
from weft.language.rules import Rule
from weft.theory.extraction.extract import ExtractedRules, read_rules
from weft.theory.extraction.networks import (
    DeepFeedForward,
    HiddenLayer,
    dimensions,
    network_of,
    stream_vectors,
)
from weft.theory.minimal.observation import holding
from weft.theory.optimum.derivatives import Penalty, fired_units
from weft.theory.optimum.reconstruction import Construction, Floats, construct

if TYPE_CHECKING:
    from weft.models.feed_forward import FeedForward
    from weft.models.slots import Layout

WITHIN = 0.1
"""The largest error per entry of an output that counts as right, as in trace supervision."""
Kind = Literal["recovered", "alike", "extra"]


@dataclass(frozen=True)
class UnitDistance:
    """How far hidden units are from the compiled ones.

    Attributes:
        reading: the rules that the units implement.
        kinds: for each extracted rule, whether it is a rule of the program (`recovered`), does the
            same on all of D with other constraints (`alike`), or neither (`extra`).
        missing: the rules that fire on D and have neither.
        recovered: how many of the rules that fire on D were extracted as they are.
        alike: how many of the others have an extracted rule that does the same on all of D.
        extra: how many extracted rules are neither.
        weights_l1: Σ|θ - θ^| over matched and unmatched units.
        weights_l2: the square root of the sum of squares of the same.
        compiled_l1: the L1 norm of θ^, for comparison.
        compiled_l2: the L2 norm of θ^.
    """

    reading: ExtractedRules
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
    """How far a feed-forward is from the compiled optimum.

    Attributes:
        wrong: the share of D with an output entry that is off by more than `WITHIN`.
        reconstruction: the mean loss ||f - target||_1 per state of D.
        loss: L(θ, D, α) of the trained weights.
        compiled_loss: the same for the compiled weights, which is the regulariser alone.
        rules: how many rules fire on D.
        units: how far its units are; None if they do not test the stream, so that only the function
            can be compared.
        unreadable: why there are no units; empty if there are.
    """

    wrong: float
    reconstruction: float
    loss: float
    compiled_loss: float
    rules: int
    units: UnitDistance | None
    unreadable: str = ""


def distance(
    feed_forward: FeedForward | HiddenLayer,
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
        >>> from weft.interpreter.states import states_of
        >>> from weft.theory.extraction.weight_distance import distance
        >>> parity = weft.program("parity")
        >>> model = weft.compile(parity, level=0).model
        >>> states = states_of(parity, ["101", "11"])
        >>> away = distance(model.layers[0].feed_forward, model.layout, parity, states)
        >>> away.wrong, away.rules, away.units.recovered, away.units.alike
        (0.0, 7, 6, 1)
    """
    program, penalty = as_program(program), penalty or Penalty(0.01)
    net = feed_forward if isinstance(feed_forward, HiddenLayer) else network_of(feed_forward)
    fired = fired_units(construct(program.variables, program.rules, resets=True), states)
    best = _compiled(fired, dimensions(layout, states), net.width)
    sums, largest = _errors(net, best, layout, states)
    weights = states.counts / max(1, states.total)
    reconstruction = float(weights @ sums)
    units = None
    if isinstance(net, HiddenLayer):
        units = _units(net, best, layout, fired, states, tolerance)
    return Distance(
        wrong=float(weights @ (largest > WITHIN)),
        reconstruction=reconstruction,
        loss=reconstruction * states.total + _regulariser(net, penalty),
        compiled_loss=_regulariser(best, penalty),
        rules=len(fired),
        units=units,
        unreadable=net.reason if isinstance(net, DeepFeedForward) else "",
    )


def _units(
    net: HiddenLayer,
    best: HiddenLayer,
    layout: Layout,
    fired: Construction,
    states: StateSet,
    tolerance: float,
) -> UnitDistance:
    reading = read_rules(net, layout, states, tolerance=tolerance)
    kinds, missing, alike = _compare(fired, reading, states)
    l1, l2 = unit_distance(net, best, layout)
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


def _compiled(units: Construction, places: Ints, width: int) -> HiddenLayer:
    """The compiled weights in a stream of some width."""
    at = units.weights()
    first, second = np.zeros((len(units), width)), np.zeros((width, len(units)))
    first[:, places], second[places] = at.first, at.second
    return HiddenLayer(first, at.bias, second, np.zeros(width), clipped=True)


def _errors(
    net: HiddenLayer | DeepFeedForward, best: HiddenLayer, layout: Layout, states: StateSet
) -> tuple[Floats, Floats]:
    """For every state, the sum and the maximum of the errors of the output."""
    sums, largest = np.zeros(len(states)), np.zeros(len(states))
    for part, vectors in stream_vectors(layout, states, net.width):
        errors = np.abs(net.added(vectors) - best.added(vectors))
        sums[part], largest[part] = errors.sum(1), errors.max(1, initial=0.0)
    return sums, largest


def _regulariser(net: HiddenLayer | DeepFeedForward, penalty: Penalty) -> float:
    each = np.abs if penalty.kind == "l1" else np.square
    return float(penalty.alpha * sum(each(part).sum() for part in net.parts))


def _compare(
    fired: Construction, reading: ExtractedRules, states: StateSet
) -> tuple[tuple[Kind, ...], tuple[Rule, ...], int]:
    """The kind of each extracted rule, the rules that are missing, and how many are alike."""
    behaviours = {_key(rule): _behaviour(rule, states) for rule in fired.rules}
    needed = set(behaviours.values())
    extracted = [(_key(each.rule), _behaviour(each.rule, states)) for each in reading.rules]
    kinds: list[Kind] = [
        "recovered" if key in behaviours else "alike" if behaviour in needed else "extra"
        for key, behaviour in extracted
    ]
    done, keys = {behaviour for _, behaviour in extracted}, {key for key, _ in extracted}
    others = [rule for rule in fired.rules if _key(rule) not in keys]
    missing = tuple(rule for rule in others if behaviours[_key(rule)] not in done)
    return tuple(kinds), missing, len(others) - len(missing)


def _key(rule: Rule) -> object:
    return frozenset(rule.antecedent), rule.variable, rule.new


def _behaviour(rule: Rule, states: StateSet) -> object:
    """What a rule does on D: where it fires, and what it writes there."""
    return np.packbits(holding(rule, states)).tobytes(), rule.variable, rule.new


def unit_distance(net: HiddenLayer, best: HiddenLayer, layout: Layout) -> tuple[float, float]:
    """The L1 and the L2 distance between the units of two feed-forwards."""
    trained, compiled, sizes = _rows(net, layout), _rows(best, layout), _sizes(net)
    norms_trained, norms_compiled = np.square(trained).sum(1), np.square(compiled).sum(1)
    between = norms_trained[:, None] + norms_compiled - 2 * trained @ compiled.T
    between = np.maximum(between, 0.0)
    worthwhile = between < sizes[1][:, None] + norms_compiled  # otherwise unmatched is nearer
    free, wanted = np.ones(len(trained), bool), np.ones(len(compiled), bool)
    l1 = squares = 0.0
    for pair in np.argsort(between, axis=None, kind="stable"):
        unit, rule = divmod(int(pair), len(compiled))
        if free[unit] and wanted[rule] and worthwhile[unit, rule]:
            free[unit] = wanted[rule] = False
            difference = trained[unit] - compiled[rule]
            l1 += float(np.abs(difference).sum())
            squares += float(np.square(difference).sum())
    l1 += float(sizes[0][free].sum() + np.abs(compiled[wanted]).sum())
    squares += float(sizes[1][free].sum() + np.square(compiled[wanted]).sum())
    return l1, float(np.sqrt(squares))


def norms(net: HiddenLayer) -> tuple[float, float]:
    """The L1 and the L2 norm of all units."""
    l1, squares = _sizes(net)
    return float(l1.sum()), float(np.sqrt(squares.sum()))


def _rows(net: HiddenLayer, layout: Layout) -> Floats:
    """One row per unit: what it reads, its bias, what it writes; ReLUs at level 1."""
    reads, bias, scale = net.first.copy(), net.bias.copy(), np.ones(len(net.bias))
    for slot in layout.values():
        if not slot.is_head:  # exactly one of its dimensions is 1
            least = reads[:, slot.dimensions].min(1)
            reads[:, slot.dimensions] -= least[:, None]
            bias += least
    if not net.clipped:
        best = [reads[:, slot.dimensions].max(1) for slot in layout.values()]
        top = bias + np.sum(best, axis=0)
        scale = np.where(top > 0, np.maximum(top, 1e-12), 1.0)
    parts = (reads / scale[:, None], (bias / scale)[:, None], net.second.T * scale[:, None])
    return np.concatenate(parts, axis=1)


def _sizes(net: HiddenLayer) -> tuple[Floats, Floats]:
    """Sums of magnitudes and of squares per unit; for ReLUs, the least over all scales."""
    read = np.concatenate([net.first, net.bias[:, None]], axis=1)
    pairs = [(each(read).sum(1), each(net.second.T).sum(1)) for each in (np.abs, np.square)]
    if net.clipped:
        l1, squares = (a + b for a, b in pairs)
    else:  # the minima of s a + b / s and of s² a + b / s²
        l1, squares = (2 * np.sqrt(a * b) for a, b in pairs)
    return l1, squares
