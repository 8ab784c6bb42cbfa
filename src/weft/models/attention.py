"""All heads of a layer at once.

    b  sequences   l  queries   m  keys   h  heads   d  stream   k  key   v  value dimensions

The score of head h from l to m is q_l · k_m, scaled, plus the bias of the model's positions;
compiled models also have a bias for every offset, and a sink, which has a score of its own and the
value zero: a head that selects nothing gives nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weft.models.attentions import mechanism_class
from weft.models.attentions.base import masked, weighed
from weft.models.attentions.softmax import with_sink
from weft.models.attentions.swan import Swan
from weft.models.bias import Bias
from weft.models.cache import Memory, remembered
from weft.models.canon import Canon
from weft.models.config import TransformerConfig
from weft.models.context import Scene
from weft.models.hooks import Tap
from weft.models.positions import Position


class Attention(nn.Module):
    """The heads of a layer; `number` is its place in the model."""

    def __init__(self, config: TransformerConfig, number: int = 0, cross: bool = False) -> None:
        super().__init__()
        self.config, self.cross = config, cross
        heads, width = config.heads, config.width
        self.query = nn.Parameter(torch.zeros(heads, width, config.key_width))
        self.key = nn.Parameter(torch.zeros(heads, width, config.key_width))
        self.value = nn.Parameter(torch.zeros(heads, width, config.value_width))
        self.output = nn.Parameter(torch.zeros(heads, config.value_width, width))
        if config.offsets is not None and not cross:
            self.bias = nn.Parameter(torch.zeros(heads, 2 * config.offsets + 3))
        if config.sink:
            self.sink = nn.Parameter(torch.zeros(heads))
        self.mixing = mechanism_class("softmax" if cross else config.attention)(config, number)
        inner = heads * (2 * config.key_width + config.value_width)
        self.canon = Canon("B", inner) if "B" in config.canon and not cross else None

    def forward(
        self,
        stream: Tensor,
        scene: Scene,
        position: Position | None = None,
        bias: Bias | None = None,
        memory: Memory | None = None,
        tap: Tap | None = None,
        source: Tensor | None = None,
    ) -> Tensor:
        """What the heads add to the stream (b l d).

        Args:
            stream: where queries come from, and keys and values unless there is a source.
            scene: where tokens stand.
            position: the model's encodings, where the layer is told positions.
            bias: what they add to scores.
            memory: what is kept of earlier tokens.
            tap: sees, and may change, what is computed on the way.
            source: where keys and values come from instead.
        """
        query, key, value = self._project(stream, scene, memory, source)
        if position is not None:
            query, key = position.turn(query, key, scene)
        query, key, extra = self.mixing.prepare(stream, query, key, scene, memory)
        if memory is not None and not self.cross:
            key = self.mixing.keep(key, extra, memory)
            value = remembered(memory, "values", value, 2)
        if tap is not None:
            query, key, value = (
                tap("attn.hook_q", query),
                tap("attn.hook_k", key),
                tap("attn.hook_v", value),
            )
        found = self._mix(query, key, value, extra, bias, scene, tap)
        if tap is not None:
            found = tap("attn.hook_z", found)
        flat = found.transpose(1, 2).flatten(2)
        return flat @ self.output.reshape(-1, self.config.width)

    def _project(
        self, stream: Tensor, scene: Scene, memory: Memory | None, source: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values (b h l k), by one product where they have one source."""
        config = self.config
        sizes = [config.key_width, config.key_width, config.value_width]
        if source is not None:
            return (
                self._one(stream, self.query),
                self._one(source, self.key),
                self._one(source, self.value),
            )
        whole = torch.cat([self.query, self.key, self.value], -1)  # h d k+k+v
        flat = stream @ whole.transpose(0, 1).flatten(1)
        if self.canon is not None:
            flat = self.canon(flat, scene, memory)
        projected = flat.view(*flat.shape[:2], config.heads, sum(sizes)).transpose(1, 2)
        query, key, value = torch.split(projected, sizes, -1)
        return query, key, value

    def _one(self, stream: Tensor, matrix: Tensor) -> Tensor:
        flat = stream @ matrix.transpose(0, 1).flatten(1)
        return flat.view(*flat.shape[:2], self.config.heads, -1).transpose(1, 2)

    def _mix(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        extra: object,
        bias: Bias | None,
        scene: Scene,
        tap: Tap | None,
    ) -> Tensor:
        if self.config.sink or hasattr(self, "bias"):
            weights = self._compiled_weights(query, key, bias, scene)
        else:
            if tap is None and scene.backend != "dense":
                found = self.mixing.fast(query, key, value, extra, bias, scene)
                if found is not None:
                    return found
            weights = self.mixing.weights(query, key, extra, bias, scene)
        if tap is not None:
            weights = tap("attn.hook_pattern", weights)
        return weights.to(value.dtype) @ value

    def _compiled_weights(
        self, query: Tensor, key: Tensor, bias: Bias | None, scene: Scene
    ) -> Tensor:
        """Softmax with a bias for every offset and a sink."""
        scores = self.mixing.scores(query, key, bias, scene)
        if hasattr(self, "bias"):
            scores = scores + self._relative_bias(scene).to(scores.dtype)
        seen = self.mixing.seen(scene)
        if not self.config.sink:
            return weighed(scores, seen)
        return with_sink(masked(scores, seen), self.sink)

    def _relative_bias(self, scene: Scene) -> Tensor:
        """h l m: the bias of each offset; offsets beyond the window share the outermost entries."""
        window = self.config.offsets
        assert window is not None
        offset = (-scene.order()).clamp(-window - 1, window + 1)
        return self.bias[:, offset + window + 1]

    @property
    def told(self) -> bool:
        """Whether the layer is told positions; SWAN's global layers are not."""
        return not (isinstance(self.mixing, Swan) and self.mixing.is_global)
