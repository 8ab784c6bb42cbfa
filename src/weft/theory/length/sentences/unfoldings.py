"""A yes with positions in words: what is read off, and what is counted where that is not enough."""

from __future__ import annotations

from collections.abc import Callable

from weft.automata.dfa import DFA
from weft.theory.length.decider import Component, Round
from weft.theory.length.sentences.potentials import round_lines
from weft.theory.length.sentences.text import MAX_LISTED, enumerated, more, number_of, quoted
from weft.theory.length.unfolding import UnfoldedPart, Unfolding


def unfolding_reason(unfolding: Unfolding) -> str:
    """The reason for a yes with positions, in a sentence."""
    readable = []
    earlier = "before the last one" if unfolding.last_symbol else "at the end"
    if unfolding.window == 1:
        readable.append(f"the symbol {earlier}")
    elif unfolding.window:
        readable.append(f"the {unfolding.window} symbols {earlier}")
    if unfolding.period > 1:
        readable.append(f"the position modulo {unfolding.period}")
    if not readable or _needs_counts(unfolding):
        return f"{enumerated([*readable, 'counts'])} fix the state of the automaton"
    verb = "fixes" if unfolding.window < 2 and len(readable) == 1 else "fix"
    return f"{enumerated(readable)} {verb} the state of the automaton without any counts"


def _needs_counts(unfolding: Unfolding) -> bool:
    """Whether some window and residue leave several states of an automaton open."""
    return any(
        len({each[1:] for each in part.states}) < len(set(part.states)) for part in unfolding.parts
    )


def unfolding_details(unfolding: Unfolding) -> list[str]:
    """What is read and counted in each component of the unfolded automata."""
    letters: dict[DFA, list[str]] = {}
    parts: dict[DFA, UnfoldedPart] = {}
    for part in unfolding.parts:
        letters.setdefault(part.dfa, []).append(part.letter)
        parts[part.dfa] = part
    lines: list[str] = []
    for dfa, last in letters.items():
        part = parts[dfa]
        before = f" of the words before a last {' or '.join(last)}" if unfolding.last_symbol else ""
        sizes = (
            f"{number_of(len(part.states), 'state')} in "
            f"{number_of(len(part.components), 'component')}"
        )
        lines.append(
            f"automaton{before}: {number_of(dfa.size, 'state')}; with window {unfolding.window} "
            f"and period {unfolding.period}, {sizes}"
        )
        several = [
            each for each in part.components if len({part.states[q][0] for q in each.states}) > 1
        ]
        for component in several[:MAX_LISTED]:
            lines += _component_lines(part, component, unfolding.period)
        if len(several) > MAX_LISTED:
            lines.append(f"and {len(several) - MAX_LISTED} more components of several states")
    return lines


def _component_lines(part: UnfoldedPart, component: Component, period: int) -> list[str]:
    """One component of an unfolded automaton: what is read, and the counts beside it."""

    def read(q: int) -> str:
        _, window, residue = part.states[q]
        texts = [f"after {quoted(part.dfa.show_word(window))}"] if window else []
        return " ".join([*texts, *([f"at {residue} mod {period}"] if period > 1 else [])])

    def name(q: int) -> str:
        return f"state {part.states[q][0]} {read(q)}".strip()

    states: dict[str, dict[int, None]] = {}
    for q in component.states:
        states.setdefault(read(q), {})[part.states[q][0]] = None
    listed = [
        f"{seen} {'state' if len(each) == 1 else 'states'} {' or '.join(map(str, each))}".strip()
        for seen, each in list(states.items())[:MAX_LISTED]
    ]
    lines = [f"component: {'; '.join(listed)}{more(len(states), 'cases')}"]
    since = "" if component.states[0] == 0 else f", counted from {name(component.states[0])} on"
    for number, each in enumerate(component.rounds, 1):
        where = _by_members(each, component, read if number == 1 else name)
        lines += round_lines(
            f"round {number}{since}", each, part.dfa, component.states, where, name
        )
    return lines


def _by_members(
    each: Round, component: Component, name: Callable[[int], str]
) -> Callable[[int], str]:
    """Name a class by its members."""
    members: dict[int, list[int]] = {}
    for q in component.states:
        members.setdefault(each.classes[q], []).append(q)

    def where(known: int) -> str:
        names = list(dict.fromkeys(map(name, members[known])))
        return " or ".join(names[:MAX_LISTED]) + more(len(names), "states")

    return where
