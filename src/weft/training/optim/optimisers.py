"""Optimisers by name: which takes which weights, and how their states are saved and restored."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

from weft.training.config import OptimiserConfig
from weft.training.optim.adafactor import Adafactor
from weft.training.optim.matrix_views import views_of
from weft.training.optim.muon import Muon


def optimisers_of(model: nn.Module, config: OptimiserConfig) -> list[Optimizer]:
    """The optimisers of a model: one, or with Muon one for matrices and one for the rest."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    views = views_of(model)
    if config.name == "adafactor":
        return [Adafactor(_groups(weights, config), views, lr=config.lr)]
    if config.name == "adamw":
        return [_adamw(weights, config)]
    matrices = [weight for weight in weights if weight in views]
    rest = [weight for weight in weights if weight not in views]
    muon = Muon(
        matrices,
        views,
        lr=config.lr,
        momentum=config.momentum,
        weight_decay=config.weight_decay,
    )
    return [muon, _adamw(rest, config)]


def _adamw(weights: list[nn.Parameter], config: OptimiserConfig) -> AdamW:
    return AdamW(_groups(weights, config), lr=config.lr, betas=config.betas, fused=True)


def _groups(weights: list[nn.Parameter], config: OptimiserConfig) -> list[dict[str, object]]:
    """Matrices and tables decay; gains and biases do not."""
    decayed = [weight for weight in weights if weight.dim() > 1]
    others = [weight for weight in weights if weight.dim() < 2]
    groups = [(decayed, config.weight_decay), (others, 0.0)]
    return [{"params": some, "weight_decay": decay} for some, decay in groups if some]


def set_lr(optimisers: list[Optimizer], lr: float) -> None:
    """Give all weights a learning rate; where it is a tensor, the tensor stays the same one."""
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(lr)
            else:
                group["lr"] = lr


def make_capturable(optimisers: list[Optimizer], device: torch.device) -> None:
    """Keep learning rates on the device, so that a captured step can read them there."""
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = torch.tensor(float(group["lr"]), device=device)
            if "capturable" in group:
                group["capturable"] = True


def saved(optimisers: list[Optimizer]) -> dict[str, Tensor]:
    """All that optimisers remember, by `optimiser.weight.name`."""
    return {
        f"{number}.{place}.{name}": value.detach()
        for number, optimiser in enumerate(optimisers)
        for place, weight in enumerate(_weights(optimiser))
        for name, value in optimiser.state[weight].items()
    }


def restore(optimisers: list[Optimizer], tensors: dict[str, Tensor]) -> None:
    """Give optimisers back what they remembered."""
    for key, value in tensors.items():
        number, place, name = key.split(".", 2)
        optimiser = optimisers[int(number)]
        weight = _weights(optimiser)[int(place)]
        optimiser.state[weight][name] = value.to(weight.device)


def _weights(optimiser: Optimizer) -> list[nn.Parameter]:
    return [weight for group in optimiser.param_groups for weight in group["params"]]


def clip(weights: list[nn.Parameter], most: float) -> Tensor:
    """Scale the gradient so that its norm is at most so much; gives the norm it had."""
    norm = nn.utils.get_total_norm([w.grad for w in weights if w.grad is not None])
    if most > 0:
        nn.utils.clip_grads_with_norm_(weights, most, norm)
    return torch.as_tensor(norm)
