"""The inputs of a function by recursion depth, as a grammar that is derived from its equations.

The inputs that an equation matches are its patterns with terms for the variables. Their depth is 0
if the equation makes no recursive call. Otherwise it is one more than the largest depth of its
recursive calls, whose arguments are variables: these are inputs of the called function. Equations
are exhaustive and disjoint, so every input has exactly one derivation, and inputs of a size and
depth can be counted and drawn uniformly. Parameters on which no function of the group matches, such
as accumulators, do not influence the depth and are drawn freely.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError
from weft.recursion.expressions import (
    Apply,
    Expression,
    Match,
    Pattern,
    Variable,
    variables,
)
from weft.recursion.grammar import Grammar, Production
from weft.recursion.inductive import InductiveMeta, is_alphabet

if TYPE_CHECKING:
    from weft.recursion.function import Equation, Function

_new: Any = tuple.__new__


def depth_grammar(function: Function) -> Grammar:
    """The grammar whose kind `arguments` are argument tuples, with the depth as level.

    Raises:
        WeftError: if a recursive call is made on the value of another call, or on a variable that
            another recursive call uses: inputs of a depth are not counted by this grammar then.
    """
    from weft.recursion.sampling import productions_of

    places = _deciding(function.group)
    found: dict[Hashable, list[Production]] = {}
    for one in function.group:
        found[one] = [_production(equation, places) for equation in one.equations]
        for equation in one.equations:
            for pattern in equation.patterns:
                for kind in _types(pattern):
                    if not is_alphabet(kind):
                        found |= productions_of(kind)
    free = [kind for number, (_, kind) in enumerate(function.parameters)
            if number not in places[function]]  # fmt: skip
    parts = [function, *(kind for kind in free if not is_alphabet(kind))]
    draws = any(map(is_alphabet, free))

    def make(deciding: tuple[Any, ...], *given: Any) -> tuple[Any, ...]:
        decided, others = iter(deciding), iter(given)
        return tuple(
            next(decided)
            if number in places[function]
            else given[-1](kind)
            if is_alphabet(kind)
            else next(others)
            for number, (_, kind) in enumerate(function.parameters)
        )

    found["arguments"] = [Production(0, 0, tuple(parts), make, draws)]
    return Grammar(found, {*function.group, "arguments"})


def _deciding(group: tuple[Function, ...]) -> dict[Function, set[int]]:
    """The parameters of every function of a group on which the depth depends."""
    found = {
        one: {
            place
            for equation in one.equations
            for place, pattern in enumerate(equation.patterns)
            if isinstance(pattern, Match)
        }
        for one in group
    }
    changed = True
    while changed:
        changed = False
        for one in group:
            for equation in one.equations:
                for call in equation.recursive_calls:
                    for place in found[call.function]:
                        names = _names(call.arguments[place])
                        more = {
                            number
                            for number, (name, _) in enumerate(one.parameters)
                            if name in names
                            or any(v.name in names for v in variables(equation.patterns[number]))
                        }
                        if not more <= found[one]:
                            found[one] |= more
                            changed = True
    return found


def _names(expression: Expression) -> set[str]:
    """The variables of a right-hand side."""
    if isinstance(expression, Variable):
        return {expression.name}
    return {name for one in expression.arguments for name in _names(one)}


def _types(pattern: Pattern) -> list[InductiveMeta]:
    if isinstance(pattern, Variable):
        return [pattern.type]
    return [kind for one in pattern.arguments for kind in _types(one)]


def _production(equation: Equation, places: dict[Function, set[int]]) -> Production:
    """The inputs that an equation matches: the arguments on which the depth depends."""
    function = equation.function
    patterns: list[Pattern] = []
    renamed: dict[str, str] = {}
    for number, ((name, _), pattern) in enumerate(
        zip(function.parameters, equation.patterns, strict=True)
    ):
        if number not in places[function]:
            continue
        if isinstance(pattern, Variable):
            patterns.append(Variable(name, pattern.type))
            renamed[pattern.name] = name
        else:
            patterns.append(_named(pattern, f"{number}"))
    bound = [one for pattern in patterns for one in variables(pattern)]
    weight = sum(_weight(pattern) for pattern in patterns)
    parts: list[Hashable] = []
    takers: list[list[str]] = []
    used: set[str] = set()
    for call in equation.recursive_calls:
        deciding = [call.arguments[place] for place in sorted(places[call.function])]
        taken = _variables(equation, call, deciding, used, {one.name for one in bound}, renamed)
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


def _variables(
    equation: Equation,
    call: Apply,
    arguments: list[Expression],
    used: set[str],
    bound: set[str],
    renamed: dict[str, str],
) -> list[str]:
    """The variables that are arguments of a recursive call, each used there alone."""
    taken = []
    for argument in arguments:
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
