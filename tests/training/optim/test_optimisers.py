"""Optimisers against their formulas, written out once more in NumPy and float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from weft.models import Transformer, initialise, preset
from weft.training.config import OptimiserConfig
from weft.training.optim.adafactor import Adafactor
from weft.training.optim.matrix_views import View, views_of
from weft.training.optim.muon import Muon, orthogonalised
from weft.training.optim.optimisers import clip, optimisers_of, restore, saved, set_lr

Array = NDArray[np.float64]


def normals(*shape: int) -> Array:
    """Numbers that depend on the shape alone, not on which test drew before."""
    return np.random.default_rng(shape).normal(size=shape)


def numpy_muon(x: Array, gradients: list[Array], lr: float, beta: float, decay: float) -> Array:
    momentum = np.zeros_like(x)
    for g in gradients:
        momentum = beta * momentum + (1 - beta) * g
        u = beta * momentum + (1 - beta) * g
        o = u / np.sqrt((u**2).sum())
        for _ in range(5):
            gram = o @ o.T
            o = 3.4445 * o + (-4.7750 * gram + 2.0315 * gram @ gram) @ o
        x = x - lr * decay * x - lr * 0.2 * np.sqrt(max(x.shape)) * o
    return x


def numpy_adafactor(x: Array, gradients: list[Array], lr: float, decay: float) -> Array:
    rows, columns, squares = 0.0, 0.0, 0.0
    for t, g in enumerate(gradients, start=1):
        b = 1 - t**-0.8
        g2 = g**2 + 1e-30
        if x.ndim == 2:
            rows = b * rows + (1 - b) * g2.mean(1)
            columns = b * columns + (1 - b) * g2.mean(0)
            v = np.outer(rows, columns) / np.mean(rows)
        else:
            v = squares = b * squares + (1 - b) * g2
        u = g / np.sqrt(v)
        u = u / max(1, np.sqrt((u**2).mean()))
        x = x - lr * decay * x - lr * max(1e-3, np.sqrt((x**2).mean())) * u
    return x


def stepped(weight: nn.Parameter, optimiser: torch.optim.Optimizer, gradients: list[Array]) -> None:
    for gradient in gradients:
        weight.grad = torch.tensor(gradient, dtype=weight.dtype)
        optimiser.step()


@pytest.mark.parametrize("shape", [(6, 10), (10, 6), (5, 5)])
def test_muon_is_its_formula(shape: tuple[int, int]) -> None:
    x, gradients = normals(*shape), list(normals(4, *shape))
    weight = nn.Parameter(torch.tensor(x))
    optimiser = Muon([weight], {weight: View()}, lr=0.02, momentum=0.9, weight_decay=0.1)
    stepped(weight, optimiser, gradients)
    wanted = numpy_muon(x, gradients, 0.02, 0.9, 0.1)
    np.testing.assert_allclose(weight.detach().numpy(), wanted, rtol=1e-6, atol=1e-8)


def test_muon_joins_the_heads_of_attention_and_parts_gate_and_up() -> None:
    x, gradients = normals(3, 8, 4), list(normals(2, 3, 8, 4))

    def side_by_side(a: Array) -> Array:
        return np.concatenate(list(a), 1)

    into, out, gated = (nn.Parameter(torch.tensor(x)) for _ in range(3))
    gated = nn.Parameter(torch.tensor(x[0]))
    views = {into: View(into=True), out: View(), gated: View(parts=2)}
    optimiser = Muon([into, out, gated], views, lr=0.1)
    for gradient in gradients:
        into.grad, out.grad = torch.tensor(gradient), torch.tensor(gradient)
        gated.grad = torch.tensor(gradient[0])
        optimiser.step()
    wanted = numpy_muon(side_by_side(x), [side_by_side(g) for g in gradients], 0.1, 0.95, 0)
    np.testing.assert_allclose(side_by_side(into.detach().numpy()), wanted, rtol=1e-6)
    flat = [g.reshape(24, 4) for g in gradients]
    above = numpy_muon(x.reshape(24, 4), flat, 0.1, 0.95, 0)
    np.testing.assert_allclose(out.detach().numpy().reshape(24, 4), above, rtol=1e-6, atol=1e-8)
    for part in (slice(0, 4), slice(4, 8)):
        half = numpy_muon(x[0][part], [g[0][part] for g in gradients], 0.1, 0.95, 0)
        np.testing.assert_allclose(gated.detach().numpy()[part], half, rtol=1e-6, atol=1e-8)


def test_newton_schulz_brings_singular_values_near_one() -> None:
    found = torch.linalg.svdvals(orthogonalised(torch.tensor(normals(3, 32, 48))))
    assert found.min() > 0.5
    assert found.max() < 1.3


@pytest.mark.parametrize("shape", [(6, 10), (7,)])
def test_adafactor_is_its_formula(shape: tuple[int, ...]) -> None:
    x, gradients = normals(*shape), list(normals(5, *shape))
    weight = nn.Parameter(torch.tensor(x, dtype=torch.float32))
    stepped(weight, Adafactor([weight], {}, lr=0.01, weight_decay=0.1), gradients)
    wanted = numpy_adafactor(x, gradients, 0.01, 0.1)
    np.testing.assert_allclose(weight.detach().numpy(), wanted, rtol=2e-5, atol=1e-6)


def test_adafactor_of_heads_is_that_of_the_matrix_they_make() -> None:
    x, gradients = normals(3, 8, 4), list(normals(3, 3, 8, 4))
    weight = nn.Parameter(torch.tensor(x, dtype=torch.float32))
    stepped(weight, Adafactor([weight], {weight: View(into=True)}, lr=0.01), gradients)
    joined = [np.concatenate(list(g), 1) for g in gradients]
    wanted = numpy_adafactor(np.concatenate(list(x), 1), joined, 0.01, 0)
    found = np.concatenate(list(weight.detach().numpy()), 1)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6)


def model() -> Transformer:
    return initialise(Transformer(preset("nano", vocabulary=7, biases=True, position="learned")))


def descend(model: Transformer, name: str, steps: int) -> list[float]:
    lr = 1e-2 if name == "adafactor" else 3e-3
    optimisers = optimisers_of(model, OptimiserConfig(name=name, lr=lr))  # type: ignore[arg-type]
    tokens, losses = torch.arange(14).view(2, 7) % 7, []
    for _ in range(steps):
        logits = model(tokens[:, :-1]).logits
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        model.zero_grad()
        loss.backward()
        losses.append(loss.item())
        for optimiser in optimisers:
            optimiser.step()
    return losses


@pytest.mark.parametrize("name", ["adamw", "adafactor", "muon"])
def test_every_optimiser_moves_every_weight_and_learns(name: str) -> None:
    learner = model()
    before = {key: value.clone() for key, value in learner.state_dict().items()}
    losses = descend(learner, name, 60)
    assert losses[-1] < losses[0] / 2
    moved = {key for key, value in learner.state_dict().items() if not value.equal(before[key])}
    assert moved == set(before)


def test_muon_takes_the_matrices_of_layers_and_adamw_the_rest() -> None:
    learner = model()
    muon, adamw = optimisers_of(learner, OptimiserConfig(name="muon"))
    mine = {id(weight) for group in muon.param_groups for weight in group["params"]}
    named = {key for key, weight in learner.named_parameters() if id(weight) in mine}
    assert named == {
        f"layers.{layer}.{part}"
        for layer in range(3)
        for part in (
            *(f"attention.{matrix}" for matrix in ("query", "key", "value", "output")),
            *(f"feed_forward.weights.{place}" for place in range(2)),
        )
    }
    others = sum(len(group["params"]) for group in adamw.param_groups)
    assert others + len(mine) == len(list(learner.parameters()))
    assert set(views_of(learner)) == {p for g in muon.param_groups for p in g["params"]}


@pytest.mark.parametrize("name", ["adamw", "adafactor", "muon"])
def test_what_an_optimiser_remembers_can_be_put_back(name: str) -> None:
    def run(interrupted: bool) -> dict[str, torch.Tensor]:
        learner = model()
        config = OptimiserConfig(name=name)  # type: ignore[arg-type]
        optimisers = optimisers_of(learner, config)
        torch.manual_seed(0)
        for step in range(6):
            if interrupted and step == 3:
                kept = {key: value.clone() for key, value in saved(optimisers).items()}
                optimisers = optimisers_of(learner, config)
                restore(optimisers, kept)
            set_lr(optimisers, 1e-3 * (step + 1))
            for weight in learner.parameters():
                weight.grad = torch.randn(weight.shape)
            for optimiser in optimisers:
                optimiser.step()
        return learner.state_dict()

    one, other = run(False), run(True)
    assert all(one[key].equal(other[key]) for key in one)


def test_clipping_gives_the_norm_there_was() -> None:
    learner = model()
    for weight in learner.parameters():
        weight.grad = torch.ones_like(weight)
    count = sum(weight.numel() for weight in learner.parameters())
    assert clip(list(learner.parameters()), 1.0).item() == pytest.approx(count**0.5)
    assert clip(list(learner.parameters()), 0.0).item() == pytest.approx(1.0, rel=1e-4)
    assert clip(list(learner.parameters()), 5.0).item() == pytest.approx(1.0, rel=1e-4)
