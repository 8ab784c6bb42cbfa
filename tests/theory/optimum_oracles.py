"""Oracles of the theorems, from the paper alone: brute force over rules, states and weights.

A rule is (antecedent, variable, new); the antecedent has the variable's old value. Nothing here
uses `weft.theory`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.language.program import Variable
from weft.language.ranges import UNDEFINED
from weft.language.rules import Rule


@dataclass(frozen=True)
class Plain:
    """A rule of the paper (B.1)."""

    antecedent: tuple[tuple[str, Any], ...]
    variable: str
    new: Any

    @property
    def old(self) -> Any:
        return dict(self.antecedent).get(self.variable)

    def holds(self, state: dict[str, Any]) -> bool:
        return all(state[name] == value for name, value in self.antecedent)

    def without(self, name: str) -> Plain:
        kept = tuple(pair for pair in self.antecedent if pair[0] != name)
        return Plain(kept, self.variable, self.new)

    def rule(self) -> Rule:
        guard = tuple((n, (v,)) for n, v in self.antecedent if n != self.variable)
        return Rule(guard, self.variable, self.old, self.new)


def plain(rule: Rule) -> Plain:
    """A rule with one value per constraint, as the paper has it."""
    return Plain(
        tuple((name, value) for name, (value,) in rule.antecedent), rule.variable, rule.new
    )


def logical(rules: Sequence[Plain], state: dict[str, Any]) -> Any:
    """f_R of B.1; where two satisfied rules disagree, what both say, so that nothing equals it."""
    after: dict[str, set[Any]] = {name: {value} for name, value in state.items()}
    for name in state:
        written = {rule.new for rule in rules if rule.variable == name and rule.holds(state)}
        after[name] = written or after[name]
    return after


def is_minimal(rules: Sequence[Plain], states: list[dict[str, Any]], *, own: bool) -> bool:
    """Definition 1 with f_R; `own`: whether the output variable's own constraint may be removed."""
    before = [logical(rules, state) for state in states]

    def same(others: Sequence[Plain]) -> bool:
        return [logical(others, state) for state in states] == before

    for place, rule in enumerate(rules):
        rest = [*rules[:place], *rules[place + 1 :]]
        if same(rest):
            return False
        for name, _ in rule.antecedent:
            if (own or name != rule.variable) and same([*rest, rule.without(name)]):
                return False
    return True


@dataclass(frozen=True)
class Weights:
    """Eq. 8 to 10, entry by entry, and the loss of eq. 17."""

    first: np.ndarray
    bias: np.ndarray
    second: np.ndarray

    def outputs(self, z: np.ndarray) -> np.ndarray:
        hidden = np.minimum(1, np.maximum(0, z @ self.first.T + self.bias))
        return hidden @ self.second.T + z

    def moved(self, part: str, index: tuple[int, ...], by: float) -> Weights:
        arrays = {"first": self.first, "bias": self.bias, "second": self.second}
        arrays[part] = arrays[part].copy()
        arrays[part][index] += by
        return Weights(**arrays)

    def entries(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        for part in ("first", "bias", "second"):
            for index in np.ndindex(*getattr(self, part).shape):
                yield part, index


def embed(variables: dict[str, Variable], state: dict[str, Any]) -> list[float]:
    """Eq. 1."""
    vector: list[float] = []
    for name, variable in variables.items():
        vector += [float(state[name] is not UNDEFINED and state[name] == v) for v in
                   variable.range.values]  # fmt: skip
    return vector


def compiled(variables: dict[str, Variable], rules: Sequence[Plain]) -> Weights:
    places = [(name, value) for name, v in variables.items() for value in v.range.values]
    first = [[float(place in rule.antecedent) for place in places] for rule in rules]
    bias = [1.0 - len(rule.antecedent) for rule in rules]
    second = [
        [
            float(place == (rule.variable, rule.new)) - float(place == (rule.variable, rule.old))
            for rule in rules
        ]
        for place in places
    ]
    shape = (len(rules), len(places))
    return Weights(
        np.array(first).reshape(shape), np.array(bias), np.array(second).reshape(shape[::-1])
    )


def loss(at: Weights, best: Weights, z: np.ndarray, alpha: float, kind: str) -> float:
    size = np.abs if kind == "l1" else np.square
    regulariser = sum(size(part).sum() for part in (at.first, at.bias, at.second))
    return float(alpha * regulariser + np.abs(at.outputs(z) - best.outputs(z)).sum())


def is_compiled_minimal(weights: Weights, z: np.ndarray) -> bool:
    """Definition 1 with the feed-forward itself: take out a unit, or one input of a unit.

    The input that is the old value, which the unit takes away, stays.
    """
    before = weights.outputs(z)
    for unit in range(len(weights.bias)):
        gone = weights.second.copy()
        gone[:, unit] = 0
        if np.array_equal(Weights(weights.first, weights.bias, gone).outputs(z), before):
            return False
        for dimension in np.flatnonzero(weights.first[unit] * (weights.second[:, unit] >= 0)):
            looser = weights.moved("first", (unit, dimension), -1).moved("bias", (unit,), 1)
            if np.array_equal(looser.outputs(z), before):
                return False
    return True


STEPS = (2**-4, 2**-9)


def is_strict(at: Weights, z: np.ndarray, alpha: float, kind: str) -> bool:
    """Whether every small step of every parameter makes the loss greater."""
    here = loss(at, at, z, alpha, kind)
    return all(
        loss(at.moved(part, index, by), at, z, alpha, kind) > here
        for part, index in at.entries()
        for by in (*STEPS, *(-step for step in STEPS))
    )


def exclusive(rules: Sequence[Plain]) -> bool:
    """Whether no two rules of one variable can hold together (B.1)."""
    for one, other in itertools.combinations(rules, 2):
        if one.variable == other.variable:
            mine, theirs = dict(one.antecedent), dict(other.antecedent)
            if all(mine[name] == theirs[name] for name in mine.keys() & theirs.keys()):
                return False
    return True
