"""Symbolic expressions over the variables of one position.

The front end turns a step into these. They are immutable and shared: equal expressions made by one
`Expressions` are the same object. Python's own functions are the operators, so that there is one
meaning; `operator.add` and its kin stay visible, so that a compiler can tell arithmetic.

Evaluation is lazy where Python is: a `Choice` evaluates its test and one side. All other nodes need
the values of all their arguments, and a value that cannot be computed (an undefined head, a
division by zero) makes the whole expression fail as it would in Python.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from weft.errors import Location
from weft.language.ranges import UNDEFINED, show_value


class Expression:
    """A node. Compare with `is`: equal nodes of one step are the same object."""

    __slots__ = ()

    def __repr__(self) -> str:
        return show(self)


@dataclass(slots=True, eq=False, repr=False)
class Constant(Expression):
    """A Python object."""

    value: Any


@dataclass(slots=True, eq=False, repr=False)
class Read(Expression):
    """The value of a variable when the step begins."""

    variable: str


@dataclass(slots=True, eq=False, repr=False)
class Apply(Expression):
    """A function of the values of its arguments.

    A `lazy` function is given `Failed` for an argument that cannot be computed, and fails only if
    it looks at it: a piece of Python that was tabulated as a whole reads what it reads.
    """

    function: Callable[..., Any]
    arguments: tuple[Expression, ...]
    where: Location | None = None
    lazy: bool = False


@dataclass(slots=True, eq=False, repr=False)
class Choice(Expression):
    """`then` if the test is true, else `otherwise`; the other side is not evaluated."""

    test: Expression
    then: Expression
    otherwise: Expression


@dataclass(slots=True, eq=False, repr=False)
class Written(Expression):
    """A value as it was assigned to a variable, with the line that assigned it."""

    value: Expression
    where: Location


class Failure(Exception):
    """The value of an expression cannot be computed."""


class EndlessFailure(Failure):
    """It cannot be computed because a loop does not end."""

    def __init__(self, what: str, where: Location) -> None:
        super().__init__(what)
        self.where = where


class Failed:
    """Stands for the value of an argument that cannot be computed."""


FAILED: Final = Failed()


class Expressions:
    """Makes expressions, shares equal ones and folds constants."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Expression] = {}
        self._tests: dict[int, Expression] = {}
        self.true = self.constant(True)
        self.false = self.constant(False)

    def _share(self, key: tuple[Any, ...], make: Callable[[], Expression]) -> Any:
        result = self._known.get(key)
        if result is None:
            result = self._known[key] = make()
        return result

    def constant(self, value: Any) -> Constant:
        """A constant."""
        return self._share((Constant, value_key(value)), lambda: Constant(value))  # type: ignore[no-any-return]

    def read(self, variable: str) -> Read:
        """A variable."""
        return self._share((Read, variable), lambda: Read(variable))  # type: ignore[no-any-return]

    def apply(
        self,
        function: Callable[..., Any],
        *arguments: Expression,
        where: Location | None = None,
        lazy: bool = False,
    ) -> Expression:
        """A function application, folded if all arguments are constants."""
        if all(isinstance(argument, Constant) for argument in arguments) and not lazy:
            values = [argument.value for argument in arguments]  # type: ignore[attr-defined]
            try:
                return self.constant(function(*values))
            except Exception:  # fails when it is reached, as in Python
                pass
        key = (Apply, value_key(function), *map(id, arguments))
        return self._share(key, lambda: Apply(function, arguments, where, lazy))  # type: ignore[no-any-return]

    def choice(self, test: Expression, then: Expression, otherwise: Expression) -> Expression:
        """A choice between two expressions, simplified if the test decides nothing."""
        test = self.as_test(test)
        if isinstance(test, Constant):
            return then if test.value else otherwise
        if isinstance(test, Apply) and test.function is operator.not_:
            return self.choice(test.arguments[0], otherwise, then)
        if then is otherwise:
            return then
        if isinstance(then, Choice) and then.test is test:
            then = then.then
        if isinstance(otherwise, Choice) and otherwise.test is test:
            otherwise = otherwise.otherwise
        return self._choice(test, then, otherwise)

    def _choice(self, test: Expression, then: Expression, otherwise: Expression) -> Expression:
        if then is otherwise:
            return then
        key = (Choice, id(test), id(then), id(otherwise))
        return self._share(key, lambda: Choice(test, then, otherwise))  # type: ignore[no-any-return]

    def as_test(self, test: Expression) -> Expression:
        """The simplest expression with the same truth value.

        `a and b` becomes `b if a else False`, and `a or b` becomes `True if a else b`.
        """
        if not isinstance(test, Choice):
            return test
        if id(test) not in self._tests:
            self._tests[id(test)] = self._as_test(test)
        return self._tests[id(test)]

    def _as_test(self, test: Choice) -> Expression:
        then = self._side(test.test, test.then, True)
        otherwise = self._side(test.test, test.otherwise, False)
        if then is self.true and otherwise is self.false:
            return test.test
        if then is self.false and otherwise is self.true:
            return self.negated(test.test)
        if then is test.then and otherwise is test.otherwise:
            return test
        return self.as_test(self._choice(test.test, then, otherwise))

    def _side(self, test: Expression, side: Expression, held: bool) -> Expression:
        """The truth of one side of a choice, given what the test was."""
        if side is test:
            return self.true if held else self.false
        if isinstance(side, Apply) and side.function is operator.not_:
            if side.arguments[0] is test:
                return self.false if held else self.true
        if isinstance(side, Constant):
            return self.true if side.value else self.false
        return self.as_test(side)

    def written(self, value: Expression, where: Location) -> Expression:
        """A value with the line that wrote it."""
        return self._share((Written, id(value), where), lambda: Written(value, where))  # type: ignore[no-any-return]

    def negated(self, test: Expression) -> Expression:
        """The opposite truth value."""
        if isinstance(test, Apply) and test.function is operator.not_:
            return self.apply(operator.truth, *test.arguments)
        return self.apply(operator.not_, test)

    def both(self, left: Expression, right: Expression) -> Expression:
        """Python's `left and right`."""
        return self.choice(left, right, left)

    def either(self, left: Expression, right: Expression) -> Expression:
        """Python's `left or right`."""
        return self.choice(left, left, right)

    def on_path(
        self, path: tuple[tuple[Expression, bool], ...], node: Expression, otherwise: Expression
    ) -> Expression:
        """A node if every test of a path has its outcome, something else if not."""
        for test, held in reversed(path):
            node = self.choice(test, *((node, otherwise) if held else (otherwise, node)))
        return node


