"""Interval decision diagrams: functions of integer variables, in a canonical form.

A node tests one variable. Its cuts split the integers into intervals, and each interval leads to
another node or to a leaf. Variables are tested in a fixed order, neighbouring intervals lead to
different nodes, and equal nodes are one node, so two functions are equal if and only if they are
the same node. Leaves are any hashable values: True and False for Boolean functions, linear forms
for counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from weft.errors import WeftError

MAX_NODES = 50_000
"""Beyond this size, functions are refused."""

Node = int


class Variable(Protocol):
    """A variable; `key` is its place in the order."""

    @property
    def key(self) -> tuple[Any, ...]:
        """Variables with smaller keys are tested first."""


@dataclass(frozen=True)
class Step:
    """A test of a variable: `children[k]` is where the interval between cuts k - 1 and k leads."""

    variable: Any
    cuts: tuple[int, ...]
    children: tuple[Node, ...]


class Diagrams:
    """Functions that share their nodes.

    Attributes:
        true: the function that is True.
        false: the function that is False.
    """

    def __init__(self) -> None:
        self._steps: list[Step | None] = []
        self._leaves: list[Hashable] = []
        self._nodes: dict[Any, Node] = {}
        self._memo: dict[Any, Node] = {}
        self._supports: dict[Node, frozenset[Any]] = {}
        self.false, self.true = self.leaf(False), self.leaf(True)

    # Nodes

    def leaf(self, value: Hashable) -> Node:
        """The constant function of a value."""
        return self._node((type(value), value), None, value)

    def select(self, variable: Variable, cuts: tuple[int, ...], parts: tuple[Node, ...]) -> Node:
        """The function that is `parts[k]` if the variable lies between cuts k - 1 and k.

        The parts may test any variables.
        """
        if all(self._key(part) > variable.key for part in parts):
            return self._make(variable, cuts, parts)
        result = parts[0]
        for cut, part in zip(cuts, parts[1:], strict=True):
            result = self.choose(self.at_least(variable, cut), part, result)
        return result

    def at_least(self, variable: Variable, cut: int) -> Node:
        """Whether a variable is at least `cut`."""
        return self._make(variable, (cut,), (self.false, self.true))

    def within(self, variable: Variable, low: int, high: int) -> Node:
        """Whether a variable is at least `low` and below `high`."""
        return self._make(variable, (low, high), (self.false, self.true, self.false))

    def step(self, node: Node) -> Step | None:
        """The test at a node; None at a leaf."""
        return self._steps[node]

    def value(self, node: Node) -> Any:
        """The value of a leaf."""
        return self._leaves[node]

    def support(self, node: Node) -> frozenset[Any]:
        """The variables that a function depends on."""
        if node not in self._supports:
            step = self._steps[node]
            below: frozenset[Any] = frozenset()
            if step is not None:
                below = frozenset({step.variable}).union(*map(self.support, step.children))
            self._supports[node] = below
        return self._supports[node]

    # Functions of functions

    def choose(self, test: Node, then: Node, otherwise: Node) -> Node:
        """The function that is `then` where the Boolean function `test` holds."""
        if test == self.true or then == otherwise:
            return then
        if test == self.false:
            return otherwise
        if then == self.true and otherwise == self.false:
            return test
        key = ("choose", test, then, otherwise)
        if key not in self._memo:
            self._memo[key] = self._expand((test, then, otherwise), self.choose)
        return self._memo[key]

    def negate(self, node: Node) -> Node:
        """not P."""
        return self.choose(node, self.false, self.true)

    def both(self, *nodes: Node) -> Node:
        """P and Q and ..."""
        result = self.true
        for node in nodes:
            result = self.choose(result, node, self.false)
        return result

    def either(self, *nodes: Node) -> Node:
        """P or Q or ..."""
        result = self.false
        for node in nodes:
            result = self.choose(result, self.true, node)
        return result

    def combine(
        self, name: str, function: Callable[[Any, Any], Hashable], left: Node, right: Node
    ) -> Node:
        """The function whose leaves are `function` of the leaves of two others.

        Args:
            name: what tells this combination from others.
            function: applied to a leaf of each.
            left: the first function.
            right: the second.
        """
        key = (name, left, right)
        if key not in self._memo:
            if self._steps[left] is None and self._steps[right] is None:
                self._memo[key] = self.leaf(function(self._leaves[left], self._leaves[right]))
            else:
                self._memo[key] = self._expand(
                    (left, right), lambda a, b: self.combine(name, function, a, b)
                )
        return self._memo[key]

    def replace_leaves(self, name: str, node: Node, function: Callable[[Any], Node]) -> Node:
        """A function with a function in place of each leaf."""
        key = (name, node)
        if key not in self._memo:
            step = self._steps[node]
            self._memo[key] = (
                function(self._leaves[node])
                if step is None
                else self.select(
                    step.variable,
                    step.cuts,
                    tuple(self.replace_leaves(name, c, function) for c in step.children),
                )
            )
        return self._memo[key]

    def restrict(self, node: Node, variable: Any, value: int) -> Node:
        """A function of the other variables, with one variable at a value."""
        key = ("restrict", node, variable, value)
        if key not in self._memo:
            step = self._steps[node]
            if step is None or variable not in self.support(node):
                self._memo[key] = node
            elif step.variable == variable:
                self._memo[key] = step.children[bisect_right(step.cuts, value)]
            else:
                parts = tuple(self.restrict(child, variable, value) for child in step.children)
                self._memo[key] = self._make(step.variable, step.cuts, parts)
        return self._memo[key]

    # Reading

    def evaluate(self, node: Node, values: Callable[[Any], int]) -> Any:
        """The value of a function, given the values of variables."""
        while (step := self._steps[node]) is not None:
            node = step.children[bisect_right(step.cuts, values(step.variable))]
        return self._leaves[node]

    def evaluate_single(self, node: Node, value: int) -> Any:
        """The value of a function of one variable."""
        return self.evaluate(node, lambda variable: value)

    def count_paths(self, node: Node, limit: int) -> int:
        """The number of paths to True, or `limit` if there are more."""
        counts: dict[Node, int] = {self.true: 1, self.false: 0}

        def count(at: Node) -> int:
            if at not in counts:
                step = self._steps[at]
                assert step is not None
                counts[at] = min(limit, sum(count(child) for child in set(step.children)))
            return counts[at]

        return count(node)

    def paths(self, node: Node) -> Iterator[dict[Any, frozenset[int]]]:
        """The paths to True, by variable the numbers of the intervals that it takes.

        The intervals of a variable are numbered by all its cuts in this function (`cuts`).
        """
        cuts = self.cuts(node)

        def walk(at: Node, taken: dict[Any, frozenset[int]]) -> Iterator[dict[Any, frozenset[int]]]:
            step = self._steps[at]
            if step is None:
                if self._leaves[at] is True:
                    yield dict(taken)
                return
            every = cuts[step.variable]
            by_child: dict[Node, list[int]] = {}
            for number in range(len(every) + 1):
                start = every[number - 1] if number else every[0] - 1
                by_child.setdefault(step.children[bisect_right(step.cuts, start)], []).append(
                    number
                )
            for child, numbers in by_child.items():
                yield from walk(child, {**taken, step.variable: frozenset(numbers)})

        yield from walk(node, {})

    def cuts(self, node: Node) -> dict[Any, tuple[int, ...]]:
        """By variable, all the cuts that a function makes."""
        cuts: dict[Any, set[int]] = {}
        seen: set[Node] = set()
        waiting = [node]
        while waiting:
            at = waiting.pop()
            step = self._steps[at]
            if step is None or at in seen:
                continue
            seen.add(at)
            cuts.setdefault(step.variable, set()).update(step.cuts)
            waiting.extend(step.children)
        return {variable: tuple(sorted(taken)) for variable, taken in cuts.items()}

    # Inside

    def _key(self, node: Node) -> tuple[Any, ...]:
        step = self._steps[node]
        key: tuple[Any, ...] = LAST if step is None else step.variable.key
        return key

    def _make(self, variable: Variable, cuts: tuple[int, ...], parts: tuple[Node, ...]) -> Node:
        kept: list[int] = []
        children = [parts[0]]
        for cut, part in zip(cuts, parts[1:], strict=True):
            if part != children[-1]:
                kept.append(cut)
                children.append(part)
        if not kept:
            return children[0]
        step = Step(variable, tuple(kept), tuple(children))
        return self._node(step, step, None)

    def _node(self, key: Any, step: Step | None, value: Hashable) -> Node:
        if key not in self._nodes:
            if len(self._steps) >= MAX_NODES:
                raise TooLarge
            self._nodes[key] = len(self._steps)
            self._steps.append(step)
            self._leaves.append(value)
        return self._nodes[key]

    def _expand(self, nodes: tuple[Node, ...], function: Callable[..., Node]) -> Node:
        """Apply a function to what is below the first variable that any of the nodes tests."""
        top = min(nodes, key=self._key)
        first = self._steps[top]
        assert first is not None
        variable = first.variable
        steps = [self._steps[node] for node in nodes]
        tested = [s if s is not None and s.variable == variable else None for s in steps]
        cuts = tuple(sorted({cut for s in tested if s is not None for cut in s.cuts}))
        parts = []
        for start in (cuts[0] - 1, *cuts):
            below = (
                node if s is None else s.children[bisect_right(s.cuts, start)]
                for node, s in zip(nodes, tested, strict=True)
            )
            parts.append(function(*below))
        return self.select(variable, cuts, tuple(parts))


LAST: tuple[Any, ...] = (99,)
"""The key of leaves, behind all variables."""


class TooLarge(WeftError):
    """A function has more nodes than `MAX_NODES`."""

    def __init__(self) -> None:
        super().__init__(
            f"its Boolean functions take more than {MAX_NODES:,} decisions",
            remedy="Count intermediate results in lines of their own, or use fewer conditionals",
        )
