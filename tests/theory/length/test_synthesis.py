"""Synthesised programs: equal to the automaton by the checker, and by the reference interpreter."""

import random
from itertools import product

import pytest

from random_automata import random_dfas, sparse_dfa
from weft.automata import DFA, LANGUAGES, expression_dfa
from weft.crasp import CraspProgram, parse, run
from weft.errors import WeftError
from weft.theory.length.blocks import block_obstruction
from weft.theory.length.certificates import decision_certificate, program_certificate
from weft.theory.length.checker.exploration import prove_equal
from weft.theory.length.checker.witnesses import check
from weft.theory.length.decider import Decision, decide
from weft.theory.length.synthesis import synthesise
from weft.theory.length.unfolding import Unfolding, unfold

NOPE = [name for name, each in LANGUAGES.items() if decide(each.dfa).inside]
APE = [name for name, each in LANGUAGES.items() if each.ape and name not in NOPE]


def agrees(dfa: DFA, program: CraspProgram, limit: int = 200) -> bool:
    """Whether program and automaton agree on the first words, by the reference interpreter."""
    words: list[tuple[str, ...]] = [()]
    for length in range(1, 9):
        words += product(dfa.alphabet, repeat=length)
        if len(words) > limit:
            break
    return all(run(program, word).accepted == dfa.accepts(word) for word in words[: 2 * limit])


def is_equal(dfa: DFA, witness: Decision | Unfolding) -> bool:
    program = synthesise(dfa, witness)
    assert agrees(dfa, program, 60)
    assert parse(str(program)) == program
    return prove_equal(dfa, program).status == "proved"


@pytest.mark.parametrize("name", NOPE)
def test_named_languages_without_positions(name: str) -> None:
    dfa = LANGUAGES[name].dfa
    program = synthesise(dfa, decide(dfa))
    assert not program.locals
    assert not program.periodics
    assert agrees(dfa, program)
    assert prove_equal(dfa, program).status == "proved"


@pytest.mark.parametrize("name", APE)
def test_named_languages_with_positions(name: str) -> None:
    dfa = LANGUAGES[name].dfa
    witness = unfold(dfa)
    assert witness is not None
    program = synthesise(dfa, witness)
    assert bool(program.locals) == (witness.window > 0)
    assert bool(program.periodics) == (witness.period > 1)
    assert agrees(dfa, program)
    assert prove_equal(dfa, program).status == "proved"


@pytest.mark.parametrize(
    "text",
    [
        "(ab|bba)*",
        "(b|aa)*",
        "((ab|bbaa)c)*",
        "(a(a(a(a(ab)*b)*b)*b)*b)*",
        "a*b*c*d*a*",
        "c(ab)*c(bbaa|ab)*",
        "(a|b)*c(ab)*",
        "(aab|abb)*(ba)*",
        "(aaa)*b(aa)*",
        "a|b|ab|ba|aab",
        "[ab]*[ba]",
    ],
)
def test_expressions(text: str) -> None:
    dfa = expression_dfa(text)
    decision = decide(dfa)
    witness = decision if decision.inside else unfold(dfa)
    assert witness is not None
    assert is_equal(dfa, witness)


def test_programs_that_do_not_read_the_last_symbol() -> None:
    """Without it, acceptance is a Boolean combination of comparisons of counts."""
    for text in ("(ab)*", "(ab|bbaa)*", "a*b*", "c(ab)*c(ba)*", "a|b|ab"):
        dfa = expression_dfa(text)
        program = synthesise(dfa, decide(dfa, last_symbol=False))
        assert not check(program_certificate(dfa, program)).last_symbol
    ends_in_b = expression_dfa("[ab]*b")
    program = synthesise(ends_in_b, decide(ends_in_b))
    assert str(program).endswith("accept := Q_b")
    assert check(program_certificate(ends_in_b, program)).last_symbol


def test_trivial_languages() -> None:
    for accepting in (frozenset[int](), frozenset({0})):
        dfa = DFA(("a", "b"), ((0, 0),), 0, accepting)
        assert is_equal(dfa, decide(dfa))


def test_long_letters() -> None:
    dfa = expression_dfa("(ab)*")
    renamed = DFA(("open", "<close>"), dfa.transitions, dfa.start, dfa.accepting)
    assert is_equal(renamed, decide(renamed))


def test_many_letters_and_deep_counters() -> None:
    size = 40
    counter = tuple((q + 1 if q + 1 < size else size, q - 1 if q else size) for q in range(size))
    dfa = DFA(("a", "b"), (*counter, (size, size)), 0, frozenset({0}))
    assert is_equal(dfa, decide(dfa))
    letters = tuple("abcdefghijklmnopqrstuvwxyz0123456789")  # more than there are suffixes a to z
    last = DFA(letters, ((0,) * 18 + (1,) * 18,) * 2, 0, frozenset({1}))
    assert is_equal(last, decide(last))


def test_a_no_has_no_program() -> None:
    dfa = expression_dfa("(aa)*")
    with pytest.raises(WeftError, match="no C-RASP program without positions"):
        synthesise(dfa, decide(dfa))
    with pytest.raises(WeftError, match="not one of this automaton"):
        synthesise(dfa, decide(expression_dfa("(ab)*")))


def test_programs_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.theory.length.synthesis.programs.MAX_STEPS", 5)
    dfa = expression_dfa("(ab)*")
    with pytest.raises(WeftError, match="6 steps of automata"):
        synthesise(dfa, decide(dfa))


def checked_answers(dfas: list[DFA]) -> dict[str, int]:
    """Every yes has a program that is proved equal, and every no a witness that is checked."""
    counts = {"yes": 0, "no": 0}
    for dfa in dfas:
        decision = decide(dfa)
        if decision.inside:
            assert is_equal(dfa, decision)
        else:
            assert check(decision_certificate(dfa, decision)).inside is False
        counts["yes" if decision.inside else "no"] += 1
    return counts


def test_random_automata() -> None:
    counts = checked_answers(random_dfas(17, 60))
    assert min(counts.values()) > 10


@pytest.mark.slow
def test_three_hundred_random_automata() -> None:
    counts = checked_answers(random_dfas(2026, 300))
    assert min(counts.values()) > 50


def sparse_with_witness(seed: int, count: int) -> list[tuple[DFA, Decision | Unfolding]]:
    """Sparse automata of at least four states that are inside, without positions or with them."""
    rng = random.Random(seed)
    result: list[tuple[DFA, Decision | Unfolding]] = []
    while len(result) < count:
        dfa = sparse_dfa(rng, letters=rng.choice(("ab", "ab", "abc"))).minimal()
        decision = decide(dfa)
        if dfa.size < 4:
            continue
        if decision.inside:
            result.append((dfa, decision))
        elif block_obstruction(dfa) is None:
            found = unfold(dfa, periods=(1, 2, 3), windows=(0, 1, 2))
            result += [(dfa, found)] if found is not None else []
    return result


def test_sparse_automata() -> None:
    pairs = sparse_with_witness(5, 18)
    assert any(isinstance(witness, Unfolding) for _, witness in pairs)
    assert any(isinstance(witness, Decision) for _, witness in pairs)
    for dfa, witness in pairs:
        assert is_equal(dfa, witness)


@pytest.mark.slow
def test_many_sparse_automata() -> None:
    for dfa, witness in sparse_with_witness(6, 150):
        assert is_equal(dfa, witness)
