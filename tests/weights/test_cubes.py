"""Cubes are merged without changing the states that they cover."""

from __future__ import annotations

from weft.weights.cubes import minimise


def test_cubes_that_differ_in_one_variable_are_merged() -> None:
    one, two = frozenset([1]), frozenset([2])
    cubes = [{"a": one, "b": one}, {"a": two, "b": one}, {"a": one, "b": two}]
    merged = minimise(cubes)
    states = {(a, b) for cube in merged for a in cube["a"] for b in cube["b"]}
    assert states == {(1, 1), (2, 1), (1, 2)}
    assert len(merged) == 2
