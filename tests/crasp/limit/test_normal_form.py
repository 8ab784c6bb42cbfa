"""Normal forms, evaluated by a few lines of Python, against the reference interpreter."""

from __future__ import annotations

from typing import Any

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
    Integer,
    Line,
    Local,
    Minimum,
    Not,
    Or,
    Periodic,
    Position,
    Previous,
    Symbol,
    run,
)
from weft.crasp.expressions import Expression
from weft.crasp.limit import intervals
from weft.crasp.limit.normal_form import NormalForm, Residue, Shifted, TokenAt, normal_form
from weft.errors import WeftError

A, B = Symbol("a"), Symbol("b")


def program(*lines: tuple[str, Expression]) -> CraspProgram:
    return CraspProgram(("a", "b"), tuple(Line(*line) for line in lines))


class Evaluation:
    """The values of a normal form on a word."""

    def __init__(self, form: NormalForm, word: tuple[str, ...]) -> None:
        self.form, self.word = form, word

    def boolean(self, node: int, i: int) -> bool:
        return bool(self.form.diagrams.evaluate(node, lambda v: self.variable(v, i)))

    def variable(self, variable: Any, i: int) -> int:
        if isinstance(variable, TokenAt):
            j = i - variable.offset
            return 0 if j < 1 else self.form.program.alphabet.index(self.word[j - 1]) + 1
        if isinstance(variable, Residue):
            return i % variable.period
        if isinstance(variable, Shifted):
            j = i - variable.offset
            return int(j >= 1 and self.boolean(variable.node, j))
        return sum(c * self.counting(k, i) for k, c in variable.terms)

    def counting(self, number: int, i: int) -> int:
        body = self.form.bodies[number]
        return sum(self.boolean(body, j) for j in range(1, i + 1))

    def count(self, name: str, i: int) -> int:
        total = 0
        for summand in self.form.counts[name]:
            if self.boolean(summand.guard, i):
                total += summand.linear.constant
                total += sum(c * self.counting(k, i) for k, c in summand.linear.countings.items())
        return total


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_normal_form_means_the_same_as_its_program(data: st.DataObject) -> None:
    given_ = data.draw(programs())
    word = data.draw(words(given_, 7))
    form = normal_form(given_)
    evaluation = Evaluation(form, word)
    wanted = run(given_, word).values
    for i in range(len(word) + 1):
        for name, node in form.booleans.items():
            assert evaluation.boolean(node, i) == wanted[name][i]
        for name in form.counts:
            assert evaluation.count(name, i) == wanted[name][i]
    for node in form.booleans.values():
        assert form.at_begin(node) == evaluation.boolean(node, 0)
        assert form.describe(node)


def test_equal_functions_are_one_function() -> None:
    form = normal_form(
        program(
            ("p", Not(And((A, Previous(B))))),
            ("q", Or((Not(Previous(B)), Not(A)))),
            ("r", Comparison("<", Counting(A), Add(Counting(B), Integer(1)))),
            ("s", Not(Comparison(">", Counting(A), Counting(B)))),
            ("t", Comparison(">=", Counting(B, None), Counting(A))),
        )
    )
    p, q, r, s, t = form.booleans.values()
    assert p == q
    assert r == s == t
    assert len(form.bodies) == 2


def test_a_minimum_is_split_when_it_is_compared() -> None:
    least = Minimum((Counting(A), Counting(B)))
    form = normal_form(
        program(
            ("p", Comparison(">=", least, Integer(2))),
            ("q", And((
                Comparison(">=", Counting(A), Integer(2)),
                Comparison(">=", Counting(B), Integer(2)),
            ))),
        )
    )  # fmt: skip
    assert form.booleans["p"] == form.booleans["q"]


def test_local_reads_without_counts_are_reads_of_symbols() -> None:
    form = normal_form(program(("p", Previous(And((B, Previous(A)))))))
    support = form.diagrams.support(form.booleans["p"])
    assert support == {TokenAt(1), TokenAt(2)}
    assert form.layer(form.booleans["p"]) == 1


@pytest.mark.parametrize(
    ("expression", "layer"),
    [
        (Constant(True), 0),
        (Or((A, B)), 0),
        (Position(Periodic(2, (1,))), 0),
        (And((A, Position(Periodic(2, (1,))))), 1),
        (Previous(A), 1),
        (Previous(Position(Periodic(2, (1,)))), 1),
        (Comparison("<", Counting(A), Counting(B)), 1),
        (Comparison("<", Counting(A, Local((0, 1))), Integer(1)), 1),
        (Comparison("<", Counting(Previous(A)), Integer(1)), 2),
        (Comparison("<", Counting(Comparison("<", Counting(A), Counting(B))), Integer(1)), 2),
        (Previous(Comparison("<", Counting(A), Counting(B))), 2),
        (Previous(Previous(Comparison("<", Counting(A), Counting(B)))), 2),
        (Comparison(">=", Counting(A), Integer(0)), 0),
    ],
)
def test_layers(expression: Expression, layer: int) -> None:
    form = normal_form(program(("p", expression)))
    assert form.layer(form.booleans["p"]) == layer


def test_programs_with_too_many_cases_are_refused_by_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intervals, "MAX_NODES", 200)
    total: Expression = Integer(0)
    for offset in range(9):
        total = Add(total, Conditional(Previous(A), Counting(B), Counting(A, Local((offset,)))))
        total = Add(total, Conditional(Comparison("<", Counting(A), Integer(offset)),
                                       Counting(And((A, Position(Periodic(offset + 2, (1,)))))),
                                       Integer(offset)))  # fmt: skip
    with pytest.raises(WeftError, match="'p': its Boolean functions take more than 200 decisions"):
        normal_form(program(("p", Comparison("<", total, Integer(3)))))
