"""Check that flows keep states of a component together.

A flow carries m > 0 units from one state to another and uses every label (class of the source,
letter) net zero times. Under every weighting, m times the difference of the two potentials is
therefore zero, and no round separates them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from weft.automata.dfa import DFA, strong_components
from weft.theory.length.checker.reading import (
    Budget,
    Invalid,
    integer_field,
    integers,
    letters,
    list_field,
    word_field,
)

Edge = tuple[int, int, int]
"""The source, the index of the letter, the target."""


def read_classes(certificate: Any) -> list[tuple[int, ...]]:
    """The classes of a certificate, which do not overlap."""
    classes = [integers(each, "classes") for each in list_field(certificate, "classes")]
    if len({state for each in classes for state in each}) < sum(map(len, classes)):
        raise Invalid("the classes overlap")
    return classes


def linked_states(
    certificate: Any,
    classes: Sequence[Sequence[int]],
    edges: Collection[Edge],
    budget: Budget,
) -> int:
    """Check the flows of a component; gives the number of states that share a class.

    Args:
        certificate: holds the flows.
        classes: a partition of the component's states.
        edges: of the automaton.
        budget: of steps.
    """
    class_of = {state: number for number, states in enumerate(classes) for state in states}
    allowed = {edge for edge in edges if edge[0] in class_of and edge[2] in class_of}
    joined = {state: state for state in class_of}

    def root(state: int) -> int:
        while joined[state] != state:
            budget.spend(1)
            state = joined[state]
        return state

    for flow in list_field(certificate, "flows"):
        source, target, units = (integer_field(flow, k) for k in ("source", "target", "units"))
        if source not in class_of or target not in class_of or source == target or units == 0:
            raise Invalid("a flow does not link two states of a class")
        if class_of[source] != class_of[target]:
            raise Invalid("a flow does not link two states of a class")
        balance = {source: units, target: -units}
        labels: dict[tuple[int, int], int] = {}
        for row in list_field(flow, "edges"):
            numbers = integers(row, "edges")
            if len(numbers) != 4 or numbers[:3] not in allowed:
                raise Invalid("a flow uses an edge that is not there")
            begin, letter, end, amount = numbers
            budget.spend(1)
            balance[begin] = balance.get(begin, 0) - amount
            balance[end] = balance.get(end, 0) + amount
            label = (class_of[begin], letter)
            labels[label] = labels.get(label, 0) + amount
        if any(balance.values()) or any(labels.values()):
            raise Invalid(f"the flow from state {source} to state {target} does not balance")
        joined[root(source)] = root(target)
    if any(len({root(state) for state in states}) > 1 for states in classes):
        raise Invalid("the flows do not link all states of a class")
    shared = sum(len(states) for states in classes if len(states) > 1)
    if not shared:
        raise Invalid("all classes have one state")
    return shared


def letter_edges(dfa: DFA, classes: Sequence[Sequence[int]]) -> list[Edge]:
    """The edges of the component whose states these classes hold."""
    states = sorted(state for each in classes for state in each)
    if tuple(states) not in dfa.components():
        raise Invalid("its classes are not those of a component")
    return [(q, a, then) for q in states for a, then in enumerate(dfa.transitions[q])]


def block_edges(
    certificate: Any, dfa: DFA, classes: Sequence[Sequence[int]], budget: Budget
) -> tuple[list[Edge], int]:
    """The edges of an automaton that reads blocks, and the number of blocks.

    A block is the frame, one of the middles, and the frame again. All are equally long, and the
    frame, read twice, acts as once, so longer frames make longer blocks that act as these.
    """
    frame = word_field(certificate, "frame")
    middles = [letters(word, "middles") for word in list_field(certificate, "middles")]
    if not frame or any(len(word) != len(frame) for word in middles):
        raise Invalid("frame and middles do not have one length")

    def act(word: list[str]) -> list[int]:
        budget.spend((len(word) + 4) * dfa.size)  # to read the word, and for its edges
        result = list(range(dfa.size))
        for letter in dfa.read_word(word):
            result = [dfa.transitions[q][letter] for q in result]
        return result

    framed = act(frame)
    if any(framed[framed[q]] != framed[q] for q in range(dfa.size)):
        raise Invalid("the frame, read twice, does not act as once")
    moves = []
    for word in middles:
        middle = act(word)
        moves.append([framed[middle[framed[q]]] for q in range(dfa.size)])
    image = sorted(set(framed))
    states = sorted(state for each in classes for state in each)
    if not set(states) <= set(image):
        raise Invalid("its classes name states that no frame ends in")
    edges = [(q, block, move[q]) for q in image for block, move in enumerate(moves)]
    successors: list[set[int]] = [set() for _ in range(dfa.size)]
    for source, _, target in edges:
        successors[source].add(target)
    if tuple(states) not in strong_components(successors):
        raise Invalid("its classes are not those of a component")
    return edges, len(moves)
