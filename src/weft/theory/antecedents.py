"""Constraints that are not needed, and the minimal forms that a rule set has.

A constraint of a rule can go where no assignment of D satisfies all of the rule but it, and where
the rule stays apart from the others of its variable without it (definition 1; `definition` has the
readings). One that is needed stays needed when others go: the rule then lets more through. So going
through all constraints once leaves a minimal rule set. Which one depends on the order:

    documented   rule by rule in the order of the program, constraints from the last to the first:
                 what the step reads first stays
    seeded       all constraints of all rules in an order drawn from a seed

Rules of different variables, or with different old values, never meet, so all minimal forms of a
rule set are the combinations of those of its groups.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from weft.errors import WeftError
from weft.language.rules import Rule
from weft.theory.definition import (
    Guard,
    Rows,
    apart_without,
    as_guard,
    grouped,
    rows_of,
)
from weft.theory.firing import Used

MOST = 20_000
"""The most rule sets of a group that are looked at in search of all minimal forms."""

States = Used | Iterable[Mapping[str, Any]]
Order = Callable[[Sequence[Rule]], Iterable[tuple[int, str]]]


def documented(rules: Sequence[Rule]) -> Iterator[tuple[int, str]]:
    """Constraints rule by rule, from the last to the first."""
    for place, rule in enumerate(rules):
        for name, _ in reversed(rule.guard):
            yield place, name


def seeded(seed: int) -> Order:
    """All constraints in an order drawn from a seed; another one for every group."""
    rng = random.Random(seed)

    def order(rules: Sequence[Rule]) -> list[tuple[int, str]]:
        found = list(documented(rules))
        rng.shuffle(found)
        return found

    return order


def shortened(
    rules: Iterable[Rule], states: States, order: Order = documented
) -> tuple[tuple[Rule, Rule], ...]:
    """Each rule that fires, with what is left of it; together they are minimal.

    Example:
        >>> import weft
        >>> from weft.theory import fired_rules, observe
        >>> parity = weft.program("parity")
        >>> used = observe(parity, ["10", "11"])
        >>> for _, rule in shortened(fired_rules(used), used):
        ...     print(rule.show(parity.variables))
        done = 0, done_left = 1 => parity: 0 -> 1
        done_left = 1, parity_left = 1 => parity: 1 -> 0
        done_left = 1 => done: 0 -> 1
    """
    states = states if isinstance(states, Used) else list(states)
    pairs: dict[Rule, Rule] = {}
    given = [rule for rule in rules if not rule.is_reset]
    for (name, old), group in grouped(given).items():
        rows = rows_of(states, name, old, group)
        fired = [rule for rule in group if np.any(rows.holding(as_guard(rule)))]
        pairs |= zip(fired, _shortened(fired, rows, order), strict=True)
    return tuple((rule, pairs[rule]) for rule in given if rule in pairs)


def _shortened(rules: Sequence[Rule], rows: Rows, order: Order) -> list[Rule]:
    guards = [as_guard(rule) for rule in rules]
    for place, name in order(rules):
        if _can_go(guards, place, name, rows):
            del guards[place][name]
    return [_cut(rule, guard) for rule, guard in zip(rules, guards, strict=True)]


def _can_go(guards: Sequence[Guard], place: int, name: str, rows: Rows) -> bool:
    """Whether a constraint can be removed from a rule."""
    if rows.guards(guards[place], name):
        return False
    others = (guard for other, guard in enumerate(guards) if other != place)
    return apart_without(guards[place], name, others)


def _cut(rule: Rule, kept: Iterable[str]) -> Rule:
    """The rule with some of its constraints."""
    names = set(kept)
    guard = tuple((name, values) for name, values in rule.guard if name in names)
    return Rule(guard, rule.variable, rule.old, rule.new, rule.where)


@dataclass(frozen=True)
class Forms:
    """All minimal forms of a rule set: the combinations of those of its groups.

    Attributes:
        groups: for each variable and old value, the minimal forms of its rules.
    """

    groups: Mapping[tuple[str, Any], tuple[tuple[Rule, ...], ...]]

    def __len__(self) -> int:
        return math.prod(map(len, self.groups.values()))

    def __iter__(self) -> Iterator[tuple[Rule, ...]]:
        for chosen in product(*self.groups.values()):
            yield tuple(rule for rules in chosen for rule in rules)


def minimal_forms(rules: Iterable[Rule], states: States) -> Forms:
    """All minimal rule sets that are left when rules and constraints go one by one.

    Example:
        >>> from weft import Rule
        >>> both = Rule((("a", (1,)), ("b", (1,))), "x", 0, 1)  # a = 1, b = 1 => x: 0 -> 1
        >>> states = [{"a": 1, "b": 1, "x": 0}, {"a": 0, "b": 0, "x": 0}]
        >>> [form[0].guard for form in minimal_forms([both], states)]
        [(('a', (1,)),), (('b', (1,)),)]
    """
    states = states if isinstance(states, Used) else list(states)
    found: dict[tuple[str, Any], tuple[tuple[Rule, ...], ...]] = {}
    given = [rule for rule in rules if not rule.is_reset]
    for (name, old), group in grouped(given).items():
        rows = rows_of(states, name, old, group)
        fired = [rule for rule in group if np.any(rows.holding(as_guard(rule)))]
        found[name, old] = tuple(
            tuple(_cut(rule, kept) for rule, kept in zip(fired, form, strict=True))
            for form in _forms(fired, rows)
        )
    return Forms(found)


Kept = tuple[frozenset[str], ...]


def _forms(rules: Sequence[Rule], rows: Rows) -> Iterator[Kept]:
    """Every way to remove constraints until none can go: a search over what is kept."""
    whole = [as_guard(rule) for rule in rules]
    stack: list[Kept] = [tuple(frozenset(guard) for guard in whole)]
    seen = set(stack)
    while stack:
        kept = stack.pop()
        guards = [
            {name: guard[name] for name in names} for guard, names in zip(whole, kept, strict=True)
        ]
        smaller = [
            (*kept[:place], names - {name}, *kept[place + 1 :])
            for place, names in enumerate(kept)
            for name in sorted(names)
            if _can_go(guards, place, name, rows)
        ]
        if not smaller:
            yield kept
        stack += [form for form in smaller if form not in seen]
        seen.update(smaller)
        if len(seen) > MOST:
            raise WeftError(
                f"the {len(rules)} rules of {rules[0].variable} have more than {MOST:,} forms",
                remedy="Try some orders instead: `tries`, on the command line --tries",
            )


def kept_apart(rules: Sequence[Rule], states: States) -> tuple[tuple[Rule, str], ...]:
    """Constraints that no assignment needs: they stay because two rules would overlap without."""
    states = states if isinstance(states, Used) else list(states)
    found = []
    for (name, old), group in grouped(rules).items():
        rows = rows_of(states, name, old, group)
        for rule in group:
            guard = as_guard(rule)
            found += [(rule, each) for each in guard if not rows.guards(guard, each)]
    return tuple(found)
