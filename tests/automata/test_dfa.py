"""Automata: minimal forms, quotients, complements and components, against all short words."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.automata import DFA
from weft.errors import WeftError


@st.composite
def automata(draw: st.DrawFn) -> DFA:
    letters = draw(st.integers(1, 3))
    size = draw(st.integers(1, 6))
    state = st.integers(0, size - 1)
    rows = draw(st.lists(st.tuples(*[state] * letters), min_size=size, max_size=size))
    return DFA(tuple("abc"[:letters]), tuple(rows), draw(state), frozenset(draw(st.sets(state))))


def words(dfa: DFA, longest: int) -> Iterator[str]:
    for length in range(longest + 1):
        yield from map("".join, itertools.product(dfa.alphabet, repeat=length))


@given(automata())
def test_the_minimal_automaton_accepts_the_same_words_and_is_unique(dfa: DFA) -> None:
    minimal = dfa.minimal()
    assert minimal.size <= dfa.size
    assert dfa.difference(minimal) is None
    assert minimal.minimal() == minimal
    assert minimal.complement().minimal() == dfa.complement().minimal()
    assert all(minimal.accepts(word) == dfa.accepts(word) for word in words(dfa, 5))
    futures = {
        tuple(minimal.started_at(state).accepts(word) for word in words(dfa, minimal.size))
        for state in range(minimal.size)
    }
    assert len(futures) == minimal.size


@given(automata())
def test_a_quotient_forgets_the_last_letter(dfa: DFA) -> None:
    for letter in dfa.alphabet:
        quotient = dfa.quotient(letter)
        assert all(quotient.accepts(word) == dfa.accepts(word + letter) for word in words(dfa, 4))


@given(automata())
def test_components_are_the_mutually_reachable_states_in_topological_order(dfa: DFA) -> None:
    reach = [set(dfa.reachable(state)) for state in range(dfa.size)]
    components = dfa.components()
    assert sorted(state for each in components for state in each) == list(range(dfa.size))
    place = {state: number for number, each in enumerate(components) for state in each}
    for one, other in itertools.product(range(dfa.size), repeat=2):
        both = other in reach[one] and one in reach[other]
        assert (place[one] == place[other]) == both
        assert other not in reach[one] or place[one] <= place[other]


@given(automata())
def test_live_states_and_access_words(dfa: DFA) -> None:
    live = {state for state in range(dfa.size) if set(dfa.reachable(state)) & dfa.accepting}
    assert dfa.live() == live
    access = dfa.access_words()
    assert set(access) == set(dfa.reachable())
    assert all(dfa.run_from(dfa.start, word) == state for state, word in access.items())


def test_letters_may_have_several_characters() -> None:
    dfa = DFA(("up", "down"), ((1, 0), (1, 0)), 0, frozenset({1}))
    assert dfa.accepts("down up")
    assert dfa.accepts(["up"])
    assert not dfa.accepts("")
    assert dfa.show_word(dfa.read_word("up down")) == "up down"
    with pytest.raises(WeftError, match="'left' is not a letter of the alphabet"):
        dfa.accepts("left")


@pytest.mark.parametrize(
    ("alphabet", "rows", "start", "accepting", "part"),
    [
        ("", ((),), 0, (), "needs letters"),
        ("aa", ((0, 0),), 0, (), "all different"),
        ("a", (), 0, (), "no states"),
        ("ab", ((0,),), 0, (), "one successor for every letter"),
        ("a", ((1,),), 0, (), "not one of the states 0 to 0"),
        ("a", ((0,),), 1, (), "the start"),
        ("a", ((0,),), 0, (2,), "an accepting state"),
    ],
)
def test_a_bad_automaton_is_refused(
    alphabet: str,
    rows: tuple[tuple[int, ...], ...],
    start: int,
    accepting: tuple[int, ...],
    part: str,
) -> None:
    with pytest.raises(WeftError, match=part):
        DFA(tuple(alphabet), rows, start, frozenset(accepting))
