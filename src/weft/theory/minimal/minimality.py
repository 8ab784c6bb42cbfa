"""Definition 1 of the ALTA paper (appendix B.3): when a rule set is minimal over assignments D.

    - no rule can be removed without changing the output of f_R for some V in D;
    - no constraint of any antecedent can be removed without changing it either.

Resets of heads are not part of it (appendix B.1), nor is the old value in an antecedent: a rule
`variable: old -> new` must name it. Taken literally, it could go from nearly every rule (from
`done_left = 1 => done: 0 -> 1`, since if `done` is 1 already, writing 1 changes nothing).

Appendix B.1 requires that no two rules of a variable are ever satisfied together, and does not say
whether a removal may break this. There are three readings:

weights     the output is that of the compiled layer, to which every satisfied rule adds: a
            constraint can go unless some V in D satisfies all of the rule but this constraint
logic       the output is f_R of the paper, which is defined if the satisfied rules agree
exclusive   a removal is possible only if no two rules overlap after it, in D or outside it, and
            no rule then reads an undefined head

A set that is minimal by `logic` is minimal by `weights`, and one that is minimal by `weights` is
minimal by `exclusive`. Theorem 2 holds for `weights` and `logic`. It is false for `exclusive`: a
constraint may stay only to keep two rules apart, and then no state of D determines its weights
(`docs/optimum.md` has the counterexample). `weights` is therefore the default everywhere.

With `weights` and `logic`, two rules may overlap on states outside D. A program with such rules
fails in states in which they disagree. (Appendix B does not treat heads; except for `exclusive`, a
constraint on an undefined head is not satisfied, since its encoding is zero.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from weft.errors import WeftError, check_known
from weft.interpreter.states import code_values
from weft.language.program import Program, Variable
from weft.language.ranges import UNDEFINED
from weft.language.rules import Rule, by_old_value
from weft.theory.minimal.observation import Bools, Observation

Reading = Literal["weights", "logic", "exclusive"]
READINGS: dict[Reading, str] = {
    "weights": "a constraint can go if no training state fails it alone",
    "logic": "a constraint can go if the rules, which may overlap, still agree",
    "exclusive": "a constraint can go if, besides, no two rules overlap without it",
}
Guard = dict[str, frozenset[Any]]
ObservedStates = Observation | Iterable[Mapping[str, Any]]
"""What `observe` recorded of the states, or the states themselves as values by name."""


def reading_named(name: str) -> Reading:
    """A reading of definition 1 by its name."""
    check_known(name, READINGS, f"there is no reading '{name}' of definition 1")
    return cast(Reading, name)


@dataclass(frozen=True)
class Offence:
    """A rule, or one constraint of its antecedent, that can be removed.

    Attributes:
        rule: the rule.
        constraint: the variable whose constraint can go; None if the whole rule can.
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
    """Whether a rule set is minimal; if not, the first rule or constraint that can be removed."""

    offence: Offence | None

    def __bool__(self) -> bool:
        return self.offence is None


