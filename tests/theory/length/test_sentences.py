"""What the sentences say is true: words, letter counts and values, read back from the text."""

import random
import re
from collections import Counter

import pytest

from random_automata import random_dfas, sparse_dfa
from weft.automata import DFA, LANGUAGES, expression_dfa
from weft.theory.length.blocks import BlockObstruction, block_obstruction
from weft.theory.length.decider import Decision, decide
from weft.theory.length.sentences import Conflict, conflict, details, reason
from weft.theory.length.unfolding import unfold

ONE_ROUND = ["(ab)*", "ca(ab)*", "c(ab)*|d(ba)*", "(a(ab)*b)*", "a(a(ab)*b)*", "(abb)*"]
OUTSIDE = ["(aa)*", "(b|aa)*", "(ab|aabb)*", "(ab|bba)*", "[ab]*ab", "(0|10*1)*", "[abe]*be*"]


def automaton(witness: Decision | BlockObstruction) -> DFA:
    return witness.failing[0].dfa if isinstance(witness, Decision) else witness.dfa


def units(witness: Decision | BlockObstruction) -> list[tuple[int, ...]]:
    """By letter or block, the letters that are read."""
    dfa = automaton(witness)
    if isinstance(witness, Decision):
        return [(letter,) for letter in range(len(dfa.alphabet))]
    frame = dfa.read_word(witness.frame)
    return [(*frame, *dfa.read_word(middle), *frame) for middle in witness.middles]


def labels(
    witness: Decision | BlockObstruction, found: Conflict, state: int, word: tuple[int, ...]
) -> tuple[Counter[tuple[int, int]], int]:
    """How often a word reads each unit in each class of states, and where it ends."""
    dfa, moves = automaton(witness), units(witness)
    count: Counter[tuple[int, int]] = Counter()
    for unit in word:
        count[found.classes[state], unit] += 1
        state = dfa.run_from(state, moves[unit])
    return count, state


def check_conflict(witness: Decision | BlockObstruction) -> None:
    """Everything that a conflict claims, by following its words."""
    found, dfa = conflict(witness), automaton(witness)
    one, two = found.states
    assert found.classes[one] == found.classes[two]
    for state, word in zip(found.states, found.words, strict=True):
        assert dfa.run_from(dfa.start, word) == state
    accepted = [dfa.run_from(state, found.ending) in dfa.accepting for state in found.states]
    assert accepted == [found.accepted, not found.accepted]
    path, end = labels(witness, found, one, found.path)
    assert end == two
    totals = [Counter({label: found.times * n for label, n in path.items()}), Counter()]
    for side, cycles in enumerate((found.beside, found.cycles)):
        for cycle in cycles:
            count, end = labels(witness, found, cycle.state, cycle.word)
            assert end == cycle.state
            assert cycle.times > 0
            for label, n in count.items():
                totals[side][label] += cycle.times * n
    assert totals[0] == totals[1]


def check_verdicts(dfa: DFA, text: str) -> None:
    """The two words after "but" are accepted and rejected as the text says."""
    claim = re.search(r"but (.+) is (\w+) and (.+) is (\w+)$", text)
    assert claim is not None
    for word, verdict in (claim.group(1, 2), claim.group(3, 4)):
        symbols = "" if word == "the empty word" else word.strip("'")
        assert dfa.accepts(symbols) == (verdict == "accepted")
    assert {claim.group(2), claim.group(4)} == {"accepted", "rejected"}


@pytest.mark.parametrize("text", OUTSIDE)
def test_conflicts_without_positions(text: str) -> None:
    dfa = expression_dfa(text)
    for last_symbol in (True, False):
        decision = decide(dfa, last_symbol=last_symbol)
        check_conflict(decision)
        check_verdicts(dfa, reason(decision))
        check_verdicts(dfa, details(decision)[-1])


@pytest.mark.parametrize("name", ["tomita-3", "tomita-5", "tomita-6", "parity", "last-b", "012-02"])
def test_conflicts_with_positions(name: str) -> None:
    dfa = LANGUAGES[name].dfa
    blocks = block_obstruction(dfa)
    assert blocks is not None
    check_conflict(blocks)
    check_verdicts(dfa, reason(blocks))


def test_conflicts_of_random_automata() -> None:
    rng = random.Random(3)
    checked = 0
    for dfa in [*random_dfas(21, 40), *(sparse_dfa(rng) for _ in range(40))]:
        decision = decide(dfa)
        if not decision.inside:
            check_conflict(decision)
            check_verdicts(dfa, reason(decision))
            checked += 1
            if (blocks := block_obstruction(dfa)) is not None:
                check_conflict(blocks)
                check_verdicts(dfa, reason(blocks))
    assert checked > 20


