"""Proofs that program and automaton are equal, against brute force and near misses."""

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import programs

from mutated_programs import some_mutations
from random_automata import sparse_dfa
from weft.automata import DFA, LANGUAGES, expression_dfa
from weft.crasp import CraspProgram, parse, run, run_batch
from weft.theory.length.checker import exploration
from weft.theory.length.checker.exploration import prove_equal
from weft.theory.length.decider import decide
from weft.theory.length.synthesis import synthesise
from weft.theory.length.unfolding import unfold


def words_of(dfa: DFA, length: int) -> list[tuple[str, ...]]:
    return [word for n in range(length + 1) for word in product(dfa.alphabet, repeat=n)]


def check_against_brute_force(dfa: DFA, program: CraspProgram, length: int) -> str:
    """The verdict, after comparing it with the reference on all words up to a length."""
    found = prove_equal(dfa, program)
    words = words_of(dfa, length)
    batch = run_batch(program, words).accepted.tolist()
    same = batch == [dfa.accepts(word) for word in words]
    if found.status == "proved":
        assert same
    elif found.status == "refuted":
        assert found.word is not None
        assert run(program, found.word).accepted != dfa.accepts(found.word)
    else:
        assert found.checked_to is not None
        assert same or found.checked_to < length
    return found.status


def program_of(dfa: DFA) -> CraspProgram:
    decision = decide(dfa)
    witness = decision if decision.inside else unfold(dfa)
    assert witness is not None
    return synthesise(dfa, witness)


@pytest.mark.parametrize(
    "text",
    ["(ab)*", "(ab|bbaa)*", "(ab|aabb)*", "a*b*a*", "(aa)*", "[ab]*ab", "(b|aa)*", "c(ab)*c"],
)
def test_programs_with_one_part_changed(text: str) -> None:
    dfa = expression_dfa(text)
    program = program_of(dfa)
    assert check_against_brute_force(dfa, program, 7) == "proved"
    verdicts = [
        check_against_brute_force(dfa, changed, 7)
        for changed in some_mutations(program, random.Random(text), 25)
    ]
    assert verdicts.count("refuted") > 1
    assert "undecided" not in verdicts


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, each in LANGUAGES.items() if each.ape])
def test_every_program_with_one_part_changed(name: str) -> None:
    dfa = LANGUAGES[name].dfa
    length = {1: 12, 2: 8, 3: 6, 4: 5}.get(len(dfa.alphabet), 4)
    for changed in some_mutations(program_of(dfa), random.Random(name), 100):
        check_against_brute_force(dfa, changed, length)


def changed_transition(dfa: DFA, rng: random.Random) -> DFA:
    rows = [list(row) for row in dfa.transitions]
    rows[rng.randrange(dfa.size)][rng.randrange(len(dfa.alphabet))] = rng.randrange(dfa.size)
    return DFA(dfa.alphabet, tuple(map(tuple, rows)), dfa.start, dfa.accepting)


@pytest.mark.parametrize("text", ["(ab)*", "(ab|bbaa)*", "(ab|aabb)*", "a*b*c*", "(abab)*"])
def test_automata_with_one_transition_changed(text: str) -> None:
    """The program is proved for the changed automaton iff the language is the same."""
    dfa = expression_dfa(text)
    program, rng = program_of(dfa), random.Random(text)
    for _ in range(25):
        changed = changed_transition(dfa, rng)
        status = prove_equal(changed, program).status
        assert status == ("proved" if changed.difference(dfa) is None else "refuted")


def test_sparse_automata_with_one_transition_changed() -> None:
    rng = random.Random(8)
    seen = set()
    while len(seen) < 15:
        dfa = sparse_dfa(rng)
        if dfa in seen or not decide(dfa).inside:
            continue
        seen.add(dfa)
        program = program_of(dfa)
        for changed in (dfa, changed_transition(dfa, rng), changed_transition(dfa, rng)):
            status = prove_equal(changed, program).status
            assert status == ("proved" if changed.difference(dfa) is None else "refuted")


ONES = DFA(("0", "1"), ((1, 0), (1, 1)), 0, frozenset({0}))
"""The words without a 0."""


