"""Training steps captured as CUDA graphs (`cuda_graphs` in the config).

The kernels of a small model take less time than launching them one by one. A CUDA graph records the
launches of one step and replays them all at once. It reads and writes the same memory every time: a
batch is copied to where the first one was, the learning rate and the number of targets are tensors,
and optimiser states change in place. Random numbers advance from step to step. Each batch shape has
a graph of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

WARM_UP = 3
"""Number of steps per shape that run uncaptured first; kernels are selected there."""

Shape = tuple[tuple[int, ...] | None, ...]
Step = Callable[[Any], Tensor]


class CapturedSteps:
    """A training step that is captured and replayed; call it with a batch, like the step itself."""

    def __init__(
        self, step: Step, clear_gradients: Callable[[], None], begin_update: Callable[[], None]
    ) -> None:
        """`step` learns from a batch. `begin_update` is called before a replay changes weights."""
        self.step, self.clear_gradients, self.begin_update = step, clear_gradients, begin_update
        self.stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self.warmed_up: dict[Shape, int] = {}
        self.graphs: dict[Shape, _Graph] = {}

    def __call__(self, batch: Any) -> Tensor:
        shape = _shape(batch)
        if self.warmed_up.get(shape, 0) < WARM_UP:
            self.warmed_up[shape] = self.warmed_up.get(shape, 0) + 1
            return self._warm_up(batch)
        if shape not in self.graphs:
            self.clear_gradients()
            self.graphs[shape] = _Graph(self.step, batch)
        self.begin_update()
        return self.graphs[shape].replay(batch)

    def _warm_up(self, batch: Any) -> Tensor:
        """Take a step on a side stream, as capturing will."""
        here = torch.cuda.current_stream()
        self.stream.wait_stream(here)
        with torch.cuda.stream(self.stream), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="This instance was constructed with capt")
            loss = self.step(batch)  # the optimisers are capturable, but not captured yet
        here.wait_stream(self.stream)
        return loss


class _Graph:
    """One CUDA graph with the memory that it reads."""

    def __init__(self, step: Step, batch: Any) -> None:
        self.batch = _static(batch)
        self.graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.loss = step(self.batch)

    def replay(self, batch: Any) -> Tensor:
        """Take the step with another batch; the next replay overwrites the returned loss."""
        for field in fields(batch):
            mine, new = getattr(self.batch, field.name), getattr(batch, field.name)
            if isinstance(mine, Tensor):
                mine.copy_(new) if isinstance(new, Tensor) else mine.fill_(new)
        self.graph.replay()
        return self.loss


def _static(batch: Any) -> Any:
    """A copy of a batch in memory of its own; the number of targets becomes a tensor."""
    tensors = {entry.name: getattr(batch, entry.name) for entry in fields(batch)}
    copies = {name: value.clone() for name, value in tensors.items() if isinstance(value, Tensor)}
    if "target_count" in tensors:
        count = float(tensors["target_count"])
        copies["target_count"] = torch.full((), count, device=batch.tokens.device)
    return replace(batch, **copies)


def _shape(batch: Any) -> Shape:
    values = [getattr(batch, entry.name) for entry in fields(batch)]
    return tuple(tuple(v.shape) if isinstance(v, Tensor) else None for v in values)
