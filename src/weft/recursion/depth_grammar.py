"""The inputs of a function by recursion depth, as a grammar that is derived from its equations.

The inputs that an equation matches are its patterns with terms for the variables. Their depth is 0
if the equation makes no recursive call. Otherwise it is one more than the largest depth of its
recursive calls, whose arguments are variables: these are inputs of the called function. Equations
are exhaustive and disjoint, so every input has exactly one derivation, and inputs of a size and
depth can be counted and drawn uniformly.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError
from weft.recursion.expressions import Apply, Match, Pattern, Variable, variables
from weft.recursion.grammar import Grammar, Production
from weft.recursion.inductive import InductiveMeta, is_alphabet

if TYPE_CHECKING:
    from weft.recursion.function import Equation, Function

_new: Any = tuple.__new__


def depth_grammar(function: Function) -> Grammar:
    """The grammar whose kind `function` are its argument tuples, with the depth as level.

    Raises:
        WeftError: if a recursive call has an argument that is not a variable, or a variable is
            passed to two recursive calls: its inputs of a depth are not counted by this.
    """
    from weft.recursion.sampling import productions_of

    found: dict[Hashable, list[Production]] = {}
    for one in function.group:
        found[one] = [_production(equation) for equation in one.equations]
    for one in function.group:
        for equation in one.equations:
            for pattern in equation.patterns:
                for kind in _types(pattern):
                    if not is_alphabet(kind):
                        found |= productions_of(kind)
    return Grammar(found, set(function.group))


def _types(pattern: Pattern) -> list[InductiveMeta]:
    if isinstance(pattern, Variable):
        return [pattern.type]
    return [kind for one in pattern.arguments for kind in _types(one)]


def _production(equation: Equation) -> Production:
    """The inputs that an equation matches."""
    function = equation.function
    patterns: list[Pattern] = []
    for number, ((name, _), pattern) in enumerate(
        zip(function.parameters, equation.patterns, strict=True)
    ):
        if isinstance(pattern, Variable):
            patterns.append(Variable(name, pattern.type))
        else:
            patterns.append(_named(pattern, f"{number}"))
    bound = [one for pattern in patterns for one in variables(pattern)]
    renamed = {
        one.name: name
        for (name, _), one in zip(function.parameters, equation.patterns, strict=True)
        if isinstance(one, Variable)
    }
    weight = sum(_weight(pattern) for pattern in patterns)
    parts: list[Hashable] = []
    takers: list[list[str]] = []
    used: set[str] = set()
    for call in equation.recursive_calls:
        taken = _arguments(equation, call, used, {one.name for one in bound}, renamed)
        parts.append(call.function)
        takers.append(taken)
    free = [one for one in bound if one.name not in used and not is_alphabet(one.type)]
    drawn = [one for one in bound if one.name not in used and is_alphabet(one.type)]
    parts += [one.type for one in free]

    def make(*given: Any) -> tuple[Any, ...]:
        values: dict[str, Any] = {}
        for taken, value in zip(takers, given, strict=False):
            values.update(zip(taken, value, strict=True))
        for one, value in zip(free, given[len(takers) :], strict=False):
            values[one.name] = value
        for one in drawn:
            values[one.name] = given[-1](one.type)
        return tuple(_filled(pattern, values) for pattern in patterns)

    rise = 1 if takers else 0
    return Production(weight, rise, tuple(parts), make, bool(drawn))


def _named(pattern: Pattern, path: str) -> Pattern:
    """A pattern with a name for every wildcard."""
    if isinstance(pattern, Variable):
        return Variable(f"_{path}", pattern.type) if pattern.name == "_" else pattern
    inner = (_named(one, f"{path}_{number}") for number, one in enumerate(pattern.arguments))
    return Match(pattern.head, tuple(inner))


def _weight(pattern: Pattern) -> int:
    if isinstance(pattern, Variable) or not isinstance(pattern.head, InductiveMeta):
        return 0
    return pattern.head.weight + sum(_weight(one) for one in pattern.arguments)


def _arguments(
    equation: Equation, call: Apply, used: set[str], bound: set[str], renamed: dict[str, str]
) -> list[str]:
    """The variables that are the arguments of a recursive call, each used there alone."""
    taken = []
    for argument in call.arguments:
        name = renamed.get(argument.name, argument.name) if isinstance(argument, Variable) else ""
        if name not in bound or name in used:
            raise WeftError(
                f"inputs of a recursion depth cannot be counted: in the recursive call {call}, "
                f"'{argument}' is not a variable of its own",
                subject=equation.function.name,
                where=equation.where,
                remedy="Draw inputs by size, or write a sampler of cases",
            )
        used.add(name)
        taken.append(name)
    return taken


def _filled(pattern: Pattern, values: dict[str, Any]) -> Any:
    """The term of a pattern with values for its variables."""
    if isinstance(pattern, Variable):
        return values[pattern.name]
    if not isinstance(pattern.head, InductiveMeta):
        return pattern.head
    inner = tuple(_filled(one, values) for one in pattern.arguments)
    return _new(pattern.head, inner) if inner else pattern.head._only
