"""A step of a small model as one CUDA graph.

A step of a few layers is over before a CPU has launched its thousand kernels one by one. A graph
keeps what was launched once and launches it all at once. It reads and writes the same memory every
time, so a batch is copied to where the first one was, and learning rate and number of targets are
tensors. A graph belongs to one shape of batches; there is one for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import torch
from torch import Tensor

from weft.training.feeding import Tensors

TRIED = 3
"""How many steps of a shape run as they are before one is captured: kernels are chosen there."""

Shape = tuple[tuple[int, ...] | None, ...]


class Graphed:
    """Steps that are captured; call it like the step itself."""

    def __init__(
        self, step: Callable[[Tensors, Tensor], Tensor], forget: Callable[[], None]
    ) -> None:
        """`step` learns from a batch with so many targets; `forget` lets go of gradients."""
        self.step, self.forget = step, forget
        self.aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self.tried: dict[Shape, int] = {}
        self.captured: dict[Shape, _Captured] = {}

    def __call__(self, batch: Tensors) -> Tensor:
        shape = _shape(batch)
        asked = torch.full((), float(max(1, batch.asked)), device=batch.tokens.device)
        if self.tried.get(shape, 0) < TRIED:
            self.tried[shape] = self.tried.get(shape, 0) + 1
            return self._aside(batch, asked)
        if shape not in self.captured:
            self.forget()
            self.captured[shape] = _Captured(self.step, batch, asked)
        return self.captured[shape].replay(batch, asked)

    def _aside(self, batch: Tensors, asked: Tensor) -> Tensor:
        """A step on a stream of its own, as what is captured later will be."""
        here, aside = torch.cuda.current_stream(), self.aside
        aside.wait_stream(here)
        with torch.cuda.stream(aside):
            loss = self.step(batch, asked)
        here.wait_stream(aside)
        return loss


class _Captured:
    """One graph, with the memory that it reads."""

    def __init__(
        self, step: Callable[[Tensors, Tensor], Tensor], batch: Tensors, asked: Tensor
    ) -> None:
        self.batch, self.asked = _copied(batch), asked.clone()
        self.graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.loss = step(self.batch, self.asked)

    def replay(self, batch: Tensors, asked: Tensor) -> Tensor:
        for one in fields(batch):
            mine, new = getattr(self.batch, one.name), getattr(batch, one.name)
            if isinstance(mine, Tensor):
                mine.copy_(new)
        self.asked.copy_(asked)
        self.graph.replay()
        return self.loss


def _copied(batch: Tensors) -> Tensors:
    """The same in memory of its own."""
    return batch.each(Tensor.clone)


def _shape(batch: Tensors) -> Shape:
    values = [getattr(batch, one.name) for one in fields(batch)]
    return tuple(tuple(v.shape) if isinstance(v, Tensor) else None for v in values)
