"""Decide whether C-RASP without positions expresses a regular language.

In a strongly connected component of the minimal automaton, a *weighting* gives every label of an
edge a number such that every cycle sums to zero. It makes the sum along a path depend on the two
ends only, so each state has a *potential*, which a C-RASP program computes by counting. Labels are
letters at first. States with different potentials are in different classes, labels become (class
of the source, letter), and the rounds go on until the classes are stable. The language is in
C-RASP iff in every component all states end in classes of their own (arXiv:2608.13433; this form
takes polynomial time).

That is for programs that do not read the last symbol. With it, L is in iff for every letter a the
quotient L a^-1 is.

All weightings of a round are found at once: with v(q) the counts of labels on a path from the root
to q, two states have equal potentials under every weighting iff v(p) - v(q) is a rational
combination of the counts of cycles. Reducing v(q) by a basis of those gives the potentials
themselves. If p and q stay together, the combination is a *flow*: integers on edges that carry
some units from p to q and use every label net zero times.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import gcd, lcm

from weft.automata.dfa import DFA

Label = tuple[int, int]
"""The class of an edge's source, and the index of its letter."""
Edge = tuple[int, int, int]
"""Source, index of the letter, target."""
Vector = dict[Hashable, Fraction]
"""A sparse vector of rationals."""


@dataclass(frozen=True)
class Round:
    """One round in one component.

    Attributes:
        classes: before the round, the class of each state.
        weights: by label, integers, one per weighting; labels that are missing weigh zero.
        potentials: by state, the sums along a path from the root, one per weighting.
    """

    classes: Mapping[int, int]
    weights: Mapping[Label, tuple[int, ...]]
    potentials: Mapping[int, tuple[int, ...]]


@dataclass(frozen=True)
class Flow:
    """Why two states of a class are never separated.

    Attributes:
        source: the state at which the flow begins.
        target: the state at which it ends.
        units: how much flows.
        edges: by edge, how much passes; negative against its direction. Every label nets to zero.
    """

    source: int
    target: int
    units: int
    edges: Mapping[Edge, int]


@dataclass(frozen=True)
class Component:
    """A strongly connected component with its witness.

    Attributes:
        states: its states.
        rounds: of the iteration; together they separate all states that can be separated.
        classes: the stable classes.
        flows: for a component that fails, flows that link the states of each class.
    """

    states: tuple[int, ...]
    rounds: tuple[Round, ...]
    classes: Mapping[int, int]
    flows: tuple[Flow, ...]

    @property
    def passes(self) -> bool:
        """Whether nothing that must be separated shares a class."""
        return not self.flows


@dataclass(frozen=True)
class Part:
    """The decision for one automaton: the language's, or that of a quotient.

    Attributes:
        letter: the last letter; empty if it is not read.
        dfa: the minimal automaton.
        components: its components, in topological order.
    """

    letter: str
    dfa: DFA
    components: tuple[Component, ...]

    @property
    def passes(self) -> bool:
        """Whether all components pass."""
        return all(component.passes for component in self.components)


@dataclass(frozen=True)
class Decision:
    """Whether C-RASP without positions expresses a language.

    Attributes:
        inside: the answer.
        last_symbol: whether programs may read the last symbol.
        parts: one per letter with the last symbol, one without; up to the first that fails.
    """

    inside: bool
    last_symbol: bool
    parts: tuple[Part, ...]

    @property
    def failing(self) -> tuple[Part, Component]:
        """The part and the component that fail."""
        return next((p, c) for p in self.parts for c in p.components if not c.passes)


def decide(dfa: DFA, *, last_symbol: bool = True) -> Decision:
    """Decide whether C-RASP without positions expresses the language of an automaton.

    Args:
        dfa: the automaton; its alphabet is part of the question.
        last_symbol: whether a program may read the last symbol, as C-RASP's definition says.

    Example:
        >>> from weft.automata import expression_dfa
        >>> [decide(expression_dfa(text)).inside for text in ("(ab)*", "(aa)*", "[ab]*b")]
        [True, False, True]
        >>> decide(expression_dfa("[ab]*b"), last_symbol=False).inside
        False
    """
    parts: list[Part] = []
    for letter in dfa.alphabet if last_symbol else ("",):
        minimal = (dfa.quotient(letter) if letter else dfa).minimal()
        earlier = next((part for part in parts if part.dfa == minimal), None)
        components = earlier.components if earlier else decide_components(minimal)
        parts.append(Part(letter, minimal, components))
        if not parts[-1].passes:
            return Decision(False, last_symbol, tuple(parts))
    return Decision(True, last_symbol, tuple(parts))


