"""Encoder-decoders: the decoder sees all of the source, and of the target what is to the left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import mechanisms
from mechanisms import DIGITS
from reference_model import Reference
from weft.errors import WeftError

KINDS: list[dict[str, Any]] = [
    *(
        {"position": name}
        for name in ("none", "learned", "sinusoidal", "rotary", "alibi", "nape", "t5", "fire")
    ),
    {"position": "abacus+rotary"},
    *({"attention": name, "position": "alibi"} for name in ("entmax", "swan", "log-scaled")),
    {"norm": "post"},
    {"norm": "none"},
    {"encoder_layers": 3, "layers": 1},
    {"loops": 2, "inject": True},
    {"position": "t5", "encoder_position": "learned"},
    {"position": "learned", "encoder_position": "t5"},
    {"position": "none", "encoder_position": "abacus+rotary"},
]
EXACT: dict[str, Any] = {"rtol": 0, "atol": 1e-12}


def named(changes: dict[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in changes.items())


@pytest.mark.parametrize("changes", KINDS, ids=named)
def test_logits_are_those_of_the_formula(changes: dict[str, Any]) -> None:
    model = mechanisms.model(seed=1, kind="encoder-decoder", **changes)
    tokens, source = mechanisms.tokens(2, 5), mechanisms.tokens(2, 8, seed=1)
    for backend in ("dense", "auto"):
        found = model(tokens, source=source, backend=backend).logits.detach()
        assert found.shape == (2, 5, mechanisms.VOCABULARY)
        for row in range(2):
            expected = Reference(model).logits(
                tokens[row].tolist(), source=source[row].tolist(), digits=DIGITS
            )
            np.testing.assert_allclose(found[row], expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("changes", KINDS, ids=named)
def test_what_is_seen(changes: dict[str, Any]) -> None:
    """All of the source from every place, nothing of its padding, nothing to the right."""
    model = mechanisms.model(seed=1, kind="encoder-decoder", **changes)
    tokens, source = mechanisms.tokens(1, 5), mechanisms.tokens(1, 8, seed=1)
    before = model(tokens, source=source).logits
    for end in (0, 7):
        other = source.clone()
        other[0, end] = (other[0, end] + 1) % mechanisms.VOCABULARY
        assert bool((model(tokens, source=other).logits != before).any(-1).all())
    other = tokens.clone()
    other[0, 3] = (other[0, 3] + 1) % mechanisms.VOCABULARY
    after = model(other, source=source).logits
    torch.testing.assert_close(after[:, :3], before[:, :3], **EXACT)
    assert not torch.allclose(after[:, 3], before[:, 3])


@pytest.mark.parametrize("changes", KINDS, ids=named)
def test_padding_of_source_and_target_does_not_matter(changes: dict[str, Any]) -> None:
    model = mechanisms.model(seed=1, kind="encoder-decoder", **changes)
    tokens, source = mechanisms.tokens(3, 5), mechanisms.tokens(3, 8, seed=1)
    lengths, source_lengths = torch.tensor([5, 2, 3]), torch.tensor([8, 3, 0])
    for backend in ("dense", "auto"):
        given: dict[str, Any] = {"source_lengths": source_lengths, "backend": backend}
        found = model(tokens, lengths, source=source, **given).logits
        assert bool(found.isfinite().all())
        for row in range(2):
            alone = model(
                tokens[row : row + 1, : lengths[row]],
                source=source[row : row + 1, : source_lengths[row]],
                backend=backend,
            ).logits[0]
            torch.testing.assert_close(found[row, : lengths[row]], alone, **EXACT)


def test_t5_has_a_table_for_both_sides_in_the_encoder() -> None:
    model = mechanisms.model(kind="encoder-decoder", position="t5")
    tokens, source = mechanisms.tokens(1, 5), mechanisms.tokens(1, 8, seed=1)
    model(tokens, source=source).logits.sum().backward()
    part = model.position.parts["t5"]
    used = part.encoder_weight.grad.abs().sum(0) > 0
    assert used.nonzero().flatten().tolist() == [*range(8), *range(17, 24)]
    assert (part.weight.grad.abs().sum(0) > 0).nonzero().flatten().tolist() == [*range(5)]


def test_activations_of_encoder_and_cross_attention_have_names() -> None:
    model = mechanisms.model(kind="encoder-decoder")
    tokens, source = mechanisms.tokens(2, 5), mechanisms.tokens(2, 8, seed=1)
    out, cache = model.run_with_cache(tokens, source=source)
    torch.testing.assert_close(out.logits, model(tokens, source=source).logits, **EXACT)
    assert cache["encoder.blocks.1.attn.hook_pattern"].shape == (2, 2, 8, 8)
    assert cache["blocks.1.cross_attn.hook_pattern"].shape == (2, 2, 5, 8)
    assert cache["encoder.hook_embed"].shape == (2, 8, 8)
    torch.testing.assert_close(
        cache["blocks.0.cross_attn.hook_pattern"] @ cache["blocks.0.cross_attn.hook_v"],
        cache["blocks.0.cross_attn.hook_z"],
        **EXACT,
    )
    kept = cache["blocks.0.hook_resid_mid"] + cache["blocks.0.hook_cross_out"]
    torch.testing.assert_close(cache["blocks.0.hook_resid_cross"], kept, **EXACT)


def test_a_source_is_given_to_no_other_kind() -> None:
    tokens = mechanisms.tokens(1, 4)
    with pytest.raises(WeftError, match="'encoder-decoder' was given no source"):
        mechanisms.model(kind="encoder-decoder")(tokens)
    with pytest.raises(WeftError, match="'decoder' was given a source"):
        mechanisms.model()(tokens, source=tokens)


def test_a_source_longer_than_the_table_is_refused() -> None:
    model = mechanisms.model(kind="encoder-decoder", position="learned", positions=5)
    with pytest.raises(WeftError, match="8 tokens, the model 5 positions"):
        model(mechanisms.tokens(1, 4), source=mechanisms.tokens(1, 8))


def test_watching_is_for_other_kinds() -> None:
    model = mechanisms.model(kind="encoder-decoder")
    tokens = mechanisms.tokens(1, 4)
    with pytest.raises(WeftError, match="cannot be watched"):
        model(tokens, source=tokens, watch=lambda *seen: None)
