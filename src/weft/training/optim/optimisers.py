"""Optimisers and learning-rate schedules by name, and how optimiser states are saved and restored.

Schedules begin with a linear warm-up. With p from 0 to 1 over the steps after it, the share of the
peak learning rate is

    cosine        floor + (1 - floor) (1 + cos(pi p)) / 2
    linear        floor + (1 - floor) (1 - p)
    exponential   floor^p
    inverse-sqrt  sqrt(warm_up / step)
    constant      1

With a factor C, the learning rate of inverse-sqrt is that of Vaswani et al. (2017) times C, which
depends on the width of the model and not on `optimiser.lr`:

    C width^-1/2 min(step^-1/2, step warm_up^-3/2)
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

from weft.models.presets import preset_width
from weft.training.config import OptimiserConfig, ScheduleConfig, TrainingConfig
from weft.training.optim.adafactor import Adafactor
from weft.training.optim.matrix_views import views_of
from weft.training.optim.muon import Muon


def optimisers_of(model: nn.Module, config: OptimiserConfig) -> list[Optimizer]:
    """The optimisers of a model: one, or with Muon one for matrices and AdamW for the rest."""
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
    """Parameter groups: matrices and embeddings decay; gains and biases do not."""
    decayed = [weight for weight in weights if weight.dim() > 1]
    others = [weight for weight in weights if weight.dim() < 2]
    groups = [(decayed, config.weight_decay), (others, 0.0)]
    return [{"params": some, "weight_decay": decay} for some, decay in groups if some]


def schedule_share(schedule: ScheduleConfig, step: int, steps: int) -> float:
    """The share of the peak learning rate at a step; steps count from 1."""
    if step <= schedule.warm_up:
        return step / schedule.warm_up
    if schedule.name == "constant":
        return 1.0
    if schedule.name == "inverse-sqrt":
        return math.sqrt(max(1, schedule.warm_up) / step)
    progress = (step - schedule.warm_up) / max(1, steps - schedule.warm_up)
    if schedule.name == "exponential":
        return float(schedule.floor**progress)
    cosine = schedule.name == "cosine"
    decay = (1 + math.cos(math.pi * progress)) / 2 if cosine else 1 - progress
    return schedule.floor + (1 - schedule.floor) * decay


def learning_rate(config: TrainingConfig, step: int) -> float:
    """The learning rate of a step."""
    share = schedule_share(config.schedule, step, config.steps)
    factor = config.schedule.factor
    if factor is None:
        return config.optimiser.lr * share
    width = preset_width(config.preset, config.model)
    return float(factor * (width * max(1, config.schedule.warm_up)) ** -0.5 * share)


def set_lr(optimisers: list[Optimizer], lr: float) -> None:
    """Set the learning rate of all weights; if it is a tensor, change the tensor in place."""
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(lr)
            else:
                group["lr"] = lr


def make_capturable(optimisers: list[Optimizer], device: torch.device) -> None:
    """Keep learning rates on the device, so that a captured step can read them."""
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = torch.tensor(float(group["lr"]), device=device)
            if "capturable" in group:
                group["capturable"] = True


def saved(optimisers: list[Optimizer]) -> dict[str, Tensor]:
    """The state of optimisers, by `optimiser.weight.name`."""
    return {
        f"{number}.{place}.{name}": value.detach()
        for number, optimiser in enumerate(optimisers)
        for place, weight in enumerate(_weights(optimiser))
        for name, value in optimiser.state[weight].items()
    }


def restore(optimisers: list[Optimizer], tensors: dict[str, Tensor]) -> None:
    """Load the state that `saved` returned."""
    for key, value in tensors.items():
        number, place, name = key.split(".", 2)
        optimiser = optimisers[int(number)]
        weight = _weights(optimiser)[int(place)]
        optimiser.state[weight][name] = value.to(weight.device)


def _weights(optimiser: Optimizer) -> list[nn.Parameter]:
    return [weight for group in optimiser.param_groups for weight in group["params"]]


def clip(weights: list[nn.Parameter], largest: float) -> Tensor:
    """Scale the gradient so that its norm is at most `largest`; returns the norm before."""
    norm = nn.utils.get_total_norm([w.grad for w in weights if w.grad is not None])
    if largest > 0:
        nn.utils.clip_grads_with_norm_(weights, largest, norm)
    return torch.as_tensor(norm)
