"""An automaton in pieces that a run leaves once and for all, with potentials for their states.

For periods and windows, the automaton is unfolded first: its states are (state, last letters,
position modulo the period).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from weft.automata.dfa import DFA, strong_components
from weft.errors import WeftError
from weft.theory.length.decider import Component, decide_component, oriented
from weft.theory.length.unfolding import unfolded_components


@dataclass(frozen=True)
class UnfoldedAutomaton:
    """An automaton whose states know the last letters and the position modulo a period.

    Attributes:
        dfa: the unfolded automaton; its start is state 0.
        states: by state, the original state.
        windows: by state, up to `window` last letters, the latest one last.
        residues: by state, the position modulo the period.
        period: 1 for none.
        window: the number of letters that are known.
    """

    dfa: DFA
    states: tuple[int, ...]
    windows: tuple[tuple[int, ...], ...]
    residues: tuple[int, ...]
    period: int
    window: int


@dataclass(frozen=True)
class Piece:
    """States that a run leaves once and for all, with the rounds that tell them apart.

    Attributes:
        states: in breadth-first order; all are reached from the first one within the piece.
        component: the rounds; as in the decider, but a piece need not be strongly connected.
    """

    states: tuple[int, ...]
    component: Component


@dataclass(frozen=True)
class Pieces:
    """An unfolded automaton and its pieces, in topological order."""

    automaton: UnfoldedAutomaton
    pieces: tuple[Piece, ...]


def unfolded(dfa: DFA, period: int = 1, window: int = 0) -> UnfoldedAutomaton:
    """The reachable part of an automaton times the last letters and the position.

    Example:
        >>> even = DFA(("a",), ((1,), (0,)), 0, frozenset({0}))
        >>> unfolded(even, period=2).residues
        (0, 1)
    """
    found = unfolded_components(dfa, period, window, stop=True)
    if found is None:
        raise WeftError(
            f"the automaton, with period {period} and window {window}, is too large for a program",
            remedy="The potentials themselves are a certificate",
        )
    order, rows, _ = found
    accepting = frozenset(place for place, key in enumerate(order) if key[0] in dfa.accepting)
    return UnfoldedAutomaton(
        DFA(dfa.alphabet, rows, 0, accepting),
        tuple(key[0] for key in order),
        tuple(key[1] for key in order),
        tuple(key[2] for key in order),
        period,
        window,
    )


def cut(dfa: DFA, period: int = 1, window: int = 0) -> Pieces | None:
    """The pieces of an automaton; None if potentials do not tell the states of some piece apart.

    A component of the automaton is one piece if a root reaches all its unfolded states and
    potentials tell them apart; otherwise it is cut into components of the unfolded automaton.

    Example:
        >>> from weft.automata import expression_dfa
        >>> [piece.states for piece in cut(expression_dfa("(ab)*")).pieces]
        [(0, 1), (2,)]
        >>> cut(expression_dfa("(aa)*")) is None
        True
    """
    automaton = unfolded(dfa, period, window)
    place = {state: n for n, states in enumerate(dfa.components()) for state in states}
    groups: dict[int, list[int]] = {}
    for state, original in enumerate(automaton.states):
        groups.setdefault(place[original], []).append(state)
    pieces: list[Piece] = []
    for _, group in sorted(groups.items()):
        whole = _piece(automaton, group)
        if whole is not None:
            pieces.append(whole)
            continue
        number = {state: n for n, state in enumerate(group)}
        successors = [
            {number[then] for then in automaton.dfa.transitions[state] if then in number}
            for state in group
        ]
        for members in strong_components(successors):
            piece = _piece(automaton, [group[member] for member in members])
            if piece is None:
                return None
            pieces.append(piece)
    return Pieces(automaton, tuple(pieces))


def _piece(automaton: UnfoldedAutomaton, states: Sequence[int]) -> Piece | None:
    """States as one piece, if a root reaches them and potentials tell them apart."""
    inside = set(states)
    rows = automaton.dfa.transitions
    edges = [(s, a, t) for s in states for a, t in enumerate(rows[s]) if t in inside]
    order = [states[0]]
    reached = set(order)
    for state in order:  # grows while it is read; states are in breadth-first order, roots first
        new = dict.fromkeys(t for t in rows[state] if t in inside and t not in reached)
        reached.update(new)
        order.extend(new)
    if len(reached) < len(states):
        return None
    seen = dict.fromkeys((automaton.windows[s], automaton.residues[s]) for s in states)
    known = {key: n for n, key in enumerate(seen)}
    classes = {s: known[automaton.windows[s], automaton.residues[s]] for s in states}
    component = decide_component(states, edges, classes, lambda s: automaton.states[s])
    if not component.passes:
        return None
    rounds = tuple(map(oriented, component.rounds))
    return Piece(tuple(states), replace(component, rounds=rounds))
