"""One run in several processes, started by torchrun.

Each process takes every n-th example of every batch. Losses are divided by the number of targets of
the whole batch, so that gradients need only be added up, and the loss curve is that of one process
but for rounding.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module

import torch
import torch.distributed as dist
from torch import Tensor, nn

from weft.errors import WeftError


@dataclass(frozen=True)
class Group:
    """This process's number among all."""

    rank: int = 0
    size: int = 1

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
        yield Group(dist.get_rank(), size)
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


def agreed(values: list[float], device: torch.device, group: Group) -> list[float]:
    """The first process's values, for all: decisions must not differ."""
    if group.size == 1:
        return values
    shared = torch.tensor(values, dtype=torch.float64, device=device)
    dist.broadcast(shared, 0)
    found: list[float] = shared.tolist()
    return found
