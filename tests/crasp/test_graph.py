"""Graphs of operations: what is shared, and bounds on counts."""

from __future__ import annotations

from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import programs, words

from weft.crasp import (
    Add,
    And,
    Comparison,
    Counting,
    CraspProgram,
    Exists,
    Line,
    Local,
    Name,
    Or,
    Periodic,
    Position,
    Previous,
    Symbol,
    run,
)
from weft.crasp.expressions import operands, walk, with_operands
from weft.crasp.graph import count_bounds, graph_of

A, B = Symbol("a"), Symbol("b")


def test_equal_sub_expressions_are_one_operation_also_in_another_order() -> None:
    program = CraspProgram(
        ("a", "b"),
        (
            Line("n", Add(Counting(A), Counting(B))),
            Line("m", Add(Counting(B), Counting(A))),
            Line("less", Comparison("<", Counting(A), Counting(B))),
            Line("more", Comparison(">", Counting(B), Counting(A))),
            Line("both", And((Name("less"), A))),
            Line("also", And((A, Name("more")))),
            Line("either", Or((A, Name("more")))),
        ),
    )
    graph = graph_of(program)
    assert graph.lines["n"] == graph.lines["m"]
    assert graph.lines["less"] == graph.lines["more"]
    assert graph.lines["both"] == graph.lines["also"]
    assert len(graph.operations) == 8


def test_names_of_predicates_make_no_difference() -> None:
    program = CraspProgram(
        ("a", "b"),
        (
            Line("P", Exists(A, Local((1,), "left"))),
            Line("Q", Previous(A)),
            Line("n", Counting(A, Local((0, 2), "near"))),
            Line("m", Counting(A, Local((0, 2)))),
            Line("R", Position(Periodic(2, (1,), "odd"))),
            Line("S", Position(Periodic(2, (1,)))),
        ),
    )
    graph = graph_of(program)
    assert [graph.lines[name] for name in "PQnmRS"] == [1, 1, 2, 2, 3, 3]


def test_different_operations_stay_different() -> None:
    program = CraspProgram(
        ("a", "b"),
        (
            Line("less", Comparison("<", Counting(A), Counting(B))),
            Line("greater", Comparison("<", Counting(B), Counting(A))),
            Line("at_most", Comparison("<=", Counting(A), Counting(B))),
            Line("near", Comparison("<", Counting(A, Local((1,))), Counting(B))),
        ),
    )
    assert len(set(graph_of(program).lines.values())) == 4


def test_a_line_that_is_used_often_costs_nothing() -> None:
    lines = [Line("n0", Counting(A))]
    lines += [Line(f"n{k}", Add(Name(f"n{k - 1}"), Name(f"n{k - 1}"))) for k in range(1, 500)]
    program = CraspProgram(("a",), (*lines, Line("accept", A)))
    assert len(graph_of(program).operations) == 501


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_no_count_leaves_its_bounds(data: st.DataObject) -> None:
    program = data.draw(programs())
    word = data.draw(words(program))
    graph = graph_of(program)
    values = run(program, word).values
    for length in (len(word), inf):
        bounds = count_bounds(graph, length)
        for name, index in graph.lines.items():
            low, high = bounds[index] or (0, 1)
            assert all(low <= value <= high for value in values[name])
            assert (bounds[index] is None) == (program.kinds[name] == "Boolean")


@settings(max_examples=40, deadline=None)
@given(programs())
def test_operands_are_replaced_in_order(program: CraspProgram) -> None:
    for line in program.lines:
        for part in walk(line.expression):
            assert with_operands(part, operands(part)) == part
            names = [Name(f"x{k}") for k in range(len(operands(part)))]
            assert list(operands(with_operands(part, names))) == names
