"""Expressions mean what Python means, are shared if they are equal, and print as Python."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from expression_trees import FUNCTIONS, HERE, TREES, Tree, build, outcome, states, value_of
from hypothesis import given, settings

from weft.language.expressions import (
    Apply,
    Choice,
    Constant,
    Expressions,
    Failure,
    Read,
    Written,
    evaluate,
    literals,
    reads,
    show,
    value_key,
    walk,
)
from weft.language.ranges import UNDEFINED


@settings(max_examples=60, deadline=None)
@given(TREES)
def test_an_expression_has_the_value_that_python_computes(tree: Tree) -> None:
    node = build(Expressions(), tree)
    for state in states():
        expected = outcome(tree, state)
        if expected[0] != "fails":
            assert value_of(node, state) == expected
        elif not has_choice(tree):
            assert value_of(node, state) == ("fails", None)


def has_choice(tree: Tree) -> bool:
    """Whether a test could have been left out with all that it decides."""
    return tree[0] in ("if", "and", "or") or any(
        has_choice(part) for part in tree if isinstance(part, tuple)
    )


@settings(max_examples=60, deadline=None)
@given(TREES)
def test_equal_expressions_are_one_object(tree: Tree) -> None:
    make = Expressions()
    assert build(make, tree) is build(make, tree)


@settings(max_examples=60, deadline=None)
@given(TREES)
def test_a_test_is_true_exactly_if_the_expression_is(tree: Tree) -> None:
    make = Expressions()
    test = make.as_test(build(make, tree))
    for state in states():
        kind, value = outcome(tree, state)
        if kind != "fails":
            assert bool(evaluate(test, state)) is bool(value)


@settings(max_examples=60, deadline=None)
@given(TREES)
def test_literals_together_say_what_their_test_says(tree: Tree) -> None:
    make = Expressions()
    node = make.as_test(build(make, tree))
    for held in (True, False):
        parts = literals(node, held)
        for state in states():
            if outcome(tree, state)[0] == "fails":
                continue
            all_hold = all(bool(evaluate(part, state)) is wanted for part, wanted in parts)
            assert all_hold is (bool(evaluate(node, state)) is held)


@settings(max_examples=60, deadline=None)
@given(TREES)
def test_a_printed_expression_is_python_with_the_same_value(tree: Tree) -> None:
    node = build(Expressions(), tree)
    text = show(node)
    if text.startswith("f("):  # too long to print
        return
    for state in states():
        if UNDEFINED not in state.values():
            kind, value = outcome(tree, state)
            if kind != "fails":
                assert eval(text, dict(state)) == value, text


def test_constants_are_folded_but_errors_are_left_for_later() -> None:
    make = Expressions()
    assert make.apply(operator.add, make.constant(2), make.constant(3)) is make.constant(5)
    divided = make.apply(operator.floordiv, make.constant(1), make.constant(0))
    assert isinstance(divided, Apply)
    with pytest.raises(ZeroDivisionError):
        evaluate(divided, {})


def test_choices_that_decide_nothing_disappear() -> None:
    make = Expressions()
    a, b = make.read("a"), make.read("b")
    assert make.choice(a, b, b) is b
    assert make.choice(make.constant(0), a, b) is b
    assert make.choice(make.negated(a), b, a) is make.choice(a, a, b)
    nested = make.choice(a, make.choice(a, b, make.constant(7)), make.constant(1))
    assert isinstance(nested, Choice)
    assert nested.then is b


def test_a_lazy_function_succeeds_if_it_does_not_look_at_a_failed_argument() -> None:
    make = Expressions()
    first = make.apply(lambda left, right: left, make.read("a"), make.read("left"), lazy=True)
    assert evaluate(first, {"a": 1, "left": UNDEFINED}) == 1
    eager = make.apply(lambda left, right: left, make.read("a"), make.read("left"))
    with pytest.raises(Failure):
        evaluate(eager, {"a": 1, "left": UNDEFINED})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ((1,), [1]),
        ((1,), (True,)),
        ("1", 1),
        (set(), frozenset()),
    ],
)
def test_values_that_a_program_can_tell_apart_have_different_keys(one: Any, other: Any) -> None:
    assert value_key(one) != value_key(other)
    assert value_key(one) == value_key(one)
    make = Expressions()
    assert make.constant(one) is not make.constant(other)


def test_unhashable_objects_are_told_apart_by_identity() -> None:
    class Box:
        __hash__ = None  # type: ignore[assignment]

    one, other = Box(), Box()
    assert value_key(one) == value_key(one)
    assert value_key(one) != value_key(other)


def test_nodes_and_variables_come_in_the_order_of_the_source() -> None:
    make = Expressions()
    b, a = make.read("b"), make.read("a")
    node = make.written(make.choice(b, make.apply(operator.add, a, b), make.constant(0)), HERE)
    assert reads(node) == ["b", "a"]
    kinds = [type(part) for part in walk(node)]
    assert kinds == [Written, Choice, Read, Apply, Read, Constant]


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "not"])
def test_operators_are_bracketed_as_python_needs_it(name: str) -> None:
    make = Expressions()
    a, b = make.read("a"), make.read("b")
    for outer in ("-", "*"):
        for node, python in (
            (make.apply(FUNCTIONS[outer], make.apply(FUNCTIONS[name], a, b), b), "left"),
            (make.apply(FUNCTIONS[outer], b, make.apply(FUNCTIONS[name], a, b)), "right"),
        ):
            for values in ({"a": 1, "b": 2}, {"a": 2, "b": 3}, {"a": -3, "b": 2}):
                assert eval(show(node), dict(values)) == evaluate(node, values), (
                    python,
                    show(node),
                )


def test_a_long_expression_is_shown_by_its_variables() -> None:
    make = Expressions()
    node: Any = make.read("a")
    for name in "bc" * 20:
        node = make.apply(operator.add, node, make.read(name))
    assert show(node) == "f(a, b, c)"
