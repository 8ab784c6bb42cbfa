"""The conflict that a no shows: two states that no program tells apart, with words for everything.

For m > 0, a path between the two states and some cycles of their component,

    m times the path, and the cycles on one side   use every label exactly as often as
    the cycles on the other side

so a combination of counts that does not change along cycles does not change along the path, and one
that does change is dominated by cycles that are read often enough. A label is a letter together
with the class of the state in which it is read.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from weft.automata.dfa import DFA
from weft.theory.length.decider import Component, Edge, Flow

Letters = tuple[int, ...]
"""A word, as indices of letters (or of blocks)."""

MAX_FLOWS = 40
"""The conflict is chosen among this many pairs of states."""


@dataclass(frozen=True)
class Cycle:
    """A closed walk of a component, read several times.

    Attributes:
        state: where it begins and ends.
        word: the letters along it.
        times: how often it is read.
    """

    state: int
    word: Letters
    times: int


@dataclass(frozen=True)
class Conflict:
    """Two words that no program tells apart, though the language does.

    Attributes:
        states: the two states, of one component.
        words: for each, a word that leads to it from the start.
        ending: a word that is accepted after exactly one of the two.
        accepted: whether it is accepted after the first.
        path: letters that lead from the first state to the second, within the component.
        times: m, how often the path is read.
        beside: cycles that are read beside the path.
        cycles: cycles that together have the same labels.
        classes: by state of the component, its class. With a single class, labels are letters.
    """

    states: tuple[int, int]
    words: tuple[Letters, Letters]
    ending: Letters
    accepted: bool
    path: Letters
    times: int
    beside: tuple[Cycle, ...]
    cycles: tuple[Cycle, ...]
    classes: Mapping[int, int]

    @property
    def size(self) -> int:
        """How many letters a reader has to follow."""
        cycles = sum(len(each.word) + 1 for each in (*self.beside, *self.cycles))
        return sum(map(len, self.words)) + len(self.ending) + len(self.path) + cycles


def shortest_conflict(dfa: DFA, component: Component, edges: Sequence[Edge]) -> Conflict:
    """The conflict of a failing component that takes the fewest letters to follow.

    Args:
        dfa: the minimal automaton.
        component: the component, with flows.
        edges: its edges; their letters may be blocks.
    """
    words = dfa.access_words()
    found = (_conflict(dfa, component, flow, edges, words) for flow in component.flows[:MAX_FLOWS])
    return min(found, key=lambda each: each.size)


def _conflict(
    dfa: DFA,
    component: Component,
    flow: Flow,
    edges: Sequence[Edge],
    words: Mapping[int, Letters],
) -> Conflict:
    one, two = sorted((flow.source, flow.target), key=lambda q: (len(words[q]), words[q]))
    sign = 1 if one == flow.source else -1
    path = _walk(edges, one, two)
    # m times the path, less the flow, is a circulation with the labels of m paths.
    amounts: Counter[Edge] = Counter()
    for edge in path:
        amounts[edge] += flow.units
    for edge, amount in flow.edges.items():
        amounts[edge] -= sign * amount
    beside: list[tuple[tuple[Edge, ...], int]] = []
    for edge, amount in sorted(amounts.items()):
        if amount < 0:  # against the edge: a cycle through it on each side
            back = _walk(edges, edge[2], edge[0])
            beside.append(((edge, *back), -amount))
            for each in back:
                amounts[each] -= amount
            amounts[edge] -= amount
    ending = dfa.started_at(one).difference(dfa.started_at(two))
    assert ending is not None  # the automaton is minimal
    read = dfa.read_word(ending)
    left, right = _cancelled(beside, _cycles(amounts))
    return Conflict(
        (one, two),
        (words[one], words[two]),
        read,
        dfa.run_from(one, read) in dfa.accepting,
        tuple(edge[1] for edge in path),
        flow.units,
        left,
        right,
        component.classes,
    )


def _walk(edges: Iterable[Edge], source: int, target: int) -> tuple[Edge, ...]:
    """A shortest path between two states; the empty path if they are the same."""
    leaving: dict[int, list[Edge]] = {}
    for edge in edges:
        leaving.setdefault(edge[0], []).append(edge)
    reached: dict[int, tuple[Edge, ...]] = {source: ()}
    waiting = deque([source])
    while target not in reached:
        state = waiting.popleft()
        for edge in leaving.get(state, ()):
            if edge[2] not in reached:
                reached[edge[2]] = (*reached[state], edge)
                waiting.append(edge[2])
    return reached[target]


def _cycles(amounts: Mapping[Edge, int]) -> list[tuple[tuple[Edge, ...], int]]:
    """A circulation as simple cycles, each with how often it is used."""
    left = {edge: amount for edge, amount in amounts.items() if amount > 0}
    result: list[tuple[tuple[Edge, ...], int]] = []
    while left:
        leaving: dict[int, Edge] = {}
        for edge in left:
            leaving.setdefault(edge[0], edge)
        walk = [next(iter(left))]
        seen = {walk[0][0]: 0}
        while walk[-1][2] not in seen:
            seen[walk[-1][2]] = len(walk)
            walk.append(leaving[walk[-1][2]])
        cycle = tuple(walk[seen[walk[-1][2]] :])
        times = min(left[edge] for edge in cycle)
        result.append((cycle, times))
        left = {e: n - times * (e in cycle) for e, n in left.items() if n - times * (e in cycle)}
    return result


def _cancelled(
    *sides: Sequence[tuple[tuple[Edge, ...], int]],
) -> tuple[tuple[Cycle, ...], tuple[Cycle, ...]]:
    """Two collections of cycles, less those that are in both."""
    totals: Counter[tuple[Edge, ...]] = Counter()
    for sign, side in zip((1, -1), sides, strict=True):
        for cycle, times in side:
            turn = cycle.index(min(cycle))
            totals[cycle[turn:] + cycle[:turn]] += sign * times
    result = [
        tuple(
            Cycle(cycle[0][0], tuple(edge[1] for edge in cycle), sign * times)
            for cycle, times in totals.items()
            if sign * times > 0
        )
        for sign in (1, -1)
    ]
    return result[0], result[1]
