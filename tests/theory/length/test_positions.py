"""Unfoldings and blocks, against the paper's flags, each other, and brute force on words."""

import random
from itertools import product

import pytest

from random_automata import random_dfa, random_dfas
from weft.automata import LANGUAGES, expression_dfa
from weft.theory.length import blocks
from weft.theory.length.blocks import block_obstruction
from weft.theory.length.certificates import block_certificate
from weft.theory.length.checker.witnesses import check
from weft.theory.length.decider import decide
from weft.theory.length.unfolding import unfold

TABLE = [name for name, each in LANGUAGES.items() if each.ape is not None]


@pytest.mark.parametrize("name", TABLE)
def test_flags_of_the_paper(name: str) -> None:
    dfa = LANGUAGES[name].dfa
    if LANGUAGES[name].ape:
        assert unfold(dfa) is not None
        assert name == "d-12" or block_obstruction(dfa) is None  # its semigroup takes seconds
    else:
        assert block_obstruction(dfa) is not None


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("(10)*", (1, 0)),
        ("(ab|aabb)*", (1, 1)),
        ("(1|01|001)*(0|00)?", (1, 2)),
        ("(aa)*", (2, 0)),
        ("(abab)*", (4, 0)),
        ("[ab]*b", (1, 0)),
        ("[ab]*ab", (1, 1)),
    ],
)
def test_smallest_unfoldings(text: str, size: tuple[int, int]) -> None:
    found = unfold(expression_dfa(text))
    assert found is not None
    assert (found.period, found.window) == size


def test_no_language_has_both_an_unfolding_and_blocks() -> None:
    kinds = set()
    for dfa in random_dfas(3, 60, states=(2, 4), letters="ab"):
        found, blocks = unfold(dfa), block_obstruction(dfa)
        assert found is None or blocks is None
        if decide(dfa).inside:
            assert found is not None
            assert (found.period, found.window) == (1, 0)
        kinds.add((found is not None, blocks is not None))
    assert {(True, False), (False, True)} <= kinds


def test_what_unfolded_states_share_is_what_words_share() -> None:
    """On all words to length 8: window, residue and potentials determine the state."""
    dfa = expression_dfa("(ab|aabb)*")
    found = unfold(dfa)
    assert found is not None
    for part in found.parts:
        number = {state: place for place, state in enumerate(part.states)}
        seen: dict[object, int] = {}
        for length in range(9):
            for word in product(range(2), repeat=length):
                state = part.dfa.start
                for letter in word:
                    state = part.dfa.transitions[state][letter]
                window = tuple(word[-found.window :]) if found.window else ()
                node = number[state, window, length % found.period]
                which = next(k for k, c in enumerate(part.components) if node in c.states)
                key = (which, part.components[which].classes[node])
                assert seen.setdefault(key, state) == state


def test_blocks_act_as_they_say() -> None:
    found = block_obstruction(LANGUAGES["tomita-6"].dfa)
    assert found is not None
    dfa = found.dfa
    assert dfa.run(list(found.frame) * 2) == dfa.run(found.frame)
    assert {len(word) for word in found.middles} == {len(found.frame)}


def test_large_automata_have_obstructions_with_short_frames() -> None:
    """Their semigroups are too large to be listed, and unfolding them would take seconds."""
    rng = random.Random(5)
    for _ in range(6):
        dfa = random_dfa(rng, states=(9, 12), letters="abc")
        found = block_obstruction(dfa)
        assert found is not None
        assert len(found.frame) < 40
        assert not check(block_certificate(dfa.minimal(), found)).inside


def test_short_frames_find_nothing_that_a_full_search_does_not() -> None:
    rng = random.Random(9)
    found = 0
    for _ in range(25):
        minimal = random_dfa(rng, states=(3, 5), letters="ab").minimal()
        short = blocks._with_short_frames(minimal)
        stable = blocks._stable(minimal)
        full = any(blocks._is_idempotent(e) and blocks._failing(e, stable) for e in stable)
        assert short is None or full
        found += short is not None
    assert found
