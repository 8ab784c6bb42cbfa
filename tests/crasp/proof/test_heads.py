"""What heads attend to, against PyTorch's own softmax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.crasp.proof import heads
from weft.crasp.proof.heads import (
    Embeddings,
    HeadWeights,
    NotUnderstood,
    Single,
    Uniform,
    attends_to,
    stored,
)

BEGIN, CONSTANT, IS_A, IS_B = range(4)
COUNT = 12


def embeddings(positions: np.ndarray[Any, Any] | None = None, width: int = 4) -> Embeddings:
    begin, a, b = np.zeros(width), np.zeros(width), np.zeros(width)
    begin[[BEGIN, CONSTANT]] = a[[CONSTANT, IS_A]] = b[[CONSTANT, IS_B]] = 1
    return Embeddings(begin, np.stack([a, b]), positions, COUNT, "float32")


def head(query: dict[int, float], key: dict[int, float], **others: Any) -> HeadWeights:
    q, k = np.zeros((4, 1)), np.zeros((4, 1))
    for dimension, weight in query.items():
        q[dimension] = weight
    for dimension, weight in key.items():
        k[dimension] = weight
    return HeadWeights(q, k, **{"bias": None, "sink": None, **others})


def local(offset: int, high: float = 256.0, begin: float = 128.0) -> HeadWeights:
    bias = np.zeros(2 * offset + 3)
    bias[1] = high
    return head({CONSTANT: begin}, {BEGIN: 1}, bias=bias)


def weights_of(given_: HeadWeights, stream: np.ndarray[Any, Any]) -> torch.Tensor:
    """The attention weights on a stream, by PyTorch in float32."""
    q, k = (torch.tensor(stream @ m, dtype=torch.float32) for m in (given_.query, given_.key))
    scores, count = q @ k.T, len(stream)
    places = torch.arange(count)
    if given_.bias is not None:
        window = (len(given_.bias) - 3) // 2
        offsets = (places[None] - places[:, None]).clamp(-window - 1, window + 1)
        scores = scores + torch.tensor(given_.bias, dtype=torch.float32)[offsets + window + 1]
    scores = scores.masked_fill(places[None] > places[:, None], -torch.inf)
    if given_.sink is not None:
        scores = torch.cat([scores, torch.full((count, 1), given_.sink)], 1)
    return scores.softmax(-1)[:, :count]


def streams(given_: Embeddings) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(6):
        symbols = rng.integers(0, len(given_.symbols), given_.count - 1)
        stream = np.concatenate([given_.begin[None], given_.symbols[symbols]])
        drawn.append(stream if given_.positions is None else stream + given_.positions)
    return drawn


def check(given_: HeadWeights, tables: Embeddings) -> heads.Attends:
    """What the verifier says, after comparing it with PyTorch."""
    result = attends_to(given_, tables, frozenset())
    for stream in streams(tables):
        weights = weights_of(given_, stream)
        if isinstance(result, Uniform):
            places = torch.arange(1, tables.count + 1)[:, None]
            expected = torch.tril(torch.ones(tables.count, tables.count)) / places
            assert torch.equal(weights, expected)
        else:
            expected = torch.eye(tables.count)[torch.tensor(result.sources)]
            assert torch.equal(weights, expected)
    return result


def test_zero_scores_are_uniform() -> None:
    assert isinstance(check(head({}, {}), embeddings()), Uniform)
    assert isinstance(check(head({CONSTANT: 3}, {CONSTANT: 2}), embeddings()), Uniform)
    assert isinstance(check(head({}, {}, sink=-200.0), embeddings()), Uniform)


@pytest.mark.parametrize("offset", [1, 2, 5])
def test_a_bias_selects_an_offset_with_the_begin_symbol_behind_it(offset: int) -> None:
    result = check(local(offset), embeddings())
    assert isinstance(result, Single)
    assert result.sources.tolist() == [max(0, i - offset) for i in range(COUNT)]


def positions(offset: int, margin: float = 256.0) -> tuple[HeadWeights, Embeddings]:
    """A head that goes by products of one-hot positions."""
    table = np.concatenate([np.zeros((COUNT, 4)), np.eye(COUNT)], 1)
    query, key = np.zeros((4 + COUNT, COUNT)), np.zeros((4 + COUNT, COUNT))
    for i in range(COUNT):
        query[4 + i, max(0, i - offset)] = margin
        key[4 + i, i] = 1
    return HeadWeights(query, key, None, None), embeddings(table, 4 + COUNT)


@pytest.mark.parametrize("offset", [0, 1, 3])
def test_products_of_positions_select_an_offset(offset: int) -> None:
    result = check(*positions(offset))
    assert isinstance(result, Single)
    assert result.sources.tolist() == [max(0, i - offset) for i in range(COUNT)]


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        (local(1, high=200.0), "too little"),
        (local(2, begin=100.0), "too little"),
        (head({CONSTANT: 128}, {IS_A: 1}), "depends on the symbol"),
        (head({IS_A: 128}, {BEGIN: 1}), "for some queries only"),
        (head({}, {}, sink=0.0), "its sink"),
        (head({CONSTANT: 0.1}, {BEGIN: 0.3, IS_A: 0.3, IS_B: 0.3}), "are rounded"),
        (head({}, {}, bias=np.array([0.0, 256, 256, 0, 0])), "several positions"),
    ],
)
def test_other_heads_are_not_understood(weights: HeadWeights, reason: str) -> None:
    with pytest.raises(NotUnderstood, match=reason):
        attends_to(weights, embeddings(), frozenset())


def test_scores_of_what_layers_have_written_are_not_understood() -> None:
    with pytest.raises(NotUnderstood, match="what a layer has written"):
        attends_to(local(1), embeddings(), frozenset({BEGIN}))
    weights, tables = positions(1)
    tables.positions[4, 4 + 4] = 0  # type: ignore[index]
    with pytest.raises(NotUnderstood):
        attends_to(weights, tables, frozenset())


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_random_heads_attend_as_they_are_understood(data: st.DataObject) -> None:
    number = st.sampled_from([0.0, 0.0, 1.0, 128.0, 256.0, -128.0, 0.5])
    weights = st.dictionaries(st.integers(0, 3), number, max_size=2)
    window = data.draw(st.integers(0, 2))
    bias = data.draw(st.none() | st.lists(number, min_size=2 * window + 3, max_size=2 * window + 3))
    sink = data.draw(st.sampled_from([None, None, -300.0, -float("inf")]))
    drawn = head(
        data.draw(weights),
        data.draw(weights),
        bias=None if bias is None else np.array(bias),
        sink=sink,
    )
    try:
        by_classes = check(drawn, embeddings())
    except NotUnderstood:
        by_classes = None
    tables = embeddings()
    queries, keys = (
        heads._projected(a, b, tables, frozenset())
        for a, b in ((drawn.query, drawn.key), (drawn.key, drawn.query))
    )
    try:
        by_positions = heads._by_positions(drawn, tables, queries, keys)
    except NotUnderstood:
        by_positions = None
    if by_classes is not None and by_positions is not None:
        assert type(by_positions) is type(by_classes)
        if isinstance(by_classes, Single) and isinstance(by_positions, Single):
            assert (by_classes.sources == by_positions.sources).all()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_numbers_are_stored_as_pytorch_stores_them(dtype: str) -> None:
    numbers = np.random.default_rng(0).normal(size=1000) * np.logspace(-6, 6, 1000)
    rounded = torch.from_numpy(numbers).to(torch.float32).to(getattr(torch, dtype))
    if dtype == "float64":
        rounded = torch.from_numpy(numbers)
    assert (stored(numbers, dtype) == rounded.double().numpy()).all()
