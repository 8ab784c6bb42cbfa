"""Simplified programs against the reference interpreter on the programs as they were."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import programs, words

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
    run,
)
from weft.crasp.analysis.measures import measure, size
from weft.crasp.analysis.simplification import required_lines, simplify

A, B, C = Symbol("a"), Symbol("b"), Symbol("c")
As, Bs, Cs = Counting(A), Counting(B), Counting(C)
X, Y, Z = Comparison("<", As, Bs), Comparison("<", Counting(C, Local((1, 2))), Cs), Exists(C)
BELOW = Conditional(Z, Integer(-5), As)
TRUE, FALSE = Constant(True), Constant(False)


def mod(period: int, *residues: int, name: str = "") -> Position:
    return Position(Periodic(period, residues, name))


def abc(*lines: tuple[str, Expression]) -> CraspProgram:
    return CraspProgram(("a", "b", "c"), tuple(Line(name, what) for name, what in lines))


def check(program: CraspProgram, given_words: list[tuple[str, ...]]) -> CraspProgram:
    simple = simplify(program)
    assert size(simple) <= size(program)
    assert simple.accepting == program.accepting
    assert set(required_lines(simple)) == set(required_lines(program))
    assert simplify(simple) == simple
    for word in given_words:
        before, after = run(program, word), run(simple, word)
        assert after.accepted == before.accepted
        for name in after.values:
            if name in before.values:
                assert after.values[name] == before.values[name], (name, word)
    return simple


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_random_programs_keep_every_value(data: st.DataObject) -> None:
    program = data.draw(programs(transduction=data.draw(st.booleans())))
    check(program, [(), *data.draw(st.lists(words(program, 8), min_size=3, max_size=6))])


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(st.data())
def test_many_random_programs_keep_every_value(data: st.DataObject) -> None:
    program = data.draw(programs(depth=3, transduction=data.draw(st.booleans())))
    check(program, [(), *data.draw(st.lists(words(program), min_size=5, max_size=10))])


SHORT_WORDS = [word for n in range(5) for word in product("abc", repeat=n)]

BOOLEANS = [
    (Not(Not(X)), X),
    (Not(TRUE), FALSE),
    (And((X, TRUE, Y, X)), And((X, Y))),
    (And((X, FALSE)), FALSE),
    (Or((X, X)), X),
    (Or((X, TRUE)), TRUE),
    (And((X, Not(X))), FALSE),
    (Or((Not(X), Y, X)), TRUE),
    (And((Z, Or((Y, Z)))), Z),
    (Or((Z, And((Y, Z)))), Z),
    (And((A, B)), FALSE),
    (And((A, Not(B), X)), And((A, X))),
    (Or((Not(A), B)), Not(A)),
    (Or((Not(A), Not(B))), TRUE),
    (Or((A, B, C)), Or((A, B, C))),  # not at the begin symbol
    (And((And((X, Y)), And((Y, Z)))), And((X, Y, Z))),
    (Not(Comparison("<=", As, Bs)), Comparison(">", As, Bs)),
    (mod(1, 0), TRUE),
    (mod(4, 1, 3), mod(2, 1)),
    (mod(6, 0, 1, 2, 3, 4, 5), TRUE),
    (Not(mod(3, 1)), mod(3, 0, 2)),
    (And((mod(2, 0), mod(4, 0, 1))), mod(4, 0)),
    (And((mod(2, 0), mod(4, 1, 3))), FALSE),
    (Or((mod(2, 0), mod(2, 1, name="odd"))), TRUE),
    (Comparison(">=", As, Integer(0)), TRUE),
    (Comparison("<", As, Integer(0)), FALSE),
    (Comparison("==", As, Integer(-1)), FALSE),
    (Comparison("!=", Add(As, Bs), Integer(-1)), TRUE),
    (Comparison(">", Counting(A, Local((0, 1))), Integer(2)), FALSE),
    (Comparison("<=", Counting(A, Local((0, 1))), Integer(2)), TRUE),
    (Comparison("<=", As, As), TRUE),
    (Comparison("<", As, Add(As, Integer(1))), TRUE),
    (Comparison("==", Add(As, Bs), Add(Bs, As)), TRUE),
    (Comparison("<", Integer(1), Integer(2)), TRUE),
    (Comparison("==", Subtract(As, Bs), Integer(0)), Comparison("==", As, Bs)),
    (Comparison(">", Add(As, Integer(1)), Integer(3)), Comparison(">", As, Integer(2))),
    (Comparison("<", Integer(3), Subtract(Integer(1), As)), FALSE),
    (Comparison(">", Add(BELOW, Integer(3)), Integer(0)), Comparison(">", BELOW, Integer(-3))),
    (Comparison(">", Integer(-3), Add(BELOW, Integer(-1))), Comparison("<", BELOW, Integer(-2))),
    (Comparison("<", Integer(0), Subtract(Integer(5), As)), Comparison("<", As, Integer(5))),
    (Comparison("<", Add(As, Bs), Add(Cs, Bs)), Comparison("<", As, Cs)),
    (Comparison("<", Integer(0), As), Comparison("<", Integer(0), As)),
    (Exists(FALSE), FALSE),
    (Exists(A, Local(())), FALSE),
    (Exists(Exists(A)), Exists(A)),
    (Exists(Exists(A), Local((1,))), Exists(Exists(A), Local((1,)))),
    (Exists(Exists(A, Local((1,)))), Exists(Exists(A, Local((1,))))),
    (Exists(A, Local((0,))), A),
    (Exists(Not(A), Local((0,))), Exists(Not(A), Local((0,)))),  # false at the begin symbol
    (Exists(Not(X)), Exists(Comparison(">=", As, Bs))),
    (Exists(TRUE), Exists(TRUE)),
    (Previous(FALSE), FALSE),
    (Previous(TRUE), Previous(TRUE)),
]


@pytest.mark.parametrize(("expression", "expected"), BOOLEANS, ids=range(len(BOOLEANS)))
def test_rules_of_booleans(expression: Expression, expected: Expression) -> None:
    assert check(abc(("accept", expression)), SHORT_WORDS) == abc(("accept", expected))


COUNTS = [
    (Add(Integer(2), Integer(3)), Integer(5)),
    (Add(As, Integer(0)), As),
    (Subtract(As, As), Integer(0)),
    (Subtract(Integer(0), As), Subtract(Integer(0), As)),
    (Subtract(Integer(0), Subtract(Bs, As)), Subtract(As, Bs)),
    (Add(Subtract(As, Integer(2)), Integer(3)), Add(As, Integer(1))),
    (Subtract(Add(As, Bs), As), Bs),
    (Add(As, Subtract(Integer(-4), Bs)), Add(As, Subtract(Integer(-4), Bs))),
    (Counting(FALSE), Integer(0)),
    (Counting(A, Local(())), Integer(0)),
    (Conditional(TRUE, As, Bs), As),
    (Conditional(A, Bs, Bs), Bs),
    (Conditional(Not(A), Bs, Cs), Conditional(A, Cs, Bs)),
    (Minimum((As, As)), As),
    (Minimum((As, Integer(-1))), Integer(-1)),
    (Maximum((As, Integer(-1))), As),
    (Maximum((As, Integer(0), Bs)), Maximum((As, Bs))),
    (Maximum((As, Add(As, Integer(1)))), Add(As, Integer(1))),
    (Maximum((Integer(2), As, Integer(3))), Maximum((As, Integer(3)))),
    (Minimum((Minimum((As, Bs)), Cs, Bs)), Minimum((As, Bs, Cs))),
]


@pytest.mark.parametrize(("expression", "expected"), COUNTS, ids=range(len(COUNTS)))
def test_rules_of_counts(expression: Expression, expected: Expression) -> None:
    def program(n: Expression) -> CraspProgram:
        bodies = Conditional(Z, n, Integer(7))  # which looks through nothing
        return abc(("accept", Comparison("==", bodies, Counting(Not(C)))))

    assert check(program(expression), SHORT_WORDS) == program(expected)


def test_shared_expressions_get_a_line_that_says_what_it_is() -> None:
    program = abc(
        ("first", Comparison("<", As, Bs)),
        ("accept", And((Name("first"), Comparison("<", As, Cs), Comparison("<", Bs, As)))),
    )
    assert check(program, SHORT_WORDS) == abc(
        ("count_a", As),
        ("count_b", Bs),
        ("first", Comparison("<", Name("count_a"), Name("count_b"))),
        (
            "accept",
            And(
                (
                    Name("first"),
                    Comparison("<", Name("count_a"), Cs),
                    Comparison("<", Name("count_b"), Name("count_a")),
                )
            ),
        ),
    )


def test_new_names_are_free() -> None:
    odd = mod(2, 1, name="count_a")
    program = abc(
        ("shared_1", And((odd, Comparison("<", As, Bs)))),
        ("accept", And((Exists(Name("shared_1")), Comparison("<=", As, Cs)))),
    )
    assert check(program, SHORT_WORDS).lines[0].name == "shared_2"


def test_a_line_that_has_the_expression_is_used_wherever_it_stands() -> None:
    program = abc(
        ("first", Exists(X)),
        ("less", X),
        ("count_a", Exists(And((B, Name("first"))))),
        ("accept", And((Name("less"), Name("count_a"), Comparison(">", As, Integer(3))))),
    )
    simple = check(program, SHORT_WORDS)
    assert [line.name for line in simple.lines] == [
        "shared_1",
        "less",
        "first",
        "count_a",
        "accept",
    ]
    assert simple.expressions["first"] == Exists(Name("less"))


def test_dead_lines_and_atoms_go_and_results_stay() -> None:
    program = abc(
        ("unused", Comparison("<", As, Bs)),
        ("is_a", A),
        ("three", Integer(3)),
        ("NEXT_a", And((Name("is_a"), TRUE))),
        ("NEXT_b", Comparison("<", As, Name("three"))),
        ("NEXT_c", Not(Not(Name("NEXT_b")))),
        ("accept", FALSE),
        ("later", As),
    )
    assert check(program, SHORT_WORDS) == abc(
        ("NEXT_a", A),
        ("NEXT_b", Comparison("<", As, Integer(3))),
        ("NEXT_c", Name("NEXT_b")),
        ("accept", FALSE),
    )


def test_the_accepting_line_stays_the_last_one() -> None:
    program = abc(("P", X), ("NEXT_a", Not(Exists(X))), ("accept", Name("P")))
    simple = check(program, SHORT_WORDS)
    assert simple.accepting == "accept"
    program = abc(("NEXT_a", Exists(X)), ("accept", X))
    simple = check(program, SHORT_WORDS)
    assert simple.expressions["accept"] == Name("shared_1")


def test_what_is_used_often_is_not_expanded() -> None:
    lines: list[tuple[str, Expression]] = [("n0", As)]
    lines += [(f"n{k}", Add(Name(f"n{k - 1}"), Name(f"n{k - 1}"))) for k in range(1, 60)]
    program = abc(*lines, ("accept", Comparison("<", Name("n59"), Bs)))
    assert check(program, SHORT_WORDS[:10]) == program


@pytest.mark.parametrize("name", library.names())
def test_library_programs(name: str) -> None:
    program = library.load(name)
    given_words = [w for n in range(4) for w in product(program.alphabet[:3], repeat=n)]
    simple = check(program, given_words)
    assert measure(simple).depth <= measure(program).depth
    assert replace(simple, lines=program.lines) == program  # name, alphabet and text stay
