"""Dropout: where it acts, that it is off in evaluation, and that means stay what they were."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import mechanisms
from weft.models import Transformer, generate
from weft.models.dropout import dropout

BOTH = {"dropout": 0.3, "attention_dropout": 0.2}
TOKENS = mechanisms.tokens(3, 6)


def cached(model: Transformer, seed: int = 0, **given: Any) -> dict[str, Tensor]:
    torch.manual_seed(seed)
    found: dict[str, Tensor] = model.run_with_cache(TOKENS, **given)[1]
    return found


def test_a_share_is_zero_and_the_mean_stays() -> None:
    torch.manual_seed(0)
    dropped = dropout(torch.ones(200_000), 0.3, True)
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / 0.7])
    assert float((dropped == 0).float().mean()) == pytest.approx(0.3, abs=0.005)
    assert float(dropped.mean()) == pytest.approx(1.0, abs=0.01)
    same = torch.randn(5)
    assert dropout(same, 0.3, False) is same
    assert dropout(same, 0.0, True) is same


def test_it_acts_on_embeddings_and_on_what_is_added_to_the_stream() -> None:
    """Each place is a mask, scaled up, of what it would be without."""
    model = mechanisms.model(seed=1, position="learned", dropout=0.4)
    plain = cached(model)
    model.train()
    found = cached(model)
    for name in ("hook_embed", "blocks.0.hook_attn_out", "blocks.0.hook_mlp_out"):
        zeros = found[name] == 0
        assert 0.2 < float(zeros.double().mean()) < 0.6, name
    kept = found["hook_embed"] != 0
    torch.testing.assert_close(found["hook_embed"][kept], plain["hook_embed"][kept] / 0.6)
    middle = found["blocks.0.hook_resid_pre"] + found["blocks.0.hook_attn_out"]
    torch.testing.assert_close(found["blocks.0.hook_resid_mid"], middle)
    assert "hook_pattern" in "".join(found)
    pattern = found["blocks.0.attn.hook_pattern"]
    torch.testing.assert_close(pattern.sum(-1), torch.ones_like(pattern.sum(-1)))


@pytest.mark.parametrize("attention", mechanisms.ATTENTIONS)
def test_attention_dropout_drops_the_same_weights_on_every_path(attention: str) -> None:
    model = mechanisms.model(seed=1, attention=attention, attention_dropout=0.5, layers=1).train()
    dropped = cached(model)["blocks.0.attn.hook_pattern"]
    whole = cached(model.eval())["blocks.0.attn.hook_pattern"]
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], 2 * whole[kept])
    assert 0.3 < float(kept[whole > 0].double().mean()) < 0.7
    model.train()
    logits = []
    for backend in ("dense", "auto"):
        torch.manual_seed(7)
        logits.append(model(TOKENS, backend=backend).logits)
    assert torch.equal(*logits)


def test_a_seed_repeats_it_and_other_seeds_do_not() -> None:
    model = mechanisms.model(**BOTH).train()
    first, again, other = (cached(model, seed)["blocks.1.hook_resid_post"] for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.allclose(first, other)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "encoder-decoder"])
def test_nothing_is_dropped_in_evaluation(kind: str) -> None:
    changes: dict[str, Any] = {"kind": kind, "position": "learned"}
    plain, model = mechanisms.model(**changes), mechanisms.model(**changes, **BOTH)
    given = {"source": mechanisms.tokens(3, 4)} if kind == "encoder-decoder" else {}
    state = torch.get_rng_state()
    assert torch.equal(model(TOKENS, **given).logits, plain(TOKENS, **given).logits)
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.allclose(model.train()(TOKENS, **given).logits, plain(TOKENS, **given).logits)


def test_generation_drops_nothing_and_leaves_the_mode_as_it_was() -> None:
    plain, model = mechanisms.model(), mechanisms.model(**BOTH).train()
    assert torch.equal(generate(model, TOKENS, 4), generate(plain, TOKENS, 4))
    assert model.training


def test_the_encoder_of_an_encoder_decoder_drops_too() -> None:
    model = mechanisms.model(kind="encoder-decoder", dropout=0.5).train()
    found = cached(model, source=mechanisms.tokens(3, 4))
    for name in ("encoder.hook_embed", "encoder.blocks.0.hook_mlp_out", "blocks.0.hook_cross_out"):
        assert bool((found[name] == 0).any()), name


def test_looped_and_halting_models_drop_in_every_loop() -> None:
    model = mechanisms.model(layers=1, loops=3, halt=0, dropout=0.5).train()
    assert not torch.allclose(model(TOKENS).logits, model(TOKENS).logits)
    assert torch.equal(model.eval()(TOKENS).logits, model(TOKENS).logits)
