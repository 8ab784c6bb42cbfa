"""Compaction: derive from the weights alone equivalent layers without their zeros.

There are three kinds of heads. A head that always attends to one offset copies; one that attends to
its own position and subtracts clears; all others compare queries and keys. A layer can be compacted
if heads do not read what heads write, if values are dimensions of the stream, and if every
dimension that is cleared is also written. Compiled layers have this form; trained layers do not and
stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from weft.models.compact_layers import CompactLayer, ComparingHeads, CopyingHeads

if TYPE_CHECKING:
    from weft.models.attention import Attention
    from weft.models.feed_forward import FeedForward
    from weft.models.transformer import Transformer


class NotCompactable(Exception):
    """The weights do not have the form that compaction needs."""


@dataclass(frozen=True)
class HeadCopies:
    """A head as copies of dimensions, from each source to its target; `offset` if it is fixed."""

    number: int
    offset: int | None
    sources: tuple[int, ...]
    targets: tuple[int, ...]


@dataclass(frozen=True)
class DimensionUse:
    """Which dimensions of the stream a layer reads and writes.

    Attributes:
        width: the number of dimensions.
        heads: the heads that copy or compare.
        cleared: dimensions that heads clear.
        reads: dimensions that the feed-forward reads.
        writes: dimensions that it writes.
        constant: dimensions with the same value at all positions of all inputs, in every layer.
    """

    width: int
    heads: tuple[HeadCopies, ...]
    cleared: frozenset[int]
    reads: frozenset[int]
    writes: frozenset[int]
    constant: frozenset[int] = frozenset()

    @property
    def changed(self) -> frozenset[int]:
        """Dimensions that the layer changes."""
        return self.writes | self.cleared.union(*(head.targets for head in self.heads))

    @property
    def order(self) -> list[int]:
        """All dimensions, those that are written together side by side."""
        return sorted(range(self.width), key=self.group)

    def group(self, dimension: int) -> tuple[int, ...]:
        """Sort key of a dimension: written first, unread at both ends, copies together."""
        writes, reads = dimension in self.writes, dimension in self.reads
        for head in self.heads:
            if head.offset is not None and dimension in head.targets:
                return (not writes, reads == writes, head.offset, dimension in self.cleared)
        return (not writes, reads == writes, 1 << 30, 0)


@torch.no_grad()
def compact(model: Transformer) -> tuple[CompactLayer, ...] | None:
    """Return a model's layers without their zeros; None if one of them has no such form."""
    config = model.config
    if (
        not config.hidden
        or not config.sink
        or config.norm != "none"
        or config.canon
        or config.attention_biases
        or config.dropout
        or config.attention_dropout
        or config.example_offsets
    ):
        return None
    if config.scaled or set(config.encodings) - {"learned"}:
        return None
    if config.halting == "position" or config.dtype == "bfloat16":
        return None
    try:
        uses = [_analyse(model, number) for number in range(config.layers)]
    except NotCompactable:
        return None
    constant = _constant(model).difference(*(use.changed for use in uses))
    uses = [replace(use, constant=constant) for use in uses]
    return tuple(_arrange(model, number, uses) for number in range(config.layers))


def _analyse(model: Transformer, layer: int) -> DimensionUse:
    attention: Attention = model.layers[layer].attention  # type: ignore[assignment]
    feed_forward: FeedForward = model.layers[layer].feed_forward  # type: ignore[assignment]
    heads: list[HeadCopies] = []
    cleared: set[int] = set()
    for number in range(model.config.heads):
        offset = _only_offset(attention, number)
        if offset == 0 and _clears(attention, number):
            cleared |= _nonzero(attention.value[number].any(-1))
        else:
            heads.append(_head_copies(attention, number, offset))
    reads = _nonzero(feed_forward.weights[0].any(0))
    writes = _nonzero(feed_forward.weights[-1].any(1) | feed_forward.biases[-1].ne(0))
    targets = [target for head in heads for target in head.targets]
    sources = {source for head in heads for source in head.sources}
    compared = _compared(attention, [head.number for head in heads if head.offset is None])
    if len(set(targets)) < len(targets) or (sources | compared) & set(targets):
        raise NotCompactable
    if not cleared <= set(targets):
        raise NotCompactable
    return DimensionUse(model.config.width, tuple(heads), frozenset(cleared), reads, writes)