@pytest.mark.parametrize("text", [text for text in OUTSIDE if text != "(ab|aabb)*"])
def test_sums_of_letters_in_the_details(text: str) -> None:
    """With one class of states, the lines are an equation between numbers of letters."""
    decision = decide(expression_dfa(text))
    assert len(set(conflict(decision).classes.values())) == 1
    totals = {"+": Counter[str](), "=": Counter[str]()}
    side = "+"
    for line in details(decision):
        term = re.match(r"  ([+=]? ?)(\d+) times (?:the cycle )?'(.+?)'", line)
        if term:
            side = "=" if term.group(1).startswith("=") else side
            for letter in term.group(3):
                totals[side][letter] += int(term.group(2))
    assert totals["+"] == totals["="] != Counter()


def value(formula: str, word: str) -> int:
    """A combination of numbers of letters, such as "2 #a - #b", of a word."""
    total = 0
    for sign, factor, letter in re.findall(r"([+-]?) ?(\d*) ?#(\w)", formula):
        total += (-1 if sign == "-" else 1) * int(factor or 1) * word.count(letter)
    return total


def test_several_rounds() -> None:
    assert "5 states, told apart in 2 rounds" in reason(decide(expression_dfa("(ab|bbaa)*")))


@pytest.mark.parametrize("text", ONE_ROUND)
def test_values_of_counts(text: str) -> None:
    """The counts that a yes names have the values that it gives, after the words that it gives."""
    sentence = reason(decide(expression_dfa(text)))
    claim = re.search(r"(-?(?:\d+ )?#.+?)(?:, counted after '(\w+)',)? is (.+)$", sentence)
    assert claim is not None
    formula, before, values = claim.groups()
    listed = re.findall(r"(-?\d+) after (?:'(\w+)'|the empty word)", values)
    assert len(listed) > 1
    for number, word in listed:
        assert word.startswith(before or "")
        assert value(formula, word.removeprefix(before or "")) == int(number)
    assert len({number for number, _ in listed}) == len(listed)  # so the states are told apart


@pytest.mark.parametrize("text", ["(ab)*", "(ab|bbaa)*", "(a(ab)*b)*"])
def test_values_in_the_details(text: str) -> None:
    """In the first round, along every walk from the root the counts are those of the states."""
    decision = decide(expression_dfa(text))
    part = next(p for p in decision.parts if len(p.components[0].states) > 1)
    lines = [line for line in details(decision) if line.startswith("  round 1: ")]
    formula, values = lines[0].removeprefix("  round 1: ").split(" is ", 1)
    stated = {int(q): int(n) for n, q in re.findall(r"(-?\d+) in state (\d+)", values)}
    assert set(stated) == set(part.components[0].states)
    rng = random.Random(text)
    for _ in range(50):
        state, word = part.dfa.start, ""
        for _ in range(rng.randint(0, 20)):
            steps = [a for a, t in enumerate(part.dfa.transitions[state]) if t in stated]
            letter = rng.choice(steps)
            state, word = part.dfa.transitions[state][letter], word + part.dfa.alphabet[letter]
        assert value(formula, word) == stated[state]


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("(aa)*", "the position modulo 2 fixes the state of the automaton without any counts"),
        ("(ab|aabb)*", "the symbol before the last one and counts fix the state"),
        ("(b|aa)*", "the position modulo 2 and counts fix the state"),
    ],
)
def test_what_an_unfolding_reads(text: str, needs: str) -> None:
    found = unfold(expression_dfa(text))
    assert found is not None
    assert needs in reason(found)
    without = all(
        len({state for state, *known in part.states if known == other}) == 1
        for part in found.parts
        for _, *other in part.states
    )
    assert ("without any counts" in reason(found)) == without
    assert details(found)[0].startswith("automaton of the words before a last ")


def test_answers_that_need_no_counts() -> None:
    trivial = decide(DFA(("a", "b"), ((0, 0),), 0, frozenset({0})))
    assert reason(trivial) == "the answer is the same for all words with a symbol"
    assert reason(decide(expression_dfa("[ab]*b"))) == "the last symbol alone decides"
    assert "no cycle of the automaton passes through two states" in reason(
        decide(expression_dfa("a*b*c*"))
    )


def test_sentences_of_a_large_automaton_are_short() -> None:
    [dfa] = random_dfas(5, 1, states=(60, 60), letters="abcd")
    decision = decide(dfa)
    assert not decision.inside
    check_conflict(decision)
    assert len(details(decision)) < 40
    assert max(map(len, [reason(decision), *details(decision)])) < 2_000
