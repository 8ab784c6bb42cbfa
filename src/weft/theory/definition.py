"""Definition 1 of the ALTA paper (appendix B.3): when a rule set is minimal over assignments D.

    - no rule can be removed without changing the output of f_R for some V in D;
    - no constraint of any antecedent can be removed without changing it either.

Resets of heads are no part of it (appendix B.1), and neither is the old value in an antecedent: a
rule `variable: old -> new` must name it. Taken literally, it could go from nearly every rule (from
`done_left = 1 => done: 0 -> 1`, since where `done` is 1 already, writing 1 changes nothing).

Appendix B.1 asks that no two rules of a variable are ever satisfied together, and does not say what
becomes of a removal that breaks this. There are three readings:

exclusive   it is not possible to remove what keeps two rules apart, in D or outside it, or what
            keeps a rule from reading a head that is undefined
weights     the output is that of the compiled layer, where two rules that hold both write: what
            counts is whether some V in D satisfies all of a rule but this constraint
logic       the output is f_R of the paper, which is defined wherever the rules that hold agree

A set that is minimal by `weights` is so by `exclusive`, and one by `logic` is so by `weights`. The
proof of theorem 2 needs `weights`. A program needs `exclusive`, or two of its rules could disagree
on an input that was not trained on, and its weights could fire on the average that they hold
where a head is undefined. (Appendix B leaves heads out; in the other readings a constraint on an
undefined head is simply not satisfied, as its encoding is zero.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from weft.errors import WeftError
from weft.language.program import Program, Variable
from weft.language.ranges import UNDEFINED
from weft.language.rules import Rule
from weft.theory.firing import Bools, Used, edge_values

Reading = Literal["exclusive", "weights", "logic"]
Guard = dict[str, frozenset[Any]]


@dataclass(frozen=True)
class Offence:
    """Something that can be removed: a rule, or one constraint of its antecedent.

    Attributes:
        rule: the rule.
        constraint: the variable whose constraint can go; None where the whole rule can.
    """

    rule: Rule
    constraint: str | None = None

    def show(self, variables: Mapping[str, Variable]) -> str:
        """What can be removed, on one line."""
        shown = f"`{self.rule.show(variables)}`"
        if self.constraint is None:
            return f"{shown} never fires"
        return f"{shown} needs no constraint on {self.constraint}"


@dataclass(frozen=True)
class Minimality:
    """Whether a rule set is minimal, and if not, the first thing that can be removed."""

    offence: Offence | None

    def __bool__(self) -> bool:
        return self.offence is None


def is_minimal(
    rules: Program | Iterable[Rule],
    states: Used | Iterable[Mapping[str, Any]],
    *,
    reading: Reading = "exclusive",
) -> Minimality:
    """Whether rules are a minimal rule set over assignments, by definition 1.

    Args:
        rules: rules of which no two of a variable hold together, or a program that has such rules.
        states: assignments at the input of the feed-forward, or what `observe` kept of them.
        reading: what a removal may do to other rules; see this module.

    Example:
        >>> import weft
        >>> from weft.theory import is_minimal, observe
        >>> parity = weft.program("parity")
        >>> bool(is_minimal(parity, observe(parity, ["00", "1011"])))
        True
        >>> is_minimal(parity, observe(parity, ["1"])).offence.show(parity.variables)
        '`done = 0, done_left = 1, parity_left = 1 => parity: 0 -> 1` never fires'
    """
    given = rules.rules if isinstance(rules, Program) else rules
    transitions = [rule for rule in given if not rule.is_reset]
    offences = (
        offence
        for (name, old), group in grouped(transitions).items()
        for offence in _offences(group, rows_of(states, name, old, group), reading)
    )
    return Minimality(next(offences, None))


def grouped(rules: Iterable[Rule]) -> dict[tuple[str, Any], list[Rule]]:
    """Rules by the variable and its old value: those of different groups never hold together."""
    groups: dict[tuple[str, Any], list[Rule]] = {}
    for rule in rules:
        groups.setdefault((rule.variable, rule.old), []).append(rule)
    return groups


class Rows:
    """The assignments in which a variable has its old value, as columns of codes."""

    def __init__(self, columns: Mapping[str, Any], values: Mapping[str, Sequence[Any]]) -> None:
        self.columns, self.values = columns, values
        self.count = len(next(iter(columns.values())))
        self._known: dict[tuple[str, frozenset[Any]], Bools] = {}

    def allowed(self, name: str, values: frozenset[Any]) -> Bools:
        """In which of them a variable has one of some values."""
        found = self._known.get((name, values))
        if found is None:
            table = np.asarray([value in values for value in self.values[name]], np.bool_)
            found = self._known[name, values] = table[self.columns[name]]
        return found

    def holding(self, guard: Guard, without: str | None = None) -> Bools:
        """In which of them a guard is true, one constraint left out."""
        held: Bools = np.ones(self.count, np.bool_)
        for name, values in guard.items():
            if name != without:
                held &= self.allowed(name, values)
        return held

    def needs(self, guard: Guard, name: str) -> bool:
        """Whether some assignment satisfies all of a guard but one constraint."""
        return bool(np.any(self.holding(guard, name) & ~self.allowed(name, guard[name])))

    def guards(self, guard: Guard, name: str) -> bool:
        """Likewise, where a head that is undefined may have any value."""
        wary = {other: values | {UNDEFINED} for other, values in guard.items() if other != name}
        return bool(np.any(self.holding(wary) & ~self.allowed(name, guard[name])))


def rows_of(
    states: Used | Iterable[Mapping[str, Any]], variable: str, old: Any, rules: Sequence[Rule]
) -> Rows:
    """The assignments that matter to the rules of a variable with one old value."""
    if isinstance(states, Used):
        return _rows_of_used(states, variable, old, rules)
    names = dict.fromkeys([variable, *(name for rule in rules for name, _ in rule.guard)])
    chosen = [state for state in states if state[variable] == old]
    values = {name: list(dict.fromkeys(state[name] for state in chosen)) for name in names}
    codes = {name: {value: code for code, value in enumerate(values[name])} for name in names}
    return Rows(
        {name: np.asarray([codes[name][s[name]] for s in chosen], np.intp) for name in names},
        values,
    )


def _rows_of_used(used: Used, variable: str, old: Any, rules: Sequence[Rule]) -> Rows:
    found = used.states.get(variable)
    read = {name for rule in rules for name, _ in rule.guard}
    if found is None or not read <= set(found.names):
        missing = sorted(read - set(found.names if found is not None else ()))
        raise WeftError(
            f"the rules of '{variable}' read {', '.join(missing) or 'what'} was not observed",
            subject=used.program.name,
            remedy="Observe the program that has these rules, or give whole assignments",
        )
    chosen = found.column(variable) == edge_values(found.variables[variable]).index(old)
    columns = {name: found.column(name)[chosen] for name in found.names}
    return Rows(columns, {name: edge_values(found.variables[name]) for name in found.names})


def as_guard(rule: Rule) -> Guard:
    """The guard of a rule, for looking things up; the old value is not in it."""
    return {name: frozenset(values) for name, values in rule.guard}


def overlap(one: Guard, other: Guard) -> bool:
    """Whether two guards are true together in some assignment, one of D or not."""
    return all(one[name] & other[name] for name in one.keys() & other.keys())


def _offences(rules: Sequence[Rule], rows: Rows, reading: Reading) -> Iterator[Offence]:
    """What can be removed from the rules of a group, rule by rule."""
    guards = [as_guard(rule) for rule in rules]
    held = [rows.holding(guard) for guard in guards] if reading == "logic" else []
    for place, (rule, guard) in enumerate(zip(rules, guards, strict=True)):
        written = _written(rules, held, rows, place) if reading == "logic" else None
        if not np.any(rows.holding(guard) if written is None else held[place] & ~written):
            yield Offence(rule)
        for name in guard:
            if reading == "exclusive":
                others = [other for other in guards if other is not guard]
                kept = rows.guards(guard, name) or not apart_without(guard, name, others)
            elif written is not None:
                new = rows.holding(guard, name) & ~rows.allowed(name, guard[name])
                kept = bool(np.any(new & ~written))
            else:
                kept = rows.needs(guard, name)
            if not kept:
                yield Offence(rule, name)


def _written(rules: Sequence[Rule], held: list[Bools], rows: Rows, place: int) -> Bools:
    """Where other rules hold and write what this one writes, so that it makes no difference."""
    found: Bools = np.zeros(rows.count, np.bool_)
    for other, rule in enumerate(rules):
        if other != place and rule.new == rules[place].new:
            found |= held[other]
    return found


def apart_without(guard: Guard, name: str, others: Iterable[Guard]) -> bool:
    """Whether a guard excludes the others also without one of its constraints."""
    rest = {other: values for other, values in guard.items() if other != name}
    return not any(overlap(rest, other) for other in others)
