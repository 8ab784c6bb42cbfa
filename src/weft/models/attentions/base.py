"""The interface of an attention mechanism: from queries, keys and values to weighted means.

Every mechanism has a dense reference in any precision (`weights`, all pairs written out) and may
have a fast path to the same result (`fast`). While generating, `cache` keeps what later tokens need
of earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from weft.models.bias import ScoreBias
from weft.models.cache import LayerCache, append_to_cache
from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext
from weft.models.init import Initialisation

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    Queries = Float[Tensor, "batch heads queries key_width"]
    Keys = Float[Tensor, "batch heads keys key_width"]
    Values = Float[Tensor, "batch heads keys value_width"]
    Weights = Float[Tensor, "batch heads queries keys"]
    Mixed = Float[Tensor, "batch heads queries value_width"]


class AttentionMechanism(nn.Module):
    """How a layer computes attention weights; `number` is the layer's place in the model."""

    strict = False
    """Whether a token does not attend to itself."""

    def __init__(self, config: TransformerConfig, number: int) -> None:
        super().__init__()
        self.config = config
        self.number = number

    @property
    def scale(self) -> float:
        """The factor of scores."""
        return self.config.key_width**-0.5 if self.config.scaled else 1.0

    @property
    def window(self) -> int | None:
        """How many tokens the layer attends to; None for all."""
        return None

    def init_weights(self, init: Initialisation) -> None:
        """Initialise the mechanism's own parameters."""

    def prepare(
        self,
        stream: Float[Tensor, "batch queries width"],
        query: Queries,
        key: Queries,
        context: AttentionContext,
        cache: LayerCache | None,
    ) -> tuple[Queries, Queries, Any]:
        """Return queries and keys as they are compared, and anything else weights depend on."""
        return query, key, None

    def cache_keys(self, key: Queries, extra: Any, cache: LayerCache) -> Keys:
        """Add the keys of new tokens to the cache and return all keys so far."""
        return append_to_cache(cache, "keys", key, 2)

    def weights(
        self,
        query: Queries,
        key: Keys,
        extra: Any,
        bias: ScoreBias | None,
        context: AttentionContext,
    ) -> Weights:
        """The attention weights of all pairs, by the formula."""
        raise NotImplementedError

    def fast(
        self,
        query: Queries,
        key: Keys,
        value: Values,
        extra: Any,
        bias: ScoreBias | None,
        context: AttentionContext,
    ) -> Mixed | None:
        """The weighted means of values by a faster implementation; None if none applies."""
        return None

    def scores(
        self, query: Queries, key: Keys, bias: ScoreBias | None, context: AttentionContext
    ) -> Weights:
        """q · k, scaled and biased, in float32 at least."""
        wide = wide_dtype(query)
        scores = (query @ key.transpose(-1, -2)).to(wide) * self.scale
        added = None if bias is None else bias.dense(context, wide)
        return scores if added is None else scores + added

    def visible(self, context: AttentionContext) -> Bool[Tensor, "*batch queries keys"] | None:
        """The attention mask of this layer."""
        return context.visible(self.window, self.strict)


def wide_dtype(tensor: Tensor) -> torch.dtype:
    """float64 for float64 tensors, float32 for all others."""
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def masked_weights(
    scores: Weights,
    visible: Bool[Tensor, "*batch queries keys"] | None,
    normalise: Callable[[Tensor], Tensor] | None = None,
) -> Weights:
    """Attention weights from scores, by softmax unless `normalise` is given.

    A query that may attend to nothing, as padding can be, has weights of zero.
    """
    normalise = normalise or (lambda rows: rows.softmax(-1))
    if visible is None:
        return normalise(scores)
    lowest = torch.finfo(scores.dtype).min
    return normalise(scores.masked_fill(~visible, lowest)).masked_fill(~visible, 0.0)


def masked(scores: Weights, visible: Bool[Tensor, "*batch queries keys"] | None) -> Weights:
    """Scores with minus infinity for masked pairs."""
    return scores if visible is None else scores.masked_fill(~visible, float("-inf"))
