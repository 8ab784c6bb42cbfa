"""Measures of programs, and heads and layers against the rule by which they are constructed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from strategies import programs

from weft.crasp import (
    And,
    Comparison,
    Conditional,
    Counting,
    CraspProgram,
    Exists,
    Integer,
    Line,
    Local,
    Maximum,
    Name,
    Not,
    Periodic,
    Position,
    Previous,
    Symbol,
    library,
)
from weft.crasp.analysis.measures import heads_by_layer, measure, size
from weft.crasp.limit.normal_form import normal_form
from weft.crasp.limit.schedule import schedule
from weft.errors import WeftError

A, B = Symbol("a"), Symbol("b")


def test_every_measure_of_one_program() -> None:
    by_three = Position(Periodic(3, (0,), "by_three"))
    program = CraspProgram(
        ("a", "b"),
        (
            Line("third", And((A, by_three, Position(Periodic(2, (1,)))))),
            Line("near", Counting(Exists(B), Local((0, 5)))),
            Line("n", Counting(Name("third"))),
            Line("m", Maximum((Name("n"), Name("near"), Integer(2)))),
            Line("accept", Not(Previous(Comparison("<", Name("m"), Name("near"))))),
        ),
    )
    measures = measure(program)
    assert (measures.depth, measures.size, measures.lines) == (1, 2 + 2 + 1 + 2 + 3, 5)
    assert (measures.period, measures.offsets) == (6, (0, 1, 5))


def nested(depth: int) -> CraspProgram:
    lines = [Line("p0", A)]
    for k in range(1, depth + 1):
        count = Counting(Name(f"p{k - 1}"))
        lines.append(Line(f"p{k}", And((B, Comparison(">", count, Integer(1))))))
    return CraspProgram(("a", "b"), tuple(lines))


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_depth_is_that_of_nested_counts_and_needs_as_many_layers(depth: int) -> None:
    measures = measure(nested(depth))
    assert measures.depth == depth
    assert measures.layers == max(1, depth)
    assert measures.heads == ((1,) * depth or (0,))


def test_local_counts_previous_and_periods_add_no_depth() -> None:
    body = And((Previous(Previous(A)), Position(Periodic(2, (0,)))))
    expression = Exists(at_least_one(Counting(body, Local((1, 2)))))
    program = CraspProgram(("a", "b"), (Line("accept", expression),))
    assert measure(program).depth == 1


def at_least_one(count: Counting) -> Comparison:
    return Comparison(">=", Conditional(A, count, Integer(0)), Integer(1))


@pytest.mark.parametrize(
    ("name", "depth", "heads"),
    [
        ("majority", 1, (1,)),
        ("dyck-1", 2, (1, 1)),
        ("tomita-4", 1, (3, 1)),
        ("contains-ab", 1, (2, 1)),
        ("even-length", 1, (1,)),
        ("ends-in-b", 0, (0,)),
        ("tomita-7", 4, (1, 1, 1, 1)),
        ("unique-copy", 1, (2, 1)),
    ],
)
def test_library_programs_have_the_measures_of_the_reference(
    name: str, depth: int, heads: tuple[int, ...]
) -> None:
    measures = measure(library.load(name))
    assert (measures.depth, measures.heads, measures.layers) == (depth, heads, len(heads))


@settings(max_examples=40, deadline=None)
@given(programs())
def test_heads_follow_the_schedule(program: CraspProgram) -> None:
    """One uniform head per layer that counts, one head per offset; `one` is counted in layer 1."""
    try:
        plans = schedule(normal_form(program)).layers
    except WeftError:
        assert heads_by_layer(program) is None
        return
    heads = heads_by_layer(program)
    assert heads is not None
    assert len(heads) == len(plans)
    for number, (count, plan) in enumerate(zip(heads, plans, strict=True)):
        uniform = count - len(plan.reads)
        assert uniform in ((0, 1) if number == 0 else (int(bool(plan.countings)),))
    assert size(program) >= measure(program).depth


def test_a_program_that_is_too_large_to_construct_is_measured_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("weft.crasp.limit.intervals.MAX_NODES", 3)
    measures = measure(library.load("dyck-1"))
    assert (measures.layers, measures.heads, measures.size) == (None, (), 9)
