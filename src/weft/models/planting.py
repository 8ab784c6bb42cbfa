"""Parts of one model planted in another: a compiled feed-forward under trained attention, say.

The source's stream takes some dimensions of the other's, its heads and hidden units some of those
of a layer. What is planted computes there what it computed in the source: it reads and writes its
own dimensions alone, so that all beyond it is free. Neither model may have norms, since compiled
parts read the stream as it is.

What is frozen stays exactly as it is in training. A weight that is planted as a whole has no
gradient, and optimisers leave it alone. Of one that is planted in part, the planted entries get no
gradient; weight decay, which shrinks a weight without asking for one, is undone after each step of
any optimiser of PyTorch. All this belongs to a model in memory: a copy of it, or one that is
loaded, is planted again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor
from torch.optim.optimizer import register_optimizer_step_post_hook

from weft.errors import WeftError, did_you_mean
from weft.models.plots import PARTS, Entries, Part, Plot
from weft.models.transformer import Transformer


@dataclass(frozen=True)
class Planted:
    """What was planted in a model, by the names of its weights."""

    entries: dict[str, Entries]
    _undo: list[Callable[[], Any]] = field(default_factory=list, repr=False)

    @property
    def count(self) -> int:
        """How many numbers were planted."""
        return sum(int(one.where.sum()) for one in self.entries.values())

    @property
    def intact(self) -> bool:
        """Whether all of them are still what they were."""
        return all(one.stand for one in self.entries.values())

    def put(self) -> None:
        """Write all of them, again or for the first time."""
        for one in self.entries.values():
            one.put()

    def freeze(self, model: Transformer) -> None:
        """Keep what is planted in a model as it is, whatever is trained."""
        for one in self.entries.values():
            if one.weight.requires_grad:
                self._undo.append(_still(one))
        handle = register_optimizer_step_post_hook(lambda *_: self.put())
        self._undo.append(handle.remove)
        weakref.finalize(model, handle.remove)

    def release(self) -> None:
        """Let it be trained from now on."""
        while self._undo:
            self._undo.pop()()


def plant(
    source: Transformer,
    *,
    into: Transformer,
    parts: Part | Sequence[Part] = "feed_forward",
    layer: int = 0,
    source_layer: int = 0,
    heads: Sequence[int] | None = None,
    dimension: int = 0,
    head: int = 0,
    unit: int = 0,
    freeze: bool = True,
) -> Planted:
    """Copy parts of a model into another one, which may be larger.

    Args:
        source: where they come from: a compiled model, or any other.
        into: the model that is changed.
        parts: `embedding`, `position` (a learned table), `attention`, `feed_forward`,
            `unembedding`, or several of them.
        layer: the layer that attention and feed-forward are planted in.
        source_layer: the layer that they come from.
        heads: which heads of the source; all where it is left out.
        dimension: where in the stream the source's first dimension comes to lie.
        head: where its first head comes to stand.
        unit: where its first hidden unit comes to stand, in every hidden layer.
        freeze: whether training leaves it as it is.

    Example:
        >>> import torch, weft
        >>> from dataclasses import replace
        >>> from weft.models import Transformer, initialise, plant
        >>> compiled = weft.compile(weft.program("parity")).model
        >>> config = replace(compiled.config, width=16, hidden=(32,), heads=6, halt=None, loops=4)
        >>> model = initialise(Transformer(config))
        >>> planted = plant(compiled, into=model, parts=("embedding", "feed_forward"))
        >>> optimiser = torch.optim.AdamW(model.parameters(), weight_decay=0.1)
        >>> model(torch.tensor([[2, 1, 0, 1]])).logits.sum().backward()
        >>> optimiser.step()
        >>> planted.intact
        True
    """
    plot = Plot(source, into, layer, source_layer, dimension, head, unit, heads)
    found: dict[str, Entries] = {}
    names = {weight: name for name, weight in into.named_parameters()}
    for part in (parts,) if isinstance(parts, str) else parts:
        if part not in PARTS:
            remedy = did_you_mean(part, list(PARTS)).capitalize()
            raise WeftError(f"no part of a model is called '{part}'", remedy=remedy)
        found |= {names[one.weight]: one for one in plot.entries(part)}
    planted = Planted(found)
    planted.put()
    if freeze:
        planted.freeze(into)
    return planted


def _still(entries: Entries) -> Callable[[], Any]:
    """Take the gradient of entries away; gives what undoes that."""
    weight, where = entries.weight, entries.where
    if bool(where.all()):
        weight.requires_grad_(False)
        return lambda: weight.requires_grad_(True)

    def without(gradient: Tensor) -> Tensor:
        return gradient.masked_fill(where.to(gradient.device), 0.0)

    return weight.register_hook(without).remove  # type: ignore[no-any-return, no-untyped-call]
