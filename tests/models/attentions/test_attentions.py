"""Every attention mechanism against its formula: values, gradients, and what must not matter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.func import functional_call

import mechanisms
from mechanisms import ATTENTIONS, DIGITS
from reference_model import Reference, entmax_row, softmax_row
from weft.models.attentions.entmax import entmax
from weft.models.attentions.path import path_scores

KINDS: list[dict[str, Any]] = [
    *({"attention": kind} for kind in ATTENTIONS),
    {"attention": "entmax", "alpha": 2.0},
    {"attention": "entmax", "alpha": 1.2},
    {"attention": "entmax", "kind": "encoder"},
    {"attention": "log-scaled", "kind": "encoder"},
    {"attention": "swan", "kind": "encoder", "position": "alibi"},
    {"attention": "swan", "position": "rotary", "layers": 3, "window": 2},
    {"attention": "forgetting", "position": "rotary"},
    {"attention": "forgetting", "position": "alibi"},
    {"attention": "path", "position": "learned"},
    {"attention": "log-scaled", "position": "nape"},
    {"attention": "entmax", "position": "nape"},
    {"attention": "softmax", "key_width": 5, "value_width": 3},
    {"attention": "path", "key_width": 3, "value_width": 5},
    {"attention": "softmax", "scaled": False},
]
BLOCKS: list[dict[str, Any]] = [
    *({"norm": norm} for norm in ("none", "pre", "post")),
    *({"activation": kind, "biases": True} for kind in ("clipped", "relu", "gelu", "swiglu")),
    {"biases": False},
    {"hidden": (5, 4), "activation": "relu"},
    {"hidden": ()},
    *({"canon": place} for place in ("A", "B", "C", "D", "ABCD")),
    {"canon": "ABCD", "activation": "swiglu", "attention": "path"},
    {"tied": True},
    {"loops": 3},
    {"loops": 3, "inject": True},
]


def named(changes: dict[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in changes.items())


@pytest.mark.parametrize("changes", KINDS + BLOCKS, ids=named)
def test_logits_are_those_of_the_formula(changes: dict[str, Any]) -> None:
    model = mechanisms.model(seed=1, **changes)
    tokens = mechanisms.tokens(2, 7)
    for backend in ("dense", "auto"):
        logits = model(tokens, backend=backend).logits.detach().numpy()
        for row, found in zip(tokens.tolist(), logits, strict=True):
            expected = Reference(model).logits(row, digits=DIGITS)
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("changes", KINDS + BLOCKS[-6:], ids=named)
def test_gradients_are_those_of_the_formula(changes: dict[str, Any]) -> None:
    """Differences of the formula's loss, at an entry of every weight of two layers, and at two of
    those of the mechanism; `test_gradcheck` covers all entries.
    """
    model = mechanisms.model(seed=2, **{**changes, "loops": min(changes.get("loops", 1), 2)})
    tokens = mechanisms.tokens(1, 5, seed=3)
    aim = np.random.default_rng(0).normal(size=(5, mechanisms.VOCABULARY))
    loss = (model(tokens).logits[0] * torch.tensor(aim)).sum()
    loss.backward()
    formula = Reference(model)
    rng = np.random.default_rng(1)
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name
        count = 2 if ".mixing." in name or name.startswith("position.") else 1
        for flat in rng.choice(weight.numel(), size=min(count, weight.numel()), replace=False):
            place = np.unravel_index(flat, weight.shape)
            slope = _slope(formula, name, place, tokens[0].tolist(), aim)
            assert float(weight.grad[place]) == pytest.approx(slope, rel=1e-5, abs=1e-7), name


def _slope(formula: Reference, name: str, place: Any, tokens: list[int], aim: Any) -> float:
    step, losses = 1e-5, []
    kept = formula.weights[name][place]
    for side in (step, -step):
        formula.weights[name][place] = kept + side
        losses.append(float((formula.logits(tokens, digits=DIGITS) * aim).sum()))
    formula.weights[name][place] = kept
    return (losses[0] - losses[1]) / (2 * step)


@pytest.mark.parametrize("changes", KINDS, ids=named)
def test_gradcheck(changes: dict[str, Any]) -> None:
    """Of all weights of a layer, by the formula as it stands."""
    small = {"width": 4, "hidden": (3,), "layers": 1, "norm": "none", "global_every": 1, **changes}
    model = mechanisms.model(seed=4, **small)
    tokens = mechanisms.tokens(1, 4, seed=5)
    names = [name for name, _ in model.named_parameters()]

    def logits(*weights: torch.Tensor) -> torch.Tensor:
        given = dict(zip(names, weights, strict=True))
        found: torch.Tensor = functional_call(model, given, (tokens,), {"backend": "dense"}).logits
        return found

    assert torch.autograd.gradcheck(logits, tuple(model.parameters()), fast_mode=True)


@pytest.mark.parametrize("alpha", [1.05, 1.2, 1.5, 1.75, 2.0])
@pytest.mark.parametrize("spread", [0.0, 0.1, 1.0, 10.0])
def test_entmax_of_long_rows(alpha: float, spread: float) -> None:
    """Flat rows, peaked rows, and rows in between, against bisection."""
    rows = spread * torch.randn(2, 1000, dtype=torch.float64, generator=torch.manual_seed(0))
    found = entmax(rows, alpha)
    for row, given in zip(found, rows.tolist(), strict=True):
        expected = np.array(entmax_row(given, alpha))
        np.testing.assert_allclose(row, expected, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(found.sum(-1), torch.ones(2, dtype=torch.float64))


def test_entmax_of_nearly_flat_rows_of_16384() -> None:
    """All weights above zero agree on one threshold, and nothing below it has weight."""
    rows = 0.1 * torch.randn(16384, dtype=torch.float64, generator=torch.manual_seed(1))
    for alpha in (1.1, 1.5, 2.0):
        found, scaled = entmax(rows, alpha), (alpha - 1) * rows
        thresholds = (scaled - found ** (alpha - 1))[found > 0]
        assert float(thresholds.max() - thresholds.min()) < 1e-11
        assert bool((scaled[found == 0] <= thresholds.mean() + 1e-11).all())


def test_towards_1_entmax_is_softmax() -> None:
    row = [0.3, -1.0, 2.0, 0.5]
    found = entmax(torch.tensor([row], dtype=torch.float64), 1.0001)[0]
    np.testing.assert_allclose(found, softmax_row(row), atol=1e-4)


def test_sparsemax_by_sorting() -> None:
    """tau from the sorted scores (Martins and Astudillo 2016)."""
    rows = torch.randn(20, 9, dtype=torch.float64, generator=torch.manual_seed(2))
    for row, found in zip(rows.tolist(), entmax(rows, 2.0), strict=True):
        ordered = sorted(row, reverse=True)
        count = max(k for k in range(1, 10) if 1 + k * ordered[k - 1] > sum(ordered[:k]))
        tau = (sum(ordered[:count]) - 1) / count
        np.testing.assert_allclose(found, [max(score - tau, 0) for score in row], atol=1e-13)


def test_entmax_gives_exact_zeros_and_no_gradient_there() -> None:
    scores = torch.tensor([[0.0, 0.1, -9.0]], dtype=torch.float64, requires_grad=True)
    found = entmax(scores, 1.5)
    found[0, 0].backward()
    assert found[0, 2] == 0
    assert scores.grad is not None
    assert scores.grad[0, 2] == 0
    assert float(scores.grad.sum()) == pytest.approx(0, abs=1e-15)


def test_path_products_of_many_householder_matrices() -> None:
    """Also with beta near 2, where every H is a reflection and nothing shrinks."""
    generator = torch.manual_seed(3)
    count, size = 40, 4
    query, key, axes = torch.randn(3, count, size, dtype=torch.float64, generator=generator)
    axes = axes / axes.norm(dim=-1, keepdim=True)
    for beta in (torch.full((count,), 1.999, dtype=torch.float64), torch.rand(count).double() * 2):
        found = path_scores(query, key, axes, beta)
        for i in range(count):
            row = query[i]
            for j in range(i, -1, -1):  # from the query's side, one matrix more for every step
                assert float(found[i, j]) == pytest.approx(float(row @ key[j]), abs=1e-11)
                row = row - beta[j] * (row @ axes[j]) * axes[j]


def test_forgetting_over_long_texts_keeps_its_precision() -> None:
    """Sums of logarithms near 1,600, whose last digit is 1e-4 in float32, against float64."""
    exact = mechanisms.model(seed=6, attention="forgetting", layers=1)
    rough = mechanisms.model(seed=6, attention="forgetting", layers=1, dtype="float32")
    tokens = mechanisms.tokens(1, 2000)
    with torch.no_grad():
        difference = exact(tokens).logits - rough(tokens, backend="dense").logits
    assert float(difference.abs().max()) < 2e-3


def test_stick_breaking_takes_no_more_than_the_stick() -> None:
    model = mechanisms.model(seed=7, attention="stick-breaking", layers=1)
    _, cache = model.run_with_cache(mechanisms.tokens(3, 9))
    pattern = cache["blocks.0.attn.hook_pattern"]
    assert bool((pattern >= 0).all())
    assert bool((pattern.sum(-1) < 1).all())
    assert not bool(pattern.triu().any())
    assert not bool(pattern[:, :, 0].any())


def test_scores_of_1000_overflow_nowhere() -> None:
    for changes in KINDS[:9]:
        model = mechanisms.model(seed=8, layers=1, **{**changes, "dtype": "float32"})
        with torch.no_grad():
            model.layers[0].attention.query.mul_(1000)
        model(mechanisms.tokens(1, 8)).logits.sum().backward()
        assert all(bool(weight.grad.isfinite().all()) for weight in model.parameters())


@torch.no_grad()
def test_log_scaled_weights_do_not_fade_with_the_length() -> None:
    """One key whose score is 8 / sqrt(8) above all others, at growth 2, among 4 and among 400."""
    model = mechanisms.model(attention="log-scaled", layers=1, heads=1, norm="none", hidden=())
    heads = model.layers[0].attention
    heads.query.zero_()
    heads.key.zero_()
    heads.query[0, 0, 0] = heads.key[0, 1, 0] = 8**0.5
    heads.mixing.growth.fill_(2.0)
    model.embedding.zero_()
    model.embedding[:, 0] = 1.0
    model.embedding[1, 1] = 1.0
    for count in (4, 400):
        tokens = torch.zeros(1, count, dtype=torch.long)
        tokens[0, 0] = 1
        _, cache = model.run_with_cache(tokens)
        weight = float(cache["blocks.0.attn.hook_pattern"][0, 0, -1, 0])
        score = 2 * math.log(count) * 8 / math.sqrt(8)
        assert weight == pytest.approx(1 / (1 + (count - 1) * math.exp(-score)))
        assert weight > 0.99
