"""Constructed layers become a Transformer, whatever sizes each has.

The oracle computes the layers as they were given, without padding: one query at a time, in NumPy's
float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from weft.errors import WeftError
from weft.weights.emit import EmbeddingTables, emit
from weft.weights.layers import (
    AttentionMatrices,
    FeedForwardMatrices,
    LayerMatrices,
    Matrix,
    no_feed_forward,
    no_heads,
    stack_heads,
)

Words = Sequence[Sequence[int]]


def attended(heads: AttentionMatrices, stream: Matrix, causal: bool) -> Matrix:
    """What the heads of a layer add to a stream (l d)."""
    added = np.zeros_like(stream)
    for head in range(heads.heads):
        for here in range(len(stream)):
            scores, values = [], []
            for there in range(here + 1 if causal else len(stream)):
                score = (stream[here] @ heads.query[head]) @ (stream[there] @ heads.key[head])
                if heads.bias is not None:
                    window = (heads.bias.shape[1] - 3) // 2
                    offset = min(max(there - here, -window - 1), window + 1)
                    score += heads.bias[head, offset + window + 1]
                scores.append(score)
                values.append(stream[there] @ heads.value[head])
            if heads.sink is not None:
                scores.append(heads.sink[head])
                values.append(np.zeros(heads.value.shape[2]))
            powers = np.exp(np.array(scores) - max(scores))
            added[here] += (powers / powers.sum()) @ np.array(values) @ heads.output[head]
    return added


def oracle(
    layers: Sequence[LayerMatrices],
    tables: EmbeddingTables,
    word: Sequence[int],
    loops: int,
    causal: bool,
) -> Matrix:
    """The last stream (l d), with clipped units."""
    stream = tables.embedding[list(word)].copy()
    if tables.positions is not None:
        stream += tables.positions[: len(word)]
    for layer in [*layers] * loops:
        stream = stream + attended(layer.attention, stream, causal)
        hidden, maps = stream, layer.feed_forward
        for place, (weight, bias) in enumerate(zip(maps.weights, maps.biases, strict=True)):
            hidden = hidden @ weight.T + bias
            if place < len(maps.weights) - 1:
                hidden = np.clip(hidden, 0, 1)
        stream = stream + hidden
    return stream


def random_layer(rng: np.random.Generator, width: int, **sizes: Any) -> LayerMatrices:
    heads, k, v = sizes["heads"], sizes["key"], sizes["value"]
    window, sink, hidden = sizes.get("window"), sizes.get("sink", False), sizes["hidden"]
    normal = rng.standard_normal
    bias = None if window is None else normal((heads, 2 * window + 3))
    if bias is not None and sink:
        bias[rng.random(bias.shape) < 0.3] = -np.inf
    ends = [width, *hidden, width]
    return LayerMatrices(
        AttentionMatrices(
            normal((heads, width, k)),
            normal((heads, width, k)),
            normal((heads, width, v)),
            normal((heads, v, width)) / 4,
            bias,
            normal(heads) if sink else None,
        ),
        FeedForwardMatrices(
            tuple(normal((b, a)) / 2 for a, b in pairwise(ends)),
            tuple(normal(size) / 2 for size in ends[1:]),
        ),
    )


KINDS: dict[str, list[dict[str, Any]]] = {
    "one layer": [{"heads": 2, "key": 3, "value": 2, "hidden": (5,)}],
    "heads and widths differ": [
        {"heads": 1, "key": 1, "value": 4, "hidden": (3,)},
        {"heads": 3, "key": 4, "value": 1, "hidden": (7,)},
    ],
    "depths differ": [
        {"heads": 1, "key": 2, "value": 2, "hidden": (6,)},
        {"heads": 1, "key": 2, "value": 2, "hidden": (2, 3, 2)},
        {"heads": 2, "key": 1, "value": 1, "hidden": (4, 1)},
    ],
    "biases and sinks differ": [
        {"heads": 2, "key": 2, "value": 2, "hidden": (2,), "window": 0, "sink": True},
        {"heads": 1, "key": 2, "value": 3, "hidden": (2,)},
        {"heads": 3, "key": 1, "value": 2, "hidden": (2,), "window": 3, "sink": True},
        {"heads": 0, "key": 1, "value": 1, "hidden": (0,), "window": 1},
    ],
}
WORDS: Words = [[0, 1, 2, 3, 1, 0, 2, 2, 1], [3], [2, 2], [1, 0, 3, 3, 0]]


@pytest.mark.parametrize("loops", [1, 2])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing(kind: str, causal: bool, loops: int) -> None:
    rng = np.random.default_rng(0)
    width = 6
    layers = [random_layer(rng, width, **sizes) for sizes in KINDS[kind]]
    positions = rng.standard_normal((9, width)) if causal else None
    normal = rng.standard_normal
    tables = EmbeddingTables(normal((4, width)), normal((3, width)), positions)
    model = emit(layers, tables, loops=loops, causal=causal, dtype="float64")
    assert model.config.layers == len(layers)
    lengths = torch.tensor([len(word) for word in WORDS])
    tokens = torch.tensor([[*word, *[0] * (9 - len(word))] for word in WORDS])
    found = model(tokens, lengths)
    for row, word in enumerate(WORDS):
        expected = oracle(layers, tables, word, loops, causal)
        np.testing.assert_allclose(found.stream[row, : len(word)], expected, atol=1e-10)
        logits = found.logits[row, : len(word)]
        np.testing.assert_allclose(logits, expected @ tables.unembedding.T, atol=1e-10)


# A counting model, as C-RASP has them: a begin symbol, shares of positions, comparisons.

BEGIN, A, B = range(3)
LONGEST = 40
IS_A, IS_B, SHARE_A, SHARE_B, ONE, MORE, BEFORE, EVER = range(8)
"""Dimensions: is the token a, b; shares of a, b; 1/(i + 1); more a than b; so before; so ever."""


def one_hot(*dimensions: int) -> Matrix:
    return np.eye(8)[list(dimensions)]


def uniform(*pairs: tuple[int, int]) -> AttentionMatrices:
    """A head for each pair that writes the mean of a dimension, over all positions so far."""
    zero = np.zeros((len(pairs), 8, 1))
    read = np.stack([one_hot(source).T for source, _ in pairs])
    return AttentionMatrices(zero, zero, read, np.stack([one_hot(to) for _, to in pairs]))


def unit(weights: dict[int, float], bias: float, into: int) -> FeedForwardMatrices:
    """A feed-forward of one clipped unit."""
    row = np.zeros((1, 8))
    for dimension, weight in weights.items():
        row[0, dimension] = weight
    return FeedForwardMatrices((row, one_hot(into).T), (np.array([bias]), np.zeros(8)))


def counting_layers() -> list[LayerMatrices]:
    """#a > #b; whether that held at the position before; whether it ever has."""
    slope = 2.0 * (LONGEST + 1)
    compare = unit({SHARE_A: slope, SHARE_B: -slope}, 0.0, MORE)
    previous = AttentionMatrices(
        np.zeros((1, 8, 1)),
        np.zeros((1, 8, 1)),
        one_hot(MORE).T[None],
        one_hot(BEFORE)[None],
        np.array([[-np.inf, 60.0, -np.inf, -np.inf, -np.inf]]),
        np.zeros(1),
    )
    exists = unit({ONE: slope}, 0.0, EVER)
    return [
        LayerMatrices(uniform((IS_A, SHARE_A), (IS_B, SHARE_B)), compare),
        LayerMatrices(previous, no_feed_forward(8)),
        LayerMatrices(uniform((MORE, ONE)), exists),
    ]


