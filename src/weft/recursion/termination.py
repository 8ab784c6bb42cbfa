"""Termination by the size-change principle.

A call passes on arguments of its caller, or subterms of them. Its size-change graph says which: an
arc from parameter i to parameter j is *strict* if the j-th argument of the call is a strict subterm
of the caller's i-th, and weak if it is the i-th itself. Graphs compose along sequences of calls.
Recursion ends on all terms if every composed graph from a function to itself that equals its own
square has a strict arc from a parameter to itself: then an infinite sequence of calls would make
some argument smaller infinitely often, and terms are finite (Lee, Jones, Ben-Amram 2001). For one
function that recurses on one argument, this is the usual guard: recursive calls on strict subterms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.errors import WeftError
from weft.recursion.expressions import Apply, Build, Expression, Match, Pattern, Variable, calls_in

if TYPE_CHECKING:
    from weft.recursion.function import Equation, Function

MOST_GRAPHS = 5_000
"""Composed graphs of a group of functions; more are refused."""


@dataclass(frozen=True)
class SizeChange:
    """The size-change graph of a call, or of a sequence of calls.

    Attributes:
        caller, callee: from where to where.
        strict: pairs (i, j): argument j of the callee is a strict subterm of the caller's i.
        weak: the same for the caller's argument itself.
    """

    caller: Function
    callee: Function
    strict: frozenset[tuple[int, int]]
    weak: frozenset[tuple[int, int]]

    def then(self, other: SizeChange) -> SizeChange:
        """The graph of this sequence of calls followed by another."""
        weak = {(i, k) for i, j in self.weak for m, k in other.weak if j == m}
        strict = {
            (i, k)
            for first in (self.strict, self.weak)
            for second in (other.strict, other.weak)
            if first is self.strict or second is other.strict
            for i, j in first
            for m, k in second
            if j == m
        }
        return SizeChange(self.caller, other.callee, frozenset(strict), frozenset(weak - strict))

    @property
    def decreases(self) -> bool:
        """Whether some parameter becomes smaller from the function to itself."""
        return any(i == j for i, j in self.strict)


def check_termination(function: Function) -> None:
    """Raise unless recursion through a function ends on all terms."""
    group = function.group
    calls = [
        (size_change(equation, call), call)
        for one in group
        for equation in one.equations
        for call in calls_in(equation.right)
        if call.function in group
    ]
    found: dict[SizeChange, tuple[Apply, ...]] = {}
    waiting: list[SizeChange] = []
    for graph, call in calls:
        if graph not in found:
            found[graph] = (call,)
            waiting.append(graph)
    single = dict(found)
    while waiting:
        graph = waiting.pop(0)
        if graph.caller is graph.callee and not graph.decreases and graph.then(graph) == graph:
            raise _not_structural(graph, found[graph])
        for last, path in single.items():
            if last.caller is graph.callee:
                longer = graph.then(last)
                if longer not in found:
                    found[longer] = (*found[graph], *path)
                    waiting.append(longer)
        if len(found) > MOST_GRAPHS:
            raise WeftError(
                "its recursion is too involved to be checked",
                subject=function.name,
                where=function.where,
                remedy="Recurse on fewer arguments at a time",
            )


def _not_structural(graph: SizeChange, path: tuple[Apply, ...]) -> WeftError:
    """The message about calls in a cycle that do not shrink any argument."""
    names = " -> ".join([graph.caller.name, *(call.function.name for call in path)])
    if len(path) == 1:
        what = f"the recursive call {path[0]} is not on a strict subterm of an argument"
        if graph.caller.arity > 1:
            what = (
                f"the recursive call {path[0]} has no argument that is a strict subterm of its own"
            )
    else:
        what = f"the calls {names} make no argument smaller: recursion may not end"
    return WeftError(
        what,
        subject=graph.caller.name,
        where=path[0].node,
        remedy="Recurse on variables of the case's pattern",
    )


def size_change(equation: Equation, call: Apply) -> SizeChange:
    """The size-change graph of one call in an equation."""
    strict, weak = set(), set()
    names = [name for name, _ in equation.function.parameters]
    for j, argument in enumerate(call.arguments):
        for i, pattern in enumerate(equation.patterns):
            itself = isinstance(argument, Variable) and argument.name == names[i]
            if itself or _equal(argument, pattern):
                weak.add((i, j))
            elif _strictly_inside(argument, pattern):
                strict.add((i, j))
    caller, callee = equation.function, call.function
    return SizeChange(caller, callee, frozenset(strict), frozenset(weak))


def _equal(argument: Expression, pattern: Pattern) -> bool:
    """Whether a right-hand side is the term that a pattern matches."""
    if isinstance(pattern, Variable):
        return isinstance(argument, Variable) and argument.name == pattern.name != "_"
    return (
        isinstance(argument, Build)
        and argument.head is pattern.head
        and all(map(_equal, argument.arguments, pattern.arguments))
    )


def _strictly_inside(argument: Expression, pattern: Pattern) -> bool:
    """Whether a right-hand side is a strict subterm of what a pattern matches."""
    return isinstance(pattern, Match) and any(
        _equal(argument, one) or _strictly_inside(argument, one) for one in pattern.arguments
    )
