"""Predictions on legal next symbols, against brute force, a second decider and random programs."""

import random
from itertools import product

import pytest

from random_automata import random_dfas
from weft.automata import DFA, LANGUAGES, expression_dfa
from weft.automata.languages import TABLE
from weft.crasp import Comparison, Counting, CraspProgram, Integer, Line, Subtract, Symbol
from weft.crasp.expressions import And, Expression, Name
from weft.crasp.reference import run
from weft.theory.length.decider import decide, decide_component
from weft.theory.length.legal import END, confusion, legal_next, predict_legal_next
from weft.theory.length.unfolding import unfold


@pytest.mark.parametrize("name", [each.name for each in TABLE])
def test_the_flags_of_the_table_hold_of_legal_next_symbols_too(name: str) -> None:
    none, absolute = predict_legal_next(LANGUAGES[name].dfa)
    assert (none.verdict == "yes") == LANGUAGES[name].nope
    assert (absolute.verdict == "yes") == LANGUAGES[name].ape


def test_membership_may_be_harder() -> None:
    dfa = LANGUAGES["ab-or-aabb"].dfa
    assert not decide(dfa).inside
    assert predict_legal_next(dfa)[0].verdict == "yes"


@pytest.mark.parametrize("seed", range(3))
def test_a_yes_for_membership_is_one_for_legal_next_symbols(seed: int) -> None:
    verdicts = set()
    for dfa in [*random_dfas(seed, 12, states=(2, 4), letters="ab"), *random_codes(seed, 8)]:
        none, absolute = (answer.verdict for answer in predict_legal_next(dfa))
        if decide(dfa).inside:
            assert none == "yes"
        if unfold(dfa) is not None:
            assert absolute == "yes"
        if none == "yes":
            assert absolute == "yes"
        verdicts.add((none, absolute))
    assert {("yes", "yes"), ("no", "yes")} <= verdicts


@pytest.mark.parametrize("seed", range(3))
def test_without_the_last_symbol_the_question_is_membership(seed: int) -> None:
    verdicts = set()
    for dfa in [*random_dfas(seed, 20, states=(2, 4), letters="ab"), *random_codes(seed, 8)]:
        found = confusion(dfa, last_symbol=False)
        assert (found is None) == decide(dfa, last_symbol=False).inside
        if found is not None:
            assert found.legal[0] != found.legal[1]
        verdicts.add((found is None, confusion(dfa) is None))
    assert {(True, True), (False, True), (False, False)} == verdicts


def random_codes(seed: int, count: int) -> list[DFA]:
    """Two random words in any order; most strings are no prefixes of these."""
    rng = random.Random(seed)
    words = [["".join(rng.choices("ab", k=rng.randint(1, 3))) for _ in "12"] for _ in range(count)]
    return [expression_dfa(f"({'|'.join(each)})*", "ab") for each in words]


@pytest.mark.parametrize("seed", range(4))
def test_the_words_of_a_confusion_are_prefixes_with_different_continuations(seed: int) -> None:
    confused = 0
    for dfa in random_dfas(seed, 40, states=(2, 5)):
        found = confusion(dfa)
        if found is None:
            continue
        confused += 1
        assert found.ending
        assert all(word.endswith(found.ending) for word in found.words)
        expected = tuple(continuations(dfa, word) for word in found.words)
        assert found.legal == expected
        assert all(expected)  # both are prefixes of words of the language
        assert expected[0] != expected[1]
    assert confused


def continuations(dfa: DFA, word: str) -> frozenset[str]:
    """What may come next, by trying all continuations of up to as many letters as states."""

    def can_be_completed(text: str) -> bool:
        return any(
            dfa.accepts(text + "".join(rest))
            for length in range(dfa.size)
            for rest in product(dfa.alphabet, repeat=length)
        )

    letters = {letter for letter in dfa.alphabet if can_be_completed(word + letter)}
    return frozenset(letters | ({END} if dfa.accepts(word) else set()))


@pytest.mark.parametrize("text", ["(ab|aabb)*", "(ab)*", "(a(ab)*b)*"])
def test_counts_and_the_last_letter_determine_the_legal_symbols(text: str) -> None:
    """In one component, with one round, a yes says just this; all short prefixes are tried."""
    dfa = expression_dfa(text).minimal()
    assert predict_legal_next(dfa)[0].verdict == "yes"
    live, known = dfa.live(), {}
    (states,) = (each for each in dfa.components() if set(each) <= live)
    edges = [
        (q, a, then) for q in states for a, then in enumerate(dfa.transitions[q]) if then in states
    ]
    (potentials,) = decide_component(states, edges).rounds
    weights = {letter: w for (_, letter), w in potentials.weights.items()}
    for length in range(9):
        for word in product(range(len(dfa.alphabet)), repeat=length):
            state = dfa.run_from(dfa.start, word)
            if state not in live:
                continue
            none = (0,) * len(next(iter(weights.values())))
            sums = tuple(map(sum, zip(none, *(weights.get(a, none) for a in word), strict=True)))
            legal = legal_next(dfa, state)
            assert known.setdefault((sums, word[-1:]), legal) == legal


def test_without_determination_two_prefixes_look_alike() -> None:
    """Random programs give the same answers after long words of both parities."""
    rng = random.Random(0)
    found = confusion(expression_dfa("(aa)*"))
    assert found is not None
    for _ in range(30):
        program = random_program(rng)
        answers = []
        for word in found.words:
            values = run(program, tuple("a" * 40 + word)).values
            answers.append({name: column[-1] for name, column in values.items() if name[0] == "p"})
        assert answers[0] == answers[1], program


def random_program(rng: random.Random) -> CraspProgram:
    """Comparisons of differences of counts of earlier lines with small constants."""
    lines: list[Line] = []
    booleans: list[Expression] = [Symbol("a")]
    for number in range(4):
        term: Expression = Counting(rng.choice(booleans))
        if rng.random() < 0.5:
            term = Subtract(term, Counting(rng.choice(booleans)))
        operator = rng.choice(("<=", "==", ">", "!="))
        test: Expression = Comparison(operator, term, Integer(rng.randint(-2, 6)))
        if rng.random() < 0.3:
            test = And((test, rng.choice(booleans)))
        lines.append(Line(f"p{number}", test))
        booleans.append(Name(f"p{number}"))
    return CraspProgram(("a",), tuple(lines))
