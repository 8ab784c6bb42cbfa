"""Continuing texts, token by token, with what earlier tokens left behind kept in memory."""

from __future__ import annotations

import torch
from torch import Tensor

from weft.errors import WeftError
from weft.models.cache import Memory
from weft.models.transformer import Transformer


@torch.no_grad()
def generate(
    model: Transformer,
    tokens: Tensor,
    steps: int,
    *,
    stop: int | None = None,
    temperature: float = 0.0,
    cache: bool = True,
) -> Tensor:
    """Continue a batch of texts (b l) by up to so many tokens.

    Args:
        model: a decoder.
        tokens: the texts, all of one length.
        steps: how many tokens to add.
        stop: the token after which a text is finished; it is then repeated.
        temperature: 0 for the likeliest token; 1 draws from the model's distribution.
        cache: whether to keep keys and values of earlier tokens, where the model allows it.

    Example:
        >>> import torch
        >>> from weft.models import Transformer, generate, initialise, preset
        >>> model = initialise(Transformer(preset("nano", vocabulary=16)), seed=0).eval()
        >>> generate(model, torch.tensor([[1, 2, 3]]), 4).shape
        torch.Size([1, 7])
    """
    if model.config.kind != "decoder":
        raise WeftError(
            f"a model of kind '{model.config.kind}' cannot continue a text by itself",
            remedy="Use a decoder",
        )
    training = model.training
    model.eval()
    try:
        return _continued(model, tokens, steps, stop, temperature, cache)
    finally:
        model.train(training)


def _continued(
    model: Transformer,
    tokens: Tensor,
    steps: int,
    stop: int | None,
    temperature: float,
    cache: bool,
) -> Tensor:
    kept = memories(model) if cache and can_remember(model) else None
    new = tokens.shape[1]
    for _ in range(steps):
        if kept is None:
            logits = model(tokens).logits[:, -1]
        else:
            logits = model.continued(tokens, new, kept)[:, -1]
        chosen, new = _chosen(logits, temperature), 1
        if stop is not None:
            chosen = torch.where(tokens[:, -1] == stop, stop, chosen)
        tokens = torch.cat([tokens, chosen[:, None]], 1)
        if stop is not None and bool((chosen == stop).all()):
            break
    return tokens


def memories(model: Transformer) -> list[Memory]:
    """An empty memory for every layer of every loop."""
    return [{} for _ in range(model.config.layers * model.config.loops)]


def can_remember(model: Transformer) -> bool:
    """Whether earlier tokens stay as they are when a token is added; randomised positions move."""
    halts = model.config.halt is not None or model.stream_layout is not None
    return "randomised" not in model.config.encodings and not halts


def _chosen(logits: Tensor, temperature: float) -> Tensor:
    if temperature == 0:
        return logits.argmax(-1)
    return torch.multinomial((logits.float() / temperature).softmax(-1), 1)[:, 0]
