"""Removing constraints that are not needed, and all minimal forms of a rule set.

A reading of definition 1 (`minimality`) decides what can be removed. For `weights` and `exclusive`,
a constraint that is needed stays needed when others are removed, since the rule then admits more
states; so one pass over all constraints leaves a minimal rule set. For `logic`, what another rule
writes after a removal may make a constraint or a whole rule unnecessary, so passes are repeated
until nothing changes. The result depends on the order; for `weights`, only on that within each
rule:

    documented   rule by rule in the order of the program, constraints from the last to the first:
                 what the step reads first stays
    seeded       all constraints of all rules in a random order

Rules of different variables, or with different old values, never hold together, so the minimal
forms of a rule set are the combinations of those of its groups.
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
from weft.language.rules import Rule, by_old_value
from weft.theory.minimal.minimality import (
    Assignments,
    ObservedStates,
    Reading,
    RuleGroup,
    as_guard,
    rows_of,
)
from weft.theory.minimal.observation import Observation

MAX_FORMS = 20_000
"""How many rule sets of a group are searched for minimal forms."""

Order = Callable[[Sequence[Rule]], Iterable[tuple[int, str]]]


def documented(rules: Sequence[Rule]) -> Iterator[tuple[int, str]]:
    """Constraints rule by rule, from the last to the first."""
    for place, rule in enumerate(rules):
        for name, _ in reversed(rule.guard):
            yield place, name


def seeded(seed: int) -> Order:
    """All constraints in a random order, different for every group."""
    rng = random.Random(seed)

    def order(rules: Sequence[Rule]) -> list[tuple[int, str]]:
        constraints = list(documented(rules))
        rng.shuffle(constraints)
        return constraints

    return order


def shortened(
    rules: Iterable[Rule],
    states: ObservedStates,
    order: Order = documented,
    *,
    reading: Reading = "weights",
) -> tuple[tuple[Rule, Rule], ...]:
    """Remove rules and constraints until the rest is minimal; return (rule, shortened rule) pairs.

    Rules that never fire are removed. For `logic`, so is a rule if others write the same wherever
    it fires.

    Example:
        >>> import weft
        >>> from weft.theory import fired_rules, observe
        >>> parity = weft.program("parity")
        >>> used = observe(parity, ["10", "11"])
        >>> for _, rule in shortened(fired_rules(used), used):
        ...     print(rule.show(parity.variables))
        done_left = 1 => parity: 0 -> 1
        done_left = 1, parity_left = 1 => parity: 1 -> 0
        done_left = 1 => done: 0 -> 1
    """
    states = states if isinstance(states, Observation) else list(states)
    pairs: dict[Rule, Rule] = {}
    given = [rule for rule in rules if not rule.is_reset]
    for (name, old), group in by_old_value(given).items():
        rows = rows_of(states, name, old, group)
        fired = [rule for rule in group if np.any(rows.holding(as_guard(rule)))]
        guards = _shortened(RuleGroup(fired, rows, reading), order)
        kept = ((rule, names) for rule, names in zip(fired, guards, strict=True))
        pairs |= {rule: _cut(rule, names) for rule, names in kept if names is not None}
    return tuple((rule, pairs[rule]) for rule in given if rule in pairs)


def _shortened(group: RuleGroup, order: Order) -> Sequence[Iterable[str] | None]:
    """The names of the constraints that each rule keeps; None for a rule that is removed."""
    constraints = list(order(group.rules))
    changed = True
    while changed:
        changed = False
        for place, name in constraints:
            guard = group.guards[place]
            if guard is not None and name in guard and group.can_go(place, name):
                group.remove(place, name)
                changed = True
        if group.reading != "logic":
            break  # one pass is enough, and a rule that fires is never removed
        for place, guard in enumerate(group.guards):
            if guard is not None and group.can_go(place):
                group.remove(place)
                changed = True
    return group.guards


def _cut(rule: Rule, kept: Iterable[str]) -> Rule:
    """The rule with only some of its constraints."""
    names = set(kept)
    guard = tuple((name, values) for name, values in rule.guard if name in names)
    return Rule(guard, rule.variable, rule.old, rule.new, rule.where)


@dataclass(frozen=True)
class MinimalForms:
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


def minimal_forms(
    rules: Iterable[Rule], states: ObservedStates, *, reading: Reading = "weights"
) -> MinimalForms:
    """All minimal rule sets that removing rules and constraints one by one can lead to.

    Example:
        >>> from weft import Rule
        >>> both = Rule((("a", (1,)), ("b", (1,))), "x", 0, 1)  # a = 1, b = 1 => x: 0 -> 1
        >>> states = [{"a": 1, "b": 1, "x": 0}, {"a": 0, "b": 0, "x": 0}]
        >>> [form[0].guard for form in minimal_forms([both], states)]
        [(('a', (1,)),), (('b', (1,)),)]
    """
    states = states if isinstance(states, Observation) else list(states)
    forms: dict[tuple[str, Any], tuple[tuple[Rule, ...], ...]] = {}
    given = [rule for rule in rules if not rule.is_reset]
    for (name, old), group in by_old_value(given).items():
        rows = rows_of(states, name, old, group)
        fired = [rule for rule in group if np.any(rows.holding(as_guard(rule)))]
        forms[name, old] = tuple(
            tuple(
                _cut(rule, kept) for rule, kept in zip(fired, form, strict=True) if kept is not None
            )
            for form in _forms(fired, rows, reading)
        )
    return MinimalForms(forms)


Kept = tuple[frozenset[str] | None, ...]
"""The names of the constraints that each rule keeps; None for a rule that is removed."""


def _forms(rules: Sequence[Rule], rows: Assignments, reading: Reading) -> Iterator[Kept]:
    """Every way to remove rules and constraints until none can go, by depth-first search."""
    stack: list[Kept] = [tuple(frozenset(as_guard(rule)) for rule in rules)]
    seen = set(stack)
    while stack:
        kept = stack.pop()
        smaller = list(_smaller(rules, rows, reading, kept))
        if not smaller:
            yield kept
        stack += [form for form in smaller if form not in seen]
        seen.update(smaller)
        if len(seen) > MAX_FORMS:
            raise WeftError(
                f"the {len(rules)} rules of {rules[0].variable} have more than {MAX_FORMS:,} forms",
                remedy="Try some orders instead: `tries`, on the command line --tries",
            )


def _smaller(
    rules: Sequence[Rule], rows: Assignments, reading: Reading, kept: Kept
) -> Iterator[Kept]:
    """What remains after each possible removal."""
    there = [place for place, names in enumerate(kept) if names is not None]
    group = RuleGroup([_cut(rules[place], kept[place] or ()) for place in there], rows, reading)
    for at, place in enumerate(there):
        names = kept[place] or frozenset()
        if group.can_go(at):
            yield (*kept[:place], None, *kept[place + 1 :])
        for name in sorted(names):
            if group.can_go(at, name):
                yield (*kept[:place], names - {name}, *kept[place + 1 :])


def kept_apart(rules: Sequence[Rule], states: ObservedStates) -> tuple[tuple[Rule, str], ...]:
    """Constraints that no assignment needs; with `exclusive` they stay to keep two rules apart."""
    states = states if isinstance(states, Observation) else list(states)
    unneeded = []
    for (name, old), group in by_old_value(rules).items():
        rows = rows_of(states, name, old, group)
        for rule in group:
            guard = as_guard(rule)
            unneeded += [(rule, each) for each in guard if not rows.guards(guard, each)]
    return tuple(unneeded)
