"""The feed-forward: affine maps with an activation between them.

clipped  min(max(x, 0), 1)      relu  max(x, 0)      gelu  x Phi(x)
swiglu   (silu(gate) * up), from one product that gives both
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from weft.models.cache import Memory
from weft.models.canon import Canon
from weft.models.config import TransformerConfig
from weft.models.context import Scene
from weft.models.hooks import Tap


class FeedForward(nn.Module):
    """What every position computes for itself."""

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

    def forward(
        self,
        stream: Tensor,
        scene: Scene | None = None,
        memory: Memory | None = None,
        tap: Tap | None = None,
    ) -> Tensor:
        """What it adds to the stream."""
        last = len(self.weights) - 1
        for place, weight in enumerate(self.weights):
            stream = nn.functional.linear(
                stream, weight, self.biases[place] if self.biases else None
            )
            if place == last:
                break
            if self.canon is not None and place == 0:
                assert scene is not None
                stream = self.canon(stream, scene, memory)
            suffix = "" if place == 0 else str(place)
            if tap is not None:
                stream = tap(f"mlp.hook_pre{suffix}", stream)
            stream = self._activate(stream)
            if tap is not None:
                stream = tap(f"mlp.hook_post{suffix}", stream)
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
