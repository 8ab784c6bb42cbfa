"""A yes without positions in words: combinations of counts, and their values in each state."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from weft.automata.dfa import DFA
from weft.theory.length.decider import Component, Decision, Part, Round, oriented
from weft.theory.length.sentences.text import MAX_LISTED, more, number_of, quoted


def inside_reason(decision: Decision) -> str:
    """The reason for a yes, in a sentence."""
    parts = {part.dfa: part for part in decision.parts}
    if all(dfa.size == 1 for dfa in parts):
        if all(bool(dfa.accepting) for dfa in parts) or not any(dfa.accepting for dfa in parts):
            return "the answer is the same for all words with a symbol"
        return "the last symbol alone decides"
    part, largest = max(
        ((part, component) for part in parts.values() for component in part.components),
        key=lambda pair: len(pair[1].states),
    )
    size = len(largest.states)
    if size == 1:
        return (
            "no cycle of the automaton passes through two states, so a program only has to find "
            "the first symbol that leads on from each"
        )
    text = "counts tell the states of every component apart"
    first = oriented(largest.rounds[0])
    column = _separating(first, largest.states)
    if len(largest.rounds) == 1 and column is not None and size <= MAX_LISTED:
        where = f" in the words before a last {part.letter}" if len(parts) > 1 else ""
        return f"{text}; for example{where}, {_values(part, largest, first, column)}"
    rounds = len(largest.rounds)
    how = "one round" if rounds == 1 else f"{rounds} rounds, each counting what the last one found"
    return f"{text}; the largest has {size} states, told apart in {how}"


def _separating(each: Round, states: Sequence[int]) -> int | None:
    """A weighting that alone separates all states."""
    width = len(next(iter(each.potentials.values())))
    for column in range(width):
        if len({each.potentials[q][column] for q in states}) == len(states):
            return column
    return None


def _values(part: Part, component: Component, each: Round, column: int) -> str:
    """A combination of letters with its values in the states of a component, each after a word."""
    dfa, root = part.dfa, component.states[0]
    before = dfa.access_words()[root]
    paths = _paths(dfa, component.states)
    values = ", ".join(
        f"{each.potentials[q][column]} after {quoted(dfa.show_word((*before, *paths[q])))}"
        for q in component.states
    )
    formula = _formula(dfa, each, column, lambda known: "")
    since = f", counted after {quoted(dfa.show_word(before))}," if before else ""
    return f"{formula}{since} is {values}"


def _paths(dfa: DFA, states: Sequence[int]) -> Mapping[int, tuple[int, ...]]:
    """Shortest paths within a component from its first state, as letters."""
    inside = set(states)
    paths: dict[int, tuple[int, ...]] = {states[0]: ()}
    waiting = deque(paths)
    while waiting:
        state = waiting.popleft()
        for letter, then in enumerate(dfa.transitions[state]):
            if then in inside and then not in paths:
                paths[then] = (*paths[state], letter)
                waiting.append(then)
    return paths


def _formula(dfa: DFA, each: Round, column: int, where: Callable[[int], str]) -> str:
    """One weighting as a combination of counts; `where` says in which states a class counts."""
    text = ""
    for (known, letter), weights in sorted(each.weights.items()):
        weight = weights[column]
        if not weight:
            continue
        there = where(known)
        count = f"#({dfa.alphabet[letter]} {there})" if there else f"#{dfa.alphabet[letter]}"
        sign = (" - " if text else "-") if weight < 0 else (" + " if text else "")
        text += sign + (f"{abs(weight)} " if abs(weight) != 1 else "") + count
    return text


def inside_details(decision: Decision) -> list[str]:
    """The combinations of counts of a yes, by component."""
    letters: dict[DFA, list[str]] = {}
    components = {}
    for part in decision.parts:
        letters.setdefault(part.dfa, []).append(part.letter)
        components[part.dfa] = part.components
    lines: list[str] = []
    for dfa, last in letters.items():
        before = f" of the words before a last {' or '.join(last)}" if decision.last_symbol else ""
        several = [each for each in components[dfa] if len(each.states) > 1]
        lines.append(
            f"automaton{before}: {number_of(dfa.size, 'state')}, "
            f"{number_of(len(components[dfa]), 'component')}"
            + ("" if several else " of one state each" if dfa.size > 1 else "")
        )
        words = dfa.access_words()
        for component in several[:MAX_LISTED]:
            listed = [
                f"state {q} (after {quoted(dfa.show_word(words[q]))})"
                for q in component.states[:MAX_LISTED]
            ]
            lines.append(f"component: {', '.join(listed)}{more(len(component.states), 'states')}")
            root = component.states[0]
            since = "" if root == dfa.start else f", counted from state {root} on"
            for number, each in enumerate(component.rounds, 1):
                lines += round_lines(
                    f"round {number}{since}",
                    each,
                    dfa,
                    component.states,
                    _by_states(each, component.states),
                    lambda q: f"state {q}",
                )
        if len(several) > MAX_LISTED:
            lines.append(f"and {len(several) - MAX_LISTED} more components of several states")
    return lines


def _by_states(each: Round, states: Sequence[int]) -> Callable[[int], str]:
    """Name a class by its states; a single class by nothing."""
    if len(set(each.classes.values())) == 1:
        return lambda known: ""

    def where(known: int) -> str:
        members = [str(q) for q in states if each.classes[q] == known]
        listed = " or ".join(members[:MAX_LISTED]) + more(len(members), "states")
        return f"in state {listed}"

    return where


def round_lines(
    head: str,
    each: Round,
    dfa: DFA,
    states: Sequence[int],
    where: Callable[[int], str],
    name: Callable[[int], str],
) -> list[str]:
    """The combinations of counts of a round, and their values by state.

    Args:
        head: begins every line.
        each: the round.
        dfa: the automaton of the letters.
        states: of the component.
        where: in which states a class counts, after the letter.
        name: what a state is called.
    """
    lines: list[str] = []
    each = oriented(each)
    columns = range(len(next(iter(each.potentials.values()))))
    useful = [c for c in columns if len({each.potentials[q][c] for q in states}) > 1]
    for column in useful[:MAX_LISTED]:
        values = [f"{each.potentials[q][column]} in {name(q)}" for q in states[:MAX_LISTED]]
        formula = _formula(dfa, each, column, where)
        lines.append(f"  {head}: {formula} is {', '.join(values)}{more(len(states), 'states')}")
    if len(useful) > MAX_LISTED:
        lines.append(f"  {head}: {len(useful) - MAX_LISTED} more combinations")
    return lines
