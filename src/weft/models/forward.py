"""A batch on its way through the layers: sequences that have halted are frozen and cost nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from weft.models.compact_layers import CompactLayer
from weft.models.config import TransformerConfig
from weft.models.context import Scene
from weft.models.hooks import Tap, within

if TYPE_CHECKING:
    from weft.models.transformer import Transformer

Watcher = Callable[[int, str, Tensor, Tensor], None]
"""Called with the layer, `attended` or `after`, the rows of the batch, and their stream."""


class Running:
    """The sequences of a batch that have not halted, with streams (b l d)."""

    def __init__(self, model: Transformer, stream: Tensor, lengths: Tensor, scene: Scene) -> None:
        self.config, self.model, self.scene = model.config, model, scene
        self.stream = self.first = stream
        self.final = stream.clone()
        self._start(len(lengths), stream.shape[1], lengths)

    def _start(self, count: int, longest: int, lengths: Tensor) -> None:
        device = lengths.device
        self.ran = torch.zeros(count, dtype=torch.long, device=device)
        self.halted = torch.zeros(count, dtype=torch.bool, device=device)
        self.rows = torch.arange(count, device=device)
        self.valid = torch.arange(longest, device=device)[None, :] < lengths[:, None]

    def finish(self, number: int) -> None:
        """Freeze the sequences all of whose positions have halted."""
        if self.config.halt is None or not self.rows.numel():
            return
        done = (self.has_halted() | ~self.valid).all(-1)
        if bool(done.any()):
            self.freeze(done)
            self.ran[self.rows[done]] = number
            self.halted[self.rows[done]] = True
            self._keep(~done)

    def stop(self, number: int) -> None:
        """Freeze what is left."""
        if self.rows.numel():
            self.freeze(torch.ones_like(self.rows, dtype=torch.bool))
            self.ran[self.rows] = number

    def _keep(self, kept: Tensor) -> None:
        """Go on with some sequences, without positions that are padding in all of them."""
        self.rows, self.valid = self.rows[kept], self.valid[kept]
        if self.rows.numel():
            longest = int(self.valid.sum(-1).max())
            self.valid = self.valid[:, :longest]
            self.cut(kept, longest)

    def step(self, layer: nn.Module, number: int, watch: Watcher | None) -> None:
        """Run a layer."""
        before = told = self.stream
        scene = self._scene()
        if injects(self.model.config, number - 1, len(self.model.layers)):
            told = before + self.first

        def tap(name: str, tensor: Tensor) -> Tensor:
            if name == "hook_resid_mid" and watch is not None:
                watch(number, "attended", self.rows, tensor)
            return tensor

        position = self.model.position
        bias = position.bias(scene)
        after = layer(told, scene, position, bias, tap=None if watch is None else tap)
        if self.config.halting == "position" and self.config.halt is not None:
            still = before[..., self.config.halt] > 0.5
            after = torch.where(still[..., None], before, after)
        if watch is not None:
            watch(number, "after", self.rows, after)
        self.stream = after

    def _scene(self) -> Scene:
        """Where the sequences that are left stand."""
        whole, length = self.scene, self.stream.shape[1]
        positions, documents = whole.positions[..., :length], whole.documents
        if positions.dim() == 2:
            positions = positions[self.rows]
        return replace(
            whole,
            positions=positions,
            key_positions=positions,
            documents=None if documents is None else documents[self.rows, :length],
            valid=None if bool(self.valid.all()) else self.valid,
        )

    def has_halted(self) -> Tensor:
        """The positions that have halted (b l)."""
        assert self.config.halt is not None
        return self.stream[..., self.config.halt] > 0.5

    def freeze(self, done: Tensor) -> None:
        """Write down the streams of some sequences."""
        self.final[self.rows[done], : self.stream.shape[1]] = self.stream[done]

    def cut(self, kept: Tensor, length: int) -> None:
        """Keep the streams of some sequences, up to a length."""
        self.stream = self.stream[kept][:, :length]
        self.first = self.first[kept][:, :length]

    def finals(self) -> Tensor:
        """The last streams of all sequences (b l d)."""
        return self.final


class CompactRunning(Running):
    """The same with streams as a compact layer has them (d b l)."""

    def __init__(self, layer: CompactLayer, tokens: Tensor, lengths: Tensor) -> None:
        self.config, self.layer = layer.config, layer
        self.stream = layer.embed(tokens)
        self.final: Tensor = self.stream
        self._start(len(tokens), tokens.shape[1], lengths)
        self.masks = layer.masks(self.valid)

    def step(self, layer: nn.Module, number: int, watch: Watcher | None) -> None:
        self.layer.attend(self.stream, self.masks)
        if watch is not None:
            watch(number, "attended", self.rows, self.layer.spread(self.stream))
        self.layer.feed_forward(self.stream)
        if watch is not None:
            watch(number, "after", self.rows, self.layer.spread(self.stream))

    def has_halted(self) -> Tensor:
        assert self.layer.halt is not None
        return self.stream[self.layer.halt] > 0.5

    def freeze(self, done: Tensor) -> None:
        if self.final is self.stream and bool(done.all()):
            return  # all at once: they stay where they are
        if self.final is self.stream:
            self.final = self.stream.clone()
        self.final[:, self.rows[done], : self.stream.shape[-1]] = self.stream[:, done]

    def cut(self, kept: Tensor, length: int) -> None:
        self.stream = self.stream[:, kept, :length].contiguous()
        self.masks = self.layer.masks(self.valid)

    def finals(self) -> Tensor:
        return self.layer.spread(self.final)


def injects(config: TransformerConfig, number: int, layers: int) -> bool:
    """Whether the embedding is added to the stream before a layer, counted over loops from 0."""
    return config.inject and number > 0 and number % layers == 0


def run_tapped(
    model: Transformer, stream: Tensor, scene: Scene, limit: int, tap: Tap
) -> tuple[Tensor, Tensor, Tensor]:
    """All sequences together, none frozen away: the last stream, the layers of each, who halted.

    What has halted stays as it is, and that is what the tap sees of it after a layer.
    """
    bias, first = model.position.bias(scene), stream
    ran = torch.zeros(len(stream), dtype=torch.long, device=stream.device)
    held = _held(model, stream, scene)
    for number in range(limit):
        if bool(held.all()):
            break
        told = stream + first if injects(model.config, number, len(model.layers)) else stream
        keeping = _keeping(within(tap, f"blocks.{number}."), stream, held)
        ran = ran + ~held.all(-1)
        layer = model.layers[number % len(model.layers)]
        stream = layer(told, scene, model.position, bias, tap=keeping)
        held = _held(model, stream, scene)
    return stream, ran, held.all(-1)


def _held(model: Transformer, stream: Tensor, scene: Scene) -> Tensor:
    """b l: what stays as it is; all of a sequence, or single positions of it."""
    config = model.config
    if config.halt is None:
        return torch.zeros(stream.shape[:2], dtype=torch.bool, device=stream.device)
    halted = stream[..., config.halt] > 0.5
    whole = halted if scene.valid is None else halted | ~scene.valid
    done = whole.all(-1, keepdim=True).expand_as(halted)
    return done | halted if config.halting == "position" else done


def _keeping(tap: Tap | None, before: Tensor, held: Tensor) -> Tap:
    """A tap before which what is held is put back as it was."""

    def keeping(name: str, tensor: Tensor) -> Tensor:
        if name == "hook_resid_post":
            tensor = torch.where(held[..., None], before, tensor)
        return tensor if tap is None else tap(name, tensor)

    return keeping