def position_table(model: Transformer) -> Tensor | None:
    """The table of learned positions, if the model has one."""
    parts = model.position.parts
    return parts["learned"].table if "learned" in parts else None  # type: ignore[return-value]


def _nonzero(chosen: Tensor) -> frozenset[int]:
    return frozenset(chosen.nonzero().flatten().tolist())


def _compared(attention: Attention, heads: list[int]) -> frozenset[int]:
    """The dimensions that queries and keys of some heads depend on."""
    return _nonzero((attention.query[heads].any(-1) | attention.key[heads].any(-1)).any(0))


def _constant(model: Transformer) -> frozenset[int]:
    """The dimensions whose embedding is the same for all tokens and positions."""
    same = (model.embedding == model.embedding[:1]).all(0)
    positions = position_table(model)
    if positions is not None:
        same &= (positions == positions[:1]).all(0)
    return _nonzero(same)


def _only_offset(attention: Attention, head: int) -> int | None:
    """The one offset that a head always attends to; None if there are several."""
    config = attention.config
    if config.offsets is None:
        return None
    if bool(attention.query[head].any()) and bool(attention.key[head].any()):
        return None
    bias = attention.bias[head]
    open_ = bias.isfinite().nonzero().flatten().tolist()
    if len(open_) != 1 or not 0 < open_[0] < len(bias) - 1:
        return None
    offset = int(open_[0]) - config.offsets - 1
    weight = torch.stack([bias[open_[0]], attention.sink[head]]).softmax(0)[0]
    if float(weight) != 1.0 or (config.causal and offset > 0):
        return None  # it attends to nothing, or not with all of its weight
    return offset


def _clears(attention: Attention, head: int) -> bool:
    """Whether a head that attends to its own position subtracts some dimensions."""
    through = attention.value[head] @ attention.output[head]
    chosen = attention.value[head].any(-1)
    return torch.equal(through, torch.diag(-chosen.to(through.dtype)))


def _head_copies(attention: Attention, head: int, offset: int | None) -> HeadCopies:
    value, output = attention.value[head], attention.output[head]
    if not bool(((value == 0) | (value == 1)).all() and ((output == 0) | (output == 1)).all()):
        raise NotCompactable
    sources, targets = [], []
    for along in range(attention.config.value_width):
        read, written = value[:, along].nonzero(), output[along].nonzero()
        if len(read) > 1 or len(written) > 1:
            raise NotCompactable
        if len(read) and len(written):
            sources.append(int(read))
            targets.append(int(written))
    return HeadCopies(head, offset, tuple(sources), tuple(targets))


def _arrange(model: Transformer, layer: int, uses: list[DimensionUse]) -> CompactLayer:
    """Order dimensions so that those written together are adjacent."""
    config, use = model.config, uses[layer]
    attention: Attention = model.layers[layer].attention  # type: ignore[assignment]
    feed_forward: FeedForward = model.layers[layer].feed_forward  # type: ignore[assignment]
    positions = position_table(model)
    order, before = use.order, uses[layer - 1].order
    places = {dimension: place for place, dimension in enumerate(order)}
    places_before = {dimension: place for place, dimension in enumerate(before)}
    device = attention.query.device
    index = torch.tensor(order, device=device)
    read = [places[dimension] for dimension in use.reads]
    window = slice(min(read, default=0), max(read, default=-1) + 1)
    written = slice(0, len(use.writes))
    weights = [weight.detach() for weight in feed_forward.weights]
    weights[0] = weights[0][:, index[window]]
    weights[-1] = weights[-1][index[written]]
    biases = [bias.detach()[:, None] for bias in feed_forward.biases]
    last = biases.pop()[index[written]]
    return CompactLayer(
        config=config,
        embedding=model.embedding.detach().T[index].contiguous(),
        positions=None if positions is None else positions.detach().T[index],
        places=torch.tensor([places[d] for d in range(config.width)], device=device),
        reorder=None
        if order == before
        else torch.tensor([places_before[d] for d in order], device=device),
        halt=None if config.halt is None else places[config.halt],
        copying=tuple(_copying(use, order, places, device)),
        comparing=tuple(_comparing(attention, use, places)),
        read=window,
        written=written,
        weights=tuple(weight.contiguous() for weight in weights),
        biases=tuple(biases),
        last_bias=last if bool(last.any()) else None,
    )


