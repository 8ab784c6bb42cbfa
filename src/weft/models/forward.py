"""The loop over layers, for every way to run a model.

`run_layers` applies layers to a `ForwardPass`, the state of a batch on its way through a model:

    ForwardPass          all sequences run all layers
    HookedForwardPass    halted sequences keep their stream, so that hooks see the whole batch
    HaltingForwardPass   halted sequences leave the batch and cost nothing
    CompactForwardPass   the same with compact layers, as compiled models have
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from weft.models.compact_layers import CompactLayer
from weft.models.hooks import Hook, with_prefix

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int
    from torch import nn

    from weft.models.cache import KVCache
    from weft.models.context import AttentionContext
    from weft.models.positions import Positions
    from weft.models.transformer import Transformer

StreamObserver = Callable[[int, str, Tensor, Tensor], None]
"""Called with the number of a layer (from 1), `attended` or `after`, the rows of the batch that
still run, and their streams."""

HALTED = 0.5
"""A position has halted if its halting dimension is above this."""


def run_layers(state: ForwardPass, limit: int) -> int:
    """Apply layers until the limit, or until every sequence has halted; return how many."""
    number = 0
    state.check_halting(number)
    while state.running and number < limit:
        state.apply_layer(number)
        number += 1
        state.check_halting(number)
    return number


class ForwardPass:
    """A batch on its way through a stack of layers.

    Args:
        model: the model.
        layers: its layers, or those of its encoder.
        position: their positional encodings.
        stream: the embeddings.
        context: positions and masks.
        hook: called with activations, whose names begin with `prefix`.
        kv_cache: what each layer has kept of earlier tokens.
        source: what cross-attention attends to.
        source_context: positions and masks of that.
    """

    def __init__(
        self,
        model: Transformer,
        layers: nn.ModuleList,
        position: Positions,
        stream: Float[Tensor, "batch length width"],
        context: AttentionContext,
        *,
        hook: Hook | None = None,
        prefix: str = "",
        kv_cache: KVCache | None = None,
        source: Float[Tensor, "batch keys width"] | None = None,
        source_context: AttentionContext | None = None,
    ) -> None:
        self.model, self.config = model, model.config
        self.layers, self.position = layers, position
        self.stream = self.embedded = stream
        self.context = context
        self.hook, self.prefix, self.kv_cache = hook, prefix, kv_cache
        self.source, self.source_context = source, source_context
        self.bias = position.bias(context)
        self.running = True

    def check_halting(self, number: int) -> None:
        """Find out which sequences have halted after some layers, and whether any still runs."""

    def apply_layer(self, number: int) -> None:
        """Apply a layer, counted over loops from 0."""
        hook = with_prefix(self.hook, f"{self.prefix}blocks.{number}.")
        self.stream = self._layer(number, hook)

    def _layer(self, number: int, hook: Hook | None) -> Tensor:
        """The stream after a layer, with whatever the model does between layers."""
        stream, place = self.stream, number % len(self.layers)
        if self.config.inject and number > 0 and place == 0:
            stream = stream + self.embedded
        stream = self.layers[place](
            stream,
            self.context,
            self.position,
            self.bias,
            None if self.kv_cache is None else self.kv_cache[number],
            hook,
            self.source,
            self.source_context,
        )
        between = self.model.between_layers
        return stream if between is None else between(stream)


class HookedForwardPass(ForwardPass):
    """A batch in which sequences, or positions, that have halted keep their stream."""

    def __init__(
        self, model: Transformer, stream: Tensor, context: AttentionContext, hook: Hook
    ) -> None:
        super().__init__(model, model.layers, model.position, stream, context, hook=hook)
        self.ran = torch.zeros(len(stream), dtype=torch.long, device=stream.device)

    def check_halting(self, number: int) -> None:
        self.held = self._held()
        self.running = not bool(self.held.all())

    def _held(self) -> Bool[Tensor, "batch length"]:
        """The positions that keep their stream."""
        if self.config.halt is None:
            return torch.zeros(self.stream.shape[:2], dtype=torch.bool, device=self.stream.device)
        halted = self.stream[..., self.config.halt] > HALTED
        valid = self.context.valid
        finished = halted if valid is None else halted | ~valid
        done = finished.all(-1, keepdim=True).expand_as(halted)
        return done | halted if self.config.halting == "position" else done

    def apply_layer(self, number: int) -> None:
        self.ran = self.ran + ~self.halted
        before, held, hook = self.stream, self.held, self.hook
        assert hook is not None

        def keeping(name: str, tensor: Tensor) -> Tensor:
            if name == "hook_resid_post":
                tensor = torch.where(held[..., None], before, tensor)
            return hook(f"blocks.{number}.{name}", tensor)

        self.stream = self._layer(number, keeping)

    @property
    def halted(self) -> Bool[Tensor, " batch"]:
        """The sequences that have halted."""
        return self.held.all(-1)


class HaltingForwardPass(ForwardPass):
    """The sequences of a batch that have not halted.

    Attributes:
        rows: their rows of the batch.
        valid: which of their positions are not padding.
        ran: how many layers each sequence of the batch ran.
        halted: which sequences of the batch have halted.
    """

    def __init__(
        self,
        model: Transformer,
        stream: Tensor,
        context: AttentionContext,
        lengths: Int[Tensor, " batch"],
        watch: StreamObserver | None = None,
    ) -> None:
        self._start(lengths, stream.shape[1], watch)
        running = context.select(self.rows, self.valid)
        super().__init__(model, model.layers, model.position, stream, running)
        self.running = bool(len(lengths))
        self.final, self.whole_context = stream.clone(), context

    def _start(self, lengths: Tensor, longest: int, watch: StreamObserver | None) -> None:
        count, device = len(lengths), lengths.device
        self.watch = watch
        self.ran = torch.zeros(count, dtype=torch.long, device=device)
        self.halted = torch.zeros(count, dtype=torch.bool, device=device)
        self.rows = torch.arange(count, device=device)
        self.valid = torch.arange(longest, device=device)[None, :] < lengths[:, None]
        self.running = bool(count)

    def check_halting(self, number: int) -> None:
        if self.config.halt is None or not self.running:
            return
        done = (self._halted_positions() | ~self.valid).all(-1)
        if bool(done.any()):
            self._save(done, number)
            self.halted[self.rows[done]] = True
            self._drop(done)

    def finish(self, number: int) -> Float[Tensor, "batch length width"]:
        """Stop after a number of layers and return the last streams of all sequences."""
        if self.running:
            self._save(torch.ones_like(self.rows, dtype=torch.bool), number)
        return self._final_streams()

    def _save(self, done: Tensor, number: int) -> None:
        self._save_streams(done)
        self.ran[self.rows[done]] = number

    def _drop(self, done: Tensor) -> None:
        """Continue without some sequences, and without positions that are now all padding."""
        self.rows, self.valid = self.rows[~done], self.valid[~done]
        self.running = bool(self.rows.numel())
        if self.running:
            longest = int(self.valid.sum(-1).max())
            self.valid = self.valid[:, :longest]
            self._keep_streams(~done, longest)

    def apply_layer(self, number: int) -> None:
        before = self.stream
        hook = None if self.watch is None else self._observing(number + 1, self.watch)
        after = self._layer(number, hook)
        if self.config.halting == "position" and self.config.halt is not None:
            after = torch.where(self._halted_positions()[..., None], before, after)
        self.stream = after
        if self.watch is not None:
            self.watch(number + 1, "after", self.rows, after)

    def _observing(self, number: int, watch: StreamObserver) -> Hook:
        def hook(name: str, tensor: Tensor) -> Tensor:
            if name == "hook_resid_mid":
                watch(number, "attended", self.rows, tensor)
            return tensor

        return hook

    def _halted_positions(self) -> Bool[Tensor, "rows length"]:
        assert self.config.halt is not None
        return self.stream[..., self.config.halt] > HALTED

    def _save_streams(self, done: Tensor) -> None:
        self.final[self.rows[done], : self.stream.shape[1]] = self.stream[done]

    def _keep_streams(self, kept: Tensor, length: int) -> None:
        self.stream = self.stream[kept][:, :length]
        self.embedded = self.embedded[kept][:, :length]
        self.context = self.whole_context.select(self.rows, self.valid)
        self.bias = self.position.bias(self.context)

    def _final_streams(self) -> Tensor:
        return self.final


class CompactForwardPass(HaltingForwardPass):
    """The same with compact layers, which keep the dimensions of the stream first (d b l).

    Sequences halt in models of one looped layer only, so all rows are in the order of `layer`.
    """

    def __init__(
        self,
        layers: Sequence[CompactLayer],
        tokens: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"],
        watch: StreamObserver | None = None,
    ) -> None:
        self.compact_layers, self.layer = layers, layers[0]
        self.config = self.layer.config
        self.stream = self.final = self.layer.embed(tokens)
        self._start(lengths, tokens.shape[1], watch)
        self.masks = [layer.masks(self.valid) for layer in layers]

    def apply_layer(self, number: int) -> None:
        place = number % len(self.compact_layers)
        self.layer = self.compact_layers[place]
        if number and self.layer.reorder is not None:
            self.stream = self.final = self.stream.index_select(0, self.layer.reorder)
        self.layer.attend(self.stream, self.masks[place])
        self._observe(number + 1, "attended")
        self.layer.feed_forward(self.stream)
        self._observe(number + 1, "after")

    def _observe(self, number: int, stage: str) -> None:
        if self.watch is not None:
            self.watch(number, stage, self.rows, self.layer.expand(self.stream))

    def _halted_positions(self) -> Tensor:
        assert self.layer.halt is not None
        return self.stream[self.layer.halt] > HALTED

    def _save_streams(self, done: Tensor) -> None:
        if self.final is self.stream and bool(done.all()):
            return  # all at once: they stay where they are
        if self.final is self.stream:
            self.final = self.stream.clone()
        self.final[:, self.rows[done], : self.stream.shape[-1]] = self.stream[:, done]

    def _keep_streams(self, kept: Tensor, length: int) -> None:
        self.stream = self.stream[:, kept, :length].contiguous()
        self.masks = [layer.masks(self.valid) for layer in self.compact_layers]

    def _final_streams(self) -> Tensor:
        return self.layer.expand(self.final)