def decide_components(dfa: DFA) -> tuple[Component, ...]:
    """The witness of every component of an automaton, up to the first that fails."""
    result: list[Component] = []
    for states in dfa.components():
        inside = set(states)
        edges = [
            (state, letter, then)
            for state in states
            for letter, then in enumerate(dfa.transitions[state])
            if then in inside
        ]
        result.append(decide_component(states, edges))
        if not result[-1].passes:
            break
    return tuple(result)


def decide_component(
    states: Sequence[int],
    edges: Sequence[Edge],
    classes: Mapping[int, int] | None = None,
    kind: Callable[[int], Hashable] = lambda state: state,
) -> Component:
    """Run the rounds on one strongly connected component.

    Args:
        states: its states; the first is the root.
        edges: the edges between them.
        classes: what is known of a state before the first round; by default nothing.
        kind: what must be separated: two states of equal kind may share a class.
    """
    tree = _spanning_tree(states, edges)
    now = dict(classes) if classes is not None else dict.fromkeys(states, 0)
    rounds: list[Round] = []
    while True:
        reduction = _Reduction(states, edges, tree, now)
        finer = _numbered({q: (now[q], reduction.residual(q)) for q in states})
        if len(set(finer.values())) == len(set(now.values())):
            break
        rounds.append(reduction.as_round())
        now = finer
    mixed = len({(now[q], kind(q)) for q in states}) > len(set(now.values()))
    return Component(tuple(states), tuple(rounds), now, reduction.flows(kind) if mixed else ())


