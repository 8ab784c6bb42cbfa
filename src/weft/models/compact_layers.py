"""A layer with its zeros left out, for inference.

A compiled model's matrices mostly select: a head that looks at one offset copies a few dimensions
from a neighbour, a head that attends to itself takes old values away, a rule reads a few variables
and writes one. What is left without the zeros is copies of rows, the few heads that truly compare,
and a feed-forward between the dimensions that it reads and writes. `compacting` finds this form.

The stream is kept with its dimensions first (d b l), as rows, in an order in which whatever is
written together lies together. Zeros and ones come out as from the layer itself, to the last bit:
there is nothing to round.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from weft.models.config import TransformerConfig


@dataclass(frozen=True)
class Masks:
    """What depends on the lengths alone, the same in every layer.

    Attributes:
        padding: b l, where there is any.
        allowed: for each group of heads that compare, h l m+1 or b h l m+1, added to the scores;
            the last column is the sink.
    """

    padding: Tensor | None
    allowed: tuple[Tensor, ...]


@dataclass(frozen=True)
class Copies:
    """Rows that take what other rows hold at an offset, instead of what they held or besides."""

    offset: int
    sources: Tensor
    targets: slice
    instead: bool

    def apply(self, stream: Tensor, padding: Tensor | None) -> None:
        """Copy; there is nothing beyond the ends."""
        offset, length = self.offset, stream.shape[-1]
        found, target = stream.index_select(0, self.sources), stream[self.targets]
        if padding is not None:
            found.masked_fill_(padding, 0)
        ahead, behind = min(length, max(0, offset)), min(length, max(0, -offset))
        here, there = slice(behind, length - ahead), slice(ahead, length - behind)
        if not self.instead:
            target[..., here] += found[..., there]
            return
        target[..., here] = found[..., there]
        target[..., :behind] = 0
        target[..., length - ahead :] = 0


@dataclass(frozen=True)
class Comparing:
    """Heads that compare, between the rows that they read and the rows that they write.

    Attributes:
        rows: what queries and keys are made of.
        query: from those rows to the queries of all heads, h·k.
        key: the same for keys.
        values: the rows that are the values of all heads, h·v.
        found: which of the values that were found (h·v) are wanted.
        targets: the rows where they go.
        bias: h offsets, where there is a relative bias.
        sink: h.
        instead: whether what is found replaces what stood there.
        everywhere: whether all positions ask the same, so that one answer serves them all.
    """

    rows: Tensor
    query: Tensor
    key: Tensor
    values: Tensor
    found: Tensor
    targets: Tensor
    bias: Tensor | None
    sink: Tensor
    instead: bool
    everywhere: bool

    def apply(self, stream: Tensor, allowed: Tensor) -> None:
        """Attend, and write what was found."""
        heads, (_, batch, length) = len(self.sink), stream.shape
        read = stream.index_select(0, self.rows)
        asking = read[..., :1] if self.everywhere else read
        query, key = _project(self.query, asking, heads), _project(self.key, read, heads)
        value = stream.index_select(0, self.values).view(heads, -1, batch, length)
        keys, values = pad(key.permute(2, 0, 1, 3), (0, 1)), value.permute(2, 0, 3, 1)
        weights = (query.permute(2, 0, 3, 1) @ keys).add_(allowed).softmax(-1)
        mixed = weights[..., :length] @ values  # b h l v
        rows = mixed.permute(1, 3, 0, 2).reshape(-1, batch, asking.shape[-1])
        self._write(stream, rows.index_select(0, self.found))

    def _write(self, stream: Tensor, found: Tensor) -> None:
        whole = found.expand(-1, -1, stream.shape[-1])
        if self.instead:
            stream.index_copy_(0, self.targets, whole)
        else:
            stream.index_add_(0, self.targets, whole)


def _project(matrix: Tensor, rows: Tensor, heads: int) -> Tensor:
    """h w b l, from rows (d b l)."""
    _, batch, length = rows.shape
    found = matrix @ rows.reshape(len(rows), batch * length)
    return found.view(heads, -1, batch, length)


@dataclass(frozen=True)
class CompactLayer:
    """A layer with its zeros left out.

    Attributes:
        embedding: d tokens, in the order of the rows.
        positions: d positions, where there are absolute ones.
        places: the row of each dimension.
        halt: the row of the halting dimension.
        read: the rows that the feed-forward reads.
        written: the rows that it writes.
    """

    config: TransformerConfig
    embedding: Tensor
    positions: Tensor | None
    places: Tensor
    halt: int | None
    copies: tuple[Copies, ...]
    comparing: tuple[Comparing, ...]
    read: slice
    written: slice
    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    last_bias: Tensor | None

    def work(self, tokens: Tensor) -> int:
        """About how many multiplications a layer takes for a batch (b l)."""
        positions, length = tokens.numel(), tokens.shape[-1]
        matrices = [*self.weights, *(m for h in self.comparing for m in (h.query, h.key))]
        compared = sum(len(h.query) + len(h.values) for h in self.comparing)
        return positions * (sum(matrix.numel() for matrix in matrices) + length * compared)

    def embed(self, tokens: Tensor) -> Tensor:
        """The first stream (d b l)."""
        stream = self.embedding.index_select(1, tokens.flatten()).view(-1, *tokens.shape)
        if self.positions is not None:
            stream += self.positions[:, None, : tokens.shape[1]]
        return stream

    def spread(self, stream: Tensor) -> Tensor:
        """A stream as the model has it (b l d), from rows."""
        return stream.index_select(0, self.places).permute(1, 2, 0)

    def attend(self, stream: Tensor, masks: Masks) -> None:
        """What the heads do to a stream (d b l), in place."""
        for copies in self.copies:
            copies.apply(stream, masks.padding)
        for heads, allowed in zip(self.comparing, masks.allowed, strict=True):
            heads.apply(stream, allowed)

    def feed_forward(self, stream: Tensor) -> None:
        """What the feed-forward does to a stream (d b l), in place."""
        flat = stream.view(len(stream), -1)
        hidden = flat[self.read]
        for weight, bias in zip(self.weights[:-1], self.biases, strict=True):
            hidden = torch.addmm(bias, weight, hidden)
            hidden = hidden.clamp_(0, 1) if self.config.activation == "clipped" else hidden.relu_()
        flat[self.written].addmm_(self.weights[-1], hidden)
        if self.last_bias is not None:
            flat[self.written].add_(self.last_bias)

    def masks(self, valid: Tensor) -> Masks:
        """What lengths mean; `valid` (b l) is false for padding."""
        padding = None if bool(valid.all()) else ~valid
        allowed = []
        for heads in self.comparing:
            scores = _allowed(self.config, heads, valid.shape[1])
            if padding is not None:
                beyond = pad(padding, (0, 1))[:, None, None, :]
                scores = scores[None].masked_fill(beyond, float("-inf"))
            allowed.append(scores)
        return Masks(padding, tuple(allowed))


def _allowed(config: TransformerConfig, heads: Comparing, length: int) -> Tensor:
    place = torch.arange(length, device=heads.sink.device)
    offset = place[None, :] - place[: 1 if heads.everywhere else length, None]
    scores = heads.sink.new_zeros(len(heads.sink), len(offset), length + 1)
    if heads.bias is not None and config.offsets is not None:
        window = config.offsets + 1
        scores[..., :length] += heads.bias[:, offset.clamp(-window, window) + window]
    if config.causal:
        scores[..., :length].masked_fill_(offset > 0, float("-inf"))
    scores[..., length] = heads.sink[:, None]
    return scores
