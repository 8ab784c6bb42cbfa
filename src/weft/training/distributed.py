"""One run in several processes, started by torchrun.

Each process takes every n-th example of every batch. Losses are divided by the number of targets of
the whole batch, so that gradients need only be added up, and the loss curve is that of one process
but for rounding.
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
    """This process's number among all.

    Attributes:
        rank: its number.
        size: how many there are.
        control: the group in which plain numbers are told, on CPUs, so that no GPU is waited for.
    """

    rank: int = 0
    size: int = 1
    control: Any = field(default=None, compare=False, repr=False)

    @property
    def first(self) -> bool:
        """Whether this is the process that writes files."""
        return self.rank == 0


@contextmanager
def joined(device: torch.device) -> Iterator[Group]:
    """The group that torchrun started this process in; a group of one where it did not.

    `torch.distributed.nn.functional` takes the group that there is when it is imported as a default
    argument, and keeps it. PyTorch imports it when an optimiser is made. The threads of a group
    that is kept live on, and now and then one of them crashed the process when Python exited; so
    it is imported before there is a group.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield Group()
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
        dist.barrier()  # nobody leaves while others still talk
    finally:
        if not started:
            dist.destroy_process_group()


def check_batch(batch: int, group: Group) -> None:
    """Refuse batches that leave a process without examples."""
    if batch < group.size:
        raise WeftError(
            f"a batch of {batch} is too small for {group.size} processes",
            remedy="Start fewer processes, or make the batch larger",
        )


def add_up(weights: list[nn.Parameter], loss: Tensor, group: Group) -> Tensor:
    """Replace gradients by their sums over all processes; gives the sum of losses."""
    if group.size == 1:
        return loss
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    flat = torch.cat([*(gradient.flatten() for gradient in gradients), loss.reshape(1)])
    dist.all_reduce(flat)
    parts = torch.split(flat, [*(gradient.numel() for gradient in gradients), 1])
    for gradient, part in zip(gradients, parts[:-1], strict=True):
        gradient.copy_(part.view_as(gradient))
    return parts[-1][0]


def seed_own_draws(seed: int, step: int, group: Group) -> None:
    """Seed PyTorch's generators for a step of one of several processes.

    Masks of dropout and offsets of examples should differ between processes, and a checkpoint has
    the generator of the first process alone; so each draws from a seed of its own for every step.
    """
    state = np.random.SeedSequence([seed, step, group.rank]).generate_state(1, np.uint64)
    torch.manual_seed(int(state[0]))


class Signalled:
    """The signals of all processes of a group, so that all of them leave after the same step.

    Each tells its own at every step and reads what was told a step before, so nobody waits.
    """

    def __init__(self, group: Group) -> None:
        self._group = group
        self._sent: tuple[Tensor, Any] | None = None

    def exchange(self, number: int) -> int:
        """Tell the others; gives a signal that some process told before, 0 if none did."""
        if self._group.size == 1:
            return number
        found = self.settle()
        if not found:
            sent = torch.tensor([number])
            work = dist.all_reduce(sent, dist.ReduceOp.MAX, self._group.control, async_op=True)
            self._sent = sent, work
        return found

    def settle(self) -> int:
        """What was told last, when it has arrived."""
        if self._sent is None:
            return 0
        sent, work = self._sent
        work.wait()
        self._sent = None
        return int(sent)

    def agree(self, number: int) -> int:
        """Tell the others, and wait for what they tell."""
        return self.exchange(number) or self.settle()

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self._group.size > 1:
            dist.barrier(self._group.control)


def agreed(values: list[float], device: torch.device, group: Group) -> list[float]:
    """The first process's values, for all: decisions must not differ."""
    if group.size == 1:
        return values
    shared = torch.tensor(values, dtype=torch.float64, device=device)
    dist.broadcast(shared, 0)
    found: list[float] = shared.tolist()
    return found
