"""A layer without its zeros computes what the layer computes: every stream, to the last bit."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import weft
from cases import CASES, Case
from weft.compiler.run import input_numbers, padded, run_model
from weft.models import Transformer, TransformerConfig
from weft.programs import LIBRARY, Entry


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
    layer = weft.compile(weft.program("addition")).model.compacted()
    assert layer is not None
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
