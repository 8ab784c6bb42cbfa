"""Programs given by their rules instead of a step: the rules as guarded updates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weft.errors import Location, WeftError
from weft.language.expressions import FAILED, Expression, Expressions
from weft.language.program import Variable
from weft.language.rules import Rule, RuleSet
from weft.language.updates import Updates

_NOWHERE = Location("<rules>", 0)


@dataclass(frozen=True)
class Among:
    """Whether a value is one of those that a guard allows; an undefined one never is."""

    values: frozenset[Any]

    def __call__(self, value: Any) -> bool:
        return value is not FAILED and value in self.values


def _disagree(value: Any) -> Any:
    raise ValueError("two rules that hold together disagree")


def updates_from_rules(variables: Mapping[str, Variable], rules: RuleSet) -> Updates:
    """The updates that a list of rules stands for.

    Two rules that can hold together and disagree are an error, or, if the rules are `partial`, an
    update that fails if both hold.
    """
    make = Expressions()
    values: dict[str, Expression] = {name: make.read(name) for name in variables}
    by_variable: dict[str, list[Rule]] = {}
    for rule in rules:
        if not rule.is_reset:
            by_variable.setdefault(rule.variable, []).append(rule)
    for name, listed in by_variable.items():
        values[name] = _Decision(make, variables, name, listed, rules.partial).expression
    return Updates(variables, values, (), make)


class _Decision:
    """The rules of one variable as nested choices, one variable tested after the other."""

    def __init__(
        self,
        make: Expressions,
        variables: Mapping[str, Variable],
        name: str,
        rules: list[Rule],
        partial: bool,
    ) -> None:
        self.make, self.variables, self.name, self.rules = make, variables, name, rules
        self.partial = partial
        self.guards = [dict(rule.antecedent) for rule in rules]
        tested = Counter(tested for guard in self.guards for tested in guard)
        self.order = [tested for tested, _ in tested.most_common()]
        self._made: dict[tuple[int, frozenset[int]], Expression] = {}
        self.expression = self._decide(0, frozenset(range(len(rules))))

    def _decide(self, level: int, left: frozenset[int]) -> Expression:
        """What the variable becomes, given the rules that can still hold."""
        if not left:
            return self.make.read(self.name)
        if level == len(self.order):
            return self._outcome(sorted(left))
        key = (level, left)
        if key not in self._made:
            self._made[key] = self._test(level, left)
        return self._made[key]

    def _test(self, level: int, left: frozenset[int]) -> Expression:
        name = self.order[level]
        free = frozenset(rule for rule in left if name not in self.guards[rule])
        groups: dict[frozenset[int], list[Any]] = {}
        for value in self.variables[name].range.values:
            allowed = frozenset(rule for rule in left - free if value in self.guards[rule][name])
            if allowed:
                groups.setdefault(allowed | free, []).append(value)
        result = self._decide(level + 1, free)
        for allowed, values in groups.items():
            test = self.make.apply(Among(frozenset(values)), self.make.read(name), lazy=True)
            result = self.make.choice(test, self._decide(level + 1, allowed), result)
        return result

    def _outcome(self, left: list[int]) -> Expression:
        first, *others = (self.rules[rule] for rule in left)
        for other in others:
            if other.new != first.new and self.partial:
                fails = self.make.apply(_disagree, self.make.read(self.name), lazy=True)
                return self.make.written(fails, other.where or _NOWHERE)
            if other.new != first.new:
                raise WeftError(
                    f"two rules that can hold together disagree: `{first.show(self.variables)}`, "
                    f"`{other.show(self.variables)}`",
                    where=other.where,
                    remedy="Add a constraint to one of them, so that they exclude each other",
                )
        return self.make.written(self.make.constant(first.new), first.where or _NOWHERE)
