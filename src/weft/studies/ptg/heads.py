"""Which heads of a NaPE model do what: the model without its NoPE or without its ALiBi heads.

Zeroing the output projection of a head removes what it adds to the stream, exactly as replacing its
result (`hook_z`) by zeros would, and kernels that never store attention patterns stay usable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from weft.errors import WeftError
from weft.models.attention import Attention
from weft.models.positions.nape import sloped_heads

if TYPE_CHECKING:
    from weft.models.config import TransformerConfig
    from weft.models.factory import Model

SLOPED, PLAIN = "without ALiBi heads", "without NoPE heads"
"""What a model is evaluated without."""


def head_groups(config: TransformerConfig) -> dict[str, tuple[int, ...]]:
    """The heads to zero by name; none unless some heads have slopes and others do not."""
    if "nape" not in config.encodings:
        return {}
    sloped = sloped_heads(config.heads, config.slope_share)
    if not 0 < sloped < config.heads:
        return {}
    return {SLOPED: tuple(range(sloped)), PLAIN: tuple(range(sloped, config.heads))}


@contextmanager
def zeroed_heads(model: Model, heads: Sequence[int]) -> Iterator[None]:
    """Remove some heads from all layers of a model in this block.

    Args:
        model: a Transformer.
        heads: the numbers of the heads, from 0.

    Example:
        >>> import torch
        >>> from weft.models import Transformer, initialise, preset
        >>> from weft.studies.ptg.heads import head_groups, zeroed_heads
        >>> model = initialise(Transformer(preset("nano", vocabulary=16, position="nape"))).eval()
        >>> tokens = torch.tensor([[3, 1, 2]])
        >>> with zeroed_heads(model, head_groups(model.config)["without ALiBi heads"]):
        ...     without = model(tokens).logits
        >>> torch.equal(model(tokens).logits, without)
        False
    """
    layers = [module for module in model.modules() if isinstance(module, Attention)]
    if not layers:
        raise WeftError("this model has no attention heads", remedy="Give a Transformer")
    count = model.config.heads
    if any(not 0 <= head < count for head in heads):
        raise WeftError(f"the model has {count} heads", remedy=f"Choose from 0 to {count - 1}")
    chosen = torch.tensor(list(heads), dtype=torch.long, device=layers[0].output.device)
    kept = [layer.output.detach()[chosen].clone() for layer in layers]
    try:
        with torch.no_grad():
            for layer in layers:
                layer.output[chosen] = 0.0
        yield
    finally:
        with torch.no_grad():
            for layer, weights in zip(layers, kept, strict=True):
                layer.output[chosen] = weights
