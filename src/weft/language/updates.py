"""Guarded updates: `guard => variable := expression`, symbolic, as the front end derives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from weft.errors import Location
from weft.language.expressions import (
    Choice,
    Expression,
    Expressions,
    Failure,
    Read,
    Written,
    deep_recursion,
    evaluate,
    literals,
    reads,
    show,
)
from weft.language.program import Variable
from weft.language.ranges import UNDEFINED, show_value
from weft.language.tables import Tables, truth

if TYPE_CHECKING:
    from weft.language.frontend.machine import Effect

Test = tuple[Expression, bool]


@dataclass(frozen=True)
class Update:
    """When every test of the guard has the given outcome, `variable` takes the expression's value.

    The guards of one variable's updates exclude each other; where none holds, it keeps its value.
    Where a variable has very many, they are left as one: `whole`, with the tests in the expression.
    """

    guard: tuple[Test, ...]
    variable: str
    expression: Expression
    where: Location
    whole: bool = False


MOST = 2000
"""How many updates of a variable are told apart."""


@dataclass(frozen=True, eq=False)
class Updates:
    """All that a step does to a position.

    Attributes:
        variables: the program's variables.
        values: for each variable, the expression of what it holds when the step ends.
        effects: what the step computes on the way, and where; if one cannot be computed, it fails.
        make: the maker of these expressions, for whoever wants to build on them.
    """

    variables: Mapping[str, Variable]
    values: Mapping[str, Expression]
    effects: tuple[Effect, ...]
    make: Expressions

    @cached_property
    def tables(self) -> Tables:
        """The finite tables of these expressions."""
        return Tables(self.variables)

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The variables that the step can change."""
        return tuple(
            name
            for name, value in self.values.items()
            if not (isinstance(value, Read) and value.variable == name)
        )

    def __iter__(self) -> Iterator[Update]:
        for name in self.written:
            yield from self._of(name)

    def __len__(self) -> int:
        return sum(len(self._of(name)) for name in self.written)

    def _of(self, name: str) -> list[Update]:
        """The updates of one variable."""
        if name not in self._known:
            found = list(islice(self._flatten(name, self.values[name], ()), MOST + 1))
            if len(found) > MOST:
                where = self.variables[name].where
                found = [Update((), name, self.values[name], where, whole=True)]
            self._known[name] = found
        return self._known[name]

    @cached_property
    def _known(self) -> dict[str, list[Update]]:
        return {}

    def _flatten(self, variable: str, node: Expression, path: tuple[Test, ...]) -> Iterator[Update]:
        """Every way through the choices that some state can take."""
        match node:
            case Choice(test=test, then=then, otherwise=otherwise):
                known = next((held for other, held in path if other is test), None)
                for held, side in ((True, then), (False, otherwise)):
                    longer = (*path, *literals(test, held))
                    if known in (None, held) and all(self._allowed(longer).values()):
                        yield from self._flatten(variable, side, longer)
            case Written(value=value, where=where):
                yield Update(path, variable, value, where)
            case Read():
                return
            case _:
                raise TypeError(node)

    def apply(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The state after the step, heads' outputs as they were; fails where the step would."""
        with deep_recursion():
            return self._apply(state)

    def _apply(self, state: Mapping[str, Any]) -> dict[str, Any]:
        memo: dict[int, Any] = {}
        for effect in self.effects:
            if all(bool(evaluate(test, state, memo)) is held for test, held in effect.path):
                evaluate(effect.node, state, memo)
        after = dict(state)
        for name in self.written:
            value = evaluate(self.values[name], state, memo)
            after[name] = self.variables[name].range.store(value)
        return after

    def can_apply(self, state: Mapping[str, Any]) -> bool:
        """Whether the step succeeds in a state."""
        try:
            self.apply(state)
        except (Failure, Exception):
            return False
        return True

    def show(self, update: Update) -> str:
        """An update on one line."""
        guard = self.show_guard(update.guard)
        arrow = f"{guard} => " if guard else ""
        return f"{arrow}{update.variable} := {show(update.expression)}"

    def show_guard(self, guard: tuple[Test, ...]) -> str:
        """A guard, with the tests of a single variable as the values that pass them."""
        shown = [
            show_constraint(name, values, self.variables[name])
            for name, values in self._allowed(guard).items()
        ]
        for test, held in guard:
            if len(reads(test)) != 1:
                shown.append(show(test, 0) if held else f"not {show(test, 0)}")
        return ", ".join(shown)

    def _allowed(self, guard: tuple[Test, ...]) -> dict[str, list[Any]]:
        """For each variable that a test reads alone, the values that pass."""
        allowed: dict[str, list[Any]] = {}
        for test, held in guard:
            names = reads(test)
            if len(names) == 1:
                passing = self._passing(names[0], test, held)
                known = allowed.get(names[0], list(self.variables[names[0]].range.values))
                allowed[names[0]] = [value for value in known if value in passing]
        return allowed

    @cached_property
    def _outcomes(self) -> dict[tuple[int, bool], list[Any]]:
        return {}

    def _passing(self, name: str, test: Expression, held: bool) -> list[Any]:
        """The values of the one variable that a test reads which give an outcome."""
        key = (id(test), held)
        if key not in self._outcomes:
            self._outcomes[key] = self._find_passing(name, test, held)
        return self._outcomes[key]

    def _find_passing(self, name: str, test: Expression, held: bool) -> list[Any]:
        passing = []
        for value in self.variables[name].range.values:
            try:
                outcome = truth(evaluate(test, {name: value}))
            except Exception:
                continue
            if outcome is held:
                passing.append(value)
        return passing


def show_constraint(name: str, values: Any, variable: Variable) -> str:
    """`variable in values` as people write it."""
    everything: tuple[Any, ...] = variable.range.values
    if variable.is_head and UNDEFINED in values:
        everything = (*everything, UNDEFINED)
    listed = [value for value in everything if value in values]
    if len(listed) == 1:
        return f"{name} = {show_value(listed[0])}"
    missing = [value for value in everything if value not in listed]
    if len(missing) == 1 and len(everything) > 2 and UNDEFINED not in values:
        return f"{name} ≠ {show_value(missing[0])}"
    return f"{name} in {{{_runs(listed)}}}"


def _runs(values: list[Any]) -> str:
    """Values with runs of three and more whole numbers written as a range."""
    parts: list[str] = []
    place = 0
    while place < len(values):
        end = place
        while end + 1 < len(values) and _follows(values[end], values[end + 1]):
            end += 1
        if end - place >= 2:
            parts.append(f"{values[place]}..{values[end]}")
        else:
            parts.extend(show_value(value) for value in values[place : end + 1])
        place = end + 1
    return ", ".join(parts)


def _follows(one: Any, other: Any) -> bool:
    return isinstance(one, int) and isinstance(other, int) and other == one + 1
