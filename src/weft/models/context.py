"""What all layers of a forward pass share: where tokens stand, and who may see whom.

b  sequences   l  queries   m  keys; the last query stands where the last key does
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Scene:
    """Where the tokens of a batch stand.

    Attributes:
        positions: l, or b l where sequences differ, of the queries: within their documents, and
            drawn at random where the model says so.
        key_positions: the same of the keys; more than queries while generating.
        counted: whether positions grow by one from token to token, within documents.
        documents: b m, which document each key belongs to; None where all is one.
        valid: b m, false for padding; None where there is none.
        causal: whether a query sees only keys up to its own place.
        offset: by how much positions were moved, where they were.
        blocks: which blocks of pairs there are to compute, by window, for FlexAttention.
        backend: `auto` for the fastest that applies, `dense` for the formula as it stands.
    """

    positions: Tensor
    key_positions: Tensor
    counted: bool = False
    documents: Tensor | None = None
    valid: Tensor | None = None
    causal: bool = False
    offset: Tensor | None = None
    blocks: dict[int | None, Any] = field(default_factory=dict)
    backend: str = "auto"

    @property
    def queries(self) -> int:
        """How many queries there are."""
        return self.positions.shape[-1]

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return self.key_positions.shape[-1]

    @property
    def is_plain(self) -> bool:
        """Whether everybody sees everything, or everything to the left."""
        return self.documents is None and self.valid is None

    def distances(self) -> Tensor:
        """l m, or b l m: how far to the left of each query each key stands."""
        return self.positions[..., :, None] - self.key_positions[..., None, :]

    def order(self) -> Tensor:
        """l m: how many tokens to the left of each query each key is, whatever positions say."""
        device = self.positions.device
        keys = torch.arange(self.keys, device=device)
        return keys[self.keys - self.queries :, None] - keys[None, :]

    def visible(self, window: int | None = None, strict: bool = False) -> Tensor | None:
        """b 1 l m or l m, true where a query may see a key; None where it may see all.

        Args:
            window: only the last so many tokens, itself included.
            strict: not itself.
        """
        seen: Tensor | None = None
        if self.causal or window is not None or strict:
            order = self.order()
            seen = order >= int(strict) if self.causal else torch.ones_like(order, dtype=torch.bool)
            if window is not None:
                seen = seen & (order.abs() < window)
        if self.documents is not None:
            mine = self.documents[:, self.keys - self.queries :]
            seen = _both(seen, (mine[:, None, :, None] == self.documents[:, None, None, :]))
        if self.valid is not None:
            seen = _both(seen, self.valid[:, None, None, :])
        return seen


def _both(one: Tensor | None, other: Tensor) -> Tensor:
    return other if one is None else one & other
