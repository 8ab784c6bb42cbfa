"""Guarded updates: `guard => variable := expression`, symbolic, as the front end derives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from weft.errors import Location
from weft.language.diagrams import fails_everywhere
from weft.language.expressions import (
    Apply,
    Choice,
    EndlessFailure,
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
from weft.language.ranges import UNDEFINED, OutOfRange, show_value
from weft.language.tables import Tables, passing_values

if TYPE_CHECKING:
    from weft.language.frontend.machine import Effect

Test = tuple[Expression, bool]


@dataclass(frozen=True)
class Update:
    """When every test of the guard has the given outcome, `variable` takes the expression's value.

    The guards of a variable's updates are mutually exclusive; if none holds, it keeps its value. A
    variable with more than `MAX_UPDATES` has a single update, `whole`, with the tests in its
    expression.
    """

    guard: tuple[Test, ...]
    variable: str
    expression: Expression
    where: Location
    whole: bool = False


MAX_UPDATES = 2000
"""A variable with more updates than this has a single one, with the tests in its expression."""


@dataclass(frozen=True, eq=False)
class Updates:
    """Everything that a step does at one position.

    Attributes:
        variables: the program's variables.
        values: for each variable, the expression of what it holds when the step ends.
        effects: intermediate computations with their conditions; if one fails, the step fails.
        make: the factory of these expressions, for building further ones.
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
            result = list(islice(self._flatten(name, self.values[name], ()), MAX_UPDATES + 1))
            if len(result) > MAX_UPDATES:
                where = self.variables[name].where
                result = [Update((), name, self.values[name], where, whole=True)]
            self._known[name] = result
        return self._known[name]

    @cached_property
    def _known(self) -> dict[str, list[Update]]:
        return {}

    def _flatten(self, variable: str, node: Expression, path: tuple[Test, ...]) -> Iterator[Update]:
        """Every path through the choices that some state can take."""
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
        """The state after the step, with heads' outputs unchanged; raises if the step would."""
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
            self._outcomes[key] = passing_values(test, held, self.variables[name])
        return self._outcomes[key]


@dataclass(frozen=True)
class StepFails:
    """Why a step fails, and where."""

    what: str
    where: Location | None


TRIES = 40
"""In how many states a step is tried before it is asked whether it fails in all of them."""


def never_succeeds(updates: Updates) -> StepFails | None:
    """How a step fails that fails in every state; None if it succeeds in some."""
    import random  # takes long to import, and most runs derive nothing

    rng = random.Random(0)
    for _ in range(TRIES):
        state = {n: rng.choice(v.range.values) for n, v in updates.variables.items()}
        undefined = {n for n, v in updates.variables.items() if v.is_head and rng.random() < 0.3}
        if updates.can_apply(state) or updates.can_apply(
            {**state, **dict.fromkeys(undefined, UNDEFINED)}
        ):
            return None
    make = updates.make
    done = make.constant(None)
    steps: list[Expression] = []
    for effect in updates.effects:
        steps.append(make.on_path(effect.path, make.apply(_discard, effect.node), done))
    steps += [make.apply(Store(updates.variables[n]), updates.values[n]) for n in updates.written]
    try:
        with deep_recursion():
            always = fails_everywhere(make.apply(_discard, *steps), updates.variables)
    except RecursionError:  # too deep to tell; what fails is an error when it is run
        return None
    return _first_failure(updates, state) if always else None


def _discard(*_: Any) -> None:
    """Something that succeeds if its arguments do."""


@dataclass(frozen=True)
class Store:
    """The value that a variable holds after an assignment, as an expression's function."""

    variable: Variable

    def __call__(self, value: Any) -> Any:
        return self.variable.range.store(value)

    def __hash__(self) -> int:
        return hash(self.variable.name)


def _first_failure(updates: Updates, state: Mapping[str, Any]) -> StepFails:
    """What goes wrong first in a state."""
    memo: dict[int, Any] = {}
    with deep_recursion():
        for effect in updates.effects:
            try:
                if all(bool(evaluate(test, state, memo)) is held for test, held in effect.path):
                    evaluate(effect.node, state, memo)
            except Exception as error:
                return _explained(error, effect.node)
        for name in updates.written:
            value = evaluate(updates.values[name], state, memo)
            try:
                updates.variables[name].range.store(value)
            except OutOfRange as error:
                what = f"'{name}' is written outside its range: {error}"
                return StepFails(what, _written_at(updates.values[name], state, memo))
    raise AssertionError("a step that fails in every state succeeds in one")


def _explained(error: Exception, node: Expression) -> StepFails:
    where = node.where if isinstance(node, Apply) else None
    if isinstance(error, EndlessFailure):
        return StepFails(str(error), error.where)
    if isinstance(error, Failure) and isinstance(node, Apply):
        return StepFails(str(error) or "it cannot be computed", where)
    return StepFails(f"{type(error).__name__}: {error}".rstrip(": "), where)


def _written_at(
    node: Expression, state: Mapping[str, Any], memo: dict[int, Any]
) -> Location | None:
    while isinstance(node, Choice):
        node = node.then if evaluate(node.test, state, memo) else node.otherwise
    return node.where if isinstance(node, Written) else None


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
