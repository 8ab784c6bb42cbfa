"""Deciding whether C-RASP expresses a regular language, without and with positions."""

from __future__ import annotations

import random

from measure import Figure, seconds
from weft.automata.dfa import DFA
from weft.automata.languages import TABLE
from weft.theory.length.blocks import block_obstruction
from weft.theory.length.classes import language_class
from weft.theory.length.decider import decide
from weft.theory.length.unfolding import unfold


def figures() -> list[Figure]:
    rng = random.Random(0)
    small = [_random_dfa(rng, rng.randint(2, 5), rng.randint(2, 3)) for _ in range(1500)]
    large = _random_dfa(rng, 200, 4)
    return [
        Figure("the 34 flags of the published table", seconds(_table, 1), "s", most=30),
        Figure(
            "1,500 random automata of 2 to 5 states, no positions",
            seconds(lambda: [decide(dfa) for dfa in small], 1),
            "s",
            most=60,
        ),
        Figure(
            "the first 300 of them with positions",
            seconds(lambda: [block_obstruction(dfa) or unfold(dfa) for dfa in small[:300]], 1),
            "s",
        ),
        Figure(
            "an automaton of 200 states over 4 letters, no positions",
            seconds(lambda: decide(large), 1),
            "s",
            most=30,
        ),
        Figure(
            "the classes of the 1,500 automata",
            seconds(lambda: [language_class(dfa) for dfa in small], 1),
            "s",
        ),
    ]


def _random_dfa(rng: random.Random, states: int, letters: int) -> DFA:
    rows = tuple(tuple(rng.randrange(states) for _ in range(letters)) for _ in range(states))
    accepting = frozenset(state for state in range(states) if rng.random() < 0.5)
    return DFA(tuple("abcd"[:letters]), rows, 0, accepting)


def _table() -> None:
    """As the predictor asks: blocks if it is outside without positions, then unfoldings."""
    for language in TABLE:
        inside = decide(language.dfa).inside
        assert inside == language.nope
        positions = inside or not block_obstruction(language.dfa)
        assert positions == language.ape
        assert not positions or unfold(language.dfa) is not None
