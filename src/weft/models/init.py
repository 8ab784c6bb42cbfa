"""Weight initialisation.

Values are drawn on the CPU in float32, so that a seed gives the same weights on every device and in
every precision. Each module draws its own weights, in `init_weights`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor

if TYPE_CHECKING:
    from weft.models.factory import Model

Recipe = Literal["gpt2", "depth-scaled", "zero-output", "fan-in"]
STD = 0.02


@torch.no_grad()
def normal(tensor: Tensor, std: float) -> None:
    """Fill a tensor from a normal distribution with mean 0."""
    tensor.copy_(torch.randn(tensor.shape) * std)


@torch.no_grad()
def uniform(tensor: Tensor, bound: float) -> None:
    """Fill a tensor from the uniform distribution on -bound to bound."""
    tensor.copy_((2 * torch.rand(tensor.shape) - 1) * bound)


@dataclass(frozen=True)
class Initialisation:
    """Standard deviations of a model's initial weights, by recipe.

    Attributes:
        recipe: as for `initialise`.
        depth: the number of layers, loops counted.
        embedding_std: of token embeddings and tables of positions.
    """

    recipe: Recipe
    depth: int
    embedding_std: float

    def std(self, fan_in: int) -> float:
        """Standard deviation of a matrix with this many inputs."""
        return _std(self.recipe, fan_in)

    def residual_std(self, fan_in: int) -> float:
        """Standard deviation of a matrix whose output is added to the residual stream."""
        if self.recipe == "zero-output":
            return 0.0
        return self.std(fan_in) / (1.0 if self.recipe == "gpt2" else (2 * self.depth) ** 0.5)


@runtime_checkable
class Initialisable(Protocol):
    """A module that draws its own weights."""

    def init_weights(self, init: Initialisation) -> None:
        """Set this module's own parameters, not those of its submodules."""


AnyModel = TypeVar("AnyModel", bound="Model")


def initialise(model: AnyModel, recipe: Recipe = "depth-scaled", *, seed: int = 0) -> AnyModel:
    """Initialise a model's weights in place and return it.

    Args:
        model: the model.
        recipe: `gpt2` draws all matrices with a standard deviation of 0.02. `depth-scaled`, as in
            GPT-2 itself, divides that by sqrt(2 layers) for matrices whose output is added to the
            residual stream. `zero-output` sets those to zero, so that the stream starts as the
            embedding. `fan-in` is `depth-scaled` with a standard deviation of 1 / sqrt(fan-in),
            and of 1 for embeddings unless they are tied; narrow models learn sooner from it. An
            LSTM has one initialisation, whatever the recipe.
        seed: the same seed gives the same weights on any device.
    """
    config = model.config
    embedding_std = _std(recipe, config.width if config.tied else 1)
    init = Initialisation(recipe, max(1, config.layers * config.loops), embedding_std)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(seed)
        for module in model.modules():
            if isinstance(module, Initialisable):
                module.init_weights(init)
    return model


def _std(recipe: Recipe, fan_in: int) -> float:
    return fan_in**-0.5 if recipe == "fan-in" else STD
