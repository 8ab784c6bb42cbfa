"""The search for a difference, against runs on all words in order."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import OPERATORS, periodics, programs

from weft.crasp import (
    Add,
    And,
    Comparison,
    Conditional,
    Constant,
    Counting,
    CraspProgram,
    Exists,
    Expression,
    Integer,
    Line,
    Local,
    Maximum,
    Minimum,
    Name,
    Not,
    Or,
    Periodic,
    Position,
    Previous,
    Subtract,
    Symbol,
    library,
)
from weft.crasp.analysis import machine as machine_module
from weft.crasp.analysis.equivalence import EqualitySearch, equal, search_difference
from weft.crasp.analysis.simplification import simplify
from weft.crasp.batched import run_batch
from weft.crasp.expressions import operands, walk, with_operands
from weft.errors import WeftError

A, B, C = Symbol("a"), Symbol("b"), Symbol("c")
As, Bs, Cs = Counting(A), Counting(B), Counting(C)
Open, Close = Counting(Symbol("(")), Counting(Symbol(")"))


def over(alphabet: str, *lines: tuple[str, Expression]) -> CraspProgram:
    return CraspProgram(tuple(alphabet), tuple(Line(name, what) for name, what in lines))


def accepts(alphabet: str, accept: Expression) -> CraspProgram:
    return over(alphabet, ("accept", accept))


def words(alphabet: tuple[str, ...], length: int) -> list[tuple[str, ...]]:
    return [word for n in range(length + 1) for word in product(alphabet, repeat=n)]


def first_difference(
    left: CraspProgram, right: CraspProgram, length: int
) -> tuple[str, ...] | None:
    """By running both programs on all words."""
    given_words = words(left.alphabet, length)
    runs = [run_batch(program, given_words) for program in (left, right)]
    ends = (np.arange(len(given_words)), runs[0].lengths)
    differ = runs[0].accepted != runs[1].accepted
    for symbol in left.alphabet:
        both = [
            batch.values[name][ends] if (name := f"NEXT_{symbol}") in batch.values else False
            for batch in runs
        ]
        differ |= both[0] != both[1]
    return given_words[int(differ.argmax())] if differ.any() else None


@st.composite
def variants(draw: st.DrawFn, program: CraspProgram) -> CraspProgram:
    """A program with one part changed a little, of a line that the last one uses."""
    used = {program.lines[-1].name}
    for line in reversed(program.lines):
        if line.name in used:
            used |= {part.name for part in walk(line.expression) if isinstance(part, Name)}
    parts = [
        (number, place)
        for number, line in enumerate(program.lines)
        for place, part in enumerate(walk(line.expression))
        if line.name in used and not isinstance(part, (Name, Not, Add))
    ]
    assume(parts)
    number, place = draw(st.sampled_from(parts))
    order = iter(range(place + 1))

    def change(part: Expression) -> Expression:
        if next(order, None) == place:
            return draw(variant(part, program))
        inside = operands(part)
        return with_operands(part, [change(operand) for operand in inside]) if inside else part

    lines = list(program.lines)
    lines[number] = Line(lines[number].name, change(lines[number].expression))
    return CraspProgram(program.alphabet, tuple(lines))


@st.composite
def variant(draw: st.DrawFn, part: Expression, program: CraspProgram) -> Expression:
    match part:
        case Symbol():
            return Symbol(draw(st.sampled_from(program.alphabet)))
        case Constant(value):
            return Constant(not value)
        case Position():
            return Position(draw(periodics()))
        case Integer(value):
            return Integer(value + draw(st.sampled_from([-2, -1, 1, 2, 5])))
        case And(inside):
            return draw(st.sampled_from([Or(inside), And(inside[:-1] * 2)]))
        case Or(inside):
            return And(inside)
        case Comparison(_, left, right):
            return Comparison(draw(OPERATORS), left, right)
        case Exists(body, _):
            return Exists(body, draw(st.sampled_from([None, Local((0,)), Local((1, 3))])))
        case Counting(body, _):
            return Counting(body, draw(st.sampled_from([None, Local((0, 1)), Local((2,))])))
        case Previous(body):
            return Exists(body, Local((draw(st.integers(0, 2)),)))
        case Conditional(condition, then, otherwise):
            return Conditional(Not(condition), then, otherwise)
        case Subtract(left, right):
            return Subtract(right, left)
        case Minimum(inside):
            return Maximum(inside)
        case Maximum(inside):
            return Minimum(inside)
    raise AssertionError(part)


def check(left: CraspProgram, right: CraspProgram, length: int) -> EqualitySearch:
    search = search_difference(left, right, length)
    assert search.word == first_difference(left, right, length)
    if search.complete:
        rng = np.random.default_rng(0)
        longer = [tuple(rng.choice(left.alphabet, size=n)) for n in (10, 15, 20, 25, 40)]
        results = [run_batch(program, longer).accepted for program in (left, right)]
        assert (results[0] == results[1]).all()
    return search


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_random_programs_and_variants_of_them(data: st.DataObject) -> None:
    program = data.draw(programs(transduction=data.draw(st.booleans())))
    check(program, data.draw(variants(program)), 5)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_random_programs_and_what_simplification_makes_of_them(data: st.DataObject) -> None:
    program = data.draw(programs(transduction=data.draw(st.booleans())))
    assert equal(program, simplify(program), 6) is None


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_random_programs_without_cases(data: st.DataObject) -> None:
    program = data.draw(programs(depth=3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.crasp.analysis.nodes.MAX_CASES", 1)
        check(program, data.draw(variants(program)), 5)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(st.data())
def test_many_random_programs(data: st.DataObject) -> None:
    program = data.draw(programs(depth=3, transduction=data.draw(st.booleans())))
    check(program, data.draw(variants(program)), 7)
    assert equal(program, simplify(program), 7) is None


def dyck(*more: Expression) -> CraspProgram:
    """Balanced brackets by the depth instead of two counts."""
    below = Exists(Comparison("<", Name("depth"), Integer(0)))
    at_end = Comparison("<=", Name("depth"), Integer(0))
    return over(
        "()", ("depth", Subtract(Open, Close)), ("accept", And((Not(below), at_end, *more)))
    )


def test_two_programs_for_dyck_1_have_one_configuration_per_length() -> None:
    search = search_difference(library.load("dyck-1"), dyck(), 40)
    assert search == EqualitySearch(None, 40, 40, complete=False)


def test_the_smallest_word_may_be_long() -> None:
    shallow = dyck(Not(Exists(Comparison(">", Name("depth"), Integer(15)))))
    assert equal(library.load("dyck-1"), shallow, 40) == tuple("(" * 16 + ")" * 16)
    assert equal(library.load("dyck-1"), shallow, 31) is None


def test_regular_programs_are_equal_on_all_words() -> None:
    bad = Or((Comparison("<", As, Bs), Comparison("<", Add(Bs, Integer(3)), As)))
    deep = Comparison("<", Integer(3), Subtract(As, Bs))
    left = over("ab", ("bad", bad), ("accept", Comparison("==", Counting(Name("bad")), Integer(0))))
    right = over("ab", ("accept", And((Not(Exists(deep)), Not(Exists(Comparison("<", As, Bs)))))))
    search = search_difference(left, right, 1000)
    assert search.word is None
    assert search.complete
    assert search.configurations == 4  # the depths 0 to 3; the other words are rejected for good


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("counter(letters=3)", "anbncn"),
        ("super-majority(part=1, whole=2)", "majority"),
        ("length-multiple(period=2)", "even-length"),
        ("subsequence(pattern=ab)", "contains-ab-binary"),
    ],
)
def test_members_of_library_families_that_are_other_programs(left: str, right: str) -> None:
    assert equal(library.load(left), library.load(right)) is None


def test_periods_and_offsets_are_part_of_a_configuration() -> None:
    third = Position(Periodic(3, (0,)))
    left = accepts("ab", Exists(And((A, third, Exists(B, Local((2,)))))))
    right = accepts("ab", Exists(And((A, third, Previous(Previous(B))))))
    search = search_difference(left, right, 50)
    assert search.word is None
    assert search.complete
    further = accepts("ab", Exists(And((A, third, Exists(B, Local((2, 4)))))))
    assert equal(left, further, 50) == first_difference(left, further, 8) == tuple("abaaaa")


def test_far_offsets_need_more_than_one_word_per_configuration() -> None:
    far = accepts("a", Exists(A, Local((90,))))
    assert equal(far, accepts("a", Constant(False)), 100) == ("a",) * 91
    assert equal(far, accepts("a", Constant(False)), 90) is None
    assert equal(far, accepts("a", Comparison(">", As, Integer(90))), 200) is None


def test_many_conditional_counts_are_summed_without_cases() -> None:
    parts = [Conditional(Previous(A), Counting(A, Local((k,))), Bs) for k in range(4)]
    parts += [Conditional(B, As, Counting(B, Local((k,)))) for k in range(4)]
    parts += [Minimum((As, Counting(C))), Maximum((Bs, Counting(C)))]
    total: Expression = parts[0]
    for part in parts[1:]:
        total = Add(total, part)
    left = accepts("abc", Comparison(">", total, Integer(14)))
    right = accepts("abc", Comparison(">", total, Integer(15)))
    assert equal(left, right, 8) == first_difference(left, right, 8)
    assert equal(left, right, 8) is not None
    assert equal(left, accepts("abc", Comparison("<", Integer(14), total)), 8) is None


def test_equal_thresholds_of_a_growing_count() -> None:
    left = accepts("ab", Comparison("==", As, Integer(17)))
    right = accepts("ab", Comparison(">=", As, Integer(17)))
    search = search_difference(left, right, 100)
    assert search.word == ("a",) * 18
    assert search.configurations <= 20


@pytest.mark.parametrize("numbers", [(3, 9), (9, 3)])
def test_a_count_is_capped_beyond_all_its_thresholds(numbers: tuple[int, int]) -> None:
    both = [Comparison("==", As, Integer(number)) for number in numbers]
    left = accepts("ab", Or(tuple(both)))
    assert equal(left, accepts("ab", Comparison("==", As, Integer(3)))) == ("a",) * 9
    assert equal(left, accepts("ab", Comparison("==", As, Integer(9)))) == ("a",) * 3


def test_the_first_of_the_shortest_words_is_not_that_of_the_smallest_counts() -> None:
    right = And((Previous(Constant(True)), Comparison("!=", Subtract(As, Bs), Integer(9))))
    assert equal(accepts("ab", Constant(False)), accepts("ab", right)) == ("a", "a")


def test_words_are_in_the_order_of_the_left_alphabet() -> None:
    left = CraspProgram(("b", "a"), (Line("accept", Constant(False)),))
    right = accepts("ab", Exists(Previous(Constant(True))))
    assert equal(left, right) == ("b", "b")
    assert equal(right, left) == ("a", "a")


def test_next_symbols_are_compared_and_a_missing_one_never_comes() -> None:
    left = over("ab", ("NEXT_a", Exists(B)), ("NEXT_b", Not(A)))
    right = over("ab", ("NEXT_b", Not(A)), ("NEXT_a", Exists(B)))
    assert equal(left, right) is None  # though the last Boolean lines differ
    assert equal(left, over("ab", ("NEXT_b", Not(A)))) == ("b",)
    accepting = over("ab", ("NEXT_a", Exists(B)), ("NEXT_b", Not(A)), ("accept", B))
    other = over("ab", ("NEXT_a", Exists(B)), ("NEXT_b", Not(A)), ("accept", Constant(False)))
    assert equal(accepting, other) == ("b",)
    with pytest.raises(WeftError, match="and the other does not"):
        equal(left, accepts("ab", B))


def test_alphabets_must_have_the_same_symbols() -> None:
    with pytest.raises(WeftError, match="only one of them has c, d"):
        equal(accepts("abc", A), accepts("abd", A))


def test_a_limit_on_configurations_says_how_far_it_went() -> None:
    left = accepts("abc", And((Comparison("<", As, Bs), Comparison("<", Bs, Cs))))
    right = accepts("abc", Not(Or((Comparison(">=", As, Bs), Comparison(">=", Bs, Cs)))))
    with pytest.raises(WeftError, match="agree on all words up to length 8"):  # 109 of them
        equal(left, right, 60, max_configurations=100)
    assert equal(left, right, 60) is None


def test_numbers_that_do_not_fit_are_refused() -> None:
    lines: list[tuple[str, Expression]] = [("n0", As)]
    lines += [(f"n{k}", Add(Name(f"n{k - 1}"), Name(f"n{k - 1}"))) for k in range(1, 70)]
    program = over("ab", *lines, ("accept", Comparison("<", Name("n69"), Bs)))
    with pytest.raises(WeftError, match="numbers above 2"):
        equal(program, accepts("ab", A))
    big = over("ab", *lines[:40], ("accept", Comparison("<", Name("n39"), Bs)))
    assert equal(big, accepts("ab", And((Comparison("==", As, Integer(0)), Exists(B)))), 30) is None


def test_progress_is_reported_for_every_length() -> None:
    reports: list[tuple[int, int]] = []
    left, right = library.load("dyck-1"), dyck()
    search_difference(left, right, 5, progress=lambda n, count: reports.append((n, count)))
    assert reports == [(1, 2), (2, 3), (3, 4), (4, 5), (5, 5)]


def test_too_many_reductions_only_cost_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_module, "MAX_REDUCTIONS", 1)
    left = over(
        "abc",
        ("accept", And((Exists(A), Exists(B), Not(Exists(And((C, Exists(B)))))))),
    )
    right = over(
        "abc",
        ("accept", Not(Or((Not(Exists(A)), Not(Exists(B)), Exists(And((C, Exists(B)))))))),
    )
    search = check(left, right, 6)
    assert search.word is None
    assert search.complete
