"""Interval decision diagrams, against functions that are evaluated point by point."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.crasp.limit import intervals
from weft.crasp.limit.intervals import Diagrams, TooLarge


@dataclass(frozen=True)
class Letter:
    name: str

    @property
    def key(self) -> tuple[Any, ...]:
        return (0, self.name)


X, Y, Z = Letter("x"), Letter("y"), Letter("z")
POINTS = [dict(zip((X, Y, Z), values, strict=True)) for values in product(range(-2, 4), repeat=3)]


@st.composite
def functions(draw: st.DrawFn, depth: int = 3) -> Any:
    """A Boolean function as nested tuples."""
    if depth == 0 or draw(st.booleans()):
        return ("at least", draw(st.sampled_from((X, Y, Z))), draw(st.integers(-1, 3)))
    kind = draw(st.sampled_from(("not", "and", "or", "if")))
    count = {"not": 1, "and": 2, "or": 2, "if": 3}[kind]
    return (kind, *(draw(functions(depth=depth - 1)) for _ in range(count)))


def build(diagrams: Diagrams, function: Any) -> int:
    match function:
        case ("at least", variable, cut):
            return diagrams.at_least(variable, cut)
        case ("not", operand):
            return diagrams.negate(build(diagrams, operand))
        case ("and", left, right):
            return diagrams.both(build(diagrams, left), build(diagrams, right))
        case ("or", left, right):
            return diagrams.either(build(diagrams, left), build(diagrams, right))
    return diagrams.choose(*(build(diagrams, part) for part in function[1:]))


def holds(function: Any, point: dict[Letter, int]) -> bool:
    match function:
        case ("at least", variable, cut):
            return point[variable] >= cut
        case ("not", operand):
            return not holds(operand, point)
        case ("and", left, right):
            return holds(left, point) and holds(right, point)
        case ("or", left, right):
            return holds(left, point) or holds(right, point)
    return holds(function[2] if holds(function[1], point) else function[3], point)


@settings(max_examples=60, deadline=None)
@given(functions(), functions())
def test_a_diagram_is_its_function_and_equal_functions_are_one_node(first: Any, other: Any) -> None:
    diagrams = Diagrams()
    nodes = [build(diagrams, function) for function in (first, other)]
    values = [[holds(function, point) for point in POINTS] for function in (first, other)]
    for node, wanted in zip(nodes, values, strict=True):
        assert [diagrams.evaluate(node, point.__getitem__) for point in POINTS] == wanted
    assert (nodes[0] == nodes[1]) == (values[0] == values[1])


@settings(max_examples=60, deadline=None)
@given(functions())
def test_the_paths_of_a_diagram_are_disjoint_and_cover_it(function: Any) -> None:
    diagrams = Diagrams()
    node = build(diagrams, function)
    cuts = diagrams.cuts(node)
    paths = list(diagrams.paths(node))
    assert len(paths) == diagrams.count_paths(node, 10_000)
    for point in POINTS:
        numbers = {v: sum(cut <= point[v] for cut in taken) for v, taken in cuts.items()}
        taken = [all(numbers[v] in allowed for v, allowed in path.items()) for path in paths]
        assert sum(taken) == holds(function, point)


def test_leaves_can_be_anything() -> None:
    diagrams = Diagrams()
    low = diagrams.select(X, (0,), (diagrams.leaf("low"), diagrams.leaf("high")))
    both = diagrams.combine("joined", lambda a, b: a + b, low, diagrams.leaf("!"))
    assert diagrams.evaluate(both, {X: -1}.__getitem__) == "low!"
    length = diagrams.replace_leaves("is short", both, lambda text: diagrams.at_least(Y, len(text)))
    assert diagrams.evaluate(length, {X: 1, Y: 5}.__getitem__) is True
    assert diagrams.evaluate(length, {X: 1, Y: 4}.__getitem__) is False


def test_functions_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "MAX_NODES", 4)
    diagrams = Diagrams()
    with pytest.raises(TooLarge, match="more than 4 decisions"):
        diagrams.both(diagrams.at_least(X, 1), diagrams.at_least(Y, 1), diagrams.at_least(Z, 1))