def _copying(
    use: DimensionUse, order: list[int], places: dict[int, int], device: torch.device
) -> Iterator[CopyingHeads]:
    copied = {
        target: (head.offset, source)
        for head in use.heads
        if head.offset is not None
        for source, target in zip(head.sources, head.targets, strict=True)
    }
    for _, part in groupby(order, use.group):
        targets = list(part)
        if targets[0] in copied:
            offset = copied[targets[0]][0]
            sources = torch.tensor([places[copied[t][1]] for t in targets], device=device)
            rows = slice(places[targets[0]], places[targets[-1]] + 1)
            yield CopyingHeads(offset, sources, rows, targets[0] in use.cleared)


def _comparing(
    attention: Attention, use: DimensionUse, places: dict[int, int]
) -> Iterator[ComparingHeads]:
    """Heads that compare, grouped by what they have in common."""

    def kind(head: HeadCopies) -> tuple[bool, bool]:
        return _same_query(attention, use, head.number), bool(set(head.targets) & use.cleared)

    comparing = (head for head in use.heads if head.offset is None and head.targets)
    heads = sorted(comparing, key=kind)
    for (same_query, replaces), group in groupby(heads, kind):
        yield _comparing_heads(attention, list(group), places, same_query, replaces)


def _same_query(attention: Attention, use: DimensionUse, head: int) -> bool:
    """Whether a head has the same query, and so the same output, at all positions."""
    if attention.config.causal or not _nonzero(attention.query[head].any(-1)) <= use.constant:
        return False
    if attention.config.offsets is None:
        return True
    bias = attention.bias[head]
    return bool((bias == bias[0]).all())


def _comparing_heads(
    attention: Attention,
    heads: list[HeadCopies],
    places: dict[int, int],
    same_query: bool,
    replaces: bool,
) -> ComparingHeads:
    device = attention.query.device
    chosen = [head.number for head in heads]
    read = sorted(_compared(attention, chosen))
    width = max(len(head.sources) for head in heads)
    values, wanted, targets = [], [], []
    for number, head in enumerate(heads):
        rows = [places[source] for source in head.sources]
        values += rows + [0] * (width - len(rows))  # padded to one width; not written
        wanted += [number * width + place for place in range(len(rows))]
        targets += [places[target] for target in head.targets]

    def projection(matrix: Tensor) -> Tensor:
        part = matrix.detach()[chosen][:, read].transpose(1, 2)
        return part.reshape(len(chosen) * matrix.shape[-1], len(read)).contiguous()

    return ComparingHeads(
        rows=torch.tensor([places[d] for d in read], dtype=torch.long, device=device),
        query=projection(attention.query),
        key=projection(attention.key),
        values=torch.tensor(values, dtype=torch.long, device=device),
        wanted=torch.tensor(wanted, dtype=torch.long, device=device),
        targets=torch.tensor(targets, dtype=torch.long, device=device),
        bias=attention.bias.detach()[chosen] if attention.config.offsets is not None else None,
        sink=attention.sink.detach()[chosen],
        replaces=replaces,
        same_query=same_query,
    )
