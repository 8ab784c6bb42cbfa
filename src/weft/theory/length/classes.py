"""The smallest of four classes that a regular language is in.

    R-trivial < R^omega < star-free < regular

They are read off the minimal automaton and its transition monoid, whose elements are what words do
to the states:

    R-trivial  no cycle of the automaton goes through two states
    R^omega    star-free, and no two idempotents have the same kernel (one per R-class)
    star-free  no word permutes states in a cycle of two or more (aperiodic)

C-RASP without positions, for programs that do not read the last symbol, lies strictly between the
first two, so a language outside R^omega is outside C-RASP (arXiv:2608.13433).
With the last symbol readable this holds of the quotients, not of the language: the words that end
in b are not in R^omega, and a program reads off their last symbol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from weft.automata.dfa import DFA

ClassName = Literal["R-trivial", "R^omega", "star-free", "regular"]

MAX_MONOID = 20_000
"""Larger monoids are not enumerated; their size may be exponential in that of the automaton."""

Transformation = tuple[int, ...]
"""By state, the state after a word."""


@dataclass(frozen=True)
class LanguageClass:
    """The class of a regular language, and why it is in no smaller one.

    Attributes:
        name: the smallest class; None if the monoid is too large to say.
        monoid: the number of elements of the syntactic monoid; None if it is too large.
        reason: a sentence that shows why no smaller class contains the language.
    """

    name: ClassName | None
    monoid: int | None
    reason: str


def language_class(dfa: DFA, *, limit: int = MAX_MONOID) -> LanguageClass:
    """The smallest of the four classes that contains the language of an automaton.

    Args:
        dfa: the automaton; it need not be minimal.
        limit: the largest monoid that is enumerated.

    Example:
        >>> from weft.automata import expression_dfa
        >>> [language_class(expression_dfa(text)).name for text in ("a*b*", "(ab)*", "(aa)*")]
        ['R-trivial', 'R^omega', 'regular']
        >>> language_class(expression_dfa("(b|aa)*")).reason
        'the word a moves state 0 through a cycle of 2 states'
    """
    minimal = dfa.minimal()
    monoid = transition_monoid(minimal, limit=limit)
    size = None if monoid is None else len(monoid)
    cycle = next((each for each in minimal.components() if len(each) > 1), None)
    if cycle is None:
        return LanguageClass("R-trivial", size, "no cycle of the automaton goes through two states")
    if monoid is None:
        reason = f"not computed: the syntactic monoid has more than {limit:,} elements"
        return LanguageClass(None, None, reason)
    for element, word in monoid.items():
        if (found := _long_cycle(element)) is not None:
            state, length = found
            spelt = minimal.show_word(word)
            reason = f"the word {spelt} moves state {state} through a cycle of {length} states"
            return LanguageClass("regular", size, reason)
    idempotents: dict[tuple[int, ...], Transformation] = {}
    for element in monoid:
        if any(element[then] != then for then in element):
            continue
        first = idempotents.setdefault(_kernel(element), element)
        if first is not element:
            words = [minimal.show_word(monoid[each]) or "()" for each in (first, element)]
            reason = f"the idempotents {words[0]} and {words[1]} merge the same states"
            return LanguageClass("star-free", size, reason)
    states = " and ".join(str(state) for state in sorted(cycle)[:2])
    return LanguageClass("R^omega", size, f"a cycle goes through the states {states}")


def transition_monoid(
    dfa: DFA, *, limit: int = MAX_MONOID
) -> dict[Transformation, tuple[int, ...]] | None:
    """What words do to the states, each with its first shortest word; None above the limit.

    Of a minimal automaton it is the syntactic monoid of the language.
    """
    letters = list(zip(*dfa.transitions, strict=True))
    words: dict[Transformation, tuple[int, ...]] = {tuple(range(dfa.size)): ()}
    order = list(words)
    for element in order:  # grows while it is read
        for letter, move in enumerate(letters):
            product = tuple(move[state] for state in element)
            if product not in words:
                if len(words) >= limit:
                    return None
                words[product] = (*words[element], letter)
                order.append(product)
    return words


def _long_cycle(element: Transformation) -> tuple[int, int] | None:
    """A state on a cycle of two or more states under a transformation, and its length."""
    seen: set[int] = set()
    for start in range(len(element)):
        path: dict[int, int] = {}
        state = start
        while state not in seen:
            seen.add(state)
            path[state] = len(path)
            state = element[state]
        if state in path and len(path) - path[state] > 1:
            return state, len(path) - path[state]
    return None


def _kernel(element: Transformation) -> tuple[int, ...]:
    """Which states a transformation merges, as the first state merged with each."""
    first: dict[int, int] = {}
    return tuple(first.setdefault(then, state) for state, then in enumerate(element))
