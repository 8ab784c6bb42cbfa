"""All weights of a model as one row of a tensor, so that a stack of models is one matrix.

    flat   m p, with m models and p numbers; parameter n of all models is flat[:, start:stop]

Optimisers are then a few elementwise operations on matrices, and the gradient of all parameters is
one concatenation. A parameter starts at a multiple of `ALIGNMENT` numbers, which fast matmuls need.
A model with a smaller vocabulary, fewer classes or fewer positions than the widest of its stack has
zeros in place of what it lacks; these get no gradient and stay zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from weft.models.config import TransformerConfig
from weft.models.factory import build_model

if TYPE_CHECKING:
    from jaxtyping import Float

ALIGNMENT = 16
Shapes = dict[str, tuple[int, ...]]


def shapes_of(config: TransformerConfig) -> Shapes:
    """The shape of every parameter of a model, by name, in the order of `parameters()`."""
    with torch.device("meta"):
        model = build_model(config)
    return {name: tuple(weight.shape) for name, weight in model.named_parameters()}


def decays(shape: tuple[int, ...]) -> bool:
    """Whether weight decay applies to a parameter: to matrices and embeddings."""
    return len(shape) > 1


def optimiser_order(shapes: Shapes) -> list[str]:
    """The parameters in the order of the optimiser's groups: those that decay, then the others."""
    return sorted(shapes, key=lambda name: not decays(shapes[name]))


@dataclass(frozen=True)
class FlatLayout:
    """Where each parameter lies in a row.

    Attributes:
        shapes: the shape of each parameter.
        sizes: how many numbers each takes, padding included.
    """

    shapes: Shapes
    sizes: dict[str, int]

    @classmethod
    def of(cls, config: TransformerConfig) -> FlatLayout:
        """The layout of a model's parameters."""
        shapes = shapes_of(config)
        sizes = {
            name: ALIGNMENT * math.ceil(math.prod(shape) / ALIGNMENT)
            for name, shape in shapes.items()
        }
        return cls(shapes, sizes)

    @property
    def size(self) -> int:
        """How many numbers a row has."""
        return sum(self.sizes.values())

    def views(self, flat: Float[Tensor, "models numbers"]) -> dict[str, Tensor]:
        """Each parameter of all models (m, then its shape) as a view of the matrix."""
        parts = torch.split(flat, list(self.sizes.values()), 1)
        result = {}
        for (name, shape), part in zip(self.shapes.items(), parts, strict=True):
            count = math.prod(shape)
            exact = part if part.shape[1] == count else part[:, :count]
            result[name] = torch.unflatten(exact, 1, shape) if shape else exact[:, 0]
        return result

    def decayed(self) -> Float[Tensor, " numbers"]:
        """1 for numbers to which weight decay applies, 0 for others."""
        return torch.cat(
            [
                torch.full((self.sizes[name],), float(decays(shape)))
                for name, shape in self.shapes.items()
            ]
        )

    @torch.no_grad()
    def write(self, row: Float[Tensor, "1 numbers"], values: dict[str, Tensor]) -> None:
        """Set a row to a model's parameters, each in the corner of its place, zeros elsewhere."""
        row.zero_()
        for name, place in self.views(row).items():
            if name in values:
                corner = tuple(slice(size) for size in values[name].shape)
                place[0][corner] = values[name].to(place.device, place.dtype)

    def read(self, row: Float[Tensor, "1 numbers"], shapes: Shapes) -> dict[str, Tensor]:
        """The parameters of a model from its row, as copies."""
        views = self.views(row.detach())
        return {
            name: views[name][0][tuple(slice(size) for size in shape)].clone()
            for name, shape in shapes.items()
        }
