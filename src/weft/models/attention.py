"""Multi-head attention.

    b  sequences   l  queries   m  keys   h  heads   d  stream   k  key   v  value dimensions

The score of head h from l to m is q_l · k_m, scaled, plus the bias of the positional encoding.
Compiled models also have a bias per offset and an attention sink, which has a score of its own and
the value zero: a head that selects nothing returns zero.

With `attention_biases`, queries, keys, values and the output have biases, as in GPT-2 and BART:

    q = x W_q + b_q    k = x W_k + b_k    v = x W_v + b_v    added = z W_o + b_o

They are initialised to zero and not decayed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from weft.models.attentions import mechanism_class
from weft.models.attentions.base import masked, masked_weights
from weft.models.attentions.softmax import softmax_with_sink
from weft.models.attentions.swan import Swan
from weft.models.bias import ScoreBias
from weft.models.cache import LayerCache, append_to_cache
from weft.models.canon import Canon
from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext
from weft.models.dropout import dropout
from weft.models.hooks import Hook
from weft.models.init import Initialisation, normal
from weft.models.positions import PositionalEncoding

if TYPE_CHECKING:
    from jaxtyping import Float


class Attention(nn.Module):
    """The heads of a layer; `number` is the layer's place in the model."""

    def __init__(self, config: TransformerConfig, number: int = 0, cross: bool = False) -> None:
        super().__init__()
        self.config, self.cross = config, cross
        heads, width = config.heads, config.width
        self.query = nn.Parameter(torch.zeros(heads, width, config.key_width))
        self.key = nn.Parameter(torch.zeros(heads, width, config.key_width))
        self.value = nn.Parameter(torch.zeros(heads, width, config.value_width))
        self.output = nn.Parameter(torch.zeros(heads, config.value_width, width))
        if config.attention_biases:  # vectors, which optimisers do not decay
            self.query_bias = nn.Parameter(torch.zeros(heads * config.key_width))
            self.key_bias = nn.Parameter(torch.zeros(heads * config.key_width))
            self.value_bias = nn.Parameter(torch.zeros(heads * config.value_width))
            self.output_bias = nn.Parameter(torch.zeros(width))
        if config.offsets is not None and not cross:
            self.bias = nn.Parameter(torch.zeros(heads, 2 * config.offsets + 3))
        if config.sink:
            self.sink = nn.Parameter(torch.zeros(heads))
        self.mixing = mechanism_class("softmax" if cross else config.attention)(config, number)
        inner = heads * (2 * config.key_width + config.value_width)
        self.canon = Canon("B", inner) if "B" in config.canon and not cross else None

    def init_weights(self, init: Initialisation) -> None:
        """Draw the projections; the mechanism draws its own weights."""
        for matrix in (self.query, self.key, self.value):
            normal(matrix, init.std(matrix.shape[1]))
        heads, width, _ = self.output.shape
        normal(self.output, init.residual_std(heads * width))
        if self.config.attention_biases:
            for bias in (self.query_bias, self.key_bias, self.value_bias, self.output_bias):
                nn.init.zeros_(bias)

    def forward(
        self,
        stream: Float[Tensor, "batch length width"],
        context: AttentionContext,
        position: PositionalEncoding | None = None,
        bias: ScoreBias | None = None,
        cache: LayerCache | None = None,
        hook: Hook | None = None,
        source: Float[Tensor, "batch source_length width"] | None = None,
    ) -> Float[Tensor, "batch length width"]:
        """Return what the heads add to the stream.

        Args:
            stream: the source of queries, and of keys and values unless `source` is given.
            context: positions and masks.
            position: the model's positional encodings, if the layer uses them.
            bias: what they add to scores.
            cache: what is kept of earlier tokens.
            hook: called with activations.
            source: the source of keys and values, for cross-attention.
        """
        query, key, value = self._project(stream, context, cache, source)
        if position is not None:
            query, key = position.rotate(query, key, context)
        query, key, extra = self.mixing.prepare(stream, query, key, context, cache)
        if cache is not None and not self.cross:
            key = self.mixing.cache_keys(key, extra, cache)
            value = append_to_cache(cache, "values", value, 2)
        if hook is not None:
            query = hook("attn.hook_q", query)
            key = hook("attn.hook_k", key)
            value = hook("attn.hook_v", value)
        mixed = self._mix(query, key, value, extra, bias, context, hook)
        if hook is not None:
            mixed = hook("attn.hook_z", mixed)
        flat = mixed.transpose(1, 2).flatten(2)
        added = flat @ self.output.reshape(-1, self.config.width)
        return added + self.output_bias if self.config.attention_biases else added

    def _project(
        self,
        stream: Tensor,
        context: AttentionContext,
        cache: LayerCache | None,
        source: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values (b h l k), by one product if they have one source."""
        config = self.config
        sizes = [config.key_width, config.key_width, config.value_width]
        if source is not None:
            return (
                self._project_by("query", stream),
                self._project_by("key", source),
                self._project_by("value", source),
            )
        matrices = torch.cat([self.query, self.key, self.value], -1)  # h d k+k+v
        flat = stream @ matrices.transpose(0, 1).flatten(1)
        if config.attention_biases:
            biases = (self.query_bias, self.key_bias, self.value_bias)
            flat = flat + torch.cat([bias.view(config.heads, -1) for bias in biases], -1).flatten()
        if self.canon is not None:
            flat = self.canon(flat, context, cache)
        projected = flat.view(*flat.shape[:2], config.heads, sum(sizes)).transpose(1, 2)
        query, key, value = torch.split(projected, sizes, -1)
        return query, key, value

    def _project_by(self, name: str, stream: Tensor) -> Tensor:
        matrix: Tensor = getattr(self, name)
        flat = stream @ matrix.transpose(0, 1).flatten(1)
        if self.config.attention_biases:
            flat = flat + getattr(self, f"{name}_bias")
        return flat.view(*flat.shape[:2], self.config.heads, -1).transpose(1, 2)

    def _mix(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        extra: Any,
        bias: ScoreBias | None,
        context: AttentionContext,
        hook: Hook | None,
    ) -> Tensor:
        """The weighted mean of values (b h l v)."""
        if self.config.sink or hasattr(self, "bias"):
            weights = self._compiled_weights(query, key, bias, context, hook)
        else:
            dropped = self.training and self.config.attention_dropout
            if hook is None and context.backend != "dense" and not dropped:
                mixed = self.mixing.fast(query, key, value, extra, bias, context)
                if mixed is not None:
                    return mixed
            weights = self.mixing.weights(query, key, extra, bias, context)
        weights = dropout(weights, self.config.attention_dropout, self.training)
        if hook is not None:
            weights = hook("attn.hook_pattern", weights)
        return weights.to(value.dtype) @ value

    def _compiled_weights(
        self,
        query: Tensor,
        key: Tensor,
        bias: ScoreBias | None,
        context: AttentionContext,
        hook: Hook | None,
    ) -> Tensor:
        """Softmax with a bias per offset and a sink."""
        scores = self.mixing.scores(query, key, bias, context)
        if hasattr(self, "bias"):
            scores = scores + self._offset_bias(context).to(scores.dtype)
        visible = self.mixing.visible(context)
        if hook is not None:
            scores = hook("attn.hook_attn_scores", masked(scores, visible))
        if not self.config.sink:
            return masked_weights(scores, visible)
        return softmax_with_sink(masked(scores, visible), self.sink)

    def _offset_bias(self, context: AttentionContext) -> Float[Tensor, "heads queries keys"]:
        """The bias of each offset; offsets beyond the window share the outermost entries."""
        window = self.config.offsets
        assert window is not None
        offset = (-context.token_distances()).clamp(-window - 1, window + 1)
        return self.bias[:, offset + window + 1]

    @property
    def uses_positions(self) -> bool:
        """Whether the layer uses positional encodings; SWAN's global layers do not."""
        return not (isinstance(self.mixing, Swan) and self.mixing.is_global)
