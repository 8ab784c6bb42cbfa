"""The theorems behind each no, tried on random programs, and their premises."""

from __future__ import annotations

import math
import random
from itertools import combinations, pairwise, permutations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crasp.strategies import programs
from weft.crasp import CraspProgram, library, run_batch
from weft.tasks import task
from weft.tasks.algorithmic import BinaryAddition, InterleavedMajority, RepeatCopy
from weft.theory.length.decider import decide
from weft.theory.length.transductions.arguments import (
    answer_to,
    next_symbol_family,
    one_string,
    symbols_that_confuse,
    unseparated_leads,
)


@pytest.mark.parametrize("strings", [2, 3, 5])
def test_leads_of_one_string(strings: int) -> None:
    dfa = one_string(strings)
    rng = random.Random(strings)
    for _ in range(300):
        word = "".join(rng.choices("01", k=rng.randint(0, 4 * strings)))
        leads = [0]
        for bit in word[::strings]:
            leads.append(leads[-1] + (1 if bit == "1" else -1))
        inside = all(abs(lead) <= 1 for lead in leads)
        assert dfa.accepts(word) == (inside and len(word) % strings == 0 and leads[-1] == 1)
    _, decision, words = unseparated_leads(InterleavedMajority(strings=strings))
    assert not decision.inside
    assert [len(word) for word in words] == [strings, strings]


def test_one_string_alone_is_separated() -> None:
    assert decide(one_string(1), last_symbol=False).inside


def _loop() -> str:
    """Rounds of three strings: the first stays balanced, the others are mostly 1; 53 1s, 13 0s."""
    others = ["11"] * 22
    others[3], others[8] = "01", "10"
    return "".join("10"[k % 2] + other for k, other in enumerate(others))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(predicates=False, alphabet=("0", "1", "|"), max_lines=3))
def test_no_program_without_positions_tells_the_leads_apart(program: CraspProgram) -> None:
    """After enough loops, a program says the same of inputs that the task answers differently."""
    loop = _loop()
    assert (loop.count("1"), loop.count("0")) == (53, 13)
    inputs = [loop * 40 + end for end in ("011", "111")]
    majority = task("interleaved-majority")
    answers = [answer_to(majority, word)[0] for word in inputs]
    assert answers == ["0", "1"]
    batch = run_batch(program, [f"{word}|" for word in inputs])
    assert batch.accepted[0] == batch.accepted[1]


def test_the_test_above_can_fail() -> None:
    program = library.load("interleaved-majority")
    inputs = [_loop() * 40 + end + "|" for end in ("011", "111")]
    values = run_batch(program, inputs).values["NEXT_1"][:, -1]
    assert values.tolist() == [False, True]


@pytest.mark.parametrize("kind", [RepeatCopy, BinaryAddition])
def test_families_of_tasks(kind: type[RepeatCopy | BinaryAddition]) -> None:
    family = next_symbol_family(kind())
    assert family.verify() >= 6
    for one, two in combinations(family.rows(4), 2):
        column = family.column(one, two)
        nexts = {family.function(one + column), family.function(two + column)}
        assert None not in nexts
        assert len(nexts) == 2
    assert family.function("") is None
    assert family.function("ab") is None


def test_sums_by_school_arithmetic() -> None:
    family = next_symbol_family(BinaryAddition())
    for left in range(16):
        for right in range(16):
            written = ""
            for digit in f"{left + right:b}":
                asked = f"{left:b}+{right:b}={written}"
                assert family.function(asked) == digit
                written += digit


def test_how_many_symbols_confuse() -> None:
    for lines in range(1, 7):
        symbols = symbols_that_confuse(lines)
        assert math.factorial(symbols) > 2 ** (lines * symbols)
        fewer = symbols - 1
        assert math.factorial(fewer) <= 2 ** (lines * fewer)
        assert symbols <= math.e * 2**lines + 1


class SymbolicProgram:
    """A random program with m lines for any symbols, without local predicates.

    A line holds if a sum of counts is positive. A count is over the positions j with an earlier
    line and a random relation between the symbols at j and i. What comes next is decided in the
    same way.
    """

    def __init__(self, rng: random.Random, lines: int, symbols: int) -> None:
        kinds = range(symbols + 1)  # and the mark

        def relation() -> dict[tuple[int, int], int]:
            return {(x, y): rng.choice((-1, 0, 1, 2)) for x in kinds for y in kinds}

        self.lines = [
            [(rng.randint(-1, number - 1), relation()) for _ in range(2)] for number in range(lines)
        ]
        self.biases = [rng.randint(-2, 2) for _ in range(lines)]
        self.nexts = [[(n, relation()) for n in range(lines)] for _ in range(symbols)]

    def features(self, word: tuple[int, ...]) -> list[tuple[bool, ...]]:
        """The lines at each position."""
        rows: list[list[bool]] = [[] for _ in word]
        for counts, bias in zip(self.lines, self.biases, strict=True):
            sums = [
                sum(self._sum(word, rows, i, source, weight) for source, weight in counts)
                for i in range(len(word))
            ]
            held = [bias + total > 0 for total in sums]
            for row, value in zip(rows, held, strict=True):
                row.append(value)
        return [tuple(row) for row in rows]

    def following(self, word: tuple[int, ...]) -> list[int]:
        """By candidate, the sum that decides whether it comes next."""
        rows = [list(row) for row in self.features(word)]
        last = len(word) - 1
        return [
            sum(self._sum(word, rows, last, source, weight) for source, weight in counts)
            for counts in self.nexts
        ]

    @staticmethod
    def _sum(
        word: tuple[int, ...],
        rows: list[list[bool]],
        i: int,
        source: int,
        weight: dict[tuple[int, int], int],
    ) -> int:
        return sum(weight[word[j], word[i]] for j in range(i + 1) if source < 0 or rows[j][source])


@given(st.integers(0, 10**6), st.integers(1, 2))
@settings(max_examples=25, deadline=None)
def test_orders_with_the_same_lines_at_each_symbol_are_confused(seed: int, lines: int) -> None:
    symbols = 4
    program = SymbolicProgram(random.Random(seed), lines, symbols)
    groups: dict[object, list[tuple[int, ...]]] = {}
    for order in permutations(range(symbols)):
        held = program.features(order)
        groups.setdefault(frozenset(zip(order, held, strict=True)), []).append(order)
    if lines == 1:
        assert len(groups) <= 2**symbols < math.factorial(symbols)
    for orders in groups.values():
        for other in orders[1:3]:
            for written in ((), orders[0][:1], orders[0][1:3]):
                first, second = ((*each, symbols, *written) for each in (orders[0], other))
                assert program.following(first) == program.following(second)


def test_rules_for_a_growing_alphabet() -> None:
    """One rule copies, by a window of two, and one rule sorts, whatever the number of symbols."""
    rng = random.Random(0)
    for name in ("unique-copy", "sorting"):
        question = task(name)
        for size in (1, 2, 20, 150):
            word = tuple(str(n) for n in rng.sample(range(1, 151), size))
            answer = answer_to(question, word)
            shown = ("<start>", *word, "|")
            for done, current in enumerate(("|", *answer)):
                if name == "unique-copy":
                    back = "<start>" if current == "|" else current
                    pairs = pairwise(shown[:-1])
                    said = {a for before, a in pairs if before == back}
                else:
                    low = 0 if current == "|" else int(current)
                    larger = [int(a) for a in word if int(a) > low]
                    said = {str(a) for a in larger if not any(low < b < a for b in larger)}
                assert said == set(answer[done : done + 1])
