"""Generating with a key-value cache gives the same logits as running the text, at every step."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import mechanisms
from weft.errors import WeftError
from weft.models import Transformer, generate, initialise, preset
from weft.models.cache import empty_kv_cache, supports_kv_cache

KINDS: list[dict[str, Any]] = [
    *(
        {"position": one, "attention": two}
        for one, two in mechanisms.allowed()
        if "randomised" not in one
    ),
    *({"canon": place} for place in "ABCD"),
    *({"canon": "ABCD", "attention": kind} for kind in mechanisms.ATTENTIONS),
    {"canon": "ABCD", "position": "fire", "attention": "forgetting", "activation": "swiglu"},
    {"loops": 3, "attention": "path"},
    {"loops": 3, "inject": True, "canon": "ABCD", "position": "rotary"},
    {"norm": "post", "loops": 2, "inject": True, "attention": "forgetting"},
    {"offsets": 2},
    {"offsets": 1, "sink": True, "position": "learned"},
    {"attention": "entmax", "alpha": 2.0, "position": "t5"},
    {"tied": True, "norm": "none", "activation": "relu"},
]


def named(changes: dict[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in changes.items())


@pytest.mark.parametrize("changes", KINDS, ids=named)
@torch.no_grad()
def test_logits_at_every_step(changes: dict[str, Any]) -> None:
    """Whether tokens come one by one, after a beginning, or a few at a time."""
    model = mechanisms.model(seed=1, **changes)
    tokens = mechanisms.tokens(2, 12)
    expected = model(tokens, backend="dense").logits
    for portions in ([1] * 12, [5] + [1] * 7, [3, 4, 1, 1, 3]):
        kept, done = empty_kv_cache(model), 0
        for new in portions:
            done += new
            found = model.decode(tokens[:, :done], new, kept)
            torch.testing.assert_close(found, expected[:, done - new : done], rtol=0, atol=1e-11)


@pytest.mark.parametrize("changes", KINDS, ids=named)
def test_texts_are_the_same_with_a_cache_and_without(changes: dict[str, Any]) -> None:
    model = mechanisms.model(seed=2, **changes)
    begun = mechanisms.tokens(3, 4)
    kept, anew = (generate(model, begun, 6, cache=cache) for cache in (True, False))
    assert kept.shape == (3, 10)
    assert torch.equal(kept, anew)
    assert torch.equal(kept[:, :4], begun)


@pytest.mark.parametrize("name", ["forgetting", "path", "stick-breaking", "entmax"])
@torch.no_grad()
def test_a_long_text_in_float32_drifts_little(name: str) -> None:
    """150 steps: sums of gates, and keys that are transformed at each."""
    model = initialise(Transformer(preset("nano", vocabulary=16, attention=name)), "gpt2").eval()
    tokens = mechanisms.tokens(1, 150)
    expected = model(tokens, backend="dense").logits
    kept = empty_kv_cache(model)
    found = [model.decode(tokens[:, : n + 1], 1, kept) for n in range(150)]
    torch.testing.assert_close(torch.cat(found, 1), expected, rtol=1e-4, atol=1e-5)


def test_randomised_positions_move_so_nothing_is_kept() -> None:
    model = mechanisms.model(position="randomised+rotary")
    assert not supports_kv_cache(model)
    assert generate(model, mechanisms.tokens(1, 3), 3).shape == (1, 6)


def test_a_text_ends_at_its_stop() -> None:
    """A text that has stopped repeats it; when all have, nothing more is added."""
    model = mechanisms.model(seed=2)
    begun = mechanisms.tokens(3, 4)
    free = generate(model, begun, 8)
    stop = int(free[0, 6])
    ended = generate(model, begun, 8, stop=stop)
    row = ended[0].tolist()
    first = row.index(stop, 4)
    assert row[: first + 1] == free[0, : first + 1].tolist()
    assert set(row[first:]) == {stop}
    assert generate(model, begun[:1], 8, stop=stop).shape[1] == first + 1


def test_temperature_draws_from_the_distribution() -> None:
    model = mechanisms.model(seed=2)
    begun = mechanisms.tokens(1, 4).expand(4000, 4)
    torch.manual_seed(0)
    drawn = generate(model, begun, 1, temperature=2.0)[:, -1]
    shares = torch.bincount(drawn, minlength=mechanisms.VOCABULARY) / 4000
    expected = (model(begun[:1]).logits[0, -1] / 2).softmax(-1)
    torch.testing.assert_close(shares.double(), expected.detach(), rtol=0, atol=0.03)


def test_a_model_in_training_continues_as_in_evaluation() -> None:
    model = mechanisms.model(position="learned", random_offset=20)
    begun = mechanisms.tokens(1, 4)
    expected = generate(model, begun, 6)
    model.train()
    for cache in (True, False):
        assert torch.equal(generate(model, begun, 6, cache=cache), expected)
    assert model.training


def test_a_text_longer_than_the_table_is_refused() -> None:
    model = mechanisms.model(position="learned", positions=6)
    for cache in (True, False):
        with pytest.raises(WeftError, match="7 tokens, the model 6 positions"):
            generate(model, mechanisms.tokens(1, 4), 6, cache=cache)


def test_an_encoder_continues_nothing() -> None:
    with pytest.raises(WeftError, match="cannot continue a text"):
        generate(mechanisms.model(kind="encoder"), mechanisms.tokens(1, 4), 1)
