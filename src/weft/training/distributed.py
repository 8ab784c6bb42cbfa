"""Data-parallel runs in several processes, started by torchrun.

Each of n processes takes every n-th example of every batch. Losses are divided by the number of
targets of the whole batch, so gradients are summed, and the loss curve is that of one process up to
rounding.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from weft.errors import WeftError


@dataclass(frozen=True)
class Group:
    """The processes of a run, and which of them this is.

    Attributes:
        rank: the number of this process.
        size: number of processes.
        control: a gloo group for plain numbers, so that exchanging them does not wait for a GPU.
    """

    rank: int = 0
    size: int = 1
    control: Any = field(default=None, compare=False, repr=False)

    @property
    def first(self) -> bool:
        """Whether this process writes the files."""
        return self.rank == 0


ALONE = Group()
"""The group of a run in one process."""


@contextmanager
def joined(device: torch.device) -> Iterator[Group]:
    """The group that torchrun started this process in; a group of one without torchrun.

    When `torch.distributed.nn.functional` is imported, a default argument keeps a reference to the
    current group. PyTorch imports it when an optimiser is constructed. The threads of a group that
    stays alive occasionally crash the process when Python exits, so the module is imported before
    the group exists.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield ALONE
        return
    started = dist.is_initialized()
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if not started:
        import_module("torch.distributed.nn.functional")
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        control = dist.new_group(backend="gloo")
        yield Group(dist.get_rank(), size, control)
        dist.barrier()  # no process leaves while others still communicate
    finally:
        if not started:
            dist.destroy_process_group()


def check_batch(batch: int, group: Group) -> None:
    """Refuse batches that would leave a process without examples."""
    if batch < group.size:
        raise WeftError(
            f"a batch of {batch} is too small for {group.size} processes",
            remedy="Start fewer processes, or make the batch larger",
        )


def sum_gradients(weights: list[nn.Parameter], loss: Tensor, group: Group) -> Tensor:
    """Replace gradients by their sums over all processes; returns the sum of losses."""
    if group.size == 1:
        return loss
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    flat = torch.cat([*(gradient.flatten() for gradient in gradients), loss.reshape(1)])
    dist.all_reduce(flat)
    parts = torch.split(flat, [*(gradient.numel() for gradient in gradients), 1])
    for gradient, part in zip(gradients, parts[:-1], strict=True):
        gradient.copy_(part.view_as(gradient))
    return parts[-1][0]


def seed_process(seed: int, step: int, group: Group) -> None:
    """Seed PyTorch's generators for a step of one of several processes.

    Dropout masks and random offsets should differ between processes, and a checkpoint has only the
    first process's generator; so each process draws from a seed of its own in every step.
    """
    state = np.random.SeedSequence([seed, step, group.rank]).generate_state(1, np.uint64)
    torch.manual_seed(int(state[0]))


class SharedSignals:
    """Shares signals among the processes of a group, so that all leave after the same step.

    Each process sends its own at every step and reads what was sent one step before, so that none
    waits.
    """

    def __init__(self, group: Group) -> None:
        self._group = group
        self._sent: tuple[Tensor, Any] | None = None

    def exchange(self, number: int) -> int:
        """Send this process's signal; returns one that a process sent a step before, or 0."""
        if self._group.size == 1:
            return number
        received = self.settle()
        if not received:
            sent = torch.tensor([number])
            work = dist.all_reduce(sent, dist.ReduceOp.MAX, self._group.control, async_op=True)
            self._sent = sent, work
        return received

    def settle(self) -> int:
        """Wait for the last exchange; returns its signal, or 0."""
        if self._sent is None:
            return 0
        sent, work = self._sent
        work.wait()
        self._sent = None
        return int(sent)

    def agree(self, number: int) -> int:
        """Send this process's signal and wait for the others'."""
        return self.exchange(number) or self.settle()

    def wait(self) -> None:
        """Wait for all processes."""
        if self._group.size > 1:
            dist.barrier(self._group.control)


def agreed(values: list[float], device: torch.device, group: Group) -> list[float]:
    """The first process's values, in all processes: decisions must not differ."""
    if group.size == 1:
        return values
    shared = torch.tensor(values, dtype=torch.float64, device=device)
    dist.broadcast(shared, 0)
    values = shared.tolist()
    return values