def counting_model(dtype: str = "float64") -> Any:
    embedding = np.zeros((3, 8))
    embedding[A, IS_A] = embedding[B, IS_B] = 1.0
    tables = EmbeddingTables(embedding, one_hot(MORE, BEFORE, EVER))
    return emit(counting_layers(), tables, causal=True, max_length=LONGEST + 1, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_layers_that_count_compare_and_look_back(dtype: str) -> None:
    rng = np.random.default_rng(1)
    model = counting_model(dtype)
    words = rng.integers(1, 3, (50, LONGEST))
    tokens = torch.tensor(np.insert(words, 0, BEGIN, axis=1))
    found = (model(tokens).logits > 0.5).numpy()
    for row, word in enumerate(words.tolist()):
        more = [word[:i].count(A) > word[:i].count(B) for i in range(LONGEST + 1)]
        before = [False, *more[:-1]]
        ever = [any(more[: i + 1]) for i in range(LONGEST + 1)]
        assert found[row].T.tolist() == [more, before, ever]


def test_a_strict_mask_hides_the_own_position() -> None:
    """With minus infinity at offset 0 and a sink, the first position finds nothing."""
    heads = AttentionMatrices(
        np.zeros((1, 2, 1)),
        np.zeros((1, 2, 1)),
        np.array([[[1.0], [0.0]]]),
        np.array([[[0.0, 1.0]]]),
        np.array([[800.0, -np.inf, -np.inf]]),
        np.zeros(1),
    )
    tables = EmbeddingTables(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0]]))
    model = emit([LayerMatrices(heads, no_feed_forward(2))], tables, causal=True, dtype="float64")
    logits = model(torch.tensor([[1, 0, 0, 1]])).logits[0, :, 0]
    np.testing.assert_allclose(logits, [0, 1, 1 / 2, 1 / 3])


