"""Attention: every head selects what its program's head selects, at every length.

For a query q, every match must score the same, S(q). S(q) must lie above the sink, and everything
else below it, by so much that exp of the difference is exactly 0. Then a head that selects one
position gives it the weight 1 and copies its value to the last bit; one that selects none gives
exactly nothing; one that selects n gives each the weight fl(1/n).

Heads behind those of the program clear slots: they attend to their own position alone and subtract
what stands there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from weft.compiler.proof.findings import Unproved
from weft.compiler.proof.invariant import Invariant
from weft.compiler.proof.stream_checks import encode
from weft.language.program import Head
from weft.models.config import TransformerConfig
from weft.models.slots import Layout
from weft.proofs.rounding import (
    PRECISIONS,
    Array,
    is_exact_product,
    is_power_of_two,
)

Offsets = list[tuple[int, float]]


@dataclass(frozen=True)
class AttentionChecks:
    """The attention weights of one layer, and the config that they are used with."""

    tensors: Mapping[str, Array]
    config: TransformerConfig
    layout: Layout
    layer: int

    def matrix(self, name: str, number: int) -> Array:
        """A weight of one head, in float64."""
        result: Array = self.tensors[f"layers.{self.layer}.attention.{name}"][number]
        return result

    def sink(self, number: int) -> float:
        """The score at which a head attends to nothing."""
        return float(self.matrix("sink", number))

    def copied(self, number: int) -> Array:
        """By what each dimension is multiplied on its way to each other one (d d), exactly."""
        value, output = self.matrix("value", number), self.matrix("output", number)
        for column in value.T:
            used = column[column != 0]
            if len(used) > 1 or not all(is_power_of_two(float(entry)) for entry in used):
                raise Unproved(f"head {number} does not copy single dimensions, so it may round")
        for row in output:
            if not all(is_power_of_two(float(entry)) for entry in row[row != 0]):
                raise Unproved(f"head {number} scales what it copies, so it may round")
        if ((value != 0).astype(int) @ (output != 0).astype(int) > 1).any():
            raise Unproved(f"head {number} copies along several channels, which may cancel")
        written: Array = value @ output
        return written

    def offsets(self, number: int, head: Head | None, max_length: int | None) -> Offsets:
        """The offsets that can occur, each with its bias; the farthest stand for all beyond.

        They reach beyond all offsets that have a bias of their own and all that the head names.
        """
        window = self.config.offsets
        named = [abs(o) for o in head.offsets] if head is not None and head.offsets else []
        farthest = 1 + max([0, *named, *([] if window is None else [window + 1])])
        if max_length is not None:
            farthest = min(farthest, max_length - 1)
        last = 0 if self.config.causal else farthest
        result = []
        for offset in range(-farthest, last + 1):
            bias = 0.0
            if window is not None:
                place = min(max(offset, -window - 1), window + 1) + window + 1
                bias = float(self.matrix("bias", number)[place])
            result.append((offset, bias))
        return result


def check_attention(
    tensors: Mapping[str, Array],
    config: TransformerConfig,
    layout: Layout,
    invariant: Invariant,
    layer: int = 0,
) -> frozenset[int]:
    """All heads of a layer are right; returns the dimensions that they clear before writing."""
    attention = AttentionChecks(tensors, config, layout, layer)
    heads = invariant.heads
    if config.heads < len(heads):
        raise Unproved(f"the program has {len(heads)} heads, the model {config.heads}")
    for number, head in enumerate(heads):
        try:
            _check_copied(attention, number, head)
            _check_scores(attention, number, head, invariant)
        except Unproved as unproved:
            raise Unproved(f"head '{head.name}': {unproved.reason}") from None
    cleared: set[int] = set()
    for number in range(len(heads), config.heads):
        cleared |= _check_clearing(attention, number, invariant, cleared)
    return frozenset(cleared)


def check_head_names(layout: Layout, config: TransformerConfig, invariant: Invariant) -> None:
    """The map from attention heads to the program's heads is right, if the layout has one."""
    merged = invariant.shared.items()
    names = [
        {head.name, *(name for name, into in merged if into == head.name)}
        for head in invariant.heads
    ]
    names += [set() for _ in range(config.heads - len(names))]
    if layout.heads and [set(named) for named in layout.heads] != names:
        raise Unproved("the layout's names of heads are not those of the program")


def _check_copied(attention: AttentionChecks, number: int, head: Head) -> None:
    value, output = attention.layout[head.value], attention.layout[head.name]
    wanted = np.zeros((attention.config.width, attention.config.width))
    places = np.arange(value.size)
    wanted[value.start + places, output.start + places] = 1
    if (attention.copied(number) != wanted).any():
        raise Unproved("it does not copy its value to its output")


