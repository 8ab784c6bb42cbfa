"""Transition rules: `guard => variable: old -> new`, the expansion of guarded updates.

A guard is a conjunction of `variable in set of values`. At most one rule of a variable holds in any
state; if none does, the variable keeps its value. Heads' outputs are reset to undefined when a
layer ends, by rules of their own, one per value (ALTA paper, section 2.3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

from weft.errors import Location, WeftError
from weft.language.diagrams import Diagram, DiagramPath
from weft.language.expressions import deep_recursion
from weft.language.program import Program, Variable
from weft.language.ranges import UNDEFINED, show_value
from weft.language.updates import show_constraint

Guard = tuple[tuple[str, tuple[Any, ...]], ...]


@dataclass(frozen=True)
class Rule:
    """One transition. Two rules are equal whatever line they come from."""

    guard: Guard
    variable: str
    old: Any
    new: Any
    where: Location | None = field(default=None, compare=False)

    @property
    def antecedent(self) -> Guard:
        """The guard with the old value as its last constraint."""
        return (*self.guard, (self.variable, (self.old,)))

    @property
    def is_reset(self) -> bool:
        """Whether it clears the output of a head."""
        return self.new is UNDEFINED

    def holds(self, state: Mapping[str, Any]) -> bool:
        """Whether the antecedent is true in a state."""
        return all(state[name] in values for name, values in self.antecedent)

    def atoms(self) -> int:
        """How many rules it takes with one value per constraint, as in the ALTA paper."""
        count = 1
        for _, values in self.guard:
            count *= len(values)
        return count

    def show(self, variables: Mapping[str, Variable]) -> str:
        """The rule on one line."""
        guard = ", ".join(
            show_constraint(name, values, variables[name]) for name, values in self.guard
        )
        arrow = f"{guard} => " if guard else ""
        return f"{arrow}{self.variable}: {show_value(self.old)} -> {show_value(self.new)}"


@dataclass(frozen=True)
class RuleDiff:
    """How two rule sets differ."""

    only_left: tuple[Rule, ...]
    only_right: tuple[Rule, ...]
    both: int


class RuleSet:
    """An ordered set of rules: iterate over it, take its length, ask which fire in a state.

    Args:
        variables: the program's.
        rules: without resets of heads.
        partial: whether two rules may hold together and disagree. The step then fails in that
            state; otherwise a program with such rules is refused.
    """

    def __init__(
        self,
        variables: Mapping[str, Variable],
        rules: Iterable[Rule] = (),
        *,
        partial: bool = False,
    ) -> None:
        self.variables = variables
        self.partial = partial
        self._rules = tuple(rules)

    def __iter__(self) -> Iterator[Rule]:
        yield from self._rules
        yield from self.resets

    def __len__(self) -> int:
        return len(self._rules) + len(self.resets)

    @cached_property
    def resets(self) -> tuple[Rule, ...]:
        """The rules that clear heads' outputs."""
        return tuple(
            Rule((), variable.name, value, UNDEFINED, variable.where)
            for variable in self.variables.values()
            if variable.is_head
            for value in variable.range.values
        )

    def counts(self) -> dict[str, int]:
        """How many rules each variable has, resets included."""
        return dict(Counter(rule.variable for rule in self))

    def fired(self, state: Mapping[str, Any]) -> tuple[Rule, ...]:
        """The rules that hold in a state, resets last."""
        return (*self.transitions(state), *self._fired_resets(state))

    def transitions(self, state: Mapping[str, Any]) -> tuple[Rule, ...]:
        """The rules that hold in a state, without resets."""
        result = []
        for name, value in state.items():
            result += [rule for rule in self._by_old.get((name, value), ()) if rule.holds(state)]
        return tuple(result)

    @cached_property
    def _by_old(self) -> dict[tuple[str, Any], list[Rule]]:
        return by_old_value(self._rules)

    def _fired_resets(self, state: Mapping[str, Any]) -> Iterator[Rule]:
        for rule in self.resets:
            value = state[rule.variable]
            if value is not UNDEFINED:
                if self.variables[rule.variable].range.nearest(value) == rule.old:
                    yield rule

    def disagreement(self, fired: Iterable[Rule]) -> tuple[Rule, Rule] | None:
        """The first two of some rules that write different values to one variable."""
        first: dict[str, Rule] = {}
        for rule in fired:
            other = first.setdefault(rule.variable, rule)
            if other.new != rule.new:
                return other, rule
        return None

    def apply(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The state after the rules have fired, resets left out."""
        return {**state, **{rule.variable: rule.new for rule in self.transitions(state)}}

    def by_line(self) -> dict[Location | None, list[Rule]]:
        """The rules, grouped by the line of the source that they come from."""
        grouped: dict[Location | None, list[Rule]] = {}
        for rule in self:
            line = rule.where and Location(rule.where.file, rule.where.line)
            grouped.setdefault(line, []).append(rule)
        return grouped

    def diff(self, other: RuleSet) -> RuleDiff:
        """The rules that only one of the two sets has, and how many both have."""
        mine, theirs = Counter(self), Counter(other)
        return RuleDiff(
            tuple((mine - theirs).elements()),
            tuple((theirs - mine).elements()),
            (mine & theirs).total(),
        )

    def overlaps(self) -> Iterator[tuple[Rule, Rule]]:
        """Pairs of rules of one variable that hold together in some state."""
        for rules in by_old_value(self).values():
            yield from _overlaps(rules, frozenset())


def by_old_value(rules: Iterable[Rule]) -> dict[tuple[str, Any], list[Rule]]:
    """Rules by variable and old value; rules of different groups never hold together."""
    groups: dict[tuple[str, Any], list[Rule]] = {}
    for rule in rules:
        groups.setdefault((rule.variable, rule.old), []).append(rule)
    return groups


def _overlaps(rules: list[Rule], tested: frozenset[str]) -> Iterator[tuple[Rule, Rule]]:
    """Split the rules by the values of one variable after another until they are disjoint."""
    names = Counter(name for rule in rules for name, _ in rule.guard if name not in tested)
    if len(rules) < 2:
        return
    if not names:
        for place, one in enumerate(rules):
            for other in rules[place + 1 :]:
                yield one, other
        return
    name = names.most_common(1)[0][0]
    seen: set[tuple[int, int]] = set()
    by_value: dict[Any, list[Rule]] = {}
    free = [rule for rule in rules if name not in dict(rule.guard)]
    for rule in rules:
        for value in dict(rule.guard).get(name, ()):
            by_value.setdefault(value, []).append(rule)
    for group in by_value.values() or [[]]:
        for one, other in _overlaps([*group, *free], tested | {name}):
            if (id(one), id(other)) not in seen:
                seen.add((id(one), id(other)))
                yield one, other


class DerivedRules(RuleSet):
    """Rules read off decision diagrams, one per variable: counted and matched without listing."""

    def __init__(self, variables: Mapping[str, Variable], diagrams: Iterable[Diagram]) -> None:
        super().__init__(variables)
        self.diagrams = tuple(diagrams)

    def __iter__(self) -> Iterator[Rule]:
        for diagram in self.diagrams:
            for path in diagram.paths():
                yield rule_of(diagram.target, path)
        yield from self.resets

    def __len__(self) -> int:
        return sum(diagram.count() for diagram in self.diagrams) + len(self.resets)

    def counts(self) -> dict[str, int]:
        counts = {diagram.target: diagram.count() for diagram in self.diagrams}
        return counts | dict(Counter(rule.variable for rule in self.resets))

    def transitions(self, state: Mapping[str, Any]) -> tuple[Rule, ...]:
        result = ((diagram.target, diagram.find(state)) for diagram in self.diagrams)
        return tuple(rule_of(target, path) for target, path in result if path is not None)


def rule_of(target: str, path: DiagramPath) -> Rule:
    """The rule that a path through the diagram of a variable stands for."""
    *guard, (_, (old,)) = path.guard
    return Rule(tuple(guard), target, old, path.result.value, path.result.where)


def single_valued(rule: Rule) -> Iterator[Rule]:
    """The rule with one value per constraint, as in the ALTA paper: one rule per combination.

    A constraint on the rule's own variable is dropped, since the old value states it; a rule that
    asks for two values of one variable can never hold and gives nothing.

    Example:
        >>> import weft
        >>> rule = weft.Rule((("a", (0, 1)), ("b", (2,))), "c", 0, 1)
        >>> [single.guard for single in single_valued(rule)]
        [(('a', (0,)), ('b', (2,))), (('a', (1,)), ('b', (2,)))]
    """
    if any(rule.old not in values for name, values in rule.guard if name == rule.variable):
        return
    guard = [(name, values) for name, values in rule.guard if name != rule.variable]
    for chosen in product(*(values for _, values in guard)):
        single = tuple((name, (value,)) for (name, _), value in zip(guard, chosen, strict=True))
        yield Rule(single, rule.variable, rule.old, rule.new, rule.where)


def check_defined(rule: Rule, tester: str, *, subject: str = "") -> None:
    """Refuse a rule that fires if a head is undefined, since its slot then holds no value.

    Args:
        rule: the rule.
        tester: what cannot test that a head is undefined, in words.
        subject: the program, for the error.
    """
    for name, values in rule.guard:
        if UNDEFINED in values:
            raise WeftError(
                f"a rule fires if the head '{name}' is undefined, which {tester} can test",
                subject=subject,
                where=rule.where,
                remedy=f"Read '{name}' only after a test that ensures that it is defined",
            )


def expand(program: Program) -> RuleSet:
    """The rules of a program."""
    if program.listed_rules is not None:
        return program.listed_rules
    updates = program.updates
    try:
        with deep_recursion():
            return DerivedRules(
                program.variables,
                [
                    Diagram(name, updates.values[name], program.variables)
                    for name in updates.written
                ],
            )
    except WeftError as error:
        raise error.revised(subject=program.name) from None
    except RecursionError:
        raise WeftError(
            "its updates are nested too deeply to be expanded into rules",
            subject=program.name,
            remedy="Let its loops make fewer rounds, or do less in one step",
        ) from None
