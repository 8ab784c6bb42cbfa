"""Decision diagrams: the new value of a variable, decided by tests of one variable at a time.

A reduced multi-valued decision diagram over an ordered list of variables (Bryant's binary diagrams,
with one edge per value). A path from the root is a conjunction of `variable in set of values`: the
guard of a rule. Equal sub-functions share one node, so values that make no difference end up in the
same set.

A step that fails has no result to specify, so a test that only separates failure from success is
left out, unless the diagram is built with `apart=True`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from weft.errors import Location
from weft.language.expressions import (
    FAILED,
    Apply,
    Choice,
    Constant,
    Expression,
    Read,
    Written,
    reads,
    value_key,
)
from weft.language.program import Variable
from weft.language.ranges import UNDEFINED, OutOfRange
from weft.language.tables import truth

BOTTOM = 1 << 60
"""The level of the results, below all variables."""


@dataclass(frozen=True)
class Keep:
    """The variable keeps its value."""


@dataclass(frozen=True)
class Put:
    """The variable takes a value, assigned at a place in the source."""

    value: Any
    where: Location


@dataclass(frozen=True)
class DiagramPath:
    """A path from the root to a result, with the values that it allows for each variable."""

    guard: tuple[tuple[str, tuple[Any, ...]], ...]
    result: Any


class Decision:
    """The value of an expression, decided by tests of one variable at a time, in a fixed order."""

    def __init__(
        self, order: list[str], variables: Mapping[str, Variable], *, apart: bool = False
    ) -> None:
        self.variables = variables
        self.apart = apart  # whether failure is a result of its own
        self.order = order
        self._level = {name: level for level, name in enumerate(self.order)}
        self._values = [self._edge_values(name) for name in self.order]
        self._levels: list[int] = []
        self._content: list[Any] = []  # children of a node, value of a result
        self._results: dict[Any, int] = {}
        self._nodes: dict[tuple[int, tuple[int, ...]], int] = {}
        self._memo: dict[Any, int] = {}
        self._diagrams: dict[tuple[int, bool], int] = {}
        self.failed = self._result(FAILED)
        self.root = self.failed

    def _edge_values(self, name: str) -> tuple[Any, ...]:
        variable = self.variables[name]
        return (*variable.range.values, UNDEFINED) if variable.is_head else variable.range.values

    # Building

    def _result(self, value: Any) -> int:
        key = value_key(value)
        result = self._results.get(key)
        if result is None:
            result = self._results[key] = self._new(BOTTOM, value)
        return result

    def _new(self, level: int, content: Any) -> int:
        self._levels.append(level)
        self._content.append(content)
        return len(self._levels) - 1

    def _node(self, level: int, children: tuple[int, ...], exact: bool = False) -> int:
        different = set(children)
        if not (exact or self.apart):
            different.discard(self.failed)
        if len(different) <= 1:
            return different.pop() if different else self.failed
        key = (level, children)
        result = self._nodes.get(key)
        if result is None:
            result = self._nodes[key] = self._new(level, children)
        return result

    def _below(self, node: int, level: int, edge: int) -> int:
        return self._content[node][edge] if self._levels[node] == level else node

    def _of(self, node: Expression, exact: bool = False) -> int:
        """The diagram of an expression; an exact one also says in which states it fails.

        A lazy function may succeed although an argument fails, so its arguments are exact.
        """
        result = self._diagrams.get((id(node), exact))
        if result is None:
            result = self._diagrams[id(node), exact] = self._make(node, exact)
        return result

    def _make(self, node: Expression, exact: bool) -> int:
        match node:
            case Constant(value=value):
                return self._result(value)
            case Read(variable=variable):
                level = self._level[variable]
                return self._node(
                    level,
                    tuple(
                        self.failed if value is UNDEFINED else self._result(value)
                        for value in self._values[level]
                    ),
                    exact,
                )
            case Written(value=inner):
                return self._of(inner, exact)
            case Choice(test=test, then=then, otherwise=otherwise):
                one, other = self._of(then, exact), self._of(otherwise, exact)
                return self._choose(self._of(test, exact), one, other, exact=exact)
            case Apply(arguments=arguments, lazy=lazy):
                given = [self._of(argument, exact or lazy) for argument in arguments]
                return self._apply(node, tuple(given), exact)
        raise TypeError(node)

    def _apply(self, node: Apply, arguments: tuple[int, ...], exact: bool) -> int:
        key = (id(node), arguments, exact)
        result = self._memo.get(key)
        if result is not None:
            return result
        if self.failed in arguments and not node.lazy:
            return self.failed
        level = min((self._levels[argument] for argument in arguments), default=BOTTOM)
        if level == BOTTOM:
            result = self._call(node, [self._content[argument] for argument in arguments])
        else:
            result = self._node(
                level,
                tuple(
                    self._apply(node, tuple(self._below(a, level, edge) for a in arguments), exact)
                    for edge in range(len(self._values[level]))
                ),
                exact,
            )
        self._memo[key] = result
        return result

    def _call(self, node: Apply, values: list[Any]) -> int:
        try:
            return self._result(node.function(*values))
        except Exception:
            return self.failed

    def _choose(self, test: int, then: int, otherwise: int, *, exact: bool = False) -> int:
        if self._levels[test] == BOTTOM:
            held = truth(self._content[test]) if test != self.failed else None
            return self.failed if held is None else then if held else otherwise
        if then == otherwise and not (exact or self.apart):
            return then
        parts = (test, then, otherwise)
        key = (*parts, exact)
        result = self._memo.get(key)
        if result is None:
            level = min(self._levels[node] for node in parts)
            result = self._memo[key] = self._node(
                level,
                tuple(
                    self._choose(
                        self._below(test, level, edge),
                        self._below(then, level, edge),
                        self._below(otherwise, level, edge),
                        exact=exact,
                    )
                    for edge in range(len(self._values[level]))
                ),
                exact,
            )
        return result

    # Reading

    def _reached(self) -> Iterator[int]:
        """Every node below the root, once."""
        seen: set[int] = set()
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                waiting.extend(self._content[node] if self._levels[node] != BOTTOM else ())
                yield node

    def size(self) -> int:
        """The number of nodes."""
        return sum(1 for _ in self._reached())

    def edges(self, node: int) -> dict[int, tuple[Any, ...]]:
        """The child nodes, each with the values that lead to it; failures are left out."""
        values = self._values[self._levels[node]]
        below: dict[int, list[Any]] = {}
        for value, child in zip(values, self._content[node], strict=True):
            if child != self.failed:
                below.setdefault(child, []).append(value)
        return {child: tuple(result) for child, result in below.items()}

    def results(self) -> Iterator[Any]:
        """Each result that occurs in some state, once; includes `FAILED` if the step can fail."""
        for node in self._reached():
            if self._levels[node] == BOTTOM:
                yield self._content[node]

    def at(self, state: Mapping[str, Any]) -> Any:
        """The result in a state."""
        node = self.root
        while self._levels[node] != BOTTOM:
            level = self._levels[node]
            edge = self._values[level].index(state[self.order[level]])
            node = self._content[node][edge]
        return self._content[node]

    def failures(self) -> Iterator[dict[str, Any]]:
        """One (partial) state for each path that ends in failure.

        Complete only if the diagram was built with `apart=True`.
        """
        waiting: list[tuple[int, dict[str, Any]]] = [(self.root, {})]
        while waiting:
            node, state = waiting.pop()
            if node == self.failed:
                yield state
            elif self._levels[node] != BOTTOM:
                level = self._levels[node]
                first: dict[int, Any] = {}
                for value, child in zip(self._values[level], self._content[node], strict=True):
                    first.setdefault(child, value)
                for child, value in first.items():
                    waiting.append((child, {**state, self.order[level]: value}))

    def ways(self, node: int, guard: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """Every path below a node: the values that it allows, and the result."""
        level = self._levels[node]
        if level == BOTTOM:
            if node != self.failed:
                yield guard, self._content[node]
            return
        for child, values in self.edges(node).items():
            yield from self.ways(child, (*guard, (self.order[level], values)))


def decision(
    node: Expression, variables: Mapping[str, Variable], *, heads_last: bool = False
) -> Decision:
    """The diagram of an expression; variables are tested in the order of the source."""
    order = reads(node)
    if heads_last:
        order.sort(key=lambda name: variables[name].is_head)
    result = Decision(order, variables)
    result.root = result._of(node)
    return result


def fails_everywhere(node: Expression, variables: Mapping[str, Variable]) -> bool:
    """Whether an expression fails in every state."""
    result = Decision(reads(node), variables)
    return result._of(node, exact=True) == result.failed


class Diagram(Decision):
    """The new value of one variable. Its old value is tested first, because a rule names it."""

    def __init__(
        self,
        target: str,
        final: Expression,
        variables: Mapping[str, Variable],
        *,
        apart: bool = False,
    ) -> None:
        names = [name for name in reads(final) if name != target]
        super().__init__([target, *names], variables, apart=apart)
        self.target = target
        self.keep = self._result(Keep())
        self.root = self._final(final)

    def _final(self, node: Expression) -> int:
        match node:
            case Read(variable=variable) if variable == self.target:
                return self.keep
            case Choice(test=test, then=then, otherwise=otherwise):
                return self._choose(self._of(test), self._final(then), self._final(otherwise))
            case Written(value=value, where=where):
                return self._stored(self._of(value), where)
        raise TypeError(node)

    def _stored(self, node: int, where: Location) -> int:
        key = (node, where)
        result = self._memo.get(key)
        if result is None:
            if self._levels[node] == BOTTOM:
                result = self._store(self._content[node], where)
            else:
                children = self._content[node]
                result = self._node(
                    self._levels[node], tuple(self._stored(child, where) for child in children)
                )
            self._memo[key] = result
        return result

    def _store(self, value: Any, where: Location) -> int:
        if value is FAILED:
            return self.failed
        try:
            return self._result(Put(self.variables[self.target].range.store(value), where))
        except OutOfRange:
            return self.failed

    def paths(self) -> Iterator[DiagramPath]:
        """Every path to a new value; the last constraint is on the variable itself."""
        for old in self._values[0]:
            for guard, put in self.ways(self._below_target(old)):
                if isinstance(put, Put) and put.value != old:
                    yield DiagramPath((*guard, (self.target, (old,))), put)

    def ways_from(self, old: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """Every path for an old value of the target; `Keep` and `Put` results."""
        yield from self.ways(self._below_target(old))

    def _below_target(self, old: Any) -> int:
        return self._below(self.root, 0, self._values[0].index(old))

    def count(self) -> int:
        """The number of paths, counted without listing them."""
        counted: dict[int, Counter[Any]] = {}
        return sum(
            number
            for old in self._values[0]
            for value, number in self._ends(self._below_target(old), counted).items()
            if value != old
        )

    def _ends(self, node: int, counted: dict[int, Counter[Any]]) -> Counter[Any]:
        """The number of paths to each new value."""
        result = counted.get(node)
        if result is None:
            result = counted[node] = Counter()
            if self._levels[node] != BOTTOM:
                for child in self.edges(node):
                    result.update(self._ends(child, counted))
            elif node not in (self.keep, self.failed):
                result[self._content[node].value] = 1
        return result

    def find(self, state: Mapping[str, Any]) -> DiagramPath | None:
        """The path that a state takes; None if the variable keeps its value."""
        node, guard = self.root, []
        while self._levels[node] != BOTTOM:
            name = self.order[self._levels[node]]
            child = self._content[node][self._values[self._levels[node]].index(state[name])]
            if child == self.failed:
                return None
            if name != self.target:
                guard.append((name, self.edges(node)[child]))
            node = child
        result = self._content[node]
        if not isinstance(result, Put) or result.value == state[self.target]:
            return None
        return DiagramPath((*guard, (self.target, (state[self.target],))), result)