def oriented(each: Round) -> Round:
    """A round whose weightings have no common factors and begin with a positive weight."""
    order = sorted(each.weights, key=lambda label: (label[1], label[0]))
    factors = []
    for w in range(len(next(iter(each.potentials.values()), ()))):
        column = [each.weights[label][w] for label in order]
        first = next((weight for weight in column if weight), 1)
        factors.append((gcd(*column) or 1) * (1 if first > 0 else -1))

    def scaled(row: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(value // factor for value, factor in zip(row, factors, strict=True))

    return Round(
        each.classes,
        {label: scaled(row) for label, row in each.weights.items()},
        {state: scaled(row) for state, row in each.potentials.items()},
    )


def _spanning_tree(states: Sequence[int], edges: Sequence[Edge]) -> dict[int, Edge | None]:
    """By state, in breadth-first order, the edge by which the tree reaches it; None at the root."""
    leaving: dict[int, list[Edge]] = {}
    for edge in edges:
        leaving.setdefault(edge[0], []).append(edge)
    tree: dict[int, Edge | None] = {states[0]: None}
    order = [states[0]]
    for state in order:  # grows while it is read
        for edge in leaving.get(state, ()):
            if edge[2] not in tree:
                tree[edge[2]] = edge
                order.append(edge[2])
    return tree


def _numbered(keys: Mapping[int, Hashable]) -> dict[int, int]:
    """Keys as numbers from 0, in the order of first occurrence."""
    order = {key: number for number, key in enumerate(dict.fromkeys(keys.values()))}
    return {state: order[key] for state, key in keys.items()}


def _add(vector: Vector, other: Mapping[Hashable, Fraction], factor: Fraction) -> None:
    """Add a multiple of another vector in place."""
    for key, value in other.items():
        total = vector.get(key, Fraction(0)) + factor * value
        if total:
            vector[key] = total
        else:
            vector.pop(key, None)


class _Reduction:
    """The linear algebra of one round: a reduced basis of the label counts of cycles.

    Every basis vector remembers which edges outside the tree it was combined from.
    """

    def __init__(
        self,
        states: Sequence[int],
        edges: Sequence[Edge],
        tree: Mapping[int, Edge | None],
        classes: Mapping[int, int],
    ) -> None:
        self.states, self.edges, self.tree, self.classes = states, edges, tree, classes
        self.counts: dict[int, Vector] = {}
        for state, edge in tree.items():
            self.counts[state] = dict(self.counts[edge[0]]) if edge else {}
            if edge:
                _add(self.counts[state], {self.label(edge): Fraction(1)}, Fraction(1))
        self.basis: dict[Hashable, tuple[Vector, Vector]] = {}
        labels = {self.label(edge) for edge in edges}
        for edge in edges:
            if tree[edge[2]] != edge and len(self.basis) < len(labels):
                self._insert(edge)

    def label(self, edge: Edge) -> Label:
        return (self.classes[edge[0]], edge[1])

    def _insert(self, edge: Edge) -> None:
        """Add the cycle that an edge closes with the tree."""
        vector = dict(self.counts[edge[0]])
        _add(vector, {self.label(edge): Fraction(1)}, Fraction(1))
        _add(vector, self.counts[edge[2]], Fraction(-1))
        vector, origin = self._reduce(vector, {edge: Fraction(1)})
        if not vector:
            return
        pivot = min(vector)  # type: ignore[type-var]
        scale = 1 / vector[pivot]
        vector = {key: value * scale for key, value in vector.items()}
        origin = {key: value * scale for key, value in origin.items()}
        for other, source in self.basis.values():
            if pivot in other:
                factor = -other[pivot]
                _add(other, vector, factor)
                _add(source, origin, factor)
        self.basis[pivot] = (vector, origin)

    def _reduce(self, vector: Vector, origin: Vector) -> tuple[Vector, Vector]:
        """Subtract basis vectors until no pivot is left, and the same of what it comes from."""
        for pivot in [key for key in vector if key in self.basis]:
            row, source = self.basis[pivot]
            factor = -vector[pivot]
            _add(vector, row, factor)
            _add(origin, source, factor)
        return vector, origin

    def residual(self, state: int) -> tuple[tuple[Hashable, Fraction], ...]:
        """The potentials of a state under all weightings at once."""
        vector, _ = self._reduce(dict(self.counts[state]), {})
        return tuple(sorted(vector.items()))

    def as_round(self) -> Round:
        """The weightings and potentials as integers."""
        labels = sorted({self.label(edge) for edge in self.edges})
        reduced = {label: self._reduce({label: Fraction(1)}, {})[0] for label in labels}
        columns = sorted({key for row in reduced.values() for key in row})  # type: ignore[type-var]
        scales = [
            lcm(*(row[c].denominator for row in reduced.values() if c in row)) for c in columns
        ]

        def integers(row: Vector) -> tuple[int, ...]:
            return tuple(
                int(row.get(column, Fraction(0)) * scale)
                for column, scale in zip(columns, scales, strict=True)
            )

        return Round(
            dict(self.classes),
            {label: integers(row) for label, row in reduced.items() if row},
            {q: integers(dict(self.residual(q))) for q in self.states},
        )

    def flows(self, kind: Callable[[int], Hashable]) -> tuple[Flow, ...]:
        """Flows that link the states of every class that has several."""
        members: dict[int, list[int]] = {}
        for state in self.states:
            members.setdefault(self.classes[state], []).append(state)
        return tuple(
            self._flow(first, other)
            for states in members.values()
            if len(states) > 1
            for first, other in pairwise(states)
        )

    def _flow(self, source: int, target: int) -> Flow:
        """A flow between two states whose potentials agree under every weighting."""
        vector = dict(self.counts[target])
        _add(vector, self.counts[source], Fraction(-1))
        left, origin = self._reduce(vector, {})
        assert not left
        flow: Vector = {}
        self._along_tree(flow, target, Fraction(1))
        self._along_tree(flow, source, Fraction(-1))
        for edge, amount in origin.items():
            assert isinstance(edge, tuple)
            _add(flow, {edge: Fraction(1)}, amount)
            self._along_tree(flow, edge[0], amount)
            self._along_tree(flow, edge[2], -amount)
        units = lcm(*(value.denominator for value in flow.values()))
        edges = {edge: int(value * units) for edge, value in flow.items()}
        return Flow(source, target, units, edges)  # type: ignore[arg-type]

    def _along_tree(self, flow: Vector, state: int, amount: Fraction) -> None:
        """Add an amount along the tree's path from the root to a state."""
        edge = self.tree[state]
        while edge:
            _add(flow, {edge: Fraction(1)}, amount)
            edge = self.tree[edge[0]]
