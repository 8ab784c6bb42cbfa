"""Finds, from the weights alone, the form of a layer in which its zeros are left out.

Heads are of three kinds. One that always looks at the same offset copies; one that always looks at
itself and takes away clears; the others compare. A layer is compacted where what heads read is not
what heads write, where values are rows of the stream as they stand, and where what is cleared is
written anew: so it is with compiled models. A trained layer has no such form, and stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from weft.models.compact_layers import CompactLayer, Comparing, Copies

if TYPE_CHECKING:
    from weft.models.attention import Attention
    from weft.models.feed_forward import FeedForward
    from weft.models.transformer import Transformer


class NotCompact(Exception):
    """The weights have another form."""


@dataclass(frozen=True)
class Selection:
    """A head as copies of dimensions: from each source to its target, along one value each."""

    head: int
    offset: int | None
    sources: tuple[int, ...]
    targets: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """Who reads and writes which dimension.

    Attributes:
        selections: the heads that copy or compare.
        cleared: dimensions that heads take away.
        reads: dimensions that the feed-forward reads.
        writes: dimensions that it writes.
        constant: dimensions that hold the same at all positions of all inputs, in every layer.
    """

    selections: tuple[Selection, ...]
    cleared: frozenset[int]
    reads: frozenset[int]
    writes: frozenset[int]
    constant: frozenset[int]

    def group(self, dimension: int) -> tuple[int, ...]:
        """What is written comes first, unread rows at both ends, and rows of a copy together."""
        writes, reads = dimension in self.writes, dimension in self.reads
        for one in self.selections:
            if one.offset is not None and dimension in one.targets:
                return (not writes, reads == writes, one.offset, dimension in self.cleared)
        return (not writes, reads == writes, 1 << 30, 0)


@torch.no_grad()
def compact(model: Transformer) -> CompactLayer | None:
    """The shared layer of a model with its zeros left out; None where it has no such form."""
    config = model.config
    if (
        config.layers > 1
        or not config.hidden
        or not config.sink
        or config.norm != "none"
        or config.canon
    ):
        return None
    if config.scaled or set(config.encodings) - {"learned"}:
        return None
    if config.halting == "position" or config.dtype == "bfloat16":
        return None
    try:
        return _arrange(model, _plan(model))
    except NotCompact:
        return None


def _plan(model: Transformer) -> Plan:
    attention: Attention = model.layers[0].attention  # type: ignore[assignment]
    feed_forward: FeedForward = model.layers[0].feed_forward  # type: ignore[assignment]
    selections, cleared = [], set()
    for head in range(model.config.heads):
        offset = _only_offset(attention, head)
        if offset == 0 and _takes_away(attention, head):
            cleared |= set(attention.value[head].any(-1).nonzero().flatten().tolist())
        else:
            selections.append(_selection(attention, head, offset))
    reads = _listed(feed_forward.weights[0].any(0))
    writes = _listed(feed_forward.weights[-1].any(1) | feed_forward.biases[-1].ne(0))
    targets = [target for one in selections for target in one.targets]
    sources = {source for one in selections for source in one.sources}
    compared = _compared(attention, [one.head for one in selections if one.offset is None])
    if len(set(targets)) < len(targets) or (sources | compared) & set(targets):
        raise NotCompact
    if not cleared <= set(targets):
        raise NotCompact
    constant = _constant(model) - writes - set(targets) - cleared
    return Plan(tuple(selections), frozenset(cleared), reads, writes, frozenset(constant))


def position_table(model: Transformer) -> Tensor | None:
    """The learned vector of every position, where a model has them."""
    parts = model.position.parts
    return parts["learned"].table if "learned" in parts else None  # type: ignore[return-value]


def _listed(chosen: Tensor) -> frozenset[int]:
    return frozenset(chosen.nonzero().flatten().tolist())


def _compared(attention: Attention, heads: list[int]) -> frozenset[int]:
    """The dimensions that queries and keys of some heads are made of."""
    return _listed((attention.query[heads].any(-1) | attention.key[heads].any(-1)).any(0))


def _constant(model: Transformer) -> frozenset[int]:
    """The dimensions that start the same for all tokens at all positions."""
    same = (model.embedding == model.embedding[:1]).all(0)
    positions = position_table(model)
    if positions is not None:
        same &= (positions == positions[:1]).all(0)
    return _listed(same)


def _only_offset(attention: Attention, head: int) -> int | None:
    """The one offset at which a head always looks; None where it may look at several."""
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
        return None  # it does not look there, or not with all of its weight
    return offset


def _takes_away(attention: Attention, head: int) -> bool:
    """Whether a head that looks at itself removes what some dimensions hold."""
    through = attention.value[head] @ attention.output[head]
    chosen = attention.value[head].any(-1)
    return torch.equal(through, torch.diag(-chosen.to(through.dtype)))


def _selection(attention: Attention, head: int, offset: int | None) -> Selection:
    value, output = attention.value[head], attention.output[head]
    if not bool(((value == 0) | (value == 1)).all() and ((output == 0) | (output == 1)).all()):
        raise NotCompact
    sources, targets = [], []
    for along in range(attention.config.value_width):
        read, written = value[:, along].nonzero(), output[along].nonzero()
        if len(read) > 1 or len(written) > 1:
            raise NotCompact
        if len(read) and len(written):
            sources.append(int(read))
            targets.append(int(written))
    return Selection(head, offset, tuple(sources), tuple(targets))


def _arrange(model: Transformer, plan: Plan) -> CompactLayer:
    """Put what is written together side by side."""
    config = model.config
    attention: Attention = model.layers[0].attention  # type: ignore[assignment]
    feed_forward: FeedForward = model.layers[0].feed_forward  # type: ignore[assignment]
    positions = position_table(model)
    order = sorted(range(config.width), key=plan.group)
    places = {dimension: place for place, dimension in enumerate(order)}
    device = attention.query.device
    index = torch.tensor(order, device=device)
    read = [places[dimension] for dimension in plan.reads]
    window = slice(min(read, default=0), max(read, default=-1) + 1)
    written = slice(0, len(plan.writes))
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
        halt=None if config.halt is None else places[config.halt],
        copies=tuple(_copies(plan, order, places, device)),
        comparing=tuple(_comparing(attention, plan, places)),
        read=window,
        written=written,
        weights=tuple(weight.contiguous() for weight in weights),
        biases=tuple(biases),
        last_bias=last if bool(last.any()) else None,
    )


def _copies(
    plan: Plan, order: list[int], places: dict[int, int], device: torch.device
) -> Iterator[Copies]:
    copied = {
        target: (one.offset, source)
        for one in plan.selections
        if one.offset is not None
        for source, target in zip(one.sources, one.targets, strict=True)
    }
    for _, part in groupby(order, plan.group):
        targets = list(part)
        if targets[0] in copied:
            offset = copied[targets[0]][0]
            sources = torch.tensor([places[copied[t][1]] for t in targets], device=device)
            rows = slice(places[targets[0]], places[targets[-1]] + 1)
            yield Copies(offset, sources, rows, targets[0] in plan.cleared)


def _comparing(attention: Attention, plan: Plan, places: dict[int, int]) -> Iterator[Comparing]:
    """Heads that compare, in groups that are treated alike."""

    def kind(one: Selection) -> tuple[bool, bool]:
        return _everywhere(attention, plan, one.head), bool(set(one.targets) & plan.cleared)

    comparing = (one for one in plan.selections if one.offset is None and one.targets)
    heads = sorted(comparing, key=kind)
    for (everywhere, instead), part in groupby(heads, kind):
        yield _compare(attention, list(part), places, everywhere, instead)


def _everywhere(attention: Attention, plan: Plan, head: int) -> bool:
    """Whether all positions ask a head the same."""
    if attention.config.causal or not _listed(attention.query[head].any(-1)) <= plan.constant:
        return False
    if attention.config.offsets is None:
        return True
    bias = attention.bias[head]
    return bool((bias == bias[0]).all())


def _compare(
    attention: Attention,
    heads: list[Selection],
    places: dict[int, int],
    everywhere: bool,
    instead: bool,
) -> Comparing:
    device = attention.query.device
    chosen = [one.head for one in heads]
    read = sorted(_compared(attention, chosen))
    widest = max(len(one.sources) for one in heads)
    values, found, targets = [], [], []
    for number, one in enumerate(heads):
        rows = [places[source] for source in one.sources]
        values += rows + [0] * (widest - len(rows))  # filled up; what is found there is left
        found += [number * widest + place for place in range(len(rows))]
        targets += [places[target] for target in one.targets]

    def projection(matrix: Tensor) -> Tensor:
        part = matrix.detach()[chosen][:, read].transpose(1, 2)
        return part.reshape(len(chosen) * matrix.shape[-1], len(read)).contiguous()

    return Comparing(
        rows=torch.tensor([places[d] for d in read], dtype=torch.long, device=device),
        query=projection(attention.query),
        key=projection(attention.key),
        values=torch.tensor(values, dtype=torch.long, device=device),
        found=torch.tensor(found, dtype=torch.long, device=device),
        targets=torch.tensor(targets, dtype=torch.long, device=device),
        bias=attention.bias.detach()[chosen] if attention.config.offsets is not None else None,
        sink=attention.sink.detach()[chosen],
        instead=instead,
        everywhere=everywhere,
    )
