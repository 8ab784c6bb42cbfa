"""Functions by structurally recursive equations, derived from the source of a Python function.

    @recursive
    def successor(n: Positive) -> Positive:
        match n:
            case One():
                return XO(One())
            case XO(b):
                return X1(b)
            case X1(b):
                return XO(successor(b))

Every case is an equation. A call of the `Function` runs the Python function itself, an oracle that
is independent of the equations; `evaluate` and `weft.recursion.reduce` work on the equations alone.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from weft.errors import Location, WeftError
from weft.language.source import FunctionSource, free_variables, function_source
from weft.recursion.expressions import Apply, Call, Expression, Pattern, calls_in
from weft.recursion.inductive import (
    Inductive,
    InductiveMeta,
    check_token,
    is_alphabet,
    symbol_table,
    type_name,
)
from weft.recursion.terms import size

if TYPE_CHECKING:
    from numpy.random import Generator

    from weft.recursion.evaluation import CompiledFunction


Axis: TypeAlias = Callable[..., int]
"""A measure of the arguments of a call."""
Case: TypeAlias = Callable[["Generator", int], tuple[Any, ...]]
"""A sampler of special arguments of a size: called with a NumPy generator and the size."""


@dataclass(frozen=True)
class Equation:
    """One case of a function.

    Attributes:
        function: whose equation it is.
        number: from 0, in the order of the cases.
        patterns: one for each parameter.
        right: the right-hand side.
        where: the line of the case.
    """

    function: Function = field(repr=False, compare=False)
    number: int
    patterns: tuple[Pattern, ...]
    right: Expression
    where: Location | None = field(default=None, compare=False)

    @property
    def left_text(self) -> str:
        """The left-hand side: the call that the equation reduces."""
        inner = [f"({one})" if getattr(one, "arguments", ()) else str(one) for one in self.patterns]
        return " ".join([self.function.token, *inner])

    @property
    def case_text(self) -> str:
        """The patterns alone."""
        return ", ".join(map(str, self.patterns))

    @cached_property
    def recursive_calls(self) -> tuple[Apply, ...]:
        """The calls of the right-hand side that may lead back to the function."""
        group = self.function.group
        return tuple(one for one in calls_in(self.right) if one.function in group)

    def __str__(self) -> str:
        return f"{self.left_text} = {self.right}"


class Function:
    """A function on inductive types, given by equations that are checked when it is defined.

    `function(term)` runs the Python function; `function.evaluate(term)` the equations, without a
    limit of depth; `function.call(term)` is the open term from which a reduction starts.

    Attributes:
        name: of the Python function.
        token: how calls are written in terms.
        parameters: names and types.
        result: the type of its values.
        doc: the docstring.
        where: the place of its definition.
        python: the Python function.
        joins: whether it appends two lists; flat notation then writes one after the other.
        axes: measures of arguments by name: `size`, `depth` and those of its own.
        cases: samplers of special arguments by name; see `InputSampler`.

    Example:
        >>> from weft.recursion import definition
        >>> from weft.recursion.library.binary import One, X1
        >>> successor = definition("successor")
        >>> successor(X1(X1(One()))), successor.evaluate(X1(X1(One())))
        (XO(XO(XO(01))), XO(XO(XO(01))))
        >>> print(*successor.equations, sep="; ")
        successor 01 = XO 01; successor (XO b) = X1 b; successor (X1 b) = XO (successor b)
    """

    def __init__(
        self,
        name: str,
        parameters: tuple[tuple[str, InductiveMeta], ...],
        result: InductiveMeta,
        *,
        token: str | None = None,
        doc: str = "",
        where: Location | None = None,
        python: Callable[..., Any] | None = None,
        joins: bool = False,
        axes: Mapping[str, Axis] | None = None,
        cases: Mapping[str, Case] | None = None,
    ) -> None:
        self.name = name
        self.token = check_token(name if token is None else token, subject=name)
        self.parameters = parameters
        self.result = result
        self.doc = doc
        self.where = where
        self.python = python
        self.joins = joins
        self.axes: Mapping[str, Axis] = {"size": size, "depth": self.depth, **(axes or {})}
        self.cases: Mapping[str, Case] = dict(cases or {})
        self.__name__ = self.__qualname__ = name
        self.__doc__ = doc
        self.__module__ = getattr(python, "__module__", __name__)
        self._equations: tuple[Equation, ...] = ()
        self._pending: Callable[[], tuple[Equation, ...]] | None = None
        self._failure: WeftError | None = None
        self._compiled: CompiledFunction | None = None

    def __repr__(self) -> str:
        return f"<function {self.name} by equations>"

    @property
    def arity(self) -> int:
        """The number of parameters."""
        return len(self.parameters)

    @property
    def equations(self) -> tuple[Equation, ...]:
        """The equations, one for each case."""
        if not self._equations:
            from weft.recursion.define import complete

            complete(self)
        return self._equations

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """The function and all others that its reductions may call."""
        found: dict[Function, None] = {self: None}
        waiting = [self]
        while waiting:
            for equation in waiting.pop().equations:
                for call in calls_in(equation.right):
                    if call.function not in found:
                        found[call.function] = None
                        waiting.append(call.function)
        return tuple(found)

    @cached_property
    def group(self) -> tuple[Function, ...]:
        """The function and those that are mutually recursive with it."""
        return tuple(one for one in self.functions if one is self or self in one.functions)

    @cached_property
    def digest(self) -> str:
        """A hash of the types and equations on which values depend, not of names and comments."""
        kinds: dict[InductiveMeta, None] = {}
        waiting = [
            kind
            for one in self.functions
            for kind in (*(kind for _, kind in one.parameters), one.result)
        ]
        while waiting:
            kind = waiting.pop()
            if kind not in kinds:
                kinds[kind] = None
                waiting += [inner for one in kind.constructors for _, inner in one.arguments]
        lines = [str(equation) for one in self.functions for equation in one.equations]
        lines += [
            f"{kind.__name__}: {one.token} {one.weight} {one.arguments}"
            for kind in kinds
            for one in kind.constructors
        ]
        lines += [" ".join(symbol_table(kind)) for kind in kinds if is_alphabet(kind)]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    def __call__(self, *arguments: Any) -> Any:
        """The value by plain Python: the function as it is written. Its depth is Python's."""
        self.check_arguments(arguments)
        if not self.equations or self.python is None:
            return self.evaluate(*arguments)
        try:
            return self.python(*arguments)
        except RecursionError:
            raise WeftError(
                "plain Python does not recurse so deep",
                subject=self.name,
                remedy=f"Use {self.name}.evaluate(...), which has no limit of depth",
            ) from None

    def evaluate(self, *arguments: Any, max_steps: int | None = None) -> Any:
        """The value by the equations.

        Args:
            arguments: values, one for each parameter.
            max_steps: equations to apply before an error; 10 million if None.
        """
        from weft.recursion.evaluation import evaluate

        return evaluate(self, *arguments, max_steps=max_steps)

    def depth(self, *arguments: Any, max_steps: int | None = None) -> int:
        """The recursion depth of a call: the most nested recursive calls in its evaluation."""
        from weft.recursion.evaluation import recursion_depth

        return recursion_depth(self, *arguments, max_steps=max_steps)

    def call(self, *arguments: Any) -> Call:
        """The open term in which this function is applied to terms."""
        self.check_arguments(arguments, values=False)
        return tuple.__new__(Call, (self, *arguments))

    def check_arguments(self, arguments: tuple[Any, ...], values: bool = True) -> None:
        """Raise if the number or the types of arguments are wrong."""
        if len(arguments) != len(self.parameters):
            names = ", ".join(name for name, _ in self.parameters)
            raise WeftError(
                f"it takes {len(self.parameters)} ({names}), and is given {len(arguments)}",
                subject=self.name,
            )
        for (name, kind), given in zip(self.parameters, arguments, strict=True):
            if isinstance(given, kind) or (not values and has_type(given, kind)):
                continue
            what = f"its argument '{name}' is of type {type_name(given)}, not {kind.__name__}"
            raise WeftError(what, subject=self.name)


