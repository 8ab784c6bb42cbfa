"""The decider without positions, against the paper's flags and a decider that enumerates cycles."""

import pytest
from sympy import Matrix

from random_automata import random_dfas
from weft.automata import DFA, LANGUAGES, expression_dfa
from weft.theory.length.decider import decide

TABLE = [name for name, each in LANGUAGES.items() if each.nope is not None]


def test_the_table_has_seventeen_languages() -> None:
    assert len(TABLE) == 17


@pytest.mark.parametrize("name", TABLE)
def test_flags_of_the_paper(name: str) -> None:
    assert decide(LANGUAGES[name].dfa).inside == LANGUAGES[name].nope


@pytest.mark.parametrize(
    ("text", "alphabet", "with_last", "without"),
    [
        ("(b|abc)*", "abc", True, True),  # the published code says out for these two
        ("(bcab|cbac)*", "abc", True, True),
        ("(b|aa)*", "ab", False, False),  # out, though labels of states differ in the component
        ("[ab]*b", "ab", True, False),
        ("[ab]*ab", "ab", False, False),
        ("[be]*be*", "be", True, True),  # the alphabet is part of the question
        ("[abe]*be*", "abe", False, False),
        ("[ab]*ab[ab]*", "ab", True, True),
        ("[abc]*ab[abc]*", "abc", False, False),
        ("(ab|aabb)*", "ab", False, False),
        ("(ab|bbaa)*", "ab", True, True),
        ("(ab|bba)*", "ab", False, False),  # although it passes the test by idempotents
        ("[ab]*", "ab", True, True),
        ("a*", "ab", True, True),
        ("(a[ab])*", "ab", False, False),
    ],
)
def test_known_languages(text: str, alphabet: str, with_last: bool, without: bool) -> None:
    dfa = expression_dfa(text, alphabet)
    assert decide(dfa).inside == with_last
    assert decide(dfa, last_symbol=False).inside == without


def by_cycles(dfa: DFA) -> bool:
    """The decider as its authors state it: weightings that vanish on all simple cycles."""
    dfa = dfa.minimal()
    for states in dfa.components():
        classes = dict.fromkeys(states, 0)
        while True:
            labels = sorted({(classes[q], a) for q in states for a in range(len(dfa.alphabet))})
            cycles = list(simple_cycles(dfa, states, classes, labels))
            weightings = Matrix(cycles).nullspace() if cycles else None
            finer = potentials(dfa, states, classes, labels, weightings)
            if len(set(finer.values())) == len(set(classes.values())):
                break
            classes = finer
        if len(set(classes.values())) < len(states):
            return False
    return True


def simple_cycles(dfa, states, classes, labels):
    """The label counts of every simple cycle that begins at its smallest state."""

    def extend(start, state, seen, counts):
        for a, then in enumerate(dfa.transitions[state]):
            if then not in states or then < start:
                continue
            counts[labels.index((classes[state], a))] += 1
            if then == start:
                yield list(counts)
            elif then not in seen:
                yield from extend(start, then, seen | {then}, counts)
            counts[labels.index((classes[state], a))] -= 1

    for start in states:
        yield from extend(start, start, {start}, [0] * len(labels))


def potentials(dfa, states, classes, labels, weightings):
    root = states[0]
    sums = {root: [0] * len(weightings or [])}
    waiting = [root]
    for state in waiting:
        for a, then in enumerate(dfa.transitions[state]):
            if then in states and then not in sums:
                place = labels.index((classes[state], a))
                pairs = zip(sums[state], weightings or [], strict=True)
                sums[then] = [s + w[place] for s, w in pairs]
                waiting.append(then)
    keys = {q: (classes[q], tuple(sums[q])) for q in states}
    order = list(dict.fromkeys(keys.values()))
    return {q: order.index(key) for q, key in keys.items()}


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_the_enumeration_of_cycles(seed: int) -> None:
    inside = 0
    for dfa in random_dfas(seed, 12, states=(2, 4)):
        expected = by_cycles(dfa)
        assert decide(dfa, last_symbol=False).inside == expected
        inside += expected
    assert inside  # the sample has languages of both kinds


def test_closure_under_what_the_class_is_closed_under() -> None:
    for dfa in random_dfas(99, 150):
        inside = decide(dfa).inside
        assert decide(dfa.complement()).inside == inside
        assert decide(dfa.minimal()).inside == inside
        if inside:  # quotients on the left are languages of other start states
            for state in range(dfa.size):
                moved = DFA(dfa.alphabet, dfa.transitions, state, dfa.accepting)
                if state in dfa.reachable():
                    assert decide(moved).inside
        if decide(dfa, last_symbol=False).inside:
            assert inside


def test_a_large_automaton() -> None:
    [dfa] = random_dfas(5, 1, states=(200, 200), letters="abcd")
    assert decide(dfa).inside is False
