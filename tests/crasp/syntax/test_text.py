"""Programs print as text that parses back to them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from strategies import odd_programs, programs

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
    Name,
    Not,
    Or,
    Periodic,
    Position,
    Previous,
    Subtract,
    Symbol,
    library,
    parse,
)
from weft.crasp.syntax.text import WIDTH, expression_text, text

A, B = Symbol("a"), Symbol("b")
C, D = Counting(A), Counting(B)


@settings(max_examples=80, deadline=None)
@given(programs(depth=3))
def test_random_programs_parse_back(program: CraspProgram) -> None:
    assert parse(text(program)) == program


@settings(max_examples=80, deadline=None)
@given(odd_programs())
def test_odd_symbols_names_and_declared_predicates_parse_back(program: CraspProgram) -> None:
    assert parse(text(program)) == program


@pytest.mark.parametrize("name", library.names())
def test_library_programs_parse_back(name: str) -> None:
    program = library.load(name)
    assert parse(str(program)) == program


@pytest.mark.parametrize(
    ("expression", "written"),
    [
        (Symbol("("), 'Q_"("'),
        (Symbol("if"), "Q_if"),
        (Symbol('"'), r'Q_"\""'),
        (Constant(True), "true"),
        (Integer(-3), "-3"),
        (Position(Periodic(3, (1,))), "MOD(3, 1)"),
        (Position(Periodic(3, (0, 1))), "MOD(3, {0, 1})"),
        (Position(Periodic(2, (1,), "odd")), "odd"),
        (Counting(A), "#[j <= i] Q_a(j)"),
        (Counting(A, Local((1,))), "#[j <= i, j == i - 1] Q_a(j)"),
        (Counting(A, Local((0,))), "#[j <= i, j == i] Q_a(j)"),
        (Counting(A, Local((0, 2))), "#[j <= i, j in i - {0, 2}] Q_a(j)"),
        (Exists(A, Local((0, 2), "near")), "exists[j <= i, near(i, j)] Q_a(j)"),
        (
            Counting(And((B, Exists(A, Local((1,)))))),
            "#[j <= i] (Q_b(j) and exists[k <= j, k == j - 1] Q_a(k))",
        ),
        (Counting(Position(Periodic(3, (1,)))), "#[j <= i] MOD(3, 1)(j)"),
        (Counting(Not(A)), "#[j <= i] (not Q_a(j))"),
        (Not(Previous(A)), "not previous Q_a"),
        (Previous(Previous(Name("x"))), "previous previous x"),
        (Not(Comparison("<", C, D)), "not #[j <= i] Q_a(j) < #[j <= i] Q_b(j)"),
        (And((Or((A, B)), A)), "(Q_a or Q_b) and Q_a"),
        (Or((And((A, B)), A)), "Q_a and Q_b or Q_a"),
        (And((And((A, B)), A)), "(Q_a and Q_b) and Q_a"),
        (Subtract(Subtract(Name("x"), Name("y")), Integer(-1)), "x - y - -1"),
        (Subtract(Name("x"), Add(Name("y"), Integer(1))), "x - (y + 1)"),
        (Conditional(A, Integer(1), Conditional(B, Integer(2), C)), None),
        (Add(Conditional(A, Integer(1), Integer(0)), Integer(1)), "(Q_a ? 1 : 0) + 1"),
        (Maximum((Name("x"), Conditional(A, Integer(1), Integer(0)))), "max(x, Q_a ? 1 : 0)"),
    ],
)
def test_expressions(expression: Expression, written: str | None) -> None:
    assert expression_text(expression) == (written or "Q_a ? 1 : Q_b ? 2 : #[j <= i] Q_a(j)")


def test_a_program_in_full() -> None:
    program = CraspProgram(
        ("(", ")", "x"),
        (
            Line("near", Exists(Symbol("x"), Local((0, 1), "pair"))),
            Line("NEXT_(", And((Name("near"), Position(Periodic(2, (1,), "odd"))))),
            Line("NEXT_x", Name("NEXT_(")),
        ),
        name="an example",
        about="What it does.\n\nAnd why.",
    )
    assert text(program) == (
        "// What it does.\n"
        "//\n"
        "// And why.\n"
        'program "an example"\n'
        'alphabet "(" ")" x\n'
        "periodic odd := MOD(2, 1)\n"
        "local pair := {0, 1}\n"
        "near := exists[j <= i, pair(i, j)] Q_x(j)\n"
        'NEXT_"(" := near and odd\n'
        'NEXT_x := NEXT_"("\n'
    )


def test_long_definitions_are_broken_at_and_and_or() -> None:
    program = CraspProgram(("a", "b"), (Line("accept", Or(tuple(And((A, B)) for _ in range(9)))),))
    lines = text(program).splitlines()
    assert lines[1:3] == ["accept := Q_a and Q_b", "  or Q_a and Q_b"]
    assert max(map(len, lines)) <= WIDTH
    assert parse(text(program)) == program


def test_twenty_indices_are_not_enough_for_thirty_counts() -> None:
    expression: Expression = A
    for _ in range(30):
        expression = Exists(expression)
    program = CraspProgram(("a",), (Line("accept", expression),))
    assert "i29 <= i28" in text(program)
    assert parse(text(program)) == program


@pytest.mark.parametrize("name", ["mod", "Mod", "j", "NEXT", "_"])
def test_lines_named_like_parts_of_the_language_parse_back(name: str) -> None:
    count = Counting(Symbol("a"))
    lines = (Line(name, count), Line("more", Comparison("<", Name(name), Integer(2))))
    program = CraspProgram(("a", "b"), lines)
    assert parse(text(program)) == program
