"""Predict length generalisation on legal next symbols, the target of the published experiments.

After each prefix of a word of L, a model names the symbols that may come next, and whether the word
may end. That is another question than membership: only prefixes of words of L are asked about, so
nothing has to be detected that makes a word illegal.

Theorem 4 (docs/length-theory.md): C-RASP without positions expresses the legal sets of L iff, in
every component of the minimal automaton, every letter that is legal after two states of one stable
class leads from both to one state. The state after a letter is then known from the class before it
and the letter; otherwise two prefixes with one last letter and different continuations look alike.
If programs may not read the last symbol, no two states of a class may have different futures, which
is the condition for membership.

With positions, the same condition on an unfolded automaton is a yes, and a block obstruction, whose
states are all live, is a no.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from weft.automata.dfa import DFA
from weft.theory.length.answers import Answer
from weft.theory.length.blocks import block_obstruction
from weft.theory.length.decider import Component, decide_component
from weft.theory.length.unfolding import (
    PERIODS,
    WINDOWS,
    unfolded_components,
    unfolding_sizes,
)

END = "the end"


@dataclass(frozen=True)
class Confusion:
    """Prefixes that no program without positions tells apart, though different symbols may follow.

    Attributes:
        words: the two prefixes, with the same last letter; each leads to one of two states that
            share a stable class, followed by `ending`.
        ending: the letters that both prefixes end with.
        legal: after each prefix, what may come next.
    """

    words: tuple[str, str]
    ending: str
    legal: tuple[frozenset[str], frozenset[str]]


def legal_next(dfa: DFA, state: int) -> frozenset[str]:
    """What may come next in a live state: letters, and `the end` if it accepts.

    Example:
        >>> from weft.automata import expression_dfa
        >>> sorted(legal_next(expression_dfa("(ab)*"), 0))
        ['a', 'the end']
    """
    live = dfa.live()
    letters = {
        a for a, then in zip(dfa.alphabet, dfa.transitions[state], strict=True) if then in live
    }
    return frozenset(letters | ({END} if state in dfa.accepting else set()))


def confusion(dfa: DFA, *, last_symbol: bool = True) -> Confusion | None:
    """Prefixes that C-RASP without positions confuses; None if it expresses the legal sets.

    Args:
        dfa: an automaton of the language.
        last_symbol: whether programs may read the last symbol.

    Example:
        >>> from weft.automata import expression_dfa
        >>> confusion(expression_dfa("(ab|aabb)*")) is None
        True
        >>> found = confusion(expression_dfa("(aa)*"))
        >>> found.words, [sorted(legal) for legal in found.legal]
        (('a', 'aa'), [['a'], ['a', 'the end']])
    """
    minimal = dfa.minimal()
    for component in _components(minimal):
        pair = _merged(component, minimal.transitions, minimal.live(), lambda state: state)
        if pair is not None:
            return _confusion(minimal, *pair)
        if not last_symbol and component.flows:
            return _confusion(minimal, component.flows[0].source, component.flows[0].target)
    return None


def _components(minimal: DFA) -> Iterator[Component]:
    """The live components of an automaton, each with its stable classes."""
    live = minimal.live()
    for states in minimal.components():
        inside = set(states)
        if inside <= live:
            edges = [
                (state, letter, then)
                for state in states
                for letter, then in enumerate(minimal.transitions[state])
                if then in inside
            ]
            yield decide_component(states, edges)


def _merged(
    component: Component,
    transitions: Sequence[Sequence[int]],
    live: frozenset[int],
    original: Callable[[int], Hashable],
) -> tuple[int, int, int] | None:
    """Two states of one class, and a letter that is legal after both but leads to two states."""
    members: dict[int, list[int]] = {}
    for state in component.states:
        members.setdefault(component.classes[state], []).append(state)
    for states in members.values():
        for one, other in combinations(states, 2):
            rows = zip(transitions[one], transitions[other], strict=True)
            for letter, (to_one, to_other) in enumerate(rows):
                if to_one in live and to_other in live and original(to_one) != original(to_other):
                    return one, other, letter
    return None


def _confusion(dfa: DFA, one: int, other: int, *begin: int) -> Confusion:
    """The shortest letters, of those that begin so, after which the legal sets differ."""
    words, live = dfa.access_words(), dfa.live()
    first = dfa.run_from(one, begin), dfa.run_from(other, begin)
    pairs: list[tuple[int, int, tuple[int, ...]]] = [(*first, begin)]
    known = {first}
    for left, right, read in pairs:  # grows while it is read; distinct live states differ somewhere
        legal = legal_next(dfa, left), legal_next(dfa, right)
        if legal[0] != legal[1]:
            shown = [dfa.show_word((*words[state], *read)) for state in (one, other)]
            return Confusion((shown[0], shown[1]), dfa.show_word(read), legal)
        for symbol in range(len(dfa.alphabet)):
            ahead = dfa.transitions[left][symbol], dfa.transitions[right][symbol]
            if set(ahead) <= live and ahead not in known:
                known.add(ahead)
                pairs.append((*ahead, (*read, symbol)))
    raise AssertionError("a minimal automaton has different live states with one future")


def legal_unfolding(dfa: DFA) -> tuple[int, int] | None:
    """The smallest (period, window) with which C-RASP expresses the legal sets, if one is found.

    Example:
        >>> from weft.automata import expression_dfa
        >>> legal_unfolding(expression_dfa("(aa)*"))
        (2, 0)
    """
    minimal = dfa.minimal()
    for period, window in unfolding_sizes(PERIODS, WINDOWS):
        if _passes(minimal, period, window):
            return period, window
    return None


def _passes(minimal: DFA, period: int, window: int) -> bool:
    found = unfolded_components(minimal, period, window)
    if found is None:
        return False
    states, transitions, components = found
    live_states = minimal.live()
    live = frozenset(place for place, state in enumerate(states) if state[0] in live_states)
    return all(
        _merged(component, transitions, live, lambda place: states[place][0]) is None
        for component in components
        if component.states[0] in live
    )


def predict_legal_next(dfa: DFA, *, last_symbol: bool = True) -> tuple[Answer, Answer]:
    """Predict length generalisation on legal next symbols, without positions and with them.

    Args:
        dfa: an automaton of the language.
        last_symbol: whether programs without positions may read the last symbol.

    Example:
        >>> from weft.automata import language
        >>> [answer.verdict for answer in predict_legal_next(language("ab-or-aabb").dfa)]
        ['yes', 'yes']
        >>> [answer.verdict for answer in predict_legal_next(language("tomita-4").dfa)]
        ['no', 'yes']
    """
    minimal = dfa.minimal()
    found = confusion(minimal, last_symbol=last_symbol)
    if found is None:
        known = "counts and the last symbol" if last_symbol else "counts"
        none = Answer(
            positions="none",
            verdict="yes",
            support="theorem",
            reason=f"on prefixes of words of the language, {known} determine the symbols that may "
            "come next",
        )
        return none, replace(none, positions="absolute")
    none = Answer(positions="none", verdict="no", support="theorem", reason=_reason(found))
    return none, _with_positions(minimal)


def _with_positions(minimal: DFA) -> Answer:
    if (blocks := block_obstruction(minimal)) is not None:
        frame = minimal.show_word(minimal.read_word(blocks.frame))
        return Answer(
            positions="absolute",
            verdict="no",
            support="theorem",
            reason=f"blocks that begin and end with {frame!r} hide what is between from windows "
            "and periods, and no count of blocks tells all states apart",
        )
    size = legal_unfolding(minimal)
    if size is None:
        return Answer(
            positions="absolute",
            verdict="unknown",
            support="none",
            reason="the bounded test finds no program, and no block obstruction is found",
            change="a larger period or window may give a program",
        )
    period, window = size
    parts = ["counts"]
    parts += [f"the last {window + 1} symbols" if window else "the last symbol"]
    parts += [f"the position modulo {period}"] if period > 1 else []
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}"
    return Answer(
        positions="absolute",
        verdict="yes",
        support="theorem",
        reason=f"on prefixes of words of the language, {listed} determine the symbols that may "
        "come next",
    )


def _reason(found: Confusion) -> str:
    one, two = (f"'{word}'" if word else "the empty word" for word in found.words)
    after = [", ".join(sorted(legal)) or "nothing" for legal in found.legal]
    return (
        f"no combination of counts tells the state after {one} from the state after {two}"
        + (", and both words end with the same symbol" if found.ending else "")
        + f", but what may come next is {after[0]} in the one and {after[1]} in the other"
    )
