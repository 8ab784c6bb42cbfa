"""The meaning of programs as canonical functions, against the reference interpreter."""

from __future__ import annotations

from evaluate_functions import evaluate
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import programs, words

from weft.crasp import (
    And,
    Comparison,
    Counting,
    CraspProgram,
    Expression,
    Integer,
    Line,
    Name,
    Not,
    Or,
    Previous,
    Subtract,
    Symbol,
    run,
)
from weft.crasp.proof.meaning import meaning_of
from weft.crasp.proof.nodes import Function

A, B, C = Symbol("a"), Symbol("b"), Symbol("c")


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_functions_have_the_values_of_the_reference_interpreter(data: st.DataObject) -> None:
    program = data.draw(programs())
    word = data.draw(words(program, max_size=9))
    meaning = meaning_of(program, 9)
    expected = run(program, word).values
    for name, function in meaning.lines.items():
        result = evaluate(meaning.diagrams, function, program.alphabet, word)
        assert [constant + total for constant, total in result] == list(map(int, expected[name]))


def functions(*expressions: Expression, alphabet: str = "ab") -> list[Function]:
    lines = [Line(f"L{number}", expression) for number, expression in enumerate(expressions)]
    program = CraspProgram(tuple(alphabet), (*lines, Line("accept", A)))
    lines_of = meaning_of(program, 12).lines
    return [lines_of[line.name] for line in lines]


def test_equal_lines_are_the_same_function() -> None:
    difference = Subtract(Counting(A), Counting(B))
    first, *others = functions(
        Comparison("<", Counting(A), Counting(B)),
        Not(Comparison(">=", difference, Integer(0))),
        Comparison(">", Counting(B), Counting(A)),
        Comparison("<=", difference, Integer(-1)),
        Comparison("<", Counting(And((A, Not(B)))), Counting(Not(Or((A, B, Not(B)))))),
        Comparison("<", Subtract(difference, Counting(B)), Subtract(Integer(0), Counting(B))),
    )
    assert [other is first for other in others] == [True, True, True, False, True]


def test_symbols_exclude_each_other_and_cover_the_positions() -> None:
    false, also, true, not_begin = functions(
        And((A, B)), And((Not(Or((A, B, C))), Or((A, B)))), Or((A, B, C)), Not(And((A, B))),
        alphabet="abc",
    )  # fmt: skip
    assert false is also
    assert true is not not_begin  # at the begin symbol there is no symbol
    assert (true.roots[1:] == not_begin.roots[1:]).all()


def test_thresholds_of_one_count_imply_each_other() -> None:
    count = Counting(A)
    more = Comparison(">=", count, Integer(3))
    less = Comparison(">=", count, Integer(2))
    exact, both, equal, parts, never, always = functions(
        more, And((more, less)),
        Comparison("==", count, Integer(2)), And((less, Not(more))),
        Comparison("<", count, Integer(0)), And((A, Not(A))),
    )  # fmt: skip
    assert exact is both
    assert equal is parts
    assert never is always


def test_counts_of_equal_booleans_are_equal_at_any_depth() -> None:
    ahead = Comparison("<", Counting(A), Counting(B))
    also = Not(Comparison("<=", Counting(B), Counting(A)))
    first, second, third = functions(
        Comparison("==", Counting(Previous(ahead)), Integer(1)),
        Comparison("==", Counting(Previous(And((also, Or((A, B)))))), Integer(1)),
        Comparison("==", Counting(Previous(And((also, A)))), Integer(1)),
    )
    assert first is second
    assert first is not third


def test_a_name_stands_for_its_line() -> None:
    program = CraspProgram(
        ("a", "b"),
        (
            Line("n", Counting(A)),
            Line("m", Counting(A)),
            Line("same", Comparison("==", Name("n"), Name("m"))),
        ),
    )
    meaning = meaning_of(program, 5)
    assert meaning.lines["n"] is meaning.lines["m"]
    assert meaning.lines["same"] is meaning.diagrams.constant(1)