def has_type(term: Any, kind: InductiveMeta) -> bool:
    """Whether a term, which may hold calls, is of a type."""
    from weft.recursion.expressions import Open

    if isinstance(term, Call):
        return term.function.result is kind
    if isinstance(term, Open):
        return term.constructor.type is kind
    return isinstance(term, Inductive) and isinstance(term, kind)


@dataclass(frozen=True)
class Scope:
    """Where the names of a function's source are looked up.

    Attributes:
        function: the Python function.
        frame: the local names where it was defined.
    """

    function: FunctionType
    frame: Mapping[str, Any]

    def spaces(self, name: str, annotation: bool) -> Iterator[Mapping[str, Any]]:
        """The namespaces that may have a name, innermost first."""
        if name in self.function.__code__.co_freevars:
            yield free_variables(self.function)
            if not annotation:
                return
        if annotation:
            yield self.frame
        yield self.function.__globals__


@overload
def recursive(function: Callable[..., Any], /) -> Function: ...
@overload
def recursive(
    *,
    token: str | None = None,
    joins: bool = False,
    axes: Mapping[str, Axis] | None = None,
    cases: Mapping[str, Case] | None = None,
) -> Callable[[Callable[..., Any]], Function]: ...
def recursive(function: Any = None, /, **options: Any) -> Any:
    """Define a function by the cases of a Python function.

    The body is one `match` on parameters, whose cases return terms, or one `return`. Checked are
    that the cases are exhaustive and disjoint, that right-hand sides have the right types, and that
    recursion ends by the size-change principle: in every cycle of calls, an argument that is passed
    on becomes a strict subterm of itself.

    Args:
        function: the Python function.
        token: how calls are written in terms; the function's name if None.
        joins: whether the function appends two lists, which flat notation writes one after the
            other.
        axes: measures of the arguments, besides `size` and `depth`.
        cases: samplers of special arguments, called with a NumPy generator and a size.

    Returns:
        The Function.

    Raises:
        WeftError: with the line of the case that is wrong. If a function calls one that is defined
            below, the rest is checked when that one is defined.
    """
    frame = sys._getframe(1)
    local = frame.f_locals if frame.f_locals is not frame.f_globals else {}

    def define(python: Any) -> Function:
        from weft.recursion.define import define_function

        return define_function(python, _source(python), Scope(python, local), **options)

    return define if function is None else define(function)


def _source(python: Any) -> FunctionSource:
    if not isinstance(python, FunctionType):
        what = f"{python!r} is not a plain Python function"
        raise WeftError(what, remedy="Write @recursive directly above a def")
    source = function_source(python)
    if source is None:
        raise WeftError(
            "its source is not available",
            subject=python.__name__,
            remedy="Write it in a file or a notebook cell, as a def of its own",
        )
    return source
