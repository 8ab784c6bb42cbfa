"""Random expressions as plain trees, with Python as the oracle of what they mean.

A tree is a nested tuple. `build` makes a Weft expression of it; `compute` evaluates it directly, by
recursion over the tree, without any code of Weft's.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

import weft
from weft.errors import Location
from weft.language.expressions import Expression, Expressions, Failure, evaluate
from weft.language.ranges import UNDEFINED

Tree = tuple[Any, ...]
State = dict[str, Any]
HERE = Location("trees.py", 1)


class Small(weft.Program):
    """Variables of every kind that an expression can read."""

    tokens = [0, 1, 2]

    a = weft.var(2, token=lambda t: t % 2)
    b = weft.var(3, token=lambda t: t)
    c = weft.var(3)
    left = weft.relative(b, -1)

    output = a

    def step(z):
        z.c = z.a


VARIABLES = Small().variables
FUNCTIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "==": operator.eq,
    "<": operator.lt,
    "not": operator.not_,
}


def leaves() -> st.SearchStrategy[Tree]:
    return st.one_of(
        st.sampled_from([("read", name) for name in VARIABLES]),
        st.sampled_from([("constant", value) for value in (0, 1, 2, -1, True, False)]),
    )


def _extended(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    binary = st.sampled_from([name for name in FUNCTIONS if name != "not"])
    return st.one_of(
        st.tuples(st.just("call"), binary, inner, inner),
        st.tuples(st.just("call"), st.just("not"), inner),
        st.tuples(st.just("if"), inner, inner, inner),
        st.tuples(st.just("and"), inner, inner),
        st.tuples(st.just("or"), inner, inner),
    )


TREES = st.recursive(leaves(), _extended, max_leaves=8)


def build(make: Expressions, tree: Tree) -> Expression:
    """The tree as a Weft expression."""
    match tree:
        case ("read", name):
            return make.read(name)
        case ("constant", value):
            return make.constant(value)
        case ("call", name, *inner):
            return make.apply(FUNCTIONS[name], *(build(make, part) for part in inner))
        case ("if", test, then, otherwise):
            return make.choice(build(make, test), build(make, then), build(make, otherwise))
        case ("and", left, right):
            return make.both(build(make, left), build(make, right))
        case ("or", left, right):
            return make.either(build(make, left), build(make, right))
    raise TypeError(tree)


def compute(tree: Tree, state: Mapping[str, Any]) -> Any:
    """The value of a tree in a state; raises if it cannot be computed."""
    match tree:
        case ("read", name):
            if state[name] is UNDEFINED:
                raise LookupError(name)
            return state[name]
        case ("constant", value):
            return value
        case ("call", name, *inner):
            return FUNCTIONS[name](*[compute(part, state) for part in inner])
        case ("if", test, then, otherwise):
            return compute(then if compute(test, state) else otherwise, state)
        case ("and", left, right):
            return compute(left, state) and compute(right, state)
        case ("or", left, right):
            return compute(left, state) or compute(right, state)
    raise TypeError(tree)


def outcome(tree: Tree, state: Mapping[str, Any]) -> tuple[str, Any]:
    """The value with its type, or that there is none; True and 1 differ."""
    try:
        value = compute(tree, state)
    except Exception:
        return "fails", None
    return type(value).__name__, value


def value_of(node: Expression, state: Mapping[str, Any]) -> tuple[str, Any]:
    """The same, of an expression.

    `test_expressions` compares it with `outcome`. The two differ in one case alone: a choice whose
    sides are equal is left out together with its test, so it succeeds even if the test fails. (The
    front end records such a test as an effect of the step.)
    """
    try:
        value = evaluate(node, state)
    except (Failure, Exception):
        return "fails", None
    return type(value).__name__, value


def states() -> Iterator[State]:
    """Every state of `Small`: head outputs may be undefined."""
    values = [
        (*variable.range.values, UNDEFINED) if variable.is_head else variable.range.values
        for variable in VARIABLES.values()
    ]
    for combination in itertools.product(*values):
        yield dict(zip(VARIABLES, combination, strict=True))