def _check_scores(
    attention: AttentionChecks, number: int, head: Head, invariant: Invariant
) -> None:
    scores, matches = _scores(attention, number, head, invariant)
    sink = attention.sink(number)
    if not np.isfinite(sink):
        raise Unproved("its sink is not finite")
    precision = PRECISIONS[attention.config.dtype]
    margin = precision.vanishes
    wide = np.float64 if precision.softmax_bits == 53 else np.float32
    of_match: dict[int, float] = {}  # the score of all matches, for each query
    for offset, bias in attention.offsets(number, head, invariant.max_length):
        if np.isnan(bias) or bias == np.inf:
            raise Unproved(f"its bias at offset {offset} is not a number")
        biased: Array = np.add(scores, bias, dtype=wide).astype(np.float64)
        allowed = matches if head.offsets is None or offset in head.offsets else matches & False
        if (biased[allowed] - sink < margin).any():
            raise Unproved(f"a match at offset {offset} is not above the sink by {margin:g}")
        if (biased[~allowed] - sink > -margin).any():
            raise Unproved(f"a mismatch at offset {offset} is not below the sink by {margin:g}")
        for query, keys in enumerate(allowed):
            for score in np.unique(biased[query, keys]).tolist():
                if not np.isfinite(score) or of_match.setdefault(query, score) != score:
                    raise Unproved(f"matches do not all score the same (offset {offset})")


def _scores(
    attention: AttentionChecks, number: int, head: Head, invariant: Invariant
) -> tuple[Array, Array]:
    """The score of every listed key for every listed query, without bias, and which match."""
    query, key = attention.matrix("query", number), attention.matrix("key", number)
    for role, name, matrix in (("query", head.query, query), ("key", head.key, key)):
        others = np.ones(len(matrix), bool)
        if name is not None:
            others[attention.layout[name].dimensions] = False
        if matrix[others].any():
            raise Unproved(f"its {role} reads other variables")
    if head.query is None or head.key is None:
        return np.zeros((1, 1)), np.ones((1, 1), bool)
    bits = PRECISIONS[attention.config.dtype].bits
    asked, held = (
        _projected(attention, name, matrix, invariant, bits)
        for name, matrix in ((head.query, query), (head.key, key))
    )
    if not is_exact_product(asked, held.T, bits):
        raise Unproved(f"its scores round in {attention.config.dtype}")
    queries = invariant.variables[head.query].range.values
    keys = invariant.variables[head.key].range.values
    matches = [[k in q if isinstance(q, frozenset) else k == q for k in keys] for q in queries]
    return asked @ held.T, np.asarray(matches, bool).reshape(len(queries), len(keys))


def _projected(
    attention: AttentionChecks, name: str, matrix: Array, invariant: Invariant, bits: int
) -> Array:
    """Listed values as queries or keys (values, key width)."""
    rows = encode(invariant.program.variables[name])[invariant.codes(name)]
    weights = matrix[attention.layout[name].dimensions]
    if not is_exact_product(rows, weights, bits):
        raise Unproved(f"its queries or keys round in {attention.config.dtype}")
    projected: Array = rows @ weights
    return projected


def _check_clearing(
    attention: AttentionChecks, number: int, invariant: Invariant, already: set[int]
) -> set[int]:
    """A head that attends to itself and subtracts what stands in slots of heads."""
    subject = f"head {number}, which belongs to no head of the program,"
    if attention.matrix("query", number).any() or attention.matrix("key", number).any():
        raise Unproved(f"{subject} compares positions")
    sink = attention.sink(number)
    margin = PRECISIONS[attention.config.dtype].vanishes
    for offset, bias in attention.offsets(number, None, invariant.max_length):
        if offset == 0 and not (np.isfinite(bias) and bias - sink >= margin):
            raise Unproved(f"{subject} does not attend to its own position")
        if offset != 0 and not bias - sink <= -margin:
            raise Unproved(f"{subject} attends to other positions")
    if attention.config.offsets is None or not np.isfinite(sink):
        raise Unproved(f"{subject} attends to all positions")
    copied = attention.copied(number)
    dimensions = set(np.flatnonzero(copied.any(1) | copied.any(0)).tolist())
    wanted = np.zeros_like(copied)
    wanted[list(dimensions), list(dimensions)] = -1
    if (copied != wanted).any():
        raise Unproved(f"{subject} does not subtract what it reads")
    of_heads = {
        dimension
        for head in invariant.heads
        for dimension in range(*attention.layout[head.name].dimensions.indices(len(copied)))
    }
    if not dimensions <= of_heads or dimensions & already:
        raise Unproved(f"{subject} clears something else than what heads wrote")
    return dimensions
