"""The LSTM against its formula in NumPy and against PyTorch's, on every way through it."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import mechanisms
from weft.errors import WeftError
from weft.models import LSTM, generate, initialise, preset
from weft.models.catalogue import parameters_of

Array = np.ndarray[Any, np.dtype[np.float64]]


def made(seed: int = 0, **changes: Any) -> LSTM:
    values = {"vocabulary": mechanisms.VOCABULARY, "width": 6, "layers": 2, "dtype": "float64"}
    model = LSTM(preset("nano", architecture="lstm", **{**values, **changes})).eval()
    generator = torch.Generator().manual_seed(seed)
    for weight in model.parameters():
        weight.data.copy_(torch.randn(weight.shape, generator=generator, dtype=torch.float64) * 0.7)
    return model


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def steps(x: Array, weights: dict[str, Array]) -> Array:
    """The hidden states (l units) of one layer in one direction, unit by unit."""
    units = weights["weight_hh_l0"].shape[1]
    h, c, found = np.zeros(units), np.zeros(units), []
    for token in x:
        z = weights["weight_ih_l0"] @ token + weights["bias_ih_l0"]
        z = z + weights["weight_hh_l0"] @ h + weights["bias_hh_l0"]
        new = h.copy()
        for u in range(units):
            write, keep, value, show = (z[gate * units + u] for gate in range(4))
            c[u] = sigmoid(keep) * c[u] + sigmoid(write) * math.tanh(value)
            new[u] = sigmoid(show) * math.tanh(c[u])
        h = new
        found.append(h)
    return np.array(found)


def formula(model: LSTM, row: list[int]) -> Array:
    """The logits of one sequence."""
    weights = {name: weight.detach().numpy() for name, weight in model.named_parameters()}
    x = weights["embedding"][row]
    for number in range(model.config.layers):
        parts = {}
        for side in ("right", "left"):
            at = f"layers.{number}.{side}."
            parts[side] = {k.removeprefix(at): w for k, w in weights.items() if k.startswith(at)}
        found = steps(x, parts["right"])
        if parts["left"]:
            found = np.concatenate([found, steps(x[::-1], parts["left"])[::-1]], 1)
        x = found
    return x @ weights["embedding" if model.config.tied else "unembedding"].T


@pytest.mark.parametrize("kind", ["decoder", "encoder"])
@pytest.mark.parametrize("tied", [True, False])
def test_logits_are_those_of_the_formula_with_and_without_padding(kind: str, tied: bool) -> None:
    model = made(kind=kind, tied=tied)
    tokens, lengths = mechanisms.tokens(4, 7), [7, 3, 1, 5]
    padded = model(tokens, torch.tensor(lengths)).logits.detach().numpy()
    for row, length, found in zip(tokens.tolist(), lengths, padded, strict=True):
        np.testing.assert_allclose(found[:length], formula(model, row[:length]), atol=1e-12)
    alone = model(tokens[:1]).logits[0].detach().numpy()
    np.testing.assert_allclose(alone, formula(model, tokens[0].tolist()), atol=1e-12)


@pytest.mark.parametrize("kind", ["decoder", "encoder"])
def test_it_is_pytorchs_stack_of_layers(kind: str) -> None:
    both = kind == "encoder"
    model = made(kind=kind, width=8)
    theirs = nn.LSTM(8, 4 if both else 8, 2, batch_first=True, bidirectional=both).double()
    state = {}
    for number in range(2):
        for side, suffix in (("right", ""), ("left", "_reverse")):
            part = getattr(model.layers[number], side)
            if part is not None:
                state |= {
                    f"{name.removesuffix('0')}{number}{suffix}": weight
                    for name, weight in part.state_dict().items()
                }
    theirs.load_state_dict(state)
    tokens = mechanisms.tokens(3, 9)
    expected = theirs(model.embedding[tokens])[0]
    torch.testing.assert_close(model(tokens).stream, expected, rtol=0, atol=1e-12)


@pytest.mark.needs_gpu
@pytest.mark.parametrize("kind", ["decoder", "encoder"])
def test_a_gpu_computes_the_same(kind: str) -> None:
    model, tokens, lengths = made(kind=kind), mechanisms.tokens(4, 9), torch.tensor([9, 2, 5, 1])
    expected = model(tokens, lengths).logits
    found = model.cuda()(tokens.cuda(), lengths.cuda()).logits.cpu()
    seen = torch.arange(9) < lengths[:, None]
    torch.testing.assert_close(found[seen], expected[seen], rtol=0, atol=1e-10)


def test_generation_from_kept_states_is_that_of_the_whole_text() -> None:
    model = made(seed=3)
    tokens = mechanisms.tokens(2, 4)
    found = generate(model, tokens, 6)
    assert torch.equal(found, generate(model, tokens, 6, cache=False))
    row = tokens[0].tolist()
    for _ in range(6):
        row.append(int(formula(model, row)[-1].argmax()))
    assert found[0].tolist() == row
    with pytest.raises(WeftError, match="Use a decoder"):
        generate(made(kind="encoder"), tokens, 1)


def test_parameters_are_counted_as_pytorch_counts_them() -> None:
    for kind, sides, units in (("decoder", 1, 64), ("encoder", 2, 32)):
        config = preset("nano", architecture="lstm", width=64, vocabulary=10, kind=kind)
        counted = parameters_of(config)
        assert counted.recurrent == 3 * sides * 4 * units * (64 + units + 2) == counted.layers
        assert counted.tokens == 2 * 10 * 64
        assert counted.total == sum(w.numel() for w in LSTM(config).parameters())


def test_it_starts_with_open_forget_gates_and_the_same_weights_for_a_seed() -> None:
    config = preset("nano", architecture="lstm", width=64, vocabulary=200)
    model, again, other = (initialise(LSTM(config), seed=seed) for seed in (1, 1, 2))
    for one, two in zip(model.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, two)
    assert not torch.equal(model.embedding, other.embedding)
    part = model.layers[0].right
    assert part.bias_ih_l0.tolist() == [0.0] * 64 + [1.0] * 64 + [0.0] * 128
    assert not bool(part.bias_hh_l0.any())
    assert 0.12 < float(part.weight_hh_l0.detach().abs().max()) <= 1 / 8
    assert float(model.embedding.detach().std()) == pytest.approx(1, abs=0.05)


def test_making_one_draws_no_random_numbers() -> None:
    state = torch.get_rng_state()
    made()
    assert torch.equal(torch.get_rng_state(), state)


def test_dropout_acts_between_layers_in_training_alone() -> None:
    model = made(dropout=0.5, width=40)
    tokens = mechanisms.tokens(2, 5)
    assert torch.equal(model(tokens).logits, model(tokens).logits)
    model.train()
    found = model.run_with_cache(tokens)[1]
    for name in ("hook_embed", "blocks.0.hook_resid_post", "blocks.1.hook_resid_post"):
        assert 0.3 < float((found[name] == 0).double().mean()) < 0.7, name


def test_a_decoder_does_not_look_ahead_and_an_encoder_does() -> None:
    for kind, same in (("decoder", True), ("encoder", False)):
        model, tokens = made(kind=kind), mechanisms.tokens(1, 6)
        changed = tokens.clone()
        changed[0, -1] = (changed[0, -1] + 1) % mechanisms.VOCABULARY
        one, two = model(tokens).logits[:, :-1], model(changed).logits[:, :-1]
        assert torch.allclose(one, two) == same


@pytest.mark.parametrize("kind", ["decoder", "encoder"])
def test_documents_of_a_row_are_as_if_alone(kind: Any) -> None:
    """States start anew; changing a document, or padding, changes nothing in the others."""
    model, tokens = made(kind=kind), mechanisms.tokens(2, 9)
    lengths = torch.tensor([9, 6])
    documents = torch.tensor([[4, 4, 4, 4, 7, 7, 7, 7, 7], [0, 1, 1, 1, 1, 2, -1, -1, -1]])
    together = model(tokens, lengths, documents=documents).logits
    for row, cuts in enumerate([(0, 4, 9), (0, 1, 5, 6)]):
        for start, end in pairwise(cuts):
            alone = model(tokens[row : row + 1, start:end]).logits[0]
            torch.testing.assert_close(together[row, start:end], alone, rtol=0, atol=1e-12)
    for number in (4, 1, -1):
        changed = torch.where(documents == number, (tokens + 1) % mechanisms.VOCABULARY, tokens)
        found = model(changed, lengths, documents=documents).logits
        same = documents != number
        assert torch.equal(found[same], together[same])
        assert not torch.equal(found[~same], together[~same])


def test_padding_of_packed_rows_may_continue_the_last_document() -> None:
    """As when only lengths tell where it begins; an encoder reads it from the right."""
    model, tokens, lengths = made(kind="encoder"), mechanisms.tokens(1, 6), torch.tensor([4])
    documents = torch.tensor([[0, 0, 1, 1, 1, 1]])
    found = model(tokens, lengths, documents=documents).logits[0, 2:4]
    alone = model(tokens[:, 2:4]).logits[0]
    torch.testing.assert_close(found, alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["source", "watch"])
def test_what_it_cannot_read_is_refused(name: str) -> None:
    tokens = mechanisms.tokens(1, 4)
    with pytest.raises(WeftError, match=f"was given {name}"):
        made()(tokens, **{name: tokens})


def test_activations_are_replaced_and_layers_left_out_as_in_a_transformer() -> None:
    model, tokens = made(layers=3), mechanisms.tokens(2, 5)
    cache = model.run_with_cache(tokens)[1]
    first = model(tokens, layers=1)
    assert torch.equal(first.stream, cache["blocks.0.hook_resid_post"])
    assert first.layers.tolist() == [1, 1]
    silenced = model.run_with_hooks(tokens, hooks={"blocks.2.hook_resid_post": torch.zeros_like})
    assert not bool(silenced.logits.any())
    with pytest.raises(WeftError, match="has no activation 'blocks"):
        model.run_with_hooks(tokens, hooks={"blocks.3.hook_resid_post": torch.zeros_like})
    with pytest.raises(WeftError, match="does not read text"):
        model.answer("101")


def test_an_input_of_no_tokens_has_no_logits() -> None:
    for kind in ("encoder", "decoder"):
        empty = torch.zeros(2, 0, dtype=torch.long)
        assert made(kind=kind)(empty).logits.shape == (2, 0, mechanisms.VOCABULARY)
