"""Tables list every value that an expression can have, and say which one it has."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import pytest
from expression_trees import TREES, VARIABLES, Tree, build, states, value_of
from hypothesis import given, settings

import weft
from weft.errors import WeftError
from weft.language.expressions import Apply, Choice, Expression, Expressions, Read, value_key
from weft.language.ranges import UNDEFINED
from weft.language.tables import LIMIT, Tables, truth

FAILS = object()


def looked_up(tables: Tables, node: Expression, state: dict[str, Any]) -> Any:
    """The value of a node by tables alone; `FAILS` if its code is the one for failure."""
    if isinstance(node, Choice):
        test = looked_up(tables, node.test, state)
        if test is FAILS or truth(test) is None:
            return FAILS
        return looked_up(tables, node.then if test else node.otherwise, state)
    if isinstance(node, Read):
        return FAILS if state[node.variable] is UNDEFINED else state[node.variable]
    table = tables.of(node)
    if not isinstance(node, Apply):
        return table.values[0]
    index = 0
    for part in table.inputs:
        inner = tables.of(part)
        value = looked_up(tables, part, state)
        codes = {value_key(known): code for code, known in enumerate(inner.values)}
        index = index * inner.codes + (
            len(inner.values) if value is FAILS else codes[value_key(value)]
        )
    code = table.entries[index]
    return FAILS if code == len(table.values) else table.values[code]


@settings(max_examples=60, deadline=None)
@given(TREES)
def test_tables_give_what_the_expression_is(tree: Tree) -> None:
    tables = Tables(VARIABLES)
    node = build(Expressions(), tree)
    for state in states():
        kind, value = value_of(node, state)
        found = looked_up(tables, node, state)
        if kind == "fails":
            assert found is FAILS
        else:
            assert value_key(found) == value_key(value)


@settings(max_examples=60, deadline=None)
@given(TREES)
def test_every_value_that_occurs_is_listed_and_failure_is_announced(tree: Tree) -> None:
    node = build(Expressions(), tree)
    table = Tables(VARIABLES).of(node)
    listed = {value_key(value) for value in table.values}
    assert len(listed) == len(table.values), "listed twice"
    for state in states():
        kind, value = value_of(node, state)
        if kind == "fails":
            assert table.fails
        else:
            assert value_key(value) in listed


def test_a_head_can_fail_by_itself_and_a_variable_cannot() -> None:
    make, tables = Expressions(), Tables(VARIABLES)
    head, variable = tables.of(make.read("left")), tables.of(make.read("b"))
    assert (head.fails, head.own, head.codes) == (True, True, 4)
    assert (variable.fails, variable.own, variable.codes) == (False, False, 3)
    divided = tables.of(make.apply(operator.floordiv, make.constant(1), make.read("a")))
    assert (divided.fails, divided.own) == (True, True)
    shifted = tables.of(make.apply(operator.add, make.constant(1), make.read("left")))
    assert (shifted.fails, shifted.own) == (True, False)


def test_a_table_is_computed_once() -> None:
    calls: list[tuple[Any, ...]] = []

    def traced(*values: Any) -> int:
        calls.append(values)
        return 0

    make, tables = Expressions(), Tables(VARIABLES)
    node = make.apply(traced, make.read("a"), make.read("b"))
    assert tables.of(node) is tables.of(node)
    assert sorted(calls) == sorted(itertools.product((0, 1), (0, 1, 2)))


class Wide(weft.Program):
    tokens = [0]
    x = weft.var(600)
    y = weft.var(600)
    output = x

    def step(z):
        z.x = z.x


def test_what_is_too_large_names_the_expression_its_variables_and_the_count() -> None:
    make = Expressions()
    product = make.apply(operator.mul, make.read("x"), make.read("y"))
    assert LIMIT < 600 * 600
    with pytest.raises(WeftError, match=r"x \* y.*x \(600 values\), y \(600 values\): 360,000"):
        Tables(Wide().variables).of(product)


def test_the_arguments_being_many_does_not_matter_if_the_variables_are_few() -> None:
    """x*600+x has 360,000 pairs of argument values, but only 600 values of x."""
    make = Expressions()
    x = make.read("x")
    scaled = make.apply(operator.mul, x, make.constant(600))
    table = Tables(Wide().variables).of(make.apply(operator.add, scaled, x))
    assert list(table.values) == [601 * value for value in range(600)]


def test_truth_is_none_if_python_cannot_tell() -> None:
    class Unsure:
        def __bool__(self) -> bool:
            raise ValueError

    assert [truth(value) for value in (0, 1, "", Unsure())] == [False, True, False, None]
