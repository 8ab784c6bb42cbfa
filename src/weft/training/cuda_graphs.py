"""A step of a small model as one CUDA graph.

A step of a few layers is over before a CPU has launched its thousand kernels one by one. A graph
keeps what was launched once and launches it all at once. It reads and writes the same memory every
time: a batch is copied to where the first one was, learning rate and number of targets are tensors,
and what optimisers keep is changed in place. Random numbers go on from step to step. A graph
belongs to one shape of batches; there is one for each.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

TRIED = 3
"""How many steps of a shape run as they are before one is captured: kernels are chosen there."""

Shape = tuple[tuple[int, ...] | None, ...]
Step = Callable[[Any], Tensor]


class Graphed:
    """Steps that are captured; call it with a batch, as the step itself."""

    def __init__(self, step: Step, forget: Callable[[], None], change: Callable[[], None]) -> None:
        """`step` learns from a batch, `forget` lets go of gradients.

        `change` is called before a graph changes weights; when they are captured, nothing is.
        """
        self.step, self.forget, self.change = step, forget, change
        self.aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self.tried: dict[Shape, int] = {}
        self.captured: dict[Shape, _Captured] = {}

    def __call__(self, batch: Any) -> Tensor:
        shape = _shape(batch)
        if self.tried.get(shape, 0) < TRIED:
            self.tried[shape] = self.tried.get(shape, 0) + 1
            return self._aside(batch)
        if shape not in self.captured:
            self.forget()
            self.captured[shape] = _Captured(self.step, batch)
        self.change()
        return self.captured[shape].replay(batch)

    def _aside(self, batch: Any) -> Tensor:
        """A step on a stream of its own, as what is captured later will be."""
        here = torch.cuda.current_stream()
        self.aside.wait_stream(here)
        with torch.cuda.stream(self.aside), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="This instance was constructed with capt")
            loss = self.step(batch)  # by optimisers that can be captured, and are not yet
        here.wait_stream(self.aside)
        return loss


class _Captured:
    """One graph, with the memory that it reads."""

    def __init__(self, step: Step, batch: Any) -> None:
        self.batch = _kept(batch)
        self.graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.loss = step(self.batch)

    def replay(self, batch: Any) -> Tensor:
        """The step with another batch; its loss is where the next one writes its own."""
        for one in fields(batch):
            mine, new = getattr(self.batch, one.name), getattr(batch, one.name)
            if isinstance(mine, Tensor):
                mine.copy_(new) if isinstance(new, Tensor) else mine.fill_(new)
        self.graph.replay()
        return self.loss


def _kept(batch: Any) -> Any:
    """The same in memory of its own; a number that a step computes with becomes a tensor."""
    tensors = {one.name: getattr(batch, one.name) for one in fields(batch)}
    own = {name: value.clone() for name, value in tensors.items() if isinstance(value, Tensor)}
    if "asked" in tensors:
        own["asked"] = torch.full((), float(tensors["asked"]), device=batch.tokens.device)
    return replace(batch, **own)


def _shape(batch: Any) -> Shape:
    values = [getattr(batch, one.name) for one in fields(batch)]
    return tuple(tuple(v.shape) if isinstance(v, Tensor) else None for v in values)