def literals(test: Expression, held: bool) -> tuple[tuple[Expression, bool], ...]:
    """The tests that must all come out as given for this one to; `a and b` is two of them."""
    if isinstance(test, Apply) and test.function is operator.not_:
        return literals(test.arguments[0], not held)
    if isinstance(test, Choice):
        for side, other, taken in (
            (test.then, test.otherwise, False),
            (test.otherwise, test.then, True),
        ):
            if isinstance(side, Constant) and bool(side.value) is not held:
                return (*literals(test.test, taken), *literals(other, held))
    return ((test, held),)


def value_key(value: Any) -> Any:
    """Equal keys mean values that no program can tell apart: True is not 1, and 1.0 neither."""
    kind = type(value)
    if kind in (tuple, list):
        return kind, tuple(value_key(item) for item in value)
    if kind in (frozenset, set):
        return kind, frozenset(value_key(item) for item in value)
    if kind is float:
        return kind, value.hex()
    if kind in (int, bool, str, bytes, type(None)):
        return kind, value
    try:
        hash(value)
    except TypeError:
        return _Identity(value)
    return kind, value


class _Identity:
    """A key for an object that is compared by identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def children(node: Expression) -> tuple[Expression, ...]:
    """The child nodes, in the order in which Python evaluates them."""
    match node:
        case Apply(arguments=arguments):
            return arguments
        case Choice(test=test, then=then, otherwise=otherwise):
            return test, then, otherwise
        case Written(value=value):
            return (value,)
    return ()


def walk(*roots: Expression) -> Iterator[Expression]:
    """Every node once, parents before children, in the order of the source."""
    seen: set[int] = set()
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            stack.extend(reversed(children(node)))


def read_nodes(*roots: Expression) -> list[Read]:
    """The nodes that read a variable, in the order of `walk`."""
    return [node for node in walk(*roots) if isinstance(node, Read)]


def reads(*roots: Expression) -> list[str]:
    """The variables that an expression depends on, in the order of the source."""
    return [node.variable for node in read_nodes(*roots)]


def evaluate(node: Expression, state: Mapping[str, Any], memo: dict[int, Any] | None = None) -> Any:
    """The value in a state; raises what Python would raise, and `Failure` for an undefined head.

    Expressions share their parts; `memo` keeps their values, and can be handed on from one
    expression to the next in the same state.
    """
    memo = {} if memo is None else memo
    if id(node) in memo:
        return memo[id(node)]
    result = memo[id(node)] = _evaluate(node, state, memo)
    return result


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Unrolled loops nest deeply, and Python's default limit is low."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 50_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _evaluate(node: Expression, state: Mapping[str, Any], memo: dict[int, Any]) -> Any:
    match node:
        case Constant(value=value):
            return value
        case Read(variable=variable):
            if state[variable] is UNDEFINED:
                raise Failure(variable)
            return state[variable]
        case Choice(test=test, then=then, otherwise=otherwise):
            return evaluate(then if evaluate(test, state, memo) else otherwise, state, memo)
        case Written(value=inner):
            return evaluate(inner, state, memo)
        case Apply(function=function, arguments=arguments, lazy=lazy):
            if lazy:
                return function(*[evaluate_or_fail(a, state, memo) for a in arguments])
            # A list, not a generator: deep expressions must not use up the stack of C.
            return function(*[evaluate(argument, state, memo) for argument in arguments])
    raise TypeError(node)


def evaluate_or_fail(node: Expression, state: Mapping[str, Any], memo: dict[int, Any]) -> Any:
    """The value in a state, or `FAILED` if it cannot be computed."""
    try:
        return evaluate(node, state, memo)
    except Exception:
        return FAILED


_INFIX: dict[Any, tuple[str, int]] = {
    operator.pow: ("**", 9),
    operator.mul: ("*", 7),
    operator.floordiv: ("//", 7),
    operator.truediv: ("/", 7),
    operator.mod: ("%", 7),
    operator.add: ("+", 6),
    operator.sub: ("-", 6),
    operator.lshift: ("<<", 5),
    operator.rshift: (">>", 5),
    operator.and_: ("&", 4),
    operator.xor: ("^", 3),
    operator.or_: ("|", 2),
    operator.eq: ("==", 1),
    operator.ne: ("!=", 1),
    operator.lt: ("<", 1),
    operator.le: ("<=", 1),
    operator.gt: (">", 1),
    operator.ge: (">=", 1),
}


LONG = 40
"""An expression with more nodes than this is shown as a function of its variables."""


def _length(node: Expression) -> int:
    """The number of nodes of an expression, counted only as far as `LONG`."""
    total = 1
    for child in children(node):
        total += _length(child)
        if total > LONG:
            break
    return total


def show(node: Expression, strength: int = -1) -> str:
    """An expression as Python would write it; a long one as a function of its variables."""
    if _length(node) > LONG:
        return f"f({', '.join(reads(node))})"
    match node:
        case Constant(value=value):
            return getattr(value, "__name__", None) or show_value(value)
        case Read(variable=variable):
            return variable
        case Written(value=inner):
            return show(inner, strength)
        case Choice(test=test, then=then, otherwise=otherwise):
            if otherwise is test or _is_constant(otherwise, False):
                return _wrap(f"{show(test, 0)} and {show(then, 0)}", 0, strength)
            if then is test or _is_constant(then, True):
                return _wrap(f"{show(test, 0)} or {show(otherwise, 0)}", 0, strength)
            text = f"{show(then, 0)} if {show(test, 0)} else {show(otherwise, -1)}"
            return _wrap(text, -1, strength)
        case Apply(function=function, arguments=arguments):
            return _show_apply(function, arguments, strength)
    raise TypeError(node)


def _is_constant(node: Expression, value: bool) -> bool:
    return isinstance(node, Constant) and node.value is value


def _show_apply(function: Any, arguments: tuple[Expression, ...], strength: int) -> str:
    if function in _INFIX and len(arguments) == 2:
        sign, own = _INFIX[function]
        left, right = show(arguments[0], own - 1), show(arguments[1], own)
        return _wrap(f"{left} {sign} {right}", own, strength)
    text = getattr(function, "text", None)
    if text is not None:
        return f"`{text}`"
    infix = getattr(function, "infix", None)
    if infix is not None:
        left, right = show(arguments[0], 1), show(arguments[1], 1)
        return _wrap(f"{left} {infix} {right}", 1, strength)
    if function is operator.not_:
        return _wrap(f"not {show(arguments[0], 0)}", 0, strength)
    if function is operator.getitem:
        return f"{show(arguments[0], 10)}[{show(arguments[1])}]"
    name = getattr(function, "__name__", None) or str(function)
    return f"{name}({', '.join(show(argument) for argument in arguments)})"


def _wrap(text: str, own: int, strength: int) -> str:
    return f"({text})" if own <= strength else text
