"""What a head attends to, from its weights: all positions alike, or exactly one.

The scores of all pairs of a query and a key that can occur are computed, from the token and
position embeddings that they read. A head is uniform if they are all equal. It fetches from a
single position if one score is so far above all others that their exponentials are exactly 0: then
its weight is exactly 1. Anything else is not understood.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from weft.crasp.proof.nodes import Integers, Numbers
from weft.models.config import TransformerConfig
from weft.proofs.rounding import PRECISIONS, Array, grid

MAX_CLASSES = 8
"""Up to this many different queries and keys, positions with the same ones are taken together."""

MAX_POSITIONS = 1 << 12
"""Up to this many positions, pairs of positions are looked at one by one."""

SPARSE = 8
"""Rows with at most this many entries are multiplied entry by entry."""


class NotUnderstood(Exception):
    """A head that is neither uniform nor attends to one position."""


@dataclass(frozen=True)
class Uniform:
    """Equal weights on all positions so far."""


@dataclass(frozen=True, eq=False)
class Single:
    """The weight 1 on one position; `sources` has it for each query position."""

    sources: Integers


Attends = Uniform | Single


@dataclass(frozen=True, eq=False)
class Embeddings:
    """The stream before the first layer.

    Attributes:
        begin: at the begin symbol (d).
        symbols: what each symbol of the alphabet puts into the stream (symbols, d).
        positions: what is added at each position (positions, d); None for nothing.
        count: the number of positions.
        dtype: the number format.
    """

    begin: Numbers
    symbols: Numbers
    positions: Numbers | None
    count: int
    dtype: str

    def rows(self, dimensions: Array) -> Numbers:
        """What the dimensions hold, for each kind of symbol that differs (kinds, positions, d)."""
        kinds = np.unique(self.symbols[:, dimensions], axis=0)
        result = np.repeat(kinds[:, None], self.count, 1)
        result[:, 0] = self.begin[dimensions]
        if self.positions is not None:
            result = stored(result + self.positions[None, : self.count, dimensions], self.dtype)
        return result


def stored(values: Array, dtype: str) -> Numbers:
    """Numbers as a number format stores them."""
    if dtype == "float64":
        return np.asarray(values, np.float64)
    narrow = np.asarray(values, np.float32)  # a sum of two numbers rounds once in either
    if dtype == "bfloat16":
        bits = narrow.view(np.uint32).astype(np.uint64)
        bits = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32)
        narrow = bits.view(np.float32)
    return narrow.astype(np.float64)


@dataclass(frozen=True, eq=False)
class HeadWeights:
    """The weights of one head that its scores depend on, in float64."""

    query: Numbers
    key: Numbers
    bias: Numbers | None
    sink: float | None


def head_weights(
    tensors: Mapping[str, Array], config: TransformerConfig, layer: int, head: int
) -> HeadWeights:
    """The weights of a head."""
    prefix = f"layers.{layer}.attention"
    return HeadWeights(
        query=tensors[f"{prefix}.query"][head],
        key=tensors[f"{prefix}.key"][head],
        bias=tensors[f"{prefix}.bias"][head] if config.offsets is not None else None,
        sink=float(tensors[f"{prefix}.sink"][head]) if config.sink else None,
    )


def attends_to(weights: HeadWeights, embeddings: Embeddings, written: frozenset[int]) -> Attends:
    """What a head attends to.

    Args:
        weights: the weights of the head.
        embeddings: the stream before the first layer.
        written: the dimensions that earlier layers have changed.
    """
    queries = _projected(weights.query, weights.key, embeddings, written)
    keys = _projected(weights.key, weights.query, embeddings, written)
    some_queries, some_keys = _classes(queries), _classes(keys)
    if some_queries is not None and some_keys is not None:
        return _by_classes(weights, embeddings, some_queries, some_keys)
    if embeddings.count > MAX_POSITIONS:
        raise NotUnderstood(f"it compares more than {MAX_POSITIONS:,} positions")
    return _by_positions(weights, embeddings, queries, keys)


def _projected(
    matrix: Numbers, other: Numbers, embeddings: Embeddings, written: frozenset[int]
) -> Numbers:
    """Queries or keys, for each kind of symbol and each position (kinds, positions, k)."""
    matrix = matrix[:, (matrix != 0).any(0) & (other != 0).any(0)]  # the others multiply to 0
    dimensions = np.flatnonzero((matrix != 0).any(1))
    if written & set(dimensions.tolist()):
        raise NotUnderstood("its queries or keys read what a layer has written")
    rows = embeddings.rows(dimensions)
    kinds, positions, _ = rows.shape
    flat = rows.reshape(kinds * positions, len(dimensions))
    projected = _exact_product(flat, matrix[dimensions], PRECISIONS[embeddings.dtype].bits)
    return projected.reshape(kinds, positions, -1)


def _exact_product(left: Numbers, right: Numbers, bits: int) -> Numbers:
    """`left @ right`, which the number format must compute exactly in any order."""
    if not left.any() or not right.any():
        return np.zeros((len(left), right.shape[1]))
    lowest = int(grid(left[left != 0]).min()) + int(grid(right[right != 0]).min())
    if float(_product(np.abs(left), np.abs(right)).max()) > 2.0 ** (lowest + bits):
        raise NotUnderstood("its scores are rounded")
    return _product(left, right)


def _product(left: Numbers, right: Numbers) -> Numbers:
    """`left @ right`, entry by entry if rows on the left are almost empty."""
    entries = (left != 0).sum(1).max(initial=0)
    if entries > SPARSE or entries * 8 > left.shape[1]:
        product: Numbers = left @ right
        return product
    result = np.zeros((len(left), right.shape[1]))
    places = np.argsort(left == 0, axis=1, kind="stable")[:, :entries]
    for place in places.T:
        result += left[np.arange(len(left)), place][:, None] * right[place]
    return result


# Few different queries and keys: positions are taken together


@dataclass(frozen=True, eq=False)
class Classes:
    """Different queries or keys (classes, k), and at which positions each can occur."""

    rows: Numbers
    occurs: Array


def _classes(rows: Numbers) -> Classes | None:
    kinds, positions, width = rows.shape
    if width > MAX_CLASSES:
        return None
    flat = rows.reshape(kinds * positions, width)
    distinct, which = np.unique(flat, axis=0, return_inverse=True)
    if len(distinct) > MAX_CLASSES:
        return None
    which = which.reshape(kinds, positions)
    occurs = np.stack([(which == number).any(0) for number in range(len(distinct))])
    return Classes(distinct, occurs)


@dataclass(frozen=True, eq=False)
class _Keys:
    """Keys of one score: how many there are for each query position, and where the first is."""

    score: float
    count: Integers
    source: Integers


def _by_classes(
    weights: HeadWeights, embeddings: Embeddings, queries: Classes, keys: Classes
) -> Attends:
    precision = PRECISIONS[embeddings.dtype]
    scores = _exact_product(queries.rows, keys.rows.T, precision.bits)
    results = []
    for row, asks in zip(scores, queries.occurs, strict=True):
        distinct = np.unique(row)
        occurs = np.stack([keys.occurs[row == score].any(0) for score in distinct])
        if (occurs.sum(0) > 1).any():
            raise NotUnderstood("what it attends to depends on the symbol")
        groups = list(_groups(distinct, occurs, weights.bias, embeddings))
        results.append(_attended(groups, np.flatnonzero(asks), weights.sink, embeddings))
    if all(isinstance(result, Uniform) for result in results):
        return Uniform()
    sources = np.full(embeddings.count, -1)
    for asks, result in zip(queries.occurs, results, strict=True):
        here = np.flatnonzero(asks)
        if isinstance(result, Uniform) and here.any():
            raise NotUnderstood("it is uniform for some queries only")
        # The begin symbol sees itself alone: to attend to it is to attend to all.
        attended = here if isinstance(result, Uniform) else result.sources
        if ((sources[here] >= 0) & (sources[here] != attended)).any():
            raise NotUnderstood("where it attends depends on the symbol")
        sources[here] = attended
    return Single(sources)


def _groups(
    row: Numbers, occurs: Array, bias: Numbers | None, embeddings: Embeddings
) -> Iterator[_Keys]:
    """All keys that a query can see, by their class and their distance."""
    positions = np.arange(embeddings.count)
    window = -1 if bias is None else (len(bias) - 3) // 2
    for score, here in zip(row, occurs, strict=True):
        for distance in range(min(window, embeddings.count - 1) + 1):
            assert bias is not None
            count = np.zeros(embeddings.count, np.int64)
            count[distance:] = here[: embeddings.count - distance]
            source = positions - distance
            yield _Keys(_biased(score, bias[window + 1 - distance], embeddings), count, source)
        beyond = window + 1  # all distances from here on share one bias
        count = np.zeros(embeddings.count, np.int64)
        count[beyond:] = np.cumsum(here)[: max(0, embeddings.count - beyond)]
        first = np.full(embeddings.count, int(np.argmax(here)))
        outer = 0.0 if bias is None else bias[0]
        yield _Keys(_biased(score, outer, embeddings), count, first)


def _biased(score: float, bias: float, embeddings: Embeddings) -> float:
    """The score with its bias, which is added in float32 at least."""
    wide = "float64" if embeddings.dtype == "float64" else "float32"
    return float(stored(np.array([score + bias]), wide)[0])


def _attended(
    groups: list[_Keys], asks: Integers, sink: float | None, embeddings: Embeddings
) -> Attends:
    """What queries at some positions attend to."""
    vanishes = PRECISIONS[embeddings.dtype].vanishes
    top = np.full(len(asks), -np.inf)
    for group in groups:
        top = np.where(group.count[asks] > 0, np.maximum(top, group.score), top)
    if not np.isfinite(top).all():
        raise NotUnderstood("it attends to nothing")
    if sink is not None and (top - sink < vanishes).any():
        raise NotUnderstood("it attends to its sink")
    attended = np.zeros(len(asks), np.int64)
    sources = np.zeros(len(asks), np.int64)
    for group in groups:
        some = group.count[asks] > 0
        best = some & (group.score == top)
        if (some & ~best & (top - group.score < vanishes)).any():
            raise NotUnderstood("scores differ by too little to select a position")
        attended += np.where(best, group.count[asks], 0)
        sources = np.where(best, group.source[asks], sources)
    if (attended == asks + 1).all():
        return Uniform()
    if (attended == 1).all():
        return Single(sources)
    raise NotUnderstood("it attends to several positions, but not to all")


# Many different queries and keys: every pair of positions is looked at


def _by_positions(
    weights: HeadWeights, embeddings: Embeddings, queries: Numbers, keys: Numbers
) -> Attends:
    precision, count = PRECISIONS[embeddings.dtype], embeddings.count
    wide = "float64" if embeddings.dtype == "float64" else "float32"
    places = np.arange(count)
    distance = places[:, None] - places[None, :]
    bias = 0.0 if weights.bias is None else _dense_bias(weights.bias, distance)
    low, high = np.full((count, count), np.inf), np.full((count, count), -np.inf)
    for query in queries:
        for key in keys:
            scores = stored(_exact_product(query, key.T, precision.bits) + bias, wide)
            low, high = np.minimum(low, scores), np.maximum(high, scores)
    low[distance < 0] = high[distance < 0] = -np.inf
    top = low.max(1)
    if not np.isfinite(top).all():
        raise NotUnderstood("it attends to nothing")
    if weights.sink is not None and (top - weights.sink < precision.vanishes).any():
        raise NotUnderstood("it attends to its sink")
    if ((low == top[:, None]) & (high == top[:, None]) | (distance < 0)).all():
        return Uniform()
    sources = low.argmax(1)
    high[places, sources] = -np.inf
    if (top - high.max(1) < precision.vanishes).any():
        raise NotUnderstood("scores differ by too little to select a position")
    return Single(sources)


def _dense_bias(bias: Numbers, distance: Integers) -> Numbers:
    window = (len(bias) - 3) // 2
    dense: Numbers = bias[np.clip(-distance, -window - 1, window + 1) + window + 1]
    return dense
