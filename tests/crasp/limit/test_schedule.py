"""Which layer computes what, on small programs, and the parts that are computed early."""

from __future__ import annotations

from weft.crasp import (
    And,
    Comparison,
    Counting,
    CraspProgram,
    Integer,
    Line,
    Not,
    Or,
    Periodic,
    Position,
    Previous,
    Symbol,
    library,
)
from weft.crasp.expressions import Expression, Name
from weft.crasp.limit.normal_form import Form, normal_form
from weft.crasp.limit.schedule import Bit, Schedule, schedule

A, B = Symbol("a"), Symbol("b")
MORE = Comparison("<", Counting(A), Counting(B))


def scheduled(*lines: tuple[str, Expression]) -> Schedule:
    program = CraspProgram(("a", "b"), tuple(Line(*line) for line in lines))
    return schedule(normal_form(program))


def test_layers_are_counting_depth_plus_what_locals_need() -> None:
    depth = {
        "majority": 1, "dyck-1": 2, "tomita-7": 4, "tomita-4": 2, "even-length": 1,
        "anbncn": 2, "ends-in-b": 1, "unique-copy": 2, "abab": 2,
    }  # fmt: skip
    for name, layers in depth.items():
        assert len(schedule(normal_form(library.load(name))).layers) == layers, name


def test_a_body_of_symbol_and_position_takes_a_layer() -> None:
    odd = Position(Periodic(2, (1,)))
    plan = scheduled(("p", Comparison(">=", Counting(And((A, odd))), Integer(1))))
    assert [layer.countings for layer in plan.layers] == [(), (0,)]
    assert len(scheduled(("p", Comparison(">=", Counting(odd), Integer(1)))).layers) == 1


def test_parts_of_earlier_layers_are_bits() -> None:
    """In Dyck-1, whether all is closed is known in layer 1, and whether it ever went wrong in 2."""
    bad = Comparison("<", Counting(A), Counting(B))
    closed = Comparison("==", Counting(A), Counting(B))
    never = Comparison("==", Counting(Name("bad")), Integer(0))
    plan = scheduled(("bad", bad), ("accept", And((never, closed))))
    diagrams = plan.form.diagrams
    assert len(plan.layers[0].booleans) == 2
    (accept,) = plan.layers[1].booleans
    kinds = sorted(type(variable).__name__ for variable in diagrams.support(accept.inputs))
    assert kinds == ["Bit", "Form"]


def test_bits_of_lines_are_used_again() -> None:
    """p and q are lines, so their conjunction needs nothing new."""
    enough = Comparison(">=", Counting(A), Integer(3))
    late = Comparison(">=", Counting(Name("p")), Integer(1))
    plan = scheduled(
        ("p", MORE), ("q", enough), ("r", And((Name("p"), Not(Name("q")), late))),
        ("s", Or((Not(Name("p")), Name("q"), late))),
    )  # fmt: skip
    form = plan.form
    assert {computed.node for computed in plan.layers[0].booleans} == {
        form.booleans["p"], form.booleans["q"],
    }  # fmt: skip
    for computed in plan.layers[1].booleans:
        support = form.diagrams.support(computed.inputs)
        assert {v.node for v in support if isinstance(v, Bit)} == {
            form.booleans["p"], form.booleans["q"],
        }  # fmt: skip
        assert sum(isinstance(v, Form) for v in support) == 1


def test_what_no_line_needs_is_not_computed() -> None:
    plan = scheduled(("p", Comparison(">=", Counting(MORE), Integer(0))))
    assert plan.embedded == ("p",)
    assert [layer.countings for layer in plan.layers] == [()]


def test_a_local_read_of_a_comparison_takes_a_layer() -> None:
    plan = scheduled(("p", Previous(MORE)), ("q", Previous(Name("p"))))
    assert len(plan.layers) == 2
    assert sorted(plan.layers[1].reads) == [1, 2]
