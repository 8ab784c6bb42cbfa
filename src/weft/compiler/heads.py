"""Heads as query, key, value and output matrices (ALTA paper, appendix A.2).

A match scores `strength` squared, anything else 0, and the sink half of a match. The margins on
both sides of the sink make softmax weights vanish exactly, so a head that selects one position
copies its value to the last bit, and one that selects none gives nothing.
"""

from __future__ import annotations

import math

import numpy as np

from weft.compiler.problem import Problem
from weft.language.program import Head
from weft.models.slots import Layout, Slot
from weft.weights.layers import AttentionMatrices, Matrix, no_heads, stack_heads
from weft.weights.precision import Format


def strength(format_: Format) -> float:
    """The weight of a query and of a key: a match scores twice the margin, in a round number."""
    return float(math.ceil(math.sqrt(2 * format_.margin)))


def compile_heads(
    problem: Problem, layout: Layout, format_: Format, cleared: list[str]
) -> AttentionMatrices:
    """The heads of a problem, in order, then heads that clear the slots of some of them.

    Args:
        problem: the heads to compile.
        layout: where their variables stand.
        format_: the number format, which decides the margins.
        cleared: heads whose last outputs are subtracted from the stream, by heads that attend to
            their own position.
    """
    heads = list(problem.heads.values())
    force, width = strength(format_), layout.width
    compiled = [_selecting(head, layout, force) for head in heads]
    value_width = max([1, *(layout[head.value].size for head in heads)])
    dimensions = [d for name in cleared for d in _dimensions(layout[name])]
    for first in range(0, len(dimensions), value_width):
        chosen = dimensions[first : first + value_width]
        compiled.append(_clearing(chosen, width, force**2))
    return stack_heads(compiled, no_heads(width, sink=True))


def head_names(problem: Problem, count: int) -> tuple[tuple[str, ...], ...]:
    """For each of `count` attention heads, the names of the program's heads that it computes.

    Heads that were merged have several names, heads that clear slots none.
    """
    merged = problem.aliases.items()
    names = [(name, *(other for other, into in merged if into == name)) for name in problem.heads]
    return (*names, *[()] * (count - len(names)))


def _selecting(head: Head, layout: Layout, force: float) -> AttentionMatrices:
    """A head that copies its value from the positions that match."""
    width, match = layout.width, force**2
    value, output = layout[head.value], layout[head.name]
    by_content = head.query is not None and head.key is not None
    offset_score = 0.0 if by_content else match  # without query and key, the offset is the match
    bias = None
    if head.offsets is not None:
        window = max(map(abs, head.offsets), default=0)
        bias = np.full((1, 2 * window + 3), -np.inf)
        bias[0, [offset + window + 1 for offset in head.offsets]] = offset_score
    elif not by_content:
        bias = np.full((1, 3), offset_score)
    return AttentionMatrices(
        query=_reads(head.query if by_content else None, layout, force),
        key=_reads(head.key if by_content else None, layout, force),
        value=_reads(head.value, layout, 1.0),
        output=np.eye(value.size, width, output.start)[None],
        bias=bias,
        sink=np.array([match / 2]),
    )


def _reads(name: str | None, layout: Layout, weight: float) -> Matrix:
    """A projection (1 d k) of a variable's dimensions; all zero for no variable."""
    if name is None:
        return np.zeros((1, layout.width, 1))
    slot = layout[name]
    return weight * np.eye(layout.width, slot.size, -slot.start)[None]


def _clearing(dimensions: list[int], width: int, match: float) -> AttentionMatrices:
    """A head that attends to its own position and subtracts what stands in some dimensions."""
    places = np.arange(len(dimensions))
    value = np.zeros((1, width, len(dimensions)))
    value[0, dimensions, places] = 1.0
    return AttentionMatrices(
        query=np.zeros((1, width, 1)),
        key=np.zeros((1, width, 1)),
        value=value,
        output=0.0 - value.transpose(0, 2, 1),  # no negative zeros
        bias=np.array([[-np.inf, match, -np.inf]]),
        sink=np.zeros(1),
    )


def _dimensions(slot: Slot) -> range:
    return range(slot.start, slot.start + slot.size)
