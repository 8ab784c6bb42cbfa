"""Find out that C-RASP with periodic and local predicates expresses a regular language.

A program may read the last k symbols and the position modulo a period. Unfold the automaton into
states (state, last k symbols, position modulo the period), and let the rounds of the decider start
from classes (window, residue). If at the end no class mixes two states of the automaton, a program
exists: windows and residues are local and periodic predicates, and the potentials are counts.

The test is bounded: it tries small windows and periods. Finding none is not a no.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.automata.dfa import DFA, strong_components
from weft.theory.length.decider import Component, decide_component

PERIODS = (1, 2, 3, 4, 6)
WINDOWS = (0, 1, 2, 3)
MAX_STATES = 20_000
"""Larger unfoldings are not tried."""

Unfolded = tuple[int, tuple[int, ...], int]
"""A state, the last symbols, oldest first, and the position modulo the period."""


@dataclass(frozen=True)
class UnfoldedPart:
    """One automaton unfolded: the language's, or that of a quotient.

    Attributes:
        letter: the last letter; empty if it is not read.
        dfa: the minimal automaton.
        states: what each unfolded state is; they are numbered in this order.
        components: the witness of each component.
    """

    letter: str
    dfa: DFA
    states: tuple[Unfolded, ...]
    components: tuple[Component, ...]


@dataclass(frozen=True)
class Unfolding:
    """The smallest unfolding that passes.

    Attributes:
        period: of the positions.
        window: how many symbols are read.
        last_symbol: whether the last symbol is read besides.
        parts: one per letter with the last symbol, one without.
    """

    period: int
    window: int
    last_symbol: bool
    parts: tuple[UnfoldedPart, ...]


def unfold(
    dfa: DFA,
    *,
    last_symbol: bool = True,
    periods: Sequence[int] = PERIODS,
    windows: Sequence[int] = WINDOWS,
) -> Unfolding | None:
    """The smallest unfolding by which C-RASP with positions expresses a language, if one is found.

    Args:
        dfa: the automaton.
        last_symbol: whether programs may read the last symbol.
        periods: the periods to try.
        windows: the numbers of symbols to try; period plus window is tried in ascending order.

    Example:
        >>> from weft.automata import expression_dfa
        >>> found = unfold(expression_dfa("(ab|aabb)*"))
        >>> found.period, found.window
        (1, 1)
        >>> unfold(expression_dfa("(0|10*1)*")) is None
        True
    """
    letters = dfa.alphabet if last_symbol else ("",)
    quotients = [
        (letter, (dfa.quotient(letter) if letter else dfa).minimal()) for letter in letters
    ]
    for period, window in unfolding_sizes(periods, windows):
        parts: list[UnfoldedPart] = []
        for letter, minimal in quotients:
            part = _unfolded(letter, minimal, period, window)
            if part is None:
                break
            parts.append(part)
        else:
            return Unfolding(period, window, last_symbol, tuple(parts))
    return None


def unfolding_sizes(periods: Sequence[int], windows: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of a period and a window in the order in which they are tried."""
    return sorted(((p, w) for p in periods for w in windows), key=lambda s: (s[0] + s[1], s))


def _unfolded(letter: str, dfa: DFA, period: int, window: int) -> UnfoldedPart | None:
    """One automaton unfolded; None if it fails or is too large."""
    found = unfolded_components(dfa, period, window, stop=True)
    if found is None or not all(component.passes for component in found[2]):
        return None
    states, _, components = found
    return UnfoldedPart(letter, dfa, states, components)


def unfolded_components(
    dfa: DFA, period: int, window: int, *, stop: bool = False
) -> tuple[tuple[Unfolded, ...], tuple[tuple[int, ...], ...], tuple[Component, ...]] | None:
    """The states, transitions and components of an unfolded automaton; None if it is too large.

    Args:
        dfa: the automaton.
        period: of the positions.
        window: how many symbols are read.
        stop: end with the first component that mixes states.
    """
    if dfa.size * period * len(dfa.alphabet) ** window > MAX_STATES:
        return None
    number: dict[Unfolded, int] = {(dfa.start, (), 0): 0}
    order = list(number)
    rows: list[tuple[int, ...]] = []
    for state, seen, place in order:  # grows while it is read
        row = []
        for symbol, then in enumerate(dfa.transitions[state]):
            now = (*seen, symbol)[-window:] if window else ()
            target = (then, now, (place + 1) % period)
            if target not in number:
                number[target] = len(order)
                order.append(target)
            row.append(number[target])
        rows.append(tuple(row))
    components = []
    for members in strong_components(rows):
        inside = set(members)
        known = {
            key: place for place, key in enumerate(dict.fromkeys(order[q][1:] for q in members))
        }
        component = decide_component(
            members,
            [(q, a, then) for q in members for a, then in enumerate(rows[q]) if then in inside],
            classes={q: known[order[q][1:]] for q in members},
            kind=lambda q: order[q][0],
        )
        components.append(component)
        if stop and not component.passes:
            break
    return tuple(order), tuple(rows), tuple(components)
