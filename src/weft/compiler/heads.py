"""Heads as query, key, value and output matrices (ALTA paper, appendix A.2).

A match scores `strength` squared, anything else 0, and the sink half of a match. The margins on
both sides of the sink make softmax weights vanish exactly, so a head that selects one position
copies its value to the last bit, and one that selects none gives nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.compiler.problem import Problem
from weft.language.program import Head
from weft.models.slots import Layout
from weft.weights.precision import Format

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class AttentionMatrices:
    """All heads: query, key (h d k), value (h d v), output (h v d), bias (h offsets), sink (h)."""

    query: Matrix
    key: Matrix
    value: Matrix
    output: Matrix
    bias: Matrix | None
    sink: Matrix

    @property
    def heads(self) -> int:
        """How many there are."""
        return len(self.query)


def strength(format_: Format) -> float:
    """The weight of a query and of a key: a match scores twice the margin, in a round number."""
    return float(math.ceil(math.sqrt(2 * format_.margin)))


def compile_heads(
    problem: Problem, layout: Layout, width: int, format_: Format, cancelled: list[str]
) -> AttentionMatrices:
    """The heads of a problem, and some that attend to themselves and take away old outputs."""
    heads = list(problem.heads.values())
    key_width = max([1, *(layout[h.query].size for h in heads if h.query is not None)])
    value_width = max([1, *(layout[h.value].size for h in heads)])
    places = [
        d for n in cancelled for d in range(layout[n].start, layout[n].start + layout[n].size)
    ]
    shares = [places[i : i + value_width] for i in range(0, len(places), value_width)]
    count = len(heads) + len(shares)
    window = _window(heads, bool(cancelled))
    found = AttentionMatrices(
        query=np.zeros((count, width, key_width)),
        key=np.zeros((count, width, key_width)),
        value=np.zeros((count, width, value_width)),
        output=np.zeros((count, value_width, width)),
        bias=None if window is None else np.zeros((count, 2 * window + 3)),
        sink=np.zeros(count),
    )
    match = strength(format_) ** 2
    for number, head in enumerate(heads):
        _compile_head(found, number, head, layout, window, format_)
        found.sink[number] = match / 2
    for number, share in enumerate(shares, len(heads)):
        _compile_cancelling(found, number, share, window, match)
    return found


def _window(heads: list[Head], cancelling: bool) -> int | None:
    offsets = [abs(o) for head in heads if head.offsets is not None for o in head.offsets]
    return max(offsets, default=0) if offsets or cancelling else None


def _compile_head(
    found: AttentionMatrices,
    number: int,
    head: Head,
    layout: Layout,
    window: int | None,
    format_: Format,
) -> None:
    force = strength(format_)
    allowed = 0.0
    if head.query is not None and head.key is not None:
        _select(found.query[number], layout[head.query].start, layout[head.query].size, force)
        _select(found.key[number], layout[head.key].start, layout[head.key].size, force)
    else:
        allowed = force**2
    value, output = layout[head.value], layout[head.name]
    for place in range(value.size):
        found.value[number, value.start + place, place] = 1.0
        found.output[number, place, output.start + place] = 1.0
    if head.offsets is not None and found.bias is not None and window is not None:
        found.bias[number] = -np.inf
        for offset in head.offsets:
            found.bias[number, offset + window + 1] = allowed
    elif found.bias is not None:
        found.bias[number] = allowed


def _select(matrix: Matrix, start: int, size: int, force: float) -> None:
    for place in range(size):
        matrix[start + place, place] = force


def _compile_cancelling(
    found: AttentionMatrices,
    number: int,
    dimensions: list[int],
    window: int | None,
    match: float,
) -> None:
    """A head that attends to its own position and takes these dimensions away."""
    assert found.bias is not None
    assert window is not None
    found.bias[number] = -np.inf
    found.bias[number, window + 1] = match
    for place, dimension in enumerate(dimensions):
        found.value[number, dimension, place] = 1.0
        found.output[number, place, dimension] = -1.0
