"""The one Transformer: compiled and trained models are the same class.

A layer is attention and a feed-forward, each added to the stream; there is no norm here. The
position of every tensor's axes is given by letters:

    b  sequences   l  positions (queries)   m  positions (keys)   h  heads
    d  stream      k  key dimensions        v  value dimensions

Attention of head h from l to m scores q_l · k_m + bias_h[m - l]; every head may also attend to a
sink, which has a score of its own and the value zero: a head that selects nothing gives nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from weft.errors import WeftError
from weft.models.compact import CompactLayer
from weft.models.compacting import compact
from weft.models.config import TransformerConfig
from weft.models.layout import Layout
from weft.models.reading import read_stream
from weft.models.running import CompactRunning, Running, Watcher

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Output:
    """What a forward pass gives.

    Attributes:
        logits: b l outputs.
        stream: b l d, the last stream.
        layers: b, how many layers each sequence ran.
        halted: b, whether each sequence has halted.
    """

    logits: Tensor
    stream: Tensor
    layers: Tensor
    halted: Tensor


class Attention(nn.Module):
    """All heads of a layer at once."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        heads, width = config.heads, config.width
        self.query = nn.Parameter(torch.zeros(heads, width, config.key_width))
        self.key = nn.Parameter(torch.zeros(heads, width, config.key_width))
        self.value = nn.Parameter(torch.zeros(heads, width, config.value_width))
        self.output = nn.Parameter(torch.zeros(heads, config.value_width, width))
        if config.offsets is not None:
            self.bias = nn.Parameter(torch.zeros(heads, 2 * config.offsets + 3))
        if config.sink:
            self.sink = nn.Parameter(torch.zeros(heads))

    def forward(self, stream: Tensor, valid: Tensor) -> Tensor:
        """What the heads add to the stream; `valid` (b l) is false for padding."""
        config, (batch, length, _) = self.config, stream.shape
        sizes = [config.key_width, config.key_width, config.value_width]
        projection = torch.cat([self.query, self.key, self.value], -1)  # h d k+k+v
        flat = projection.transpose(0, 1).reshape(config.width, -1)
        projected = (stream @ flat).view(batch, length, config.heads, sum(sizes)).transpose(1, 2)
        query, key, value = torch.split(projected, sizes, -1)
        scores = query @ key.transpose(-1, -2)
        if config.offsets is not None:
            scores = scores + self._relative_bias(length)
        scores = scores.masked_fill(~valid[:, None, None, :], float("-inf"))
        if config.causal:
            later = torch.ones(length, length, dtype=torch.bool, device=stream.device).triu(1)
            scores = scores.masked_fill(later, float("-inf"))
        found = (self._weights(scores) @ value).transpose(1, 2).reshape(batch, length, -1)
        added: Tensor = found @ self.output.reshape(-1, config.width)
        return added

    def _weights(self, scores: Tensor) -> Tensor:
        """Softmax over the keys and the sink, computed in at least float32."""
        if not self.config.sink:
            return scores.softmax(-1)
        wide = scores.float() if scores.dtype == torch.bfloat16 else scores
        sink = self.sink.to(wide.dtype)[None, :, None, None]
        most = torch.maximum(wide.amax(-1, keepdim=True), sink)
        powers = (wide - most).exp()
        total = powers.sum(-1, keepdim=True) + (sink - most).exp()
        return (powers / total).to(scores.dtype)

    def _relative_bias(self, length: int) -> Tensor:
        """h l m: the bias of each offset; offsets beyond the window share the outermost entries."""
        window = self.config.offsets
        assert window is not None
        place = torch.arange(length, device=self.bias.device)
        offset = (place[None, :] - place[:, None]).clamp(-window - 1, window + 1)
        return self.bias[:, offset + window + 1]


class FeedForward(nn.Module):
    """Affine maps with an activation between them."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.activation = config.activation
        sizes = [config.width, *config.hidden, config.width]
        self.weights = nn.ParameterList(
            nn.Parameter(torch.zeros(after, before)) for before, after in pairwise(sizes)
        )
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(after)) for after in sizes[1:])

    def forward(self, stream: Tensor) -> Tensor:
        """What it adds to the stream."""
        last = len(self.weights) - 1
        for place, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            stream = nn.functional.linear(stream, weight, bias)
            if place < last:
                stream = stream.clamp(0, 1) if self.activation == "clipped" else stream.relu()
        return stream


class Layer(nn.Module):
    """Attention, then the feed-forward, each added to the stream."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.feed_forward = FeedForward(config)


