"""First values of weights: the same from the same seed, with the deviations of the recipe."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from weft.models import Transformer, initialise, preset

KINDS: list[dict[str, Any]] = [
    {"position": "learned"},
    {"position": "abacus+fire", "digits": (1, 2)},
    {"position": "t5", "kind": "encoder-decoder"},
    {"attention": "forgetting", "canon": "ABCD"},
    {"attention": "path"},
    {"attention": "log-scaled", "position": "sinusoidal"},
]


def made(recipe: Any = "depth-scaled", seed: int = 0, **changes: Any) -> Transformer:
    return initialise(Transformer(preset("micro", vocabulary=64, **changes)), recipe, seed=seed)


@pytest.mark.parametrize("changes", KINDS, ids=str)
def test_the_same_seed_gives_the_same_weights(changes: dict[str, Any]) -> None:
    """Also in other precisions, and whatever was drawn before; nothing drawn later changes."""
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    one = made(seed=3, **changes)
    assert torch.equal(torch.rand(1), expected)
    again = made(seed=3, **changes)
    double = made(seed=3, dtype="float64", **changes)
    other = made(seed=4, **changes)
    weights = zip(*(dict(m.named_parameters()).items() for m in (one, again, double)), strict=True)
    for (name, first), (_, second), (_, third) in weights:
        assert torch.equal(first, second), name
        assert torch.equal(first, third.float()), name
    assert not torch.equal(one.embedding, other.embedding)


@pytest.mark.parametrize(
    ("recipe", "added"), [("gpt2", 0.02), ("depth-scaled", 0.02 / 8**0.5), ("zero-output", 0.0)]
)
def test_deviations_by_recipe(recipe: str, added: float) -> None:
    """Four layers add eight times to the stream."""
    model = made(recipe)
    for layer in model.layers:
        heads, units = layer.attention, layer.feed_forward
        for matrix in (heads.query, heads.key, heads.value, units.weights[0]):
            assert float(matrix.detach().std()) == pytest.approx(0.02, rel=0.03)
        for matrix in (heads.output, units.weights[1]):
            assert float(matrix.detach().std()) == pytest.approx(added, rel=0.03)
        assert all(bool((norm.gain == 1).all()) for norm in layer.norms)
    for matrix in (model.embedding, model.unembedding):
        assert float(matrix.detach().std()) == pytest.approx(0.02, rel=0.03)


def test_fan_in_keeps_the_size_of_what_is_read() -> None:
    """Unit rows give results of unit size; what is added is scaled by depth; all at any width."""
    model = made("fan-in", position="learned", width=256, heads=4, key_width=32, value_width=32)
    expected = {
        "query": 256**-0.5, "value": 256**-0.5, "output": (128 * 8) ** -0.5,
        "weights.0": 256**-0.5, "weights.1": (model.config.hidden[0] * 8) ** -0.5,
        "unembedding": 256**-0.5, "embedding": 1.0, "table": 1.0,
    }  # fmt: skip
    found = dict(model.named_parameters())
    for end, deviation in expected.items():
        matching = [weight for name, weight in found.items() if f".{name}".endswith(f".{end}")]
        assert matching, end
        for weight in matching:
            assert float(weight.detach().std()) == pytest.approx(deviation, rel=0.05), end


def test_fan_in_keeps_the_logits_of_tied_embeddings_small() -> None:
    model = made("fan-in", tied=True).eval()
    assert float(model.embedding.detach().std()) == pytest.approx(128**-0.5, rel=0.05)
    with torch.no_grad():
        logits = model(torch.arange(12).view(2, 6)).logits
    assert float(logits.std()) < 2


def test_loops_count_as_depth() -> None:
    model = made(loops=2)
    deviation = float(model.layers[0].attention.output.detach().std())
    assert deviation == pytest.approx(0.02 / 16**0.5, rel=0.03)


@pytest.mark.parametrize("changes", KINDS, ids=str)
def test_zero_output_starts_as_the_embedding(changes: dict[str, Any]) -> None:
    model = made("zero-output", **changes).eval()
    tokens = torch.arange(12).view(2, 6)
    given = {"source": tokens} if changes.get("kind") else {}
    stream = model.embed(tokens)
    expected = torch.nn.functional.rms_norm(stream, (128,), eps=1e-6) @ model.unembedding.T
    torch.testing.assert_close(model(tokens, **given).logits, expected, rtol=0, atol=0)


def test_first_values_of_mechanisms() -> None:
    """Gates half open, growth 0.43, taps as PyTorch's convolutions, row 0 of the abacus empty."""
    fox = made(attention="forgetting", canon="A").layers[0]
    assert not bool(fox.attention.mixing.gate_bias.any())
    taps = fox.canons["A"].taps.detach()
    assert float(taps.abs().max()) <= 0.5
    assert float(taps.std()) == pytest.approx(0.5 / 3**0.5, rel=0.1)
    grown = made(attention="log-scaled").layers[0].attention.mixing.growth
    torch.testing.assert_close(grown.detach(), torch.full((4,), 0.43))
    parts = made(position="abacus+fire", digits=(1, 2)).position.parts
    assert not bool(parts["abacus"].table[0].any())
    assert float(parts["fire"].c.detach()) == pytest.approx(0.1)
    wave = made(position="sinusoidal").position.parts["sinusoidal"]
    assert float(wave.scale.detach()) == pytest.approx(128**-0.5)


def test_a_fresh_model_expects_every_token_alike() -> None:
    """Its loss is the logarithm of the vocabulary."""
    model = made().eval()
    tokens = torch.randint(64, (8, 50), generator=torch.manual_seed(0))
    with torch.no_grad():
        logits = model(tokens).logits
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
    assert float(loss) == pytest.approx(torch.log(torch.tensor(64.0)).item(), abs=0.05)
