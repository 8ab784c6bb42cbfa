"""A layer: attention, then the feed-forward, each added to the residual stream.

    pre    x + f(norm(x)), and one more norm after the last layer
    post   norm(x + f(x))
    none   x + f(x)

f is attention, then the feed-forward; dropout acts on f's output. `norms` has the norms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from weft.models.attention import Attention
from weft.models.bias import ScoreBias
from weft.models.cache import LayerCache
from weft.models.canon import Canon
from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext
from weft.models.dropout import dropout
from weft.models.feed_forward import FeedForward
from weft.models.hooks import Hook, with_prefix
from weft.models.norms import norm_of
from weft.models.positions import PositionalEncoding

if TYPE_CHECKING:
    from jaxtyping import Float


class Layer(nn.Module):
    """Attention and feed-forward; with cross-attention between them in an encoder-decoder."""

    def __init__(self, config: TransformerConfig, number: int = 0, cross: bool = False) -> None:
        super().__init__()
        self.config = config
        self.attention = Attention(config, number)
        self.cross = Attention(config, number, cross=True) if cross else None
        self.feed_forward = FeedForward(config)
        normed = config.norm != "none"
        self.norms = nn.ModuleList(norm_of(config) for _ in range((2 + cross) * normed))
        self.canons = nn.ModuleDict(
            {point: Canon(point, config.width) for point in "AC" if point in config.canon}
        )

    def forward(
        self,
        stream: Float[Tensor, "batch length width"],
        context: AttentionContext,
        position: PositionalEncoding | None = None,
        bias: ScoreBias | None = None,
        cache: LayerCache | None = None,
        hook: Hook | None = None,
        source: Float[Tensor, "batch source_length width"] | None = None,
        source_context: AttentionContext | None = None,
    ) -> Float[Tensor, "batch length width"]:
        """Return the stream after the layer."""
        if not self.attention.uses_positions:
            position = bias = None
        if hook is not None:
            stream = hook("hook_resid_pre", stream)
        normed = self._normed(stream, 0, "A", context, cache)
        added = self.attention(normed, context, position, bias, cache, hook)
        stream = self._add(stream, added, 0, "hook_attn_out", "hook_resid_mid", hook)
        if self.cross is not None and source is not None and source_context is not None:
            normed = self._normed(stream, 2, "", context, cache)
            cross_hook = with_prefix(hook, "cross_")
            added = self.cross(normed, source_context, hook=cross_hook, source=source)
            stream = self._add(stream, added, 2, "hook_cross_out", "hook_resid_cross", hook)
        normed = self._normed(stream, 1, "C", context, cache)
        added = self.feed_forward(normed, context, cache, hook)
        return self._add(stream, added, 1, "hook_mlp_out", "hook_resid_post", hook)

    def _normed(
        self,
        stream: Tensor,
        number: int,
        point: str,
        context: AttentionContext,
        cache: LayerCache | None,
    ) -> Tensor:
        """What attention or feed-forward reads: the stream after pre-norm and Canon."""
        if self.config.norm == "pre":
            stream = self.norms[number](stream)
        return self.canons[point](stream, context, cache) if point in self.canons else stream

    def _add(
        self, stream: Tensor, added: Tensor, number: int, out: str, after: str, hook: Hook | None
    ) -> Tensor:
        added = dropout(added, self.config.dropout, self.training)
        if hook is not None:
            added = hook(out, added)
        stream = stream + added
        if self.config.norm == "post":
            stream = self.norms[number](stream)
        return stream if hook is None else hook(after, stream)
