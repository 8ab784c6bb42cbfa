"""The state of a symbolic execution: what every variable and local name stands for, and when.

Both sides of a branch are executed, each under its own path, and then merged: after
`if test: z.x = 1` the variable stands for `1 if test else x`. Early returns, `break` and `continue`
are merged likewise: what follows them is executed under the condition that they did not happen.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Final, TypeVar

from weft.errors import Location, WeftError
from weft.language.bounded import ROUNDS
from weft.language.expressions import (
    Apply,
    Choice,
    Constant,
    Expression,
    Expressions,
    Written,
    children,
    literals,
)
from weft.language.program import Variable
from weft.language.source import FunctionSource
from weft.language.tables import Tables

Result = TypeVar("Result")


class NotUnderstood(Exception):
    """A construct that cannot be followed symbolically; callers tabulate it if they can."""

    def __init__(self, reason: str, where: Location | None = None, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.where = where
        self.remedy = remedy


MAX_WORK = 10_000_000
"""Limit of the work of a derivation: table entries, iterations of tabulated loops, tests."""
ENDLESS_WORK = 10 * ROUNDS
"""Work counted for a state in which a loop does not end."""
STEP_WORK = 20
"""Work counted for following one syntax node."""


class Exhausted(BaseException):
    """The derivation takes too much work; not an `Exception`, so that no table takes it."""


class EscapedState(BaseException):
    """Code that is executed as it stands uses the state as a value; no table takes it."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class StateReference:
    """What the parameter `z` stands for: the state itself, not a value."""


STATE: Final = StateReference()

Operand = Any
"""An `Expression`, `STATE`, a function defined within the step, or a `Fork` of these."""


@dataclass(frozen=True)
class Effect:
    """Something computed on a path: if it cannot be computed there, the step fails."""

    path: tuple[tuple[Expression, bool], ...]
    node: Expression


@dataclass
class Frame:
    """A call being executed: its local names, and whether it has returned, broken or continued."""

    source: FunctionSource
    names: Mapping[str, Any]
    function: FunctionType | None
    locals: dict[str, Operand]
    result: Expression
    returned: Expression
    broke: Expression
    continued: Expression
    parent: Frame | None = None
    body: ast.AST | None = None  # the function defined within the step that is being called


@dataclass
class BranchState:
    """All that a branch can change."""

    values: dict[str, Expression]
    locals: dict[str, Operand]
    flow: tuple[Expression, Expression, Expression, Expression]


