"""A compact layer: a compiled layer without its zeros, for inference.

A compiled model's matrices are mostly zero: a head that attends to one offset copies a few
dimensions from a neighbour, a head that attends to its own position clears old values, a rule reads
a few variables and writes one. Without the zeros, a layer is copies of rows, the few heads that
compare queries and keys, and a feed-forward between the dimensions that it reads and writes.
`compaction` derives this form from the weights.

The stream is stored with its dimensions first (d b l), as rows, ordered so that dimensions that are
written together are adjacent. Zeros and ones are the same as from the layer itself, to the last
bit: there is nothing to round.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from weft.models.config import TransformerConfig


@dataclass(frozen=True)
class Masks:
    """Masks, which depend on lengths only and are the same in every layer.

    Attributes:
        padding: b l, true for padding; None if there is none.
        scores: for each group of comparing heads, a bias (h l m+1 or b h l m+1) of the scores; the
            last column is the sink.
    """

    padding: Tensor | None
    scores: tuple[Tensor, ...]


@dataclass(frozen=True)
class CopyingHeads:
    """Heads that copy rows from a fixed offset to other rows, or add them to those."""

    offset: int
    sources: Tensor
    targets: slice
    replaces: bool

    def apply(self, stream: Tensor, padding: Tensor | None) -> None:
        """Copy; beyond the ends of a sequence everything is zero."""
        offset, length = self.offset, stream.shape[-1]
        source, target = stream.index_select(0, self.sources), stream[self.targets]
        if padding is not None:
            source.masked_fill_(padding, 0)
        ahead, behind = min(length, max(0, offset)), min(length, max(0, -offset))
        here, there = slice(behind, length - ahead), slice(ahead, length - behind)
        if not self.replaces:
            target[..., here] += source[..., there]
            return
        target[..., here] = source[..., there]
        target[..., :behind] = 0
        target[..., length - ahead :] = 0


@dataclass(frozen=True)
class ComparingHeads:
    """Heads that compare queries and keys, restricted to the rows that they read and write.

    Attributes:
        rows: the rows that queries and keys depend on.
        query: projection of those rows to the queries of all heads, h·k.
        key: the same for keys.
        values: the rows that are the values of all heads, h·v.
        wanted: which of the mixed values (h·v) are written.
        targets: the rows that they are written to.
        bias: h offsets, the biases by offset if there are any.
        sink: h, the scores of the sinks.
        replaces: whether the rows are replaced rather than added to.
        same_query: whether all positions have the same query, so that one output serves them all.
    """

    rows: Tensor
    query: Tensor
    key: Tensor
    values: Tensor
    wanted: Tensor
    targets: Tensor
    bias: Tensor | None
    sink: Tensor
    replaces: bool
    same_query: bool

    def apply(self, stream: Tensor, mask: Tensor) -> None:
        """Attend, and write the result into the stream."""
        heads, (_, batch, length) = len(self.sink), stream.shape
        read = stream.index_select(0, self.rows)
        queried = read[..., :1] if self.same_query else read
        query, key = _project(self.query, queried, heads), _project(self.key, read, heads)
        value = stream.index_select(0, self.values).view(heads, -1, batch, length)
        keys, values = pad(key.permute(2, 0, 1, 3), (0, 1)), value.permute(2, 0, 3, 1)
        weights = (query.permute(2, 0, 3, 1) @ keys).add_(mask).softmax(-1)
        mixed = weights[..., :length] @ values  # b h l v
        rows = mixed.permute(1, 3, 0, 2).reshape(-1, batch, queried.shape[-1])
        self._write(stream, rows.index_select(0, self.wanted))

    def _write(self, stream: Tensor, mixed: Tensor) -> None:
        rows = mixed.expand(-1, -1, stream.shape[-1])
        if self.replaces:
            stream.index_copy_(0, self.targets, rows)
        else:
            stream.index_add_(0, self.targets, rows)


def _project(matrix: Tensor, rows: Tensor, heads: int) -> Tensor:
    """The projection of rows (d b l) for each head (h w b l)."""
    _, batch, length = rows.shape
    projected = matrix @ rows.reshape(len(rows), batch * length)
    return projected.view(heads, -1, batch, length)


@dataclass(frozen=True)
class CompactLayer:
    """A layer without its zeros.

    Attributes:
        embedding: d tokens, in the order of the rows.
        positions: d positions, if the model has learned ones.
        places: the row of each dimension.
        reorder: the rows of the layer before, in the order of this one; None if that is the same.
        halt: the row of the halting dimension.
        read: the rows that the feed-forward reads.
        written: the rows that it writes.
    """

    config: TransformerConfig
    embedding: Tensor
    positions: Tensor | None
    places: Tensor
    reorder: Tensor | None
    halt: int | None
    copying: tuple[CopyingHeads, ...]
    comparing: tuple[ComparingHeads, ...]
    read: slice
    written: slice
    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    last_bias: Tensor | None

    def work(self, tokens: Tensor) -> int:
        """The approximate number of multiplications per layer for a batch (b l)."""
        positions, length = tokens.numel(), tokens.shape[-1]
        matrices = [*self.weights, *(m for h in self.comparing for m in (h.query, h.key))]
        compared = sum(len(h.query) + len(h.values) for h in self.comparing)
        return positions * (sum(matrix.numel() for matrix in matrices) + length * compared)

    def embed(self, tokens: Tensor) -> Tensor:
        """The stream before the first layer (d b l)."""
        stream = self.embedding.index_select(1, tokens.flatten()).view(-1, *tokens.shape)
        if self.positions is not None:
            stream += self.positions[:, None, : tokens.shape[1]]
        return stream

    def expand(self, stream: Tensor) -> Tensor:
        """Return rows as the model's stream (b l d)."""
        return stream.index_select(0, self.places).permute(1, 2, 0)

    def attend(self, stream: Tensor, masks: Masks) -> None:
        """Apply the heads to a stream (d b l), in place."""
        for copying in self.copying:
            copying.apply(stream, masks.padding)
        for comparing, scores in zip(self.comparing, masks.scores, strict=True):
            comparing.apply(stream, scores)

    def feed_forward(self, stream: Tensor) -> None:
        """Apply the feed-forward to a stream (d b l), in place."""
        flat = stream.view(len(stream), -1)
        hidden = flat[self.read]
        for weight, bias in zip(self.weights[:-1], self.biases, strict=True):
            hidden = torch.addmm(bias, weight, hidden)
            hidden = hidden.clamp_(0, 1) if self.config.activation == "clipped" else hidden.relu_()
        flat[self.written].addmm_(self.weights[-1], hidden)
        if self.last_bias is not None:
            flat[self.written].add_(self.last_bias)

    def masks(self, valid: Tensor) -> Masks:
        """Return the masks of a batch; `valid` (b l) is false for padding."""
        padding = None if bool(valid.all()) else ~valid
        masks = []
        for heads in self.comparing:
            scores = _score_mask(self.config, heads, valid.shape[1])
            if padding is not None:
                beyond = pad(padding, (0, 1))[:, None, None, :]
                scores = scores[None].masked_fill(beyond, float("-inf"))
            masks.append(scores)
        return Masks(padding, tuple(masks))


def _score_mask(config: TransformerConfig, heads: ComparingHeads, length: int) -> Tensor:
    """The bias of all scores without padding (h l m+1)."""
    place = torch.arange(length, device=heads.sink.device)
    offset = place[None, :] - place[: 1 if heads.same_query else length, None]
    scores = heads.sink.new_zeros(len(heads.sink), len(offset), length + 1)
    if heads.bias is not None and config.offsets is not None:
        window = config.offsets + 1
        scores[..., :length] += heads.bias[:, offset.clamp(-window, window) + window]
    if config.causal:
        scores[..., :length].masked_fill_(offset > 0, float("-inf"))
    scores[..., length] = heads.sink[:, None]
    return scores
