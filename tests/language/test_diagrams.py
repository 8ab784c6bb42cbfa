"""Decision diagrams say what an expression is in every state, by as few tests as possible."""

from __future__ import annotations

from typing import Any

import pytest
from expression_trees import HERE, TREES, VARIABLES, Tree, build, states, value_of
from hypothesis import given, settings

from weft.language.diagrams import Decision, Diagram, Keep, Put, decision, fails_everywhere
from weft.language.expressions import FAILED, Expression, Expressions, reads, value_key
from weft.language.ranges import UNDEFINED, OutOfRange

ALL = list(states())


def exact(node: Expression) -> Decision:
    """The diagram that keeps failure apart from every other result."""
    diagram = Decision(reads(node), VARIABLES, apart=True)
    diagram.root = diagram._of(node)
    return diagram


@settings(max_examples=50, deadline=None)
@given(TREES)
def test_a_diagram_gives_the_value_in_every_state_that_has_one(tree: Tree) -> None:
    node = build(Expressions(), tree)
    diagram = decision(node, VARIABLES)
    for state in ALL:
        kind, value = value_of(node, state)
        if kind != "fails":
            assert value_key(diagram.at(state)) == value_key(value)


@settings(max_examples=50, deadline=None)
@given(TREES)
def test_a_diagram_that_keeps_failure_apart_says_exactly_where_it_fails(tree: Tree) -> None:
    node = build(Expressions(), tree)
    diagram = exact(node)
    names = set(diagram.order)
    failing = [state for state in ALL if value_of(node, state)[0] == "fails"]
    for state in ALL:
        assert (diagram.at(state) is FAILED) is (state in failing)
    shown = list(diagram.failures())
    assert bool(shown) is bool(failing)
    for partial in shown:  # any completion of it fails
        assert set(partial) <= names
        assert any(partial.items() <= state.items() for state in failing)
        assert all(state in failing for state in ALL if partial.items() <= state.items())


@settings(max_examples=50, deadline=None)
@given(TREES)
def test_results_are_those_that_occur(tree: Tree) -> None:
    node = build(Expressions(), tree)
    occurring = {
        value_key(FAILED if kind == "fails" else value)
        for kind, value in (value_of(node, state) for state in ALL)
    }
    assert {value_key(result) for result in exact(node).results()} == occurring


@settings(max_examples=50, deadline=None)
@given(TREES)
def test_the_diagram_is_reduced(tree: Tree) -> None:
    """One node for every different sub-function that tests a variable it depends on.

    The oracle lists sub-functions as tables: fix the first variables, tabulate the rest.
    """
    node = build(Expressions(), tree)
    diagram = exact(node)
    order = diagram.order
    values = {
        name: (*VARIABLES[name].range.values, UNDEFINED)
        if VARIABLES[name].is_head
        else VARIABLES[name].range.values
        for name in order
    }

    def table(state: dict[str, Any], rest: list[str]) -> Any:
        if not rest:
            kind, value = value_of(node, {**ALL[0], **state})
            return (value_key(FAILED if kind == "fails" else value),)
        return tuple(table({**state, rest[0]: value}, rest[1:]) for value in values[rest[0]])

    functions: set[Any] = set()

    def collect(content: Any, level: int) -> Any:
        """The number of a function, by what it returns; equal children are not a test."""
        if level == len(order):
            key = ("result", content)
        else:
            below = tuple(collect(part, level + 1) for part in content)
            if len(set(below)) == 1:
                return below[0]
            key = (level, below)
        functions.add(key)
        return key

    collect(table({}, order), 0)
    assert diagram.size() == len(functions)


@settings(max_examples=50, deadline=None)
@given(TREES)
def test_failing_everywhere_is_failing_in_every_state(tree: Tree) -> None:
    node = build(Expressions(), tree)
    everywhere = all(value_of(node, state)[0] == "fails" for state in ALL)
    assert fails_everywhere(node, VARIABLES) is everywhere


def stored(node: Expression, test: Expression, state: dict[str, Any]) -> Any:
    """What `c` becomes by `if test: c = node`; FAILED if the step fails."""
    kind, held = value_of(test, state)
    if kind == "fails":
        return FAILED
    if not held:
        return state["c"]
    kind, value = value_of(node, state)
    try:
        return FAILED if kind == "fails" else VARIABLES["c"].range.store(value)
    except OutOfRange:
        return FAILED


def diagram_of(make: Expressions, node: Expression, test: Expression) -> Diagram:
    written = make.written(node, HERE)
    return Diagram("c", make.choice(test, written, make.read("c")), VARIABLES)


@settings(max_examples=50, deadline=None)
@given(TREES, TREES)
def test_paths_are_disjoint_and_lead_to_every_change(tree: Tree, test: Tree) -> None:
    make = Expressions()
    value, condition = build(make, tree), build(make, test)
    diagram = diagram_of(make, value, condition)
    paths = list(diagram.paths())
    assert diagram.count() == len(paths)
    for state in ALL:
        holding = [
            path for path in paths if all(state[name] in values for name, values in path.guard)
        ]
        after = stored(value, condition, state)
        if after is FAILED:
            continue  # nothing is promised
        if after == state["c"]:
            assert holding == []
            assert diagram.find(state) is None
        else:
            (path,) = holding
            assert path.result == Put(after, HERE)
            assert diagram.find(state) == path


def test_keeping_and_putting_are_told_apart() -> None:
    make = Expressions()
    diagram = diagram_of(make, make.read("a"), make.read("a"))
    ends = {type(result) for _, result in diagram.ways_from(0)}
    assert ends == {Keep, Put}


def test_a_test_that_only_tells_failure_from_success_is_left_out() -> None:
    """6 // b is 6, 3 or an error, so b = 0 may count as either; 2 // (2 * a) is 1 or an error."""
    make = Expressions()
    six = build(make, ("call", "//", ("constant", 6), ("read", "b")))
    one = build(
        make, ("call", "//", ("constant", 2), ("call", "*", ("constant", 2), ("read", "a")))
    )
    assert sorted(map(str, decision(one, VARIABLES).results())) == ["1"]
    assert decision(one, VARIABLES).size() == 1
    assert decision(six, VARIABLES).size() == 4  # b, 6, 3 and failure
    assert exact(one).size() == 3  # a, 1 and failure


def test_heads_can_be_tested_last() -> None:
    node = build(Expressions(), ("and", ("read", "left"), ("and", ("read", "b"), ("read", "a"))))
    assert decision(node, VARIABLES).order == ["left", "b", "a"]
    assert decision(node, VARIABLES, heads_last=True).order == ["b", "a", "left"]


def test_an_unknown_node_is_refused() -> None:
    with pytest.raises(TypeError):
        Diagram("c", Expressions().constant(1), VARIABLES)
