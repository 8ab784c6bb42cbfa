"""The class of a language, against definitions on the syntactic monoid and against the decider."""

from __future__ import annotations

import itertools
import random

import pytest

from weft.automata import DFA, LANGUAGES, expression_dfa
from weft.theory.length.classes import language_class, transition_monoid
from weft.theory.length.decider import decide

EXPECTED = {
    "tomita-1": "R-trivial",
    "tomita-2": "R^omega",
    "tomita-4": "star-free",
    "d-12": "R^omega",
    "012-02": "star-free",
    "aa-star": "regular",
    "abab": "regular",
    "ab-or-aabb": "star-free",
    "ab-or-bba": "R^omega",
    "b-or-aa": "regular",
    "ends-in-b": "star-free",
    "contains-ab-binary": "R-trivial",
}


@pytest.mark.parametrize("name", EXPECTED)
def test_named_languages(name: str) -> None:
    assert language_class(LANGUAGES[name].dfa).name == EXPECTED[name]


def random_dfa(rng: random.Random) -> DFA:
    letters, size = rng.randint(1, 3), rng.randint(1, 4)
    rows = tuple(tuple(rng.randrange(size) for _ in range(letters)) for _ in range(size))
    accepting = frozenset(state for state in range(size) if rng.random() < 0.5)
    return DFA(tuple("abc"[:letters]), rows, 0, accepting)


def class_of_monoid(dfa: DFA) -> str:
    """The class by the definitions: R-classes from right ideals, powers multiplied out."""
    monoid = set(transition_monoid(dfa.minimal()) or ())

    def product(one: tuple[int, ...], two: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(two[state] for state in one)

    ideals = {x: frozenset(product(x, y) for y in monoid) for x in monoid}
    if len(set(ideals.values())) == len(monoid):
        return "R-trivial"
    for element in monoid:
        power = element
        for _ in range(len(monoid)):
            power = product(power, element)
        if product(power, element) != power:
            return "regular"
    idempotents = [x for x in monoid if product(x, x) == x]
    unique = len({ideals[x] for x in idempotents}) == len(idempotents)
    return "R^omega" if unique else "star-free"


def test_random_automata_against_the_definitions() -> None:
    rng = random.Random(0)
    seen = []
    named = [each.dfa for each in LANGUAGES.values() if each.dfa.size < 9]
    for dfa in [*named, *(random_dfa(rng) for _ in range(150))]:
        seen.append(language_class(dfa).name)
        assert seen[-1] == class_of_monoid(dfa)
        assert language_class(dfa.complement()).name == seen[-1]
    assert set(seen) == {"R-trivial", "R^omega", "star-free", "regular"}


def test_the_decider_lies_between_two_classes() -> None:
    rng = random.Random(1)
    for _ in range(300):
        dfa = random_dfa(rng)
        inside = decide(dfa, last_symbol=False).inside
        name = language_class(dfa).name
        assert inside or name != "R-trivial"
        assert not inside or name in ("R-trivial", "R^omega")


def test_a_large_monoid_is_not_enumerated() -> None:
    size = 9  # all transformations of nine states: 9^9 of them
    rows = [(state, (state + 1) % size, max(state, 1)) for state in range(size)]
    rows[0], rows[1] = (1, 1, 1), (0, 2, 1)
    dfa = DFA(("a", "b", "c"), tuple(rows), 0, frozenset({0}))
    found = language_class(dfa, limit=1000)
    assert (found.name, found.monoid) == (None, None)
    assert "not computed" in found.reason


@pytest.mark.parametrize("text", ["[^ab]", "[ab]*"])
def test_the_empty_and_the_full_language_are_the_smallest(text: str) -> None:
    found = language_class(expression_dfa(text, "ab"))
    assert (found.name, found.monoid) == ("R-trivial", 1)


def test_words_of_the_monoid_do_what_they_say() -> None:
    for name in ("tomita-3", "bcab-or-cbac"):
        dfa = LANGUAGES[name].dfa
        monoid = transition_monoid(dfa)
        assert monoid is not None
        for element, word in monoid.items():
            assert element == tuple(dfa.run_from(state, word) for state in range(dfa.size))
        assert len(set(itertools.chain(monoid))) == len(monoid)
