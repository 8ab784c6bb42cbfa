"""Autoregressive generation, with a key-value cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from weft.errors import WeftError
from weft.models.cache import empty_kv_cache, supports_kv_cache
from weft.models.factory import Model

if TYPE_CHECKING:
    from jaxtyping import Float, Int


@torch.no_grad()
def generate(
    model: Model,
    tokens: Int[Tensor, "batch length"],
    steps: int,
    *,
    stop: int | None = None,
    temperature: float = 0.0,
    cache: bool = True,
) -> Int[Tensor, "batch longer"]:
    """Extend a batch of prompts by up to `steps` tokens, and return prompts and new tokens.

    Args:
        model: a decoder.
        tokens: the prompts, all of one length.
        steps: how many tokens to add.
        stop: the token that ends a sequence; it is then repeated.
        temperature: 0 for greedy decoding; 1 samples from the model's distribution.
        cache: whether to keep keys and values of earlier tokens, if the model allows it.

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
    kv_cache = empty_kv_cache(model) if cache and supports_kv_cache(model) else None
    new = tokens.shape[1]
    with model.evaluating():
        for _ in range(steps):
            if kv_cache is None:
                logits = model(tokens).logits[:, -1]
            else:
                logits = model.decode(tokens, new, kv_cache)[:, -1]
            chosen, new = _choose(logits, temperature), 1
            if stop is not None:
                chosen = torch.where(tokens[:, -1] == stop, stop, chosen)
            tokens = torch.cat([tokens, chosen[:, None]], 1)
            if stop is not None and bool((chosen == stop).all()):
                break
    return tokens


def _choose(logits: Float[Tensor, "batch outputs"], temperature: float) -> Int[Tensor, " batch"]:
    if temperature == 0:
        return logits.argmax(-1)
    return torch.multinomial((logits.float() / temperature).softmax(-1), 1)[:, 0]
