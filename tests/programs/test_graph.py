"""Breadth-first search against the powers of the adjacency matrix."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import weft
from weft.programs.graph import BreadthFirst

VERTICES = "abcde"


def distances(source: str, edges: list[str]) -> dict[str, int]:
    """The first power of the matrix in which there is a way."""
    matrix = np.zeros((5, 5), dtype=int)
    for begin, end in edges:
        matrix[VERTICES.index(begin), VERTICES.index(end)] = 1
    found: dict[str, int] = {}
    for power in range(5):
        ways = np.linalg.matrix_power(matrix, power)[VERTICES.index(source)]
        for vertex, count in zip(VERTICES, ways, strict=True):
            if count:
                found.setdefault(vertex, power)
    return found


def test_random_graphs() -> None:
    rng = random.Random(2)
    every = ["".join(pair) for pair in itertools.permutations(VERTICES, 2)]
    graphs = [(rng.choice(VERTICES), rng.sample(every, rng.randint(0, 20))) for _ in range(150)]
    batch = weft.run_batch(BreadthFirst(), [" ".join([s, *edges]) for s, edges in graphs])
    assert batch.results == [distances(s, edges) for s, edges in graphs]
    assert set(batch.layers) == {5}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("c", {"c": 0}),
        ("a ab bc cd de", {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4}),
        ("e ab bc cd de", {"e": 0}),
        ("a ab ab, ba", {"a": 0, "b": 1}),
    ],
)
def test_by_hand(text: str, result: dict[str, int]) -> None:
    assert weft.run(BreadthFirst, text).result == result


@pytest.mark.parametrize("text", ["", "ab bc", "a b", "a ax", "a aa", "s ab", "a abc"])
def test_what_is_no_graph_is_refused(text: str) -> None:
    with pytest.raises(
        weft.WeftError, match=r"not a source and edges\. Write them as in 'a ab bc'"
    ):
        weft.run(BreadthFirst, text)
