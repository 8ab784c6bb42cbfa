"""Biases of attention: against the formula in NumPy, on every path, planted and compacted."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import mechanisms
import weft
from weft.errors import WeftError
from weft.models import Transformer, generate, initialise, plant
from weft.models.catalogue import parameters_of
from weft.models.compaction import compact


def by_hand(model: Transformer, x: np.ndarray[Any, Any], name: str = "attention") -> Any:
    """What the heads of layer 0 add to a stream (l d), query by query."""
    config = model.config
    layer = {
        key.removeprefix(f"layers.0.{name}."): weight.detach().numpy()
        for key, weight in model.named_parameters()
    }
    added = np.zeros_like(x)
    for h in range(config.heads):
        keys = slice(h * config.key_width, (h + 1) * config.key_width)
        values = slice(h * config.value_width, (h + 1) * config.value_width)
        q = x @ layer["query"][h] + layer["query_bias"][keys]
        k = x @ layer["key"][h] + layer["key_bias"][keys]
        v = x @ layer["value"][h] + layer["value_bias"][values]
        for i in range(len(x)):
            scores = np.array([q[i] @ k[j] / math.sqrt(config.key_width) for j in range(i + 1)])
            weights = np.exp(scores - scores.max())
            weights /= weights.sum()
            added[i] += weights @ v[: i + 1] @ layer["output"][h]
    return added + layer["output_bias"]


@pytest.mark.parametrize("backend", ["dense", "auto"])
def test_heads_with_biases_are_those_of_the_formula(backend: str) -> None:
    model = mechanisms.model(
        seed=3, attention_biases=True, layers=1, heads=3, key_width=4, value_width=5, norm="none",
        hidden=(), biases=False,
    )  # fmt: skip
    with torch.no_grad():
        model.layers[0].feed_forward.weights[0].zero_()
    row = mechanisms.tokens(1, 7)
    x = model.embedding[row[0]].detach().numpy()
    expected = (x + by_hand(model, x)) @ model.unembedding.detach().numpy().T
    found = model(row, backend=backend).logits[0].detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("attention", mechanisms.ATTENTIONS)
def test_fused_paths_and_generation_have_the_biases_too(attention: str) -> None:
    model = mechanisms.model(seed=1, attention_biases=True, attention=attention, canon="B")
    tokens = mechanisms.tokens(2, 6)
    dense = model(tokens, backend="dense").logits
    torch.testing.assert_close(model(tokens).logits, dense, rtol=1e-10, atol=1e-11)
    assert torch.equal(generate(model, tokens, 4), generate(model, tokens, 4, cache=False))
    with torch.no_grad():
        for weight in (model.layers[0].attention.value_bias, model.layers[1].attention.output_bias):
            weight += 0.5
            moved = model(tokens, backend="dense").logits
            assert not torch.allclose(moved, dense, atol=1e-6)
            dense = moved


def test_parameters_first_values_and_decay() -> None:
    config = mechanisms.config(attention_biases=True, layers=3, heads=2, key_width=3, value_width=5)
    without = parameters_of(replace(config, attention_biases=False))
    more = parameters_of(config).attention - without.attention
    assert more == 3 * (2 * (3 + 3 + 5) + 8)
    model = initialise(Transformer(config))
    biases = [w for n, w in model.named_parameters() if n.endswith("_bias")]
    assert len(biases) == 3 * 4
    assert not any(bool(weight.any()) for weight in biases)
    from weft.training import OptimiserConfig
    from weft.training.optim.optimisers import optimisers_of

    (optimiser,) = optimisers_of(model, OptimiserConfig())
    decay = {w: group["weight_decay"] for group in optimiser.param_groups for w in group["params"]}
    assert {decay[weight] for weight in biases} == {0.0}


def test_planted_heads_keep_their_biases() -> None:
    small = {"norm": "none", "layers": 1, "hidden": (), "biases": False, "attention_biases": True}
    source = mechanisms.model(seed=1, **small, heads=2, key_width=3, value_width=2)
    into = mechanisms.model(seed=2, **small, width=13, heads=4, key_width=5, value_width=4)
    with torch.no_grad():
        into.layers[0].attention.output[:, :, 2:10] = 0  # other heads keep out of its dimensions
    planted = plant(source, into=into, parts="attention", dimension=2, head=1)
    assert planted.intact
    stream = torch.zeros(1, 6, 13, dtype=torch.float64)
    stream[..., 2:10] = torch.randn(1, 6, 8, generator=torch.manual_seed(0)).double()
    expected = by_hand(source, stream[0, :, 2:10].numpy())
    from weft.models.context import make_context

    context = make_context(into.config, torch.zeros(1, 6, dtype=torch.long))
    found = into.layers[0].attention(stream, context)[0, :, 2:10].detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def test_biases_that_cannot_be_planted_are_refused() -> None:
    plain = {"norm": "none", "layers": 1}
    biased, bare = (mechanisms.model(**plain, attention_biases=b) for b in (True, False))
    with pytest.raises(WeftError, match="attention_biases=True"):
        plant(biased, into=bare, parts="attention")
    with pytest.raises(WeftError, match="belongs to all heads"):
        plant(biased, into=mechanisms.model(**plain, attention_biases=True), parts="attention",
              heads=[0])  # fmt: skip
    plant(bare, into=biased, parts="attention")
    attention = biased.layers[0].attention
    assert not any(
        bool(getattr(attention, f"{p}_bias").any()) for p in ("query", "value", "output")
    )


@pytest.mark.parametrize(
    "change", [{"attention_biases": True}, {"dropout": 0.1}, {"attention_dropout": 0.1}]
)
def test_a_layer_with_blocks_of_trained_models_is_not_compacted(change: dict[str, Any]) -> None:
    """It runs in full instead, and with biases of zero gives the same."""
    model = weft.compile(weft.program("parity")).model
    assert compact(model) is not None
    other = Transformer(replace(model.config, **change), model.layout)
    other.load_state_dict(model.state_dict(), strict=False)
    assert compact(other) is None
    tokens = torch.tensor([[2, 1, 0, 1, 1]])
    torch.testing.assert_close(other.eval()(tokens).logits, model(tokens).logits)
