"""Automata learned from membership, against the automata themselves."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from random_automata import random_dfa, random_dfas
from weft.automata import DFA, LANGUAGES
from weft.theory.length.learning import MAX_STATES, determining_length, learn
from weft.theory.length.word_functions import WordFunction


def test_named_languages_are_learned() -> None:
    for name, language in LANGUAGES.items():
        dfa = language.dfa
        found = learn(WordFunction(dfa.accepts, dfa.alphabet, boolean=True), 11, budget=4_000)
        if found.supported:
            assert found.dfa is not None
            assert found.dfa.difference(dfa) is None, name
        elif determining_length(dfa) <= found.length:
            raise AssertionError(f"{name} was not learned")


def test_random_automata_are_learned() -> None:
    supported = 0
    for dfa in random_dfas(11, 40, states=(2, 6), letters="ab"):
        found = learn(WordFunction(dfa.accepts, dfa.alphabet, boolean=True), 10, budget=3_000)
        if found.supported:
            supported += 1
            assert found.dfa is not None
            assert found.dfa.difference(dfa) is None
            assert found.dfa.size == dfa.minimal().size
    assert supported >= 30


def test_no_other_small_automaton_agrees() -> None:
    """`unique_to`, by trying all automata of two states over one and two letters."""
    for letters in ("a", "ab"):
        targets = [
            DFA(tuple(letters), tuple(zip(*rows, strict=True)), 0, frozenset(accepting))
            for rows in product(product(range(2), repeat=2), repeat=len(letters))
            for accepting in ((), (0,), (1,), (0, 1))
        ]
        for target in targets[::3]:
            found = learn(WordFunction(target.accepts, letters, boolean=True), 2, budget=100)
            assert found.dfa is not None
            if found.unique_to < 2:
                continue
            for other in targets:
                words = [w for n in range(found.length + 1) for w in product(letters, repeat=n)]
                if all(other.accepts(word) == found.dfa.accepts(word) for word in words):
                    assert other.difference(found.dfa) is None


@given(st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_determining_length_by_brute_force(rng: object) -> None:
    dfa = random_dfa(rng, (2, 5), "ab").minimal()  # type: ignore[arg-type]

    def shortest(tests: object) -> int:
        return next(
            n
            for n in range(20)
            if any(tests(w) for w in product(range(2), repeat=n))  # type: ignore[operator]
        )

    access = max(
        shortest(lambda w, q=state: dfa.run_from(dfa.start, w) == q) for state in range(dfa.size)
    )
    separating = max(
        (
            shortest(
                lambda w, p=p, q=q: (
                    (dfa.run_from(p, w) in dfa.accepting) != (dfa.run_from(q, w) in dfa.accepting)
                )
            )
            for p in range(dfa.size)
            for q in range(p)
        ),
        default=0,
    )
    assert determining_length(dfa) == access + 1 + separating


def test_counters_have_no_supported_automaton() -> None:
    def equal(word: str) -> bool:
        return word.count("a") == word.count("b")

    found = learn(WordFunction(equal, "ab", boolean=True), 10, budget=5_000)
    assert not found.supported
    assert found.dfa is None or found.dfa.size <= MAX_STATES
