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

Recipe = Literal["gpt2", "depth-scaled", "zero-output", "fan-in"]
STD = 0.02


def initialise(
    model: Transformer, recipe: Recipe = "depth-scaled", *, seed: int = 0
) -> Transformer:
    """Give a model its first weights.

    Args:
        model: the model, changed in place and given back.
        recipe: `gpt2` draws all matrices with a deviation of 0.02; `depth-scaled` divides that by
            the root of twice the number of layers for what is added to the stream, as GPT-2 itself
            did; `zero-output` starts it at zero, so that the model starts as its embedding;
            `fan-in` is `depth-scaled` with deviations of one over the root of a matrix's inputs,
            which for embeddings is 1 unless they are tied: narrow models learn sooner from it.
        seed: the same seed gives the same weights, on any device.
    """
    depth = max(1, model.config.layers * model.config.loops)
    embedded = _deviation(recipe, model.config.width if model.config.tied else 1)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(seed)
        normal(model.embedding, embedded)
        if not model.config.tied:
            normal(model.unembedding, _deviation(recipe, model.config.width))
        for module in model.modules():
            _start(module, recipe, depth, embedded)
    return model


def _start(module: nn.Module, recipe: Recipe, depth: int, embedded: float) -> None:
    if isinstance(module, Attention):
        for matrix in (module.query, module.key, module.value):
            normal(matrix, _deviation(recipe, matrix.shape[1]))
        heads, width, _ = module.output.shape
        normal(module.output, _added(recipe, heads * width, depth))
    elif isinstance(module, FeedForward):
        *first, last = module.weights
        for weight in first:
            normal(weight, _deviation(recipe, weight.shape[1]))
        normal(last, _added(recipe, last.shape[1], depth))
        for bias in module.biases:
            nn.init.zeros_(bias)
    elif isinstance(module, Norm):
        nn.init.ones_(module.gain)
    elif isinstance(module, Positions):
        module.initialise(embedded)
    elif isinstance(module, Canon | Mixing):
        module.initialise()


def _deviation(recipe: Recipe, inputs: int) -> float:
    """Of a matrix that reads so many inputs."""
    return inputs**-0.5 if recipe == "fan-in" else STD


def _added(recipe: Recipe, inputs: int, depth: int) -> float:
    """Of a matrix whose result is added to the stream."""
    if recipe == "zero-output":
        return 0.0
    return _deviation(recipe, inputs) / (1.0 if recipe == "gpt2" else (2 * depth) ** 0.5)
