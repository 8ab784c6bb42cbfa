"""Norms: LayerNorm against PyTorch's and a formula, and a GPT-2 made of PyTorch's own modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import mechanisms
from weft.models import Transformer
from weft.models.norms import LayerNorm, norm_of

GPT2 = {
    "norm_type": "layer", "attention_biases": True, "biases": True, "tied": True,
    "position": "learned", "positions": 12, "width": 12, "heads": 3, "hidden": (20,),
}  # fmt: skip


@pytest.mark.parametrize("bias", [True, False])
def test_layer_norm_is_that_of_pytorch_and_of_the_formula(bias: bool) -> None:
    torch.manual_seed(0)
    mine, theirs = LayerNorm(6, bias).double(), nn.LayerNorm(6, bias=bias).double()
    stream = torch.randn(2, 3, 6, dtype=torch.float64) * 3 + 5
    gain, shift = torch.randn(6).double(), torch.randn(6).double() * bias
    with torch.no_grad():
        for norm, name in ((mine, "gain"), (theirs, "weight")):
            getattr(norm, name).copy_(gain)
            if bias:
                norm.bias.copy_(shift)
    torch.testing.assert_close(mine(stream), theirs(stream), rtol=0, atol=1e-14)
    x = stream.numpy()
    centred = x - x.mean(-1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain.numpy()
    np.testing.assert_allclose(mine(stream).detach(), expected + shift.numpy(), atol=1e-13)


def test_a_layer_norm_does_not_see_the_mean_and_an_rms_norm_does() -> None:
    stream = torch.randn(1, 4, 8, dtype=torch.float64)
    layer = norm_of(mechanisms.config(norm_type="layer")).double()
    rms = norm_of(mechanisms.config()).double()
    torch.testing.assert_close(layer(stream + 7), layer(stream), rtol=0, atol=1e-12)
    assert not torch.allclose(rms(stream + 7), rms(stream), atol=0.1)


def test_layer_norm_keeps_the_type_of_the_stream_under_autocast() -> None:
    stream = torch.randn(1, 2, 8).bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert LayerNorm(8)(stream).dtype == torch.bfloat16


class Gpt2(nn.Module):
    """GPT-2 or, with `post`, the decoder of the first Transformer, of PyTorch's modules."""

    def __init__(self, model: Transformer, post: bool = False) -> None:
        super().__init__()
        config = self.config = model.config
        self.post, weights = post, dict(model.named_parameters())
        self.tokens, self.places = weights["embedding"], weights["position.parts.learned.table"]
        self.heads, self.norms, self.maps = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for n in range(config.layers):
            name = f"layers.{n}"
            self.heads.append(_attention(config, name, weights))
            for part in range(2):
                self.norms.append(_norm(f"{name}.norms.{part}", weights))
            for part in range(2):
                self.maps.append(_linear(f"{name}.feed_forward", part, weights))
        if not post:
            self.last = _norm("norm", weights)

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        x = self.tokens[tokens] + self.places[:length]
        for n, attention in enumerate(self.heads):
            one, two = self.norms[2 * n], self.norms[2 * n + 1]
            up, down = self.maps[2 * n], self.maps[2 * n + 1]
            read = x if self.post else one(x)
            x = x + attention(read, read, read, attn_mask=hidden, need_weights=False)[0]
            x = one(x) if self.post else x
            read = x if self.post else two(x)
            x = x + down(nn.functional.gelu(up(read)))
            x = two(x) if self.post else x
        return (x if self.post else self.last(x)) @ self.tokens.T


def _attention(config: Any, name: str, weights: dict[str, Tensor]) -> nn.MultiheadAttention:
    made = nn.MultiheadAttention(config.width, config.heads, batch_first=True).double()
    at = f"{name}.attention."
    parts = ("query", "key", "value")
    rows = [weights[at + part].transpose(0, 1).flatten(1).T for part in parts]
    with torch.no_grad():
        made.in_proj_weight.copy_(torch.cat(rows))
        made.in_proj_bias.copy_(torch.cat([weights[f"{at}{part}_bias"] for part in parts]))
        made.out_proj.weight.copy_(weights[at + "output"].flatten(0, 1).T)
        made.out_proj.bias.copy_(weights[at + "output_bias"])
    return made


def _norm(name: str, weights: dict[str, Tensor]) -> nn.LayerNorm:
    made = nn.LayerNorm(len(weights[f"{name}.gain"])).double()
    made.load_state_dict({"weight": weights[f"{name}.gain"], "bias": weights[f"{name}.bias"]})
    return made


def _linear(name: str, part: int, weights: dict[str, Tensor]) -> nn.Linear:
    weight = weights[f"{name}.weights.{part}"]
    made = nn.Linear(weight.shape[1], weight.shape[0]).double()
    made.load_state_dict({"weight": weight, "bias": weights[f"{name}.biases.{part}"]})
    return made


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("backend", ["dense", "auto"])
def test_a_gpt2_computes_what_one_of_pytorchs_modules_does(norm: str, backend: str) -> None:
    model = mechanisms.model(seed=5, **GPT2, norm=norm)
    tokens = mechanisms.tokens(3, 9)
    expected = Gpt2(model, post=norm == "post")(tokens)
    found = model(tokens, backend=backend).logits
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-12)


def test_layer_norms_start_as_the_plain_norm() -> None:
    from weft.models import initialise

    model = mechanisms.model(**GPT2)
    initialise(model)
    for name, weight in model.named_parameters():
        if "norm" in name:
            assert bool((weight == (1.0 if name.endswith("gain") else 0.0)).all()), name


def test_an_encoder_decoder_of_layer_norms_has_both_last_norms() -> None:
    """A BART-like model: its logits change with the bias of every norm."""
    model = mechanisms.model(
        seed=2, kind="encoder-decoder", norm_type="layer", attention_biases=True, layers=1,
        position="learned",
    )  # fmt: skip
    tokens, source = mechanisms.tokens(1, 4), mechanisms.tokens(1, 5, seed=1)
    before = model(tokens, source=source).logits
    names = [name for name, _ in model.named_parameters() if "norm" in name]
    assert {"norm.bias", "encoder_norm.bias", "encoder.0.norms.1.bias"} <= set(names)
    for name, weight in model.named_parameters():
        if "norm" in name or "attention" in name or "cross" in name:
            with torch.no_grad():
                kept = weight.clone()
                weight += 0.3 * torch.randn_like(weight)
                changed = not torch.allclose(model(tokens, source=source).logits, before, atol=1e-9)
                weight.copy_(kept)
            assert changed or name.endswith("key_bias"), name
