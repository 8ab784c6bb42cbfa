"""Key-value cache: what each layer keeps of earlier tokens while a model generates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from weft.models.factory import Model

LayerCache = dict[str, Any]
"""What one layer keeps, by name: keys, values, and whatever else its attention needs."""

KVCache = list[LayerCache]
"""One `LayerCache` per layer, loops counted; empty before the first token."""


def empty_kv_cache(model: Model) -> KVCache:
    """Return a cache for a new batch."""
    return [{} for _ in range(model.config.layers * model.config.loops)]


def supports_kv_cache(model: Model) -> bool:
    """Whether the streams of earlier tokens stay the same when a token is appended.

    Randomised positions move, and models that halt run different numbers of layers.
    """
    halts = model.config.halt is not None or model.stream_layout is not None
    return "randomised" not in model.config.encodings and not halts


def append_to_cache(cache: LayerCache | None, name: str, new: Tensor, dim: int) -> Tensor:
    """Append a tensor to what a layer has cached under a name, and return all of it."""
    if cache is None:
        return new
    before = cache.get(name)
    cache[name] = new if before is None else torch.cat([before, new], dim)
    joined: Tensor = cache[name]
    return joined
