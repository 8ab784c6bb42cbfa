"""How heads weigh what they see: from queries, keys and values (b h l k) to what is found.

Every mechanism has the formula as it stands (`weights`, all pairs written out, in any precision)
and may have a quicker way to the same result (`fast`). While generating, `memory` keeps what later
tokens need of earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from weft.models.bias import Bias
from weft.models.cache import Memory, remembered
from weft.models.config import TransformerConfig
from weft.models.context import Scene


class Mixing(nn.Module):
    """A way to weigh values; `number` is the layer's place in the model."""

    strict = False
    """Whether a token does not see itself."""

    def __init__(self, config: TransformerConfig, number: int) -> None:
        super().__init__()
        self.config = config
        self.number = number

    @property
    def scale(self) -> float:
        """What scores are multiplied by."""
        return self.config.key_width**-0.5 if self.config.scaled else 1.0

    @property
    def window(self) -> int | None:
        """How far the layer sees; None for everything."""
        return None

    def prepare(
        self, stream: Tensor, query: Tensor, key: Tensor, scene: Scene, memory: Memory | None
    ) -> tuple[Tensor, Tensor, Any]:
        """Queries and keys as they are compared, and whatever else the weights depend on."""
        return query, key, None

    def keep(self, key: Tensor, extra: Any, memory: Memory) -> Tensor:
        """Remember the keys of new tokens; gives all keys so far."""
        return remembered(memory, "keys", key, 2)

    def weights(
        self, query: Tensor, key: Tensor, extra: Any, bias: Bias | None, scene: Scene
    ) -> Tensor:
        """The weight of every key for every query (b h l m), by the formula."""
        raise NotImplementedError

    def fast(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        extra: Any,
        bias: Bias | None,
        scene: Scene,
    ) -> Tensor | None:
        """What is found (b h l v) in a quicker way; None where there is none."""
        return None

    def scores(self, query: Tensor, key: Tensor, bias: Bias | None, scene: Scene) -> Tensor:
        """q · k, scaled and biased, in float32 at least (b h l m)."""
        wide = torch.float64 if query.dtype == torch.float64 else torch.float32
        scores = (query @ key.transpose(-1, -2)).to(wide) * self.scale
        added = None if bias is None else bias.dense(scene, wide)
        return scores if added is None else scores + added

    def seen(self, scene: Scene) -> Tensor | None:
        """Where a query may see a key."""
        return scene.visible(self.window, self.strict)

    def initialise(self) -> None:
        """Set what it learns to its first values."""


def weighed(
    scores: Tensor, seen: Tensor | None, normalise: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    """Weights from scores, by softmax where nothing else is given.

    A query that may see nothing, as padding can be, finds nothing: its weights are zero.
    """
    normalise = normalise or (lambda rows: rows.softmax(-1))
    if seen is None:
        return normalise(scores)
    lowest = torch.finfo(scores.dtype).min
    return normalise(scores.masked_fill(~seen, lowest)).masked_fill(~seen, 0.0)


def masked(scores: Tensor, seen: Tensor | None) -> Tensor:
    """Scores with minus infinity for what may not be seen."""
    return scores if seen is None else scores.masked_fill(~seen, float("-inf"))
