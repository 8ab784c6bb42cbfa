"""A model that learns: forward, backward, clip, step, average; and its tensors, to save.

This one learns from a task's answers. Those that learn from traces (`trace_learning`, `readable`)
have another loss, and other batches.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from weft.errors import WeftError
from weft.models.build import Model, build
from weft.models.config import TransformerConfig
from weft.models.init import initialise
from weft.models.transformer import Output
from weft.tasks import Task
from weft.training.config import TrainingConfig
from weft.training.cuda_graphs import Graphed
from weft.training.data import Feed, Tensors
from weft.training.distributed import Group, add_up, seed_own_draws
from weft.training.optim.optimisers import (
    clip,
    make_capturable,
    optimisers_of,
    restore,
    saved,
    set_lr,
)
from weft.training.optim.schedules import share

IGNORED = -1


class NotFinite(ArithmeticError):
    """The loss or its gradient is no longer a number."""


class Batches(Protocol):
    """The batches of a run, one for each step that is left; to be closed.

    Each can be brought `to` a device, and has `read`, the number of tokens in it.
    """

    def __iter__(self) -> Iterator[Any]: ...

    def close(self) -> None:
        """End whatever makes them."""


class Learner:
    """A model with its optimisers and, where one is kept, its average.

    Attributes:
        updating: whether weights are no longer those of the last step. It is set before they are
            changed, and it is for who counts steps to unset it.
    """

    def __init__(
        self,
        config: TrainingConfig,
        model: TransformerConfig,
        device: torch.device,
        group: Group | None = None,
    ) -> None:
        self.config, self.device, self.group = config, device, group or Group()
        self.model = self._made(model).to(device)
        self.average = self._copy() if config.ema else None
        self.optimisers = optimisers_of(self.trained, config.optimiser)
        self.unsound = torch.zeros((), dtype=torch.bool, device=device)
        self.updating = False
        self._graphed = self._graph() if config.graphed and device.type == "cuda" else None
        self._plain = self.model
        if config.fused:
            self._fuse()

    def _made(self, config: TransformerConfig) -> Model:
        """The model with its first weights."""
        return initialise(build(config), self.config.initial, seed=self.config.seed)

    def _fuse(self) -> None:
        """Make steps quicker, where the config asks for it."""
        self._plain = self._shared(self.model.config)
        self.model.fused()

    @property
    def trained(self) -> nn.Module:
        """All that is learned: the model, and whatever else a loss needs."""
        return self.model

    @cached_property
    def weights(self) -> list[nn.Parameter]:
        """All weights that are learned, found once: small models notice."""
        return [weight for weight in self.trained.parameters() if weight.requires_grad]

    @property
    def guessing(self) -> float:
        """The loss of one who knows nothing."""
        return math.log(max(2, self.model.config.outputs))

    def feed(self, task: Task, first: int) -> Batches:
        """The batches from a step on."""
        return Feed(
            task,
            self.config,
            self.model.config,
            first=first,
            pinned=self.device.type == "cuda",
            group=self.group,
        )

    def loss(self, batch: Any) -> Tensor:
        """The loss of a batch, or of this process's part of it."""
        with precise(self.config, self.device):
            logits = run(self.model, batch).logits
        whole: Tensor = summed_loss(logits, batch.targets) / batch.asked
        return whole

    def objective(self, loss: Tensor) -> Tensor:
        """What a step makes smaller: the loss, which is logged, and whatever else it should."""
        return loss

    @property
    def evaluated(self) -> Model:
        """The model that counts, not compiled: the average where there is one."""
        return self._plain if self.average is None else self.average

    def lr(self, step: int) -> float:
        """The learning rate of a step."""
        return self.config.optimiser.lr * share(self.config.schedule, step, self.config.steps)

    def learn(self, batch: Any, step: int) -> Tensor:
        """One step; gives the loss before it, which is not waited for."""
        if not self.model.training:
            self.model.train()
        if self.group.size > 1 and self.model.config.draws_per_example:
            seed_own_draws(self.config.seed, step, self.group)
        set_lr(self.optimisers, self.lr(step))
        return self._advance(batch) if self._graphed is None else self._graphed(batch)

    def _advance(self, batch: Any) -> Tensor:
        """Forward, backward, and the change of all weights; nothing in it waits for a GPU."""
        loss = self.loss(batch)
        self._forget()
        self.objective(loss).backward()  # type: ignore[no-untyped-call]
        loss = add_up(self.weights, loss.detach(), self.group)
        norm = clip(self.weights, self.config.optimiser.clip)
        self._look(loss, norm)
        self._change()
        for optimiser in self.optimisers:
            optimiser.step()
        self._follow()
        return loss

    def _graph(self) -> Graphed:
        """Steps as CUDA graphs; learning rates must then be tensors."""
        if self.group.size > 1:
            raise WeftError(
                "steps of several processes cannot be captured",
                subject="TrainingConfig",
                remedy="Set graphed=false, or start one process",
            )
        make_capturable(self.optimisers, self.device)
        return Graphed(self._advance, self._forget, self._change)

    def _change(self) -> None:
        """Note that weights are about to be changed."""
        self.updating = True

    def _forget(self) -> None:
        """Let go of gradients."""
        for weight in self.weights:
            weight.grad = None

    def check(self) -> None:
        """Raise `NotFinite` where some step so far had no finite loss and gradient."""
        if bool(self.unsound):
            raise NotFinite

    def _look(self, loss: Tensor, norm: Tensor) -> None:
        """Note whether all is finite; on a CPU that costs nothing to know before the step."""
        self.unsound |= ~(loss.isfinite() & norm.isfinite())
        if self.device.type == "cpu":
            self.check()

    @torch.no_grad()
    def _follow(self) -> None:
        """Move the average towards the weights."""
        if self.average is not None:
            both = zip(self.average.parameters(), self.model.parameters(), strict=True)
            pairs = [(kept, new) for kept, new in both if new.requires_grad]
            kept: list[Tensor] = [one for one, _ in pairs]
            torch._foreach_lerp_(kept, [one for _, one in pairs], 1 - self.config.ema)

    def _copy(self) -> Model:
        return copy.deepcopy(self.model).requires_grad_(False)

    def _shared(self, config: TransformerConfig) -> Model:
        """A model with the same weights, which takes inputs of any width without compiling."""
        twin = build(config)
        twin.load_state_dict(self.model.state_dict(), assign=True)
        return twin.to(self.device).requires_grad_(False)

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """All tensors that a checkpoint needs, by file."""
        found = {"model": self.model.state_dict(), "optimiser": saved(self.optimisers)}
        return found if self.average is None else {**found, "ema": self.average.state_dict()}

    def restore(self, tensors: dict[str, dict[str, Tensor]]) -> None:
        """Become what was saved."""
        self.model.load_state_dict(tensors["model"])
        restore(self.optimisers, tensors.get("optimiser", {}))  # a run at its end has none
        if self.average is not None:
            self.average.load_state_dict(tensors["ema"])


def run(model: Model, batch: Tensors) -> Output:
    """The model's output for a batch."""
    found: Output = model(
        batch.tokens, batch.lengths, source=batch.source, source_lengths=batch.source_lengths
    )
    return found


def summed_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """The sum of cross-entropies at all positions with a target, in float32 at least."""
    wide = logits if logits.dtype == torch.float64 else logits.float()
    return nn.functional.cross_entropy(
        wide.flatten(0, -2), targets.flatten(), ignore_index=IGNORED, reduction="sum"
    )


def precise(config: TrainingConfig, device: torch.device) -> AbstractContextManager[object]:
    """The precision in which products are computed."""
    if not config.bf16:
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)
