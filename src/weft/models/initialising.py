"""First values of weights, by recipe."""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn

from weft.models.attention import Attention
from weft.models.attentions import Mixing
from weft.models.canon import Canon
from weft.models.drawing import normal
from weft.models.feed_forward import FeedForward
from weft.models.layer import Norm
from weft.models.positions import Positions
from weft.models.transformer import Transformer

Recipe = Literal["gpt2", "depth-scaled", "zero-output"]
STD = 0.02


def initialise(
    model: Transformer, recipe: Recipe = "depth-scaled", *, seed: int = 0
) -> Transformer:
    """Give a model its first weights.

    Args:
        model: the model, changed in place and given back.
        recipe: `gpt2` draws all matrices with a deviation of 0.02; `depth-scaled` divides that by
            the root of twice the number of layers for what is added to the stream, as GPT-2 itself
            did; `zero-output` starts it at zero, so that the model starts as its embedding.
        seed: the same seed gives the same weights, on any device.
    """
    depth = max(1, model.config.layers * model.config.loops)
    added = {"gpt2": STD, "depth-scaled": STD / (2 * depth) ** 0.5, "zero-output": 0.0}[recipe]
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(seed)
        normal(model.embedding, STD)
        if not model.config.tied:
            normal(model.unembedding, STD)
        for module in model.modules():
            _start(module, added)
    return model


def _start(module: nn.Module, added: float) -> None:
    if isinstance(module, Attention):
        for matrix in (module.query, module.key, module.value):
            normal(matrix, STD)
        normal(module.output, added)
    elif isinstance(module, FeedForward):
        for place, weight in enumerate(module.weights):
            normal(weight, added if place == len(module.weights) - 1 else STD)
        for bias in module.biases:
            nn.init.zeros_(bias)
    elif isinstance(module, Norm):
        nn.init.ones_(module.gain)
    elif isinstance(module, Canon | Mixing | Positions):
        module.initialise()
