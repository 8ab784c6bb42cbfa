"""Evaluation by the equations: compiled to Python, and without a limit of depth.

The equations of a function and of all that it calls are compiled once, in two forms. The direct
form consists of Python functions that call each other. The other form consists of generators that
yield the calls they need to a loop, which keeps the stack; it is slower, has no limit of depth, and
takes over where Python's recursion limit ends the direct form. Both count the equations applied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.errors import WeftError
from weft.recursion.codegen import OutOfSteps, compile_evaluation

if TYPE_CHECKING:
    from weft.recursion.function import Function

MAX_STEPS = 10_000_000
"""Equations that an evaluation applies before it is an error."""


def evaluate(function: Function, *arguments: Any, max_steps: int | None = None) -> Any:
    """The value of a function by its equations, call by value.

    Args:
        function: the function.
        arguments: values, one for each parameter.
        max_steps: equations to apply before an error; MAX_STEPS if None.

    Raises:
        WeftError: if the arguments have the wrong types, or after `max_steps` equations.
    """
    function.check_arguments(arguments)
    limit = MAX_STEPS if max_steps is None else max_steps
    try:
        return compiled(function).value(arguments, limit)
    except OutOfSteps:
        raise too_long(function, limit) from None


def recursion_depth(function: Function, *arguments: Any, max_steps: int | None = None) -> int:
    """The largest number of nested recursive calls in the evaluation of a call.

    Recursive are the calls of the function itself and of those mutually recursive with it; calls of
    auxiliary functions do not count.

    Example:
        >>> from weft.recursion import definition, recursion_depth
        >>> from weft.recursion.library.binary import One, X1
        >>> recursion_depth(definition("successor"), X1(X1(One())))
        2
    """
    return measure(function, *arguments, max_steps=max_steps).depth


class Measure(NamedTuple):
    """What an evaluation gives.

    Attributes:
        value: the value.
        depth: the recursion depth: the largest number of nested recursive calls.
        equations: how many equations were applied.
    """

    value: Any
    depth: int
    equations: int


def measure(function: Function, *arguments: Any, max_steps: int | None = None) -> Measure:
    """The value of a call, with its recursion depth and the number of equations applied.

    Example:
        >>> from weft.recursion import definition, measure
        >>> from weft.recursion.library.binary import One, X1
        >>> measure(definition("successor"), X1(X1(One())))
        Measure(value=XO(XO(XO(01))), depth=2, equations=3)
    """
    function.check_arguments(arguments)
    limit = MAX_STEPS if max_steps is None else max_steps
    try:
        return compiled(function).measure(arguments, limit)
    except OutOfSteps:
        raise too_long(function, limit) from None


def too_long(function: Function, limit: int) -> WeftError:
    """The error about an evaluation with too many steps."""
    return WeftError(
        f"its evaluation takes more than {limit:,} steps",
        subject=function.name,
        remedy="Give a smaller term, or more steps (max_steps)",
    )


def compiled(function: Function) -> CompiledFunction:
    """The compiled equations of a function, made at its first evaluation."""
    if function._compiled is None:
        function._compiled = CompiledFunction(function)
    return function._compiled


class CompiledFunction:
    """A function and all that it calls as Python code.

    Attributes:
        function: the function.
        applied: equations that the last evaluation applied.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.applied = 0
        self._fuel = [0, 0, 0]  # equations left, depth now, greatest depth
        self._direct = compile_evaluation(function, self._fuel)
        self._measured: Callable[..., Any] | None = None
        self._generators: Callable[..., Any] | None = None

    def value(self, arguments: tuple[Any, ...], limit: int) -> Any:
        """The value for arguments of the right types; raises OutOfSteps after `limit` equations."""
        return self._run(self._direct, arguments, limit)

    def measure(self, arguments: tuple[Any, ...], limit: int) -> Measure:
        """The value, the depth and the number of equations."""
        if self._measured is None:
            self._measured = compile_evaluation(self.function, self._fuel, counted=True)
        value = self._run(self._measured, arguments, limit)
        return Measure(value, self._fuel[2] - 1, self.applied)

    def _run(self, code: Callable[..., Any], arguments: tuple[Any, ...], limit: int) -> Any:
        """The value by one form, or by generators where Python's recursion ends it."""
        fuel = self._fuel
        fuel[:] = (limit, 0, 0)
        try:
            result = code(*arguments)
        except RecursionError:
            if self._generators is None:
                self._generators = compile_evaluation(
                    self.function, fuel, counted=True, generators=True
                )
            fuel[:] = (limit, 0, 0)
            result = run_generators(self._generators(*arguments))
        self.applied = limit - fuel[0]
        return result


def run_generators(start: Any) -> Any:
    """The value that a generator returns, which yields the generators of the calls it needs."""
    stack, value = [start], None
    while stack:
        try:
            called = stack[-1].send(value)
        except StopIteration as ended:
            stack.pop()
            value = ended.value
        else:
            stack.append(called)
            value = None
    return value
