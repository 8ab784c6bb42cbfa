"""Check that potentials separate the states of every component of an automaton.

A round gives every label (class of the source, letter) weights and every state potentials. If along
every edge of a component the weight of the label is the difference of the potentials, then a
program that counts labels knows the potentials, and the next round may use them as classes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from weft.automata.dfa import numbered, strong_components
from weft.theory.length.checker.reading import (
    Budget,
    Invalid,
    as_list,
    integer,
    integers,
    list_field,
)

Rows = Sequence[Sequence[int]]
"""By state, its successor for every letter."""
Rounds = tuple[Sequence[int], list[Any]]
"""The states of a component in the certificate's order, and its rounds."""


def separated_components(
    rows: Rows,
    known: Sequence[Hashable],
    kinds: Sequence[Hashable],
    components: Any,
    state_of: Callable[[Any], int],
    budget: Budget,
) -> int:
    """Check the witness of every component of an automaton; gives their number.

    Args:
        rows: the automaton.
        known: by state, what a program can read off.
        kinds: by state, what must be known in the end.
        components: the certificate's components, with their states and rounds.
        state_of: the number of the state that a name in the certificate stands for.
        budget: of steps.
    """
    given: dict[frozenset[int], Rounds] = {}
    for each in as_list(components, "components"):
        states = [state_of(name) for name in list_field(each, "states")]
        given[frozenset(states)] = states, list_field(each, "rounds")
    budget.spend(sum(map(len, rows)))
    found = strong_components(rows)
    for members in found:
        if frozenset(members) not in given:
            raise Invalid(f"a component of {len(members):,} states is missing")
        listed, rounds = given[frozenset(members)]
        classes = dict(zip(members, numbered([known[q] for q in members]), strict=True))
        if len(rounds) > len(members):
            raise Invalid("a component has more rounds than states")
        for each in rounds:
            classes = _after_round(rows, classes, listed, each, state_of, budget)
        if len({(classes[q], kinds[q]) for q in members}) > len(set(classes.values())):
            raise Invalid(f"the states {_shown(members)} are not all separated")
    return len(found)


def _after_round(
    rows: Rows,
    classes: Mapping[int, int],
    listed: Sequence[int],
    given: Any,
    state_of: Callable[[Any], int],
    budget: Budget,
) -> dict[int, int]:
    """The classes after a round, whose weights and potentials agree on every edge."""
    vectors = [integers(row, "potentials") for row in list_field(given, "potentials")]
    if len(vectors) != len(listed):
        raise Invalid("a round does not give every state potentials")
    potentials = dict(zip(listed, vectors, strict=True))
    none = (0,) * len(vectors[0])
    weights: dict[tuple[int, int], tuple[int, ...]] = {}
    for row in list_field(given, "weights"):
        member, letter, weight = _weight(row)
        state = state_of(member)
        if state not in classes:
            raise Invalid("a weight names a state of another component")
        weights[classes[state], letter] = weight
    if any(len(vector) != len(none) for vector in (*vectors, *weights.values())):
        raise Invalid("weights and potentials of a round have different lengths")
    for source, label in classes.items():
        budget.spend(len(rows[source]) * (len(none) + 1))
        for letter, target in enumerate(rows[source]):
            if target in classes:
                steps = weights.get((label, letter), none)
                before, after = potentials[source], potentials[target]
                if any(b + s != a for b, s, a in zip(before, steps, after, strict=True)):
                    raise Invalid(
                        f"weights and potentials disagree on the edge from state {source} with "
                        f"letter {letter}"
                    )
    keys = [(label, potentials[state]) for state, label in classes.items()]
    return dict(zip(classes, numbered(keys), strict=True))


def _weight(row: Any) -> tuple[Any, int, tuple[int, ...]]:
    parts = as_list(row, "weights")
    if len(parts) != 3:
        raise Invalid("it is malformed: a weight must be [state, letter, numbers]")
    return parts[0], integer(parts[1], "weights"), integers(parts[2], "weights")


def _shown(states: Sequence[int]) -> str:
    return ", ".join(map(str, states[:8])) + (", ..." if len(states) > 8 else "")


# The unfolded automaton

Node = tuple[int, tuple[int, ...], int]
"""A state, the last symbols, oldest first, and the position modulo the period."""

MAX_UNFOLDED = 100_000
MAX_WINDOW = 16


def unfolded(
    rows: Rows, start: int, period: int, window: int, budget: Budget
) -> tuple[list[Node], list[list[int]]]:
    """The states (state, last symbols, residue) that words reach, and their successors."""
    if period < 1 or not 0 <= window <= MAX_WINDOW:
        raise Invalid(f"it needs a period of at least 1 and a window of 0 to {MAX_WINDOW}")
    nodes: list[Node] = [(start, (), 0)]
    number = {nodes[0]: 0}
    following: list[list[int]] = []
    for state, seen, place in nodes:  # grows while it is read
        budget.spend(len(rows[state]) * (2 + window))
        row = []
        for letter, then in enumerate(rows[state]):
            last = ((*seen, letter))[-window:] if window else ()
            target = (then, last, (place + 1) % period)
            if target not in number:
                number[target] = len(nodes)
                nodes.append(target)
            row.append(number[target])
        following.append(row)
        if len(nodes) > MAX_UNFOLDED:
            raise Invalid(f"the unfolded automaton has more than {MAX_UNFOLDED:,} states")
    return nodes, following


def node_reader(nodes: Sequence[Node]) -> Callable[[Any], int]:
    """Reads the name of an unfolded state, [state, last symbols, residue]."""
    number = {node: place for place, node in enumerate(nodes)}

    def state_of(name: Any) -> int:
        parts = as_list(name, "states")
        if len(parts) != 3:
            raise Invalid("it is malformed: a state must be [state, symbols, residue]")
        node = (
            integer(parts[0], "states"),
            integers(parts[1], "states"),
            integer(parts[2], "states"),
        )
        if node not in number:
            raise Invalid("it names a state that no word leads to")
        return number[node]

    return state_of


def state_reader(size: int) -> Callable[[Any], int]:
    """Reads the number of a state."""

    def state_of(name: Any) -> int:
        if not 0 <= integer(name, "states") < size:
            raise Invalid("it names a state that is not there")
        return int(name)

    return state_of