def test_heads_are_stacked_in_order() -> None:
    rng = np.random.default_rng(2)
    parts = [
        random_layer(rng, 4, heads=1, key=2, value=3, hidden=(1,)).attention,
        random_layer(rng, 4, heads=2, key=1, value=1, hidden=(1,), window=1, sink=True).attention,
    ]
    stream = rng.standard_normal((5, 4))
    stacked = stack_heads(parts, no_heads(4))
    assert stacked.heads == 3
    together = sum(attended(part, stream, causal=False) for part in parts)
    np.testing.assert_allclose(attended(stacked, stream, causal=False), together)


def test_matrices_that_do_not_fit_are_refused_by_name() -> None:
    tables = EmbeddingTables(np.zeros((2, 3)), np.zeros((1, 3)))
    with pytest.raises(WeftError, match="there are no layers"):
        emit([], tables)
    with pytest.raises(WeftError, match=r"layer 0: weights\[0\] is 0 x 2, not 0 x 3"):
        emit([LayerMatrices(no_heads(3), no_feed_forward(2))], tables)
    one = LayerMatrices(no_heads(3), no_feed_forward(3))
    with pytest.raises(WeftError, match="layer 1: query is 0 x 4 x 1, not 0 x 3 x 1"):
        emit([one, LayerMatrices(no_heads(4), no_feed_forward(3))], tables)
    with pytest.raises(WeftError, match=r"norms\.0\.gain is missing, and the model has 3"):
        emit([one], tables, norm="post")
    affine = FeedForwardMatrices((np.zeros((3, 3)),), (np.zeros(3),))
    with pytest.raises(WeftError, match="different numbers of hidden layers"):
        emit([one, LayerMatrices(no_heads(3), affine)], tables)


def test_a_layer_may_have_further_parameters() -> None:
    gains = {f"norms.{place}.gain": np.array([1.0, 2.0]) for place in range(2)}
    layer = LayerMatrices(no_heads(2), no_feed_forward(2), gains)
    tables = EmbeddingTables(np.array([[3.0, 4.0]]), np.eye(2))
    logits = emit([layer], tables, norm="post", dtype="float64")(torch.tensor([[0]])).logits[0, 0]
    first = np.array([3, 4]) / np.sqrt(12.5) * [1, 2]
    again = first / np.sqrt((first**2).mean()) * [1, 2]
    np.testing.assert_allclose(logits, again, rtol=1e-6)