class Transformer(nn.Module):
    """A Transformer with dynamic halting, from one config.

    Example:
        >>> import torch
        >>> from weft.models import Transformer, TransformerConfig
        >>> config = TransformerConfig(
        ...     vocabulary=3, outputs=2, width=8, heads=1, key_width=4, value_width=4, hidden=(16,))
        >>> model = Transformer(config)
        >>> model(torch.tensor([[0, 1, 2]]), layers=2).logits.shape
        torch.Size([1, 3, 2])
    """

    def __init__(self, config: TransformerConfig, layout: Layout | None = None) -> None:
        super().__init__()
        self.config = config
        self.stream_layout = layout
        self.vocabulary: Any = None
        self._compacted: tuple[Any, CompactLayer | None] | None = None
        self.embedding = nn.Parameter(torch.zeros(config.vocabulary, config.width))
        if config.positions is not None:
            self.position_embedding = nn.Parameter(torch.zeros(config.positions, config.width))
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.unembedding = nn.Parameter(torch.zeros(config.outputs, config.width))
        self.to(DTYPES[config.dtype])

    @property
    def layout(self) -> Layout:
        """Which dimensions hold which variable; only a compiled model has one."""
        if self.stream_layout is None:
            raise WeftError(
                "this model's stream has no layout", remedy="Only compiled models have one"
            )
        return self.stream_layout

    def read(self, stream: Tensor) -> dict[str, list[Any]]:
        """The variables of a compiled model's stream (... d) as nested lists; None: undefined."""
        return read_stream(stream, self.layout)

    def embed(self, tokens: Tensor) -> Tensor:
        """The first stream (b l d)."""
        stream = self.embedding[tokens]
        if self.config.positions is not None:
            stream = stream + self.position_embedding[: tokens.shape[1]]
        return stream

    def _fits(self, length: int) -> None:
        if self.config.positions is not None and length > self.config.positions:
            raise WeftError(
                f"the input has {length} tokens, the model {self.config.positions} positions",
                remedy="Give a shorter input, or compile with more positions",
            )

    def forward(
        self,
        tokens: Tensor,
        lengths: Tensor | None = None,
        *,
        layers: int | None = None,
        watch: Watcher | None = None,
        plain: bool = False,
    ) -> Output:
        """Run a batch (b l) of token numbers, padded to one length.

        Args:
            tokens: the inputs; what lies beyond a sequence's length is not looked at.
            lengths: the length of each sequence (b); all of them full where it is left out.
            layers: run this many, unless a sequence halts before.
            watch: called with every stream on the way.
            plain: multiply all matrices in full, where zeros could be left out.
        """
        count, longest = tokens.shape
        if lengths is None:
            lengths = torch.full((count,), longest, device=tokens.device)
        small = None if plain or not tokens.numel() else self.compacted()
        self._fits(longest)
        if small is None:
            state = Running(self.config, self.embed(tokens), lengths)
        else:
            state = CompactRunning(small, tokens, lengths)
        limit = self._limit(layers)
        number = 0
        state.finish(number)
        while state.rows.numel() and number < limit:
            layer = self.layers[0 if self.config.shared else number]
            number += 1
            state.step(layer, number, watch)
            state.finish(number)
        state.stop(number)
        stream = state.finals()
        logits = nn.functional.linear(stream, self.unembedding)
        return Output(logits, stream, state.ran, state.halted)

    def compacted(self) -> CompactLayer | None:
        """The shared layer with its zeros left out, where that is possible and nothing is learned.

        It is made once, and again after a weight was changed.
        """
        if not self.config.shared:
            return None
        weights = list(self.parameters())
        if torch.is_grad_enabled() and any(weight.requires_grad for weight in weights):
            return None
        now = tuple((weight.data_ptr(), weight._version) for weight in weights)
        if self._compacted is None or self._compacted[0] != now:
            self._compacted = now, compact(self)
        return self._compacted[1]

    def _limit(self, layers: int | None) -> int:
        if not self.config.shared:
            return self.config.layers if layers is None else min(layers, self.config.layers)
        return self.config.max_layers if layers is None else layers
