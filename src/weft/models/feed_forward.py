"""The feed-forward network: affine maps with an activation between them.

clipped  min(max(x, 0), 1)      relu  max(x, 0)      gelu  x Phi(x)
swiglu   silu(gate) * up, both halves from one matrix product
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from weft.models.cache import LayerCache
from weft.models.canon import Canon
from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext
from weft.models.hooks import Hook
from weft.models.init import Initialisation, normal

if TYPE_CHECKING:
    from jaxtyping import Float


class FeedForward(nn.Module):
    """The feed-forward of a layer, applied to every position by itself."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.activation = config.activation
        gated = config.activation == "swiglu"
        sizes = [config.width, *config.hidden, config.width]
        self.weights = nn.ParameterList(
            nn.Parameter(torch.zeros(after * (2 if gated and place == 0 else 1), before))
            for place, (before, after) in enumerate(pairwise(sizes))
        )
        self.biases = nn.ParameterList(
            nn.Parameter(torch.zeros(len(weight))) for weight in self.weights if config.biases
        )
        self.canon = Canon("D", len(self.weights[0])) if "D" in config.canon else None

    def init_weights(self, init: Initialisation) -> None:
        """Draw the matrices; biases start at zero."""
        *first, last = self.weights
        for weight in first:
            normal(weight, init.std(weight.shape[1]))
        normal(last, init.residual_std(last.shape[1]))
        for bias in self.biases:
            nn.init.zeros_(bias)

    def forward(
        self,
        stream: Float[Tensor, "*batch width"],
        context: AttentionContext | None = None,
        cache: LayerCache | None = None,
        hook: Hook | None = None,
    ) -> Float[Tensor, "*batch width"]:
        """Return what the feed-forward adds to the stream."""
        last = len(self.weights) - 1
        for place, weight in enumerate(self.weights):
            stream = nn.functional.linear(
                stream, weight, self.biases[place] if self.biases else None
            )
            if place == last:
                break
            if self.canon is not None and place == 0:
                assert context is not None
                stream = self.canon(stream, context, cache)
            suffix = "" if place == 0 else str(place)
            if hook is not None:
                stream = hook(f"mlp.hook_pre{suffix}", stream)
            stream = self._activate(stream)
            if hook is not None:
                stream = hook(f"mlp.hook_post{suffix}", stream)
        return stream

    def _activate(self, x: Tensor) -> Tensor:
        if self.activation == "clipped":
            return x.clamp(0, 1)
        if self.activation == "relu":
            return x.relu()
        if self.activation == "gelu":
            return nn.functional.gelu(x)
        gate, up = x.chunk(2, -1)
        return nn.functional.silu(gate) * up
