"""Functions of the state of a position, from which a plan is put together.

Each call makes a function of its own: the front end, which derives rules from a step, follows calls
of different functions, but not a function that calls itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from weft.crasp.expressions import Operator

if TYPE_CHECKING:
    from weft.crasp.bridge.left_to_right import CountLine, RunningSum

Function = Callable[[Any], Any]
"""A function of the state of a position: a Boolean or an integer."""


def read(name: str) -> Function:
    """The value of a variable."""

    def function(z: Any) -> Any:
        return z[name]

    return function


def constant(value: bool) -> Function:
    """The same value everywhere."""

    def function(z: Any) -> Any:
        return value

    return function


def negation(operand: Function) -> Function:
    """The negation of a Boolean."""

    def function(z: Any) -> Any:
        return not operand(z)

    return function


def conjunction(operands: tuple[Function, ...]) -> Function:
    """Whether all of some Booleans hold."""

    def function(z: Any) -> Any:
        return all(operand(z) for operand in operands)

    return function


def disjunction(operands: tuple[Function, ...]) -> Function:
    """Whether one of some Booleans holds."""

    def function(z: Any) -> Any:
        return any(operand(z) for operand in operands)

    return function


def equals(value: Function, number: int) -> Function:
    """Whether an integer is this number."""

    def function(z: Any) -> Any:
        return value(z) == number

    return function


def at_most(value: Function, number: int) -> Function:
    """Whether an integer is at most this number."""

    def function(z: Any) -> Any:
        return value(z) <= number

    return function


def among(value: Function, numbers: tuple[int, ...]) -> Function:
    """Whether an integer is one of some numbers."""

    def function(z: Any) -> Any:
        return value(z) in numbers

    return function


def successor(left: str, period: int) -> Function:
    """The left neighbour's value plus 1, modulo a period."""

    def function(z: Any) -> Any:
        return (z[left] + 1) % period

    return function


def compared(operator: Operator, value: Function) -> Function:
    """A comparison with 0."""
    if operator in ("==", "!="):
        test = equals(value, 0)
    else:
        test = at_most(value, 0 if operator in ("<=", ">") else -1)
    return negation(test) if operator in ("!=", ">", ">=") else test


def total(
    constant: int, running: RunningSum | None, scale: int, near: tuple[tuple[Function, int], ...]
) -> Function:
    """A constant, a multiple of a running sum, and Booleans with coefficients."""

    def function(z: Any) -> Any:
        result = constant
        if running is not None:
            result += scale * (z[running.name] + running.low)
        for test, coefficient in near:
            result += coefficient * bool(test(z))
        return result

    return function


def choice(condition: Function, then: Function, otherwise: Function) -> Function:
    """One value if a Boolean holds, otherwise another."""

    def function(z: Any) -> Any:
        return then(z) if condition(z) else otherwise(z)

    return function


def signed_sum(parts: tuple[tuple[Function, int], ...]) -> Function:
    """A sum of values with signs."""

    def function(z: Any) -> Any:
        return sum(sign * part(z) for part, sign in parts)

    return function


def less_low(value: Function, line: CountLine) -> Function:
    """The value of a count line less its smallest."""

    def function(z: Any) -> Any:
        return value(z) - line.low

    return function


def accumulated(
    running: RunningSum, left: str, bodies: tuple[tuple[Function, int], ...]
) -> Function:
    """A running sum: the left neighbour's, and what is counted here."""

    def function(z: Any) -> Any:
        result = z[left]
        for body, coefficient in bodies:
            if body(z):
                result += coefficient
        if running.saturates:
            result = min(max(result, 0), running.high - running.low)
        return result

    return function


def first(choices: tuple[tuple[int, Function], ...], none: int) -> Function:
    """The number of the first Boolean that holds; `none` if none does."""

    def function(z: Any) -> Any:
        for number, test in choices:
            if test(z):
                return number
        return none

    return function