def is_minimal(
    rules: Program | Iterable[Rule],
    states: ObservedStates,
    *,
    reading: Reading = "weights",
) -> Minimality:
    """Whether rules are a minimal rule set over assignments, by definition 1.

    Args:
        rules: rules, no two of which write the same variable in the same state; or a program.
        states: assignments at the input of the feed-forward, or what `observe` recorded of them.
        reading: the reading of definition 1; see this module.

    Theorem 2 needs `weights` or `logic`: rules that are minimal by `exclusive` can compile to
    weights that are not a strict optimum.

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
        for (name, old), group in by_old_value(transitions).items()
        for offence in _offences(RuleGroup(group, rows_of(states, name, old, group), reading))
    )
    return Minimality(next(offences, None))


class Assignments:
    """The assignments in which a variable has its old value, as columns of codes."""

    def __init__(self, columns: Mapping[str, Any], values: Mapping[str, Sequence[Any]]) -> None:
        self.columns, self.values = columns, values
        self.count = len(next(iter(columns.values())))
        self._known: dict[tuple[str, frozenset[Any]], Bools] = {}

    def allowed(self, name: str, values: frozenset[Any]) -> Bools:
        """Which of them give a variable one of some values."""
        allowed = self._known.get((name, values))
        if allowed is None:
            table = np.asarray([value in values for value in self.values[name]], np.bool_)
            allowed = self._known[name, values] = table[self.columns[name]]
        return allowed

    def holding(self, guard: Guard, without: str | None = None) -> Bools:
        """Which of them satisfy a guard, with one constraint left out."""
        held: Bools = np.ones(self.count, np.bool_)
        for name, values in guard.items():
            if name != without:
                held &= self.allowed(name, values)
        return held

    def guards(self, guard: Guard, name: str) -> bool:
        """Whether some assignment satisfies all of a guard but one constraint.

        An undefined head counts as if it could have any value.
        """
        cautious = {other: values | {UNDEFINED} for other, values in guard.items() if other != name}
        return bool(np.any(self.holding(cautious) & ~self.allowed(name, guard[name])))


def rows_of(states: ObservedStates, variable: str, old: Any, rules: Sequence[Rule]) -> Assignments:
    """The assignments that the rules of a variable with one old value depend on."""
    if isinstance(states, Observation):
        return _observed_rows(states, variable, old, rules)
    names = dict.fromkeys([variable, *(name for rule in rules for name, _ in rule.guard)])
    chosen = [state for state in states if state[variable] == old]
    values = {name: list(dict.fromkeys(state[name] for state in chosen)) for name in names}
    codes = {name: {value: code for code, value in enumerate(values[name])} for name in names}
    return Assignments(
        {name: np.asarray([codes[name][s[name]] for s in chosen], np.intp) for name in names},
        values,
    )


def _observed_rows(
    used: Observation, variable: str, old: Any, rules: Sequence[Rule]
) -> Assignments:
    states = used.states.get(variable)
    read = {name for rule in rules for name, _ in rule.guard}
    if states is None or not read <= set(states.variables):
        missing = sorted(read - set(states.variables if states is not None else ()))
        raise WeftError(
            f"the rules of '{variable}' read {', '.join(missing) or 'variables'}, not observed",
            subject=used.program.name,
            remedy="Observe the program that has these rules, or give complete assignments",
        )
    chosen = states.column(variable) == code_values(states.variables[variable]).index(old)
    columns = {name: states.column(name)[chosen] for name in states.variables}
    values = {name: code_values(each) for name, each in states.variables.items()}
    return Assignments(columns, values)


def as_guard(rule: Rule) -> Guard:
    """The guard of a rule as a mapping; the old value is not part of it."""
    return {name: frozenset(values) for name, values in rule.guard}


def overlap(first: Guard, second: Guard) -> bool:
    """Whether some assignment, in D or not, satisfies both guards."""
    return all(first[name] & second[name] for name in first.keys() & second.keys())


class RuleGroup:
    """The rules of one variable and old value, from which rules and constraints are removed.

    Attributes:
        rules: the rules before removals.
        guards: the constraints that each rule still has; None if the whole rule is removed.
    """

    def __init__(self, rules: Sequence[Rule], rows: Assignments, reading: Reading) -> None:
        self.rules, self.rows, self.reading = rules, rows, reading
        self.guards: list[Guard | None] = [as_guard(rule) for rule in rules]
        self._held: list[Bools | None] = [rows.holding(as_guard(rule)) for rule in rules]

    def can_go(self, place: int, name: str | None = None) -> bool:
        """Whether a constraint of a rule can be removed, or the whole rule if none is named."""
        guard, held = self.guards[place], self._held[place]
        assert guard is not None
        assert held is not None
        if name is None:
            changed = held
        elif self.reading == "exclusive":
            others = (o for at, o in enumerate(self.guards) if at != place and o is not None)
            return not self.rows.guards(guard, name) and apart_without(guard, name, others)
        else:
            changed = self.rows.holding(guard, name) & ~self.rows.allowed(name, guard[name])
        if self.reading == "logic":
            changed = changed & ~self._written(place)
        return not np.any(changed)

    def remove(self, place: int, name: str | None = None) -> None:
        """Remove a constraint of a rule, or the whole rule."""
        guard = self.guards[place]
        assert guard is not None
        if name is None:
            self.guards[place] = self._held[place] = None
        else:
            del guard[name]
            self._held[place] = self.rows.holding(guard)

    def _written(self, place: int) -> Bools:
        """Where other rules hold and write the same value, so that this one makes no difference."""
        written: Bools = np.zeros(self.rows.count, np.bool_)
        for other, held in enumerate(self._held):
            if other != place and held is not None:
                if self.rules[other].new == self.rules[place].new:
                    written |= held
        return written


def _offences(group: RuleGroup) -> Iterator[Offence]:
    """The rules and constraints of a group that can be removed."""
    for place, rule in enumerate(group.rules):
        if group.can_go(place):
            yield Offence(rule)
        for name, _ in rule.guard:
            if group.can_go(place, name):
                yield Offence(rule, name)


def apart_without(guard: Guard, name: str, others: Iterable[Guard]) -> bool:
    """Whether a guard still excludes the others without one of its constraints."""
    rest = {other: values for other, values in guard.items() if other != name}
    return not any(overlap(rest, other) for other in others)