@pytest.mark.parametrize(
    ("accept", "word"),
    [
        ("# Q_0 == 0 or # Q_0 > 12", ("0",) * 13),
        ("# Q_0 == 0 and # Q_1 < 25", ("1",) * 25),
        ("# Q_0 == 0 or # Q_0 - # Q_1 == 9", ("0",) * 9),
        ("# Q_0 == 0 and not (# true == 11 and MOD(4, 3))", ("1",) * 11),
        ("# Q_0 == 0 or # Q_1 == 11 and previous previous previous Q_0 and Q_1", None),
    ],
)
def test_programs_that_differ_at_a_long_word_only(accept: str, word: tuple[str, ...]) -> None:
    program = parse(f"alphabet 0 1\naccept := {accept}")
    found = prove_equal(ONES, program)
    assert found.status == "refuted"
    assert found.word is not None
    assert len(found.word) >= 9
    assert run(program, found.word).accepted != ONES.accepts(found.word)
    assert word is None or found.word == word


def test_a_difference_beyond_the_bounds_is_never_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words that are compared agree, and longer ones are out of reach: the answer says so."""
    monkeypatch.setattr(exploration, "PROOF_WORK", 100_000)
    far = parse("alphabet 0 1\naccept := # Q_0 == 0 or # Q_0 - # Q_1 == 100000")
    found = prove_equal(ONES, far)
    assert found.status == "undecided"
    assert found.checked_to is not None
    assert 20 < found.checked_to <= 100


def test_long_thresholds_are_followed() -> None:
    over = parse("alphabet 0 1\naccept := # Q_0 == 0 or # Q_0 > 400")
    found = prove_equal(ONES, over)
    assert found.status == "refuted"
    assert found.word == ("0",) * 401


@pytest.mark.parametrize(
    "accept",
    [
        "min(# Q_0, # Q_1) >= 0 and # Q_0 <= 0",
        "(Q_0 ? # Q_0 : 0 - # Q_0) == 0",
        "max(# Q_0, 0) == 0",
        "not exists Q_0",
        "# Q_0 + # Q_1 == # true and 2 + 1 == 3 and # Q_0 == 0",
        "# Q_0 == 0 and (MOD(3, 0) or MOD(3, 1) or MOD(3, 2))",
    ],
)
def test_other_ways_to_say_the_same(accept: str) -> None:
    program = parse(f"alphabet 0 1\naccept := {accept}")
    assert check_against_brute_force(ONES, program, 8) == "proved"


def test_other_alphabets() -> None:
    assert prove_equal(ONES, parse("alphabet 0 2\naccept := # Q_0 == 0")).status == "refuted"
    swapped = parse("alphabet 1 0\naccept := # Q_0 == 0")
    assert prove_equal(ONES, swapped).status == "proved"


def test_programs_beyond_the_bounds_are_compared_on_short_words() -> None:
    far = parse("alphabet 0 1\naccept := # Q_0 == 0 and #[j <= i, j == i - 500] Q_0(j) == 0")
    found = prove_equal(ONES, far)
    assert found.status == "undecided"
    assert "64 positions" in found.reason
    assert found.checked_to == 8
    wrong = parse("alphabet 0 1\naccept := # Q_0 <= 3 and #[j <= i, j == i - 500] Q_0(j) == 0")
    assert prove_equal(ONES, wrong).word == ("0",)


def test_small_bounds_give_no_wrong_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few steps are allowed, a proof is right and the comparison says how far it went."""
    dfa = expression_dfa("(ab|bbaa)*")
    program = program_of(dfa)
    changed = some_mutations(program, random.Random(1), 12)
    for work in (0, 50, 500, 5_000):
        for name in ("PROOF_WORK", "QUICK_WORK", "WORDS_WORK"):
            monkeypatch.setattr(exploration, name, work)
        assert prove_equal(dfa, program).status in ("proved", "undecided")
        for each in changed:
            check_against_brute_force(dfa, each, 6)


@settings(max_examples=60, deadline=None)
@given(programs(), st.integers(0, 10**6))
def test_random_programs_and_automata(program: CraspProgram, seed: int) -> None:
    dfa = sparse_dfa(random.Random(seed), (2, 4), "".join(program.alphabet[:3]))
    if set(dfa.alphabet) == set(program.alphabet):
        check_against_brute_force(dfa, program, 5)
