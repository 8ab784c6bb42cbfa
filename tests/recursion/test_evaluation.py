"""Evaluation by the equations equals plain Python, at any depth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft.errors import WeftError
from weft.recursion import (
    DEFINITIONS,
    Function,
    InputSampler,
    evaluate,
    measure,
    normal_form,
    recursion_depth,
)
from weft.recursion.codegen import compile_evaluation
from weft.recursion.evaluation import run_generators
from weft.recursion.expressions import Apply, Variable, match
from weft.recursion.library.binary import to_positive
from weft.recursion.library.lists import to_list
from weft.recursion.library.peano import to_nat
from weft.recursion.terms import subterms


def by_definition(function: Function, arguments: tuple[Any, ...]) -> tuple[Any, int, int]:
    """Value, depth of nested calls within the group, and number of calls, by the equations."""
    group, applied = set(function.group), 0

    def call(callee: Function, given: tuple[Any, ...]) -> tuple[Any, int]:
        nonlocal applied
        applied += 1
        found = []
        for equation in callee.equations:
            bindings: dict[str, Any] = {}
            pairs = zip(equation.patterns, given, strict=True)
            if all(match(pattern, one, bindings) for pattern, one in pairs):
                found.append((equation, bindings))
        assert len(found) == 1, "exactly one equation matches"
        equation, bindings = found[0]
        bindings |= dict(zip((name for name, _ in callee.parameters), given, strict=True))
        value, deepest = term(equation.right, bindings)
        return value, deepest + (callee in group)

    def term(expression: Any, bindings: dict[str, Any]) -> tuple[Any, int]:
        if isinstance(expression, Variable):
            return bindings[expression.name], 0
        inner = [term(one, bindings) for one in expression.arguments]
        values, deepest = tuple(v for v, _ in inner), max((d for _, d in inner), default=0)
        if isinstance(expression, Apply):
            value, depth = call(expression.function, values)
            return value, max(deepest, depth)
        head = expression.head
        return (head(*values) if isinstance(head, type) else head), deepest

    value, depth = call(function, arguments)
    return value, depth - 1, applied


def inputs(name: str, count: int, sizes: tuple[int, int], seed: int = 0) -> list[tuple[Any, ...]]:
    return InputSampler(DEFINITIONS[name]).sample(np.random.default_rng(seed), count, size=sizes)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_equations_give_what_the_python_function_gives(name: str) -> None:
    function = DEFINITIONS[name]
    for arguments in inputs(name, 10 if name == "tree-insert" else 60, (0, 9)):
        value, depth, applied = by_definition(function, arguments)
        assert function(*arguments) == value
        assert function.evaluate(*arguments) == evaluate(function, *arguments) == value
        assert measure(function, *arguments) == (value, depth, applied)
        assert recursion_depth(function, *arguments) == function.depth(*arguments) == depth
        assert normal_form(function.call(*arguments)) == value
        generators = compile_evaluation(function, [10**9, 0, 0], counted=True, generators=True)
        assert run_generators(generators(*arguments)) == value


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFINITIONS)
def test_tens_of_thousands_of_terms_evaluate_as_in_plain_python(name: str) -> None:
    function = DEFINITIONS[name]
    most = {"binary-to-peano": 8, "evaluate": 9, "peano-multiply": 16}.get(name, 24)
    for arguments in inputs(name, 5_000, (0, most), seed=1):
        assert function.evaluate(*arguments) == function(*arguments)


def test_ten_thousand_nested_calls() -> None:
    deep = to_nat(10_000)
    plus, append = DEFINITIONS["peano-add"], DEFINITIONS["append"]
    assert plus.evaluate(deep, to_nat(5)) == to_nat(10_005)
    assert plus.depth(deep, deep) == 10_000
    letters = to_list("ab" * 5_000)
    assert append.evaluate(letters, to_list("c")) == to_list("ab" * 5_000 + "c")
    number = to_positive(2**10_000 - 1)
    assert DEFINITIONS["successor"].evaluate(number) == to_positive(2**10_000)
    with pytest.raises(WeftError, match="plain Python does not recurse so deep"):
        plus(deep, deep)


def test_too_many_steps_are_an_error() -> None:
    times = DEFINITIONS["peano-multiply"]
    with pytest.raises(WeftError, match="takes more than 1,000 steps"):
        times.evaluate(to_nat(50), to_nat(50), max_steps=1_000)
    with pytest.raises(WeftError, match="takes more than 1,000 steps"):
        times.depth(to_nat(50), to_nat(50), max_steps=1_000)
    with pytest.raises(WeftError, match="takes more than 1,000 steps"):
        normal_form(times.call(times.call(to_nat(30), to_nat(30)), to_nat(2)), max_steps=1_000)
    with pytest.raises(WeftError, match="takes more than 9 steps"):
        DEFINITIONS["peano-add"].evaluate(to_nat(20_000), to_nat(1), max_steps=9)
    needed = measure(times, to_nat(9), to_nat(9)).equations
    assert times.evaluate(to_nat(9), to_nat(9), max_steps=needed) == to_nat(81)
    with pytest.raises(WeftError, match="steps"):
        times.evaluate(to_nat(9), to_nat(9), max_steps=needed - 1)


def test_values_share_what_is_not_changed() -> None:
    letters = to_list("abc")
    joined = DEFINITIONS["append"].evaluate(to_list("x"), letters)
    assert any(one is letters for one in subterms(joined))
