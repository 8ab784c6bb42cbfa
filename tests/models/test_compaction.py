"""A layer without its zeros computes what the layer computes: every stream, to the last bit."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

import weft
from cases import CASES, Case
from weft.compiler.execution import input_numbers, padded, run_model
from weft.models import Transformer, TransformerConfig
from weft.models.slots import Layout, Slot
from weft.programs import LIBRARY, Entry
from weft.weights.emit import EmbeddingTables, emit
from weft.weights.layers import (
    AttentionMatrices,
    FeedForwardMatrices,
    LayerMatrices,
    no_heads,
    stack_heads,
)


def streams(model: Transformer, numbers: list[list[int]], plain: bool) -> list[Tensor]:
    """All streams on the way, and the last."""
    seen: list[Tensor] = []
    run = run_model(model, numbers, plain=plain, watch=lambda *given: seen.append(given[3].clone()))
    return [*seen, run.stream]


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_stream_is_the_same(case: Case, level: int) -> None:
    """Of inputs of one length; padding itself holds nothing that is read."""
    program = case.program()
    model = weft.compile(program, level=level).model
    assert model.compacted() is not None
    numbers = input_numbers(program, [program.encode(text) for text in case.inputs])
    for length in {len(row) for row in numbers}:
        rows = [row for row in numbers if len(row) == length]
        pairs = zip(streams(model, rows, False), streams(model, rows, True), strict=True)
        assert all(_same(quick, full) for quick, full in pairs)


def _same(quick: Tensor, full: Tensor) -> bool:
    return torch.allclose(quick, full, rtol=0, atol=1e-6) and torch.equal(
        quick.round(), full.round()
    )


@pytest.mark.parametrize("entry", LIBRARY.values(), ids=LIBRARY)
def test_every_library_program_has_this_form(entry: Entry) -> None:
    """At level 2; where one has not, it is slow for no reason."""
    assert weft.compile(entry.load()()).model.compacted() is not None


def test_heads_that_all_positions_ask_the_same_answer_once() -> None:
    layers = weft.compile(weft.program("addition")).model.compacted()
    assert layers is not None
    (layer,) = layers
    assert [heads.same_query for heads in layer.comparing] == [True]
    assert sum(len(copies.sources) for copies in layer.copying) < 32


def test_a_changed_weight_is_seen() -> None:
    program = weft.program("addition")
    model = weft.compile(program).model
    numbers = input_numbers(program, [program.encode("12+34")])
    before = run_model(model, numbers, layers=2).stream
    with torch.no_grad():
        assert model.compacted() is model.compacted()
        model.layers[0].feed_forward.biases[0] += 1.0
    after = run_model(model, numbers, layers=2).stream
    assert not torch.equal(before, after)
    plain = run_model(model, numbers, layers=2, plain=True).stream
    torch.testing.assert_close(after, plain, atol=1e-4, rtol=0)  # broken weights round


def test_where_something_is_learned_all_products_are_taken() -> None:
    program = weft.program("parity")
    model = weft.compile(program).model
    model.requires_grad_(True)
    tokens, lengths = padded(input_numbers(program, [program.encode("101")]))
    model(tokens, lengths).logits[..., 0].sum().backward()
    assert model.compacted() is None
    gradient = model.layers[0].feed_forward.weights[1].grad
    assert gradient is not None
    assert bool(gradient.any())


def test_trained_layers_stay_as_they_are() -> None:
    config = TransformerConfig(
        vocabulary=3, outputs=2, width=8, heads=2, key_width=4, value_width=4, hidden=(16,)
    )
    model = Transformer(config)
    for weight in model.parameters():
        torch.nn.init.normal_(weight)
    with torch.no_grad():
        assert model.compacted() is None
        assert model(torch.tensor([[0, 1, 2]]), layers=3).logits.shape == (1, 3, 2)


WIDTH = 12


def keep(kept: list[Tensor], layer: int, stage: str, rows: Tensor, stream: Tensor) -> None:
    kept.append(stream.clone())


def random_layer(rng: np.random.Generator) -> LayerMatrices:
    """Heads that copy, compare and clear, between dimensions of their own, and a feed-forward."""
    targets = rng.permutation(WIDTH)[:4]
    sources = rng.choice([d for d in range(WIDTH) if d not in targets], 4)
    heads = []
    for place, (source, target) in enumerate(zip(sources, targets, strict=True)):
        query = np.zeros((1, WIDTH, 1))
        bias = np.full((1, 5), -np.inf)
        bias[0, rng.integers(1, 4)] = 300.0
        if place == 3:  # compares
            query[0, rng.choice(sources)] = 18.0
            bias[0] = 0.0
        value, output = np.zeros((1, WIDTH, 1)), np.zeros((1, 1, WIDTH))
        value[0, source, 0] = output[0, 0, target] = 1.0
        heads.append(AttentionMatrices(query, query, value, output, bias, np.array([150.0])))
    cleared = np.zeros((1, WIDTH, 2))
    cleared[0, targets[[0, 3]], [0, 1]] = 1.0
    here = np.array([[-np.inf, -np.inf, 300.0, -np.inf, -np.inf]])
    zero = np.zeros((1, WIDTH, 1))
    back = 0.0 - cleared.transpose(0, 2, 1)
    heads.append(AttentionMatrices(zero, zero, cleared, back, here, np.zeros(1)))
    hidden = int(rng.integers(1, 5))
    first = rng.integers(-1, 2, (hidden, WIDTH)) * (rng.random(WIDTH) < 0.5)
    last = rng.integers(-1, 2, (WIDTH, hidden)) * (rng.random(WIDTH) < 0.5)[:, None]
    maps = FeedForwardMatrices(
        (first.astype(float), last.astype(float)),
        (rng.integers(-1, 2, hidden) * 1.0, np.zeros(WIDTH)),
    )
    return LayerMatrices(stack_heads(heads, no_heads(WIDTH, sink=True)), maps)


@pytest.mark.parametrize("seed", range(12))
def test_separate_layers_that_differ_are_compacted_each(seed: int) -> None:
    rng = np.random.default_rng(seed)
    layers = [random_layer(rng) for _ in range(3)]
    embedding = rng.integers(0, 2, (4, WIDTH)).astype(float)
    layout = Layout(tuple(Slot(f"v{d}", "categorical", d, 1) for d in range(WIDTH)))
    model = emit(
        layers, EmbeddingTables(embedding, np.eye(WIDTH)), loops=1 + seed % 2, causal=seed % 3 == 0,
        layout=layout, dtype="float64",
    )  # fmt: skip
    compacted = model.compacted()
    assert compacted is not None
    assert any(layer.reorder is not None for layer in compacted)
    tokens, lengths = torch.tensor(rng.integers(0, 4, (5, 9))), torch.tensor([9, 1, 4, 7, 2])
    seen: dict[bool, list[torch.Tensor]] = {True: [], False: []}
    for plain, kept in seen.items():
        observe = partial(keep, kept)
        model(tokens, lengths, plain=plain, watch=observe)
    valid = torch.arange(9) < lengths[:, None]
    assert len(seen[True]) == 6 * (1 + seed % 2)
    for one, other in zip(seen[True], seen[False], strict=True):
        torch.testing.assert_close(one[valid], other[valid], rtol=0, atol=1e-9)
