"""A layer: attention, then the feed-forward, each added to the stream.

    pre    x + f(norm(x)), and one more norm after the last layer
    post   norm(x + f(x))
    none   x + f(x)

f is attention, then the feed-forward. The norm is x / rms(x) * g, with a learned gain g for every
dimension and neither mean nor bias.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weft.models.attention import Attention
from weft.models.bias import Bias
from weft.models.cache import Memory
from weft.models.canon import Canon
from weft.models.config import TransformerConfig
from weft.models.context import Scene
from weft.models.feed_forward import FeedForward
from weft.models.hooks import Tap, within
from weft.models.positions import Position


class Norm(nn.Module):
    """x / rms(x) * g, computed in float32 at least."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, stream: Tensor) -> Tensor:
        """The stream with a root mean square of the gain at every position."""
        return nn.functional.rms_norm(stream, self.gain.shape, self.gain.to(stream.dtype), 1e-6)


class Layer(nn.Module):
    """Attention and feed-forward, with a norm before, after, or none."""

    def __init__(self, config: TransformerConfig, number: int = 0, cross: bool = False) -> None:
        super().__init__()
        self.config = config
        self.attention = Attention(config, number)
        self.cross = Attention(config, number, cross=True) if cross else None
        self.feed_forward = FeedForward(config)
        normed = config.norm != "none"
        self.norms = nn.ModuleList(Norm(config.width) for _ in range((2 + cross) * normed))
        self.canons = nn.ModuleDict(
            {place: Canon(place, config.width) for place in "AC" if place in config.canon}
        )

    def forward(
        self,
        stream: Tensor,
        scene: Scene,
        position: Position | None = None,
        bias: Bias | None = None,
        memory: Memory | None = None,
        tap: Tap | None = None,
        source: Tensor | None = None,
        source_scene: Scene | None = None,
    ) -> Tensor:
        """The stream (b l d) after the layer."""
        if not self.attention.told:
            position = bias = None
        if tap is not None:
            stream = tap("hook_resid_pre", stream)
        told = self._before(stream, 0, "A", scene, memory)
        added = self.attention(told, scene, position, bias, memory, tap)
        stream = self._add(stream, added, 0, "hook_attn_out", "hook_resid_mid", tap)
        if self.cross is not None and source is not None and source_scene is not None:
            told = self._before(stream, 2, "", scene, memory)
            seen = within(tap, "cross_")
            added = self.cross(told, source_scene, tap=seen, source=source)
            stream = self._add(stream, added, 2, "hook_cross_out", "hook_resid_cross", tap)
        told = self._before(stream, 1, "C", scene, memory)
        added = self.feed_forward(told, scene, memory, tap)
        return self._add(stream, added, 1, "hook_mlp_out", "hook_resid_post", tap)

    def _before(
        self, stream: Tensor, number: int, place: str, scene: Scene, memory: Memory | None
    ) -> Tensor:
        if self.config.norm == "pre":
            stream = self.norms[number](stream)
        return self.canons[place](stream, scene, memory) if place in self.canons else stream

    def _add(
        self, stream: Tensor, added: Tensor, number: int, out: str, after: str, tap: Tap | None
    ) -> Tensor:
        if tap is not None:
            added = tap(out, added)
        stream = stream + added
        if self.config.norm == "post":
            stream = self.norms[number](stream)
        return stream if tap is None else tap(after, stream)
