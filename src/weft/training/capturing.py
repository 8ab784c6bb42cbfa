"""A training step as one CUDA graph: its many small kernels are launched together.

The first few steps run one by one on a stream of their own, as capturing wants; they are steps like
any others. Then one is captured, which computes nothing yet, and from there on replayed. All that a
step reads and changes must stay at its place in memory: weights, what optimisers keep, learning
rates as tensors, and data on the GPU. Random numbers go on from step to step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

SINGLE = 3
"""How many steps run one by one before one is captured."""


class CapturedStep:
    """A step that is captured after a few times; calling it makes one step."""

    def __init__(self, step: Callable[[], Tensor]) -> None:
        self._step = step
        self._made = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._loss: Tensor | None = None

    def __call__(self) -> Tensor:
        """One step; gives its loss, at a place that the next one writes to again."""
        if self._made < SINGLE:
            self._made += 1
            return self._single()
        if self._graph is None or self._loss is None:
            self._graph = torch.cuda.CUDAGraph()
            with quick_products(), torch.cuda.graph(self._graph):
                self._loss = self._step()
        self._graph.replay()
        return self._loss

    def _single(self) -> Tensor:
        side: torch.cuda.Stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with quick_products(), torch.cuda.stream(side), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="This instance was constructed with capt")
            loss = self._step()  # of an optimiser that can be captured, and is not yet
        torch.cuda.current_stream().wait_stream(side)
        return loss


@contextmanager
def quick_products() -> Iterator[None]:
    """Products of float32 matrices in TensorFloat-32, where the device has it."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