@dataclass
class SymbolicMachine:
    """A symbolic execution of one step."""

    variables: Mapping[str, Variable]
    owner: str
    make: Expressions = field(default_factory=Expressions)
    values: dict[str, Expression] = field(default_factory=dict)
    path: tuple[tuple[Expression, bool], ...] = ()
    effects: list[Effect] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    tables: Tables = field(init=False)
    work: int = 0
    endless: Location | None = None  # a loop that does not end in some state
    finished: bool = False  # what is computed of a finished derivation is not work of it
    _unbound: dict[int, bool] = field(default_factory=dict)
    _facts: dict[int, bool] = field(default_factory=dict)
    _plain: dict[int, Expression] = field(default_factory=dict)
    _recorded: dict[int, list[tuple[tuple[Expression, bool], ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tables = Tables(self.variables)
        self.values = {name: self.make.read(name) for name in self.variables}

    @property
    def frame(self) -> Frame:
        """The call being executed."""
        return self.frames[-1]

    def new_frame(
        self,
        source: FunctionSource,
        names: Mapping[str, Any],
        function: Any,
        bound: dict[str, Operand],
    ) -> Frame:
        """A call with these local names, which has returned nothing yet."""
        no, none = self.make.false, self.make.constant(None)
        return Frame(source, names, function, bound, none, no, no, no)

    def where(self, node: Any) -> Location:
        """Where a fragment of syntax of the current function stands."""
        return self.frame.source.location(node)

    # Values

    def computed(self, node: Expression) -> Expression:
        """Note that a value is computed on this path, and hand it on."""
        if not isinstance(node, Constant):
            paths = self._recorded.setdefault(id(node), [])
            if not any(self.path[: len(path)] == path for path in paths):
                paths.append(self.path)
                self.effects.append(Effect(self.path, node))
        return node

    def apply(
        self,
        function: Callable[..., Any],
        *arguments: Expression,
        where: Location | None = None,
        lazy: bool = False,
    ) -> Expression:
        """A function applied on this path."""
        return self.computed(self.make.apply(function, *arguments, where=where, lazy=lazy))

    def read(self, variable: str) -> Expression:
        """What a variable stands for now."""
        value = self.known(self.plain(self.values[variable]))
        return self.computed(value) if self.variables[variable].is_head else value

    def write(self, variable: str, value: Expression, where: Location) -> None:
        """Let a variable stand for something else."""
        self.values[variable] = self.make.written(value, where)

    def plain(self, node: Expression) -> Expression:
        """The value without the notes on who wrote it."""
        if isinstance(node, Written):
            return node.value
        if not isinstance(node, Choice):
            return node
        if id(node) not in self._plain:
            result = self.make.choice(node.test, self.plain(node.then), self.plain(node.otherwise))
            self._plain[id(node)] = result
        return self._plain[id(node)]

    def may_be_unbound(self, node: Expression) -> bool:
        """Whether a local name that was never assigned is somewhere in a value."""
        result = self._unbound.get(id(node))
        if result is None:
            result = is_unbound(node) or any(self.may_be_unbound(n) for n in children(node))
            self._unbound[id(node)] = result
        return result

    def tabulated(self, node: Expression, where: Location) -> None:
        """Make the table of an expression; too large a one is an error that names the step."""
        try:
            self.spend(len(self.tables.of(node).entries))
        except WeftError as error:
            subject = f"{self.owner}.step"
            raise error.revised(subject=subject, where=error.where or where) from None

    def known(self, node: Expression) -> Expression:
        """The node with the tests at its top decided that this path decides."""
        while isinstance(node, Choice):
            decided = self.decided(node.test)
            if decided is None:
                return node
            node = node.then if decided else node.otherwise
        return node

    def decided(self, test: Expression) -> bool | None:
        """What this path says of a test."""
        if isinstance(test, Constant):
            return bool(test.value)
        if isinstance(test, Apply) and test.function is operator.not_:
            inner = self.decided(test.arguments[0])
            return None if inner is None else not inner
        held = self._facts.get(id(test))
        if held is None and isinstance(test, Choice):  # `a and b` is on the path as `a` and as `b`
            first = self.decided(test.test)
            if first is not None:
                return self.decided(test.then if first else test.otherwise)
        return held

    def _go(self, path: tuple[tuple[Expression, bool], ...]) -> None:
        """Be on a path from here on."""
        self.path = path
        self._facts = {id(test): held for test, held in reversed(path)}

    # Work

    def spend(self, work: int) -> None:
        """Count work; a step that takes too much of it is given up rather than left to run."""
        self.work += 0 if self.finished else work
        if self.work > MAX_WORK:
            raise Exhausted

    def spend_endless(self, where: Location) -> None:
        """Count a state in which a loop does not end."""
        self.endless = self.endless or where
        self.spend(ENDLESS_WORK)

    # Flow

    def settled(self, operand: Operand) -> Operand:
        """The operand without the forks that this path decides."""
        while isinstance(operand, Fork):
            decided = self.decided(operand.test)
            if decided is None:
                return operand
            operand = operand.then if decided else operand.otherwise
        return operand

    def each(self, operand: Operand, action: Callable[[Operand], Operand]) -> Operand:
        """Do something with an operand, on a path for each thing that it may be."""
        operand = self.settled(operand)
        if not isinstance(operand, Fork):
            return action(operand)
        fork = operand
        return self.branch(
            fork.test,
            lambda: self.each(fork.then, action),
            lambda: self.each(fork.otherwise, action),
            self.join,
        )

    def join(self, test: Expression, yes: Operand, no: Operand) -> Operand:
        """One of two operands: a choice of values, a fork where one of them is not a value."""
        if yes is no:
            return yes
        if isinstance(yes, Expression) and isinstance(no, Expression):
            return self.make.choice(test, yes, no)
        return Fork(test, yes, no)

    def branch(
        self,
        test: Expression,
        then: Callable[[], Result],
        otherwise: Callable[[], Result],
        join: Callable[[Expression, Result, Result], Result] | None = None,
    ) -> Result:
        """Execute both sides, each on its path, and merge what they did."""
        test = self.make.as_test(self.known(test))
        decided = self.decided(test)
        if decided is not None:
            return then() if decided else otherwise()
        if isinstance(test, Apply) and test.function is operator.not_:
            test, then, otherwise = test.arguments[0], otherwise, then
            flipped = True
        else:
            flipped = False
        path, before = self.path, self._snapshot()
        self._go((*path, *literals(test, True)))
        yes = then()
        after_then = self._snapshot()
        self._go((*path, *literals(test, False)))
        self._restore(before)
        no = otherwise()
        after_otherwise = self._snapshot()
        self._go(path)
        self._merge(test, after_then, after_otherwise)
        if join is None:
            return yes
        return join(self.make.negated(test), no, yes) if flipped else join(test, yes, no)

    def when_live(self, action: Callable[[], None]) -> bool:
        """Do something unless the call or its loop has been left; False if it surely has."""
        frame = self.frame
        stopped = self.make.either(frame.returned, self.make.either(frame.broke, frame.continued))
        stopped = self.make.as_test(self.known(stopped))
        decided = self.decided(stopped)
        if decided is not None:
            if not decided:
                action()
            return not decided
        self.branch(stopped, lambda: None, lambda: self._resume(action))
        return True

    def _resume(self, action: Callable[[], None]) -> None:
        frame, no = self.frame, self.make.false
        frame.returned = frame.broke = frame.continued = no
        action()

    def attempt(
        self, action: Callable[[], Result], fallback: Callable[[NotUnderstood], Result]
    ) -> Result:
        """Try to follow something; if that fails, undo the attempt and do the alternative."""
        self.spend(STEP_WORK + len(self.path))
        before, path, depth = self._snapshot(), self.path, len(self.frames)
        effects = len(self.effects)
        try:
            return action()
        except NotUnderstood as reason:
            del self.frames[depth:]
            self._restore(before)
            self._go(path)
            for effect in self.effects[effects:]:
                self._recorded[id(effect.node)].remove(effect.path)
            del self.effects[effects:]
            return fallback(reason)

    def _snapshot(self) -> BranchState:
        frame = self.frame
        flow = (frame.result, frame.returned, frame.broke, frame.continued)
        return BranchState(dict(self.values), dict(frame.locals), flow)

    def _restore(self, snapshot: BranchState) -> None:
        frame = self.frame
        self.values = dict(snapshot.values)
        frame.locals = dict(snapshot.locals)
        frame.result, frame.returned, frame.broke, frame.continued = snapshot.flow

    def _merge(self, test: Expression, then: BranchState, otherwise: BranchState) -> None:
        choice = self.make.choice
        self.values = {
            name: choice(test, value, otherwise.values[name]) for name, value in then.values.items()
        }
        frame = self.frame
        frame.locals = {
            name: self.join(
                test,
                then.locals.get(name, self.unbound(name)),
                otherwise.locals.get(name, self.unbound(name)),
            )
            for name in {**then.locals, **otherwise.locals}
        }
        frame.result, frame.returned, frame.broke, frame.continued = (
            choice(test, yes, no) for yes, no in zip(then.flow, otherwise.flow, strict=True)
        )

    def unbound(self, name: str) -> Expression:
        """What a local name stands for before it is assigned."""
        return self.make.apply(Unbound(name))


@dataclass(frozen=True, eq=False)
class LocalFunction:
    """A function or lambda that is defined within the step.

    Attributes:
        node: its syntax.
        frame: the call in which it was defined.
        defaults: the values of its defaults, as they were when it was defined.
    """

    node: ast.FunctionDef | ast.Lambda
    frame: Frame
    defaults: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Fork:
    """One of two operands that are not both values: a name that stands for either function."""

    test: Expression
    then: Operand
    otherwise: Operand


def is_unbound(operand: Operand) -> bool:
    """Whether a local name has surely not been assigned."""
    return isinstance(operand, Apply) and isinstance(operand.function, Unbound)


@dataclass(frozen=True)
class Unbound:
    """Reading a local name that was never assigned."""

    name: str

    def __call__(self) -> Any:
        raise UnboundLocalError(f"local variable '{self.name}' is read before it is assigned")
