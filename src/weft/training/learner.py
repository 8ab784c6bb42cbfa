"""Learners: a model with its optimisers, which take one step at a time and can be saved.

`Learner` learns from a task's answers. Learners from traces (`traces.learner`, `traces.streams`)
have another loss and other batches.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from weft.models.factory import Model, build_model
from weft.models.transformer import Output
from weft.tasks import Task
from weft.training.config import LabelSetLoss, TrainingConfig, refuse
from weft.training.cuda_graphs import CapturedSteps
from weft.training.data import Tensors, made_ahead, prepared, tensors_of
from weft.training.distributed import ALONE, Group, seed_process, sum_gradients
from weft.training.optim.optimisers import (
    clip,
    learning_rate,
    make_capturable,
    optimisers_of,
    restore,
    saved,
    set_lr,
)
from weft.training.workers import Workers

if TYPE_CHECKING:
    from jaxtyping import Float

IGNORED = -1


class NotFinite(ArithmeticError):
    """The loss or its gradient is not finite."""


class Learner:
    """A model with its optimisers and, if the config asks for one, an average of its weights.

    Attributes:
        updating: whether the weights may differ from those of the last complete step. The learner
            sets it before it changes weights; the caller clears it when it has counted the step.
    """

    def __init__(
        self,
        config: TrainingConfig,
        model: Model,
        device: torch.device,
        group: Group = ALONE,
    ) -> None:
        """`model` has its initial weights; it is moved to `device` and trained in place."""
        self.config, self.device, self.group = config, device, group
        self.model = model.to(device)
        self.average = copy.deepcopy(model).requires_grad_(False) if config.ema else None
        self.optimisers = optimisers_of(self.trained, config.optimiser)
        self.not_finite = torch.zeros((), dtype=torch.bool, device=device)
        self.updating = False
        capture = config.cuda_graphs and device.type == "cuda"
        self._captured = self._capture() if capture else None
        self._plain = self.model
        if config.torch_compile:
            self._compile()

    def _compile(self) -> None:
        """Compile the layers by torch.compile."""
        self._plain = self._shared()
        self.model.compile_layers()

    @property
    def trained(self) -> nn.Module:
        """Everything that is trained: the model, and whatever else the loss needs."""
        return self.model

    @cached_property
    def weights(self) -> list[nn.Parameter]:
        """All trained weights; collected once, since small models notice."""
        return [weight for weight in self.trained.parameters() if weight.requires_grad]

    @property
    def guessing_loss(self) -> float:
        """Loss of a uniform guess, log(classes)."""
        return math.log(max(2, self.model.config.outputs))

    def feed(self, task: Task, first: int, workers: int = 0) -> Generator[Any]:
        """The batches from step `first` on; to be closed.

        Each has `to(device)` and `token_count`, the number of tokens in it without padding. For a
        GPU a thread makes them ahead of time, so that no step waits. On a CPU the thread would
        compete with the step for cores. With `workers`, so many processes make them.
        """
        steps = range(first, self.config.steps + 1)
        if workers and self.config.supervision.by == "answers":
            return self._feed_from(workers, task, steps)
        if self.device.type == "cuda":
            return made_ahead(lambda step: self.batch(task, step).pinned(), steps)
        return (self.batch(task, step) for step in steps)

    def _feed_from(self, count: int, task: Task, steps: Sequence[int]) -> Generator[Any]:
        """Yield batches that worker processes make, or this one if a worker has ended."""
        workers = Workers(self.config, count, steps)

        def made(step: int) -> Tensors:
            batch = workers.batch(step)
            if batch is None:
                tensors = self.batch(task, step)
            else:
                tensors = tensors_of(batch, self.model.config, self.group)
            return tensors.pinned() if self.device.type == "cuda" else tensors

        try:
            yield from made_ahead(made, steps)
        finally:
            workers.close()

    def batch(self, task: Task, step: int) -> Tensors:
        """The batch of a step, or this process's share of it."""
        return tensors_of(prepared(task, self.config, step), self.model.config, self.group)

    def loss(self, batch: Any) -> Tensor:
        """The mean loss of a batch; in a group, this process's share of it."""
        with autocast(self.config, self.device):
            logits = run(self.model, batch).logits
        total = summed_loss(logits, batch, self.config.supervision.label_sets)
        mean: Tensor = total / batch.target_count
        return mean

    def objective(self, loss: Tensor) -> Tensor:
        """What a step minimises: the logged loss, and regularisers if there are any."""
        coefficients = self.config.penalty.coefficients
        if not coefficients:
            return loss
        from weft.crasp.regulariser import total_penalty

        # Every process of a group adds its share, since gradients are summed.
        return loss + total_penalty(self._named_weights, coefficients) / self.group.size

    @cached_property
    def _named_weights(self) -> dict[str, Tensor]:
        return dict(self.model.named_parameters())

    @torch.no_grad()
    def penalties(self) -> dict[str, float]:
        """The penalties of the current weights, without coefficients; empty if none are trained."""
        coefficients = self.config.penalty.coefficients
        if not coefficients:
            return {}
        from weft.crasp.regulariser import penalty_of

        return {term: float(penalty_of(term, self._named_weights)) for term in coefficients}

    @property
    def evaluated(self) -> Model:
        """The model to evaluate, not compiled: the average if there is one."""
        return self._plain if self.average is None else self.average

    def learn(self, batch: Any, step: int) -> Tensor:
        """Take one step; returns the loss before it, without waiting for the device."""
        if not self.model.training:
            self.model.train()
        if self.group.size > 1 and self.model.config.draws_per_example:
            seed_process(self.config.seed, step, self.group)
        set_lr(self.optimisers, learning_rate(self.config, step))
        return self._advance(batch) if self._captured is None else self._captured(batch)

    def _advance(self, batch: Any) -> Tensor:
        """Forward, backward and update; nothing in it waits for a GPU."""
        loss = self.loss(batch)
        self._clear_gradients()
        self.objective(loss).backward()  # type: ignore[no-untyped-call]
        loss = sum_gradients(self.weights, loss.detach(), self.group)
        norm = clip(self.weights, self.config.optimiser.clip)
        self._note_finite(loss, norm)
        self._begin_update()
        for optimiser in self.optimisers:
            optimiser.step()
        self._update_average()
        return loss

    def _capture(self) -> CapturedSteps:
        """Steps as CUDA graphs; learning rates must then be tensors."""
        if self.group.size > 1:
            refuse(
                "cuda_graphs does not work with several processes",
                "Set cuda_graphs=false, or start one process",
            )
        make_capturable(self.optimisers, self.device)
        return CapturedSteps(self._advance, self._clear_gradients, self._begin_update)

    def _begin_update(self) -> None:
        """Note that weights are about to change."""
        self.updating = True

    def _clear_gradients(self) -> None:
        for weight in self.weights:
            weight.grad = None

    def check(self) -> None:
        """Raise `NotFinite` if a step so far had a loss or gradient that is not finite."""
        if bool(self.not_finite):
            raise NotFinite

    def _note_finite(self, loss: Tensor, norm: Tensor) -> None:
        """Note whether loss and gradient are finite; on a CPU, check before the update."""
        self.not_finite |= ~(loss.isfinite() & norm.isfinite())
        if self.device.type == "cpu":
            self.check()

    @torch.no_grad()
    def _update_average(self) -> None:
        """Move the average towards the weights."""
        if self.average is not None:
            both = zip(self.average.parameters(), self.model.parameters(), strict=True)
            pairs = [(mean, new) for mean, new in both if new.requires_grad]
            means: list[Tensor] = [mean for mean, _ in pairs]
            torch._foreach_lerp_(means, [new for _, new in pairs], 1 - self.config.ema)

    def _shared(self) -> Model:
        """An uncompiled model that shares the weights and takes inputs of any width."""
        twin = build_model(self.model.config)
        twin.load_state_dict(self.model.state_dict(), assign=True)
        return twin.to(self.device).requires_grad_(False)

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """All tensors of a checkpoint, by file."""
        files = {"model": self.model.state_dict(), "optimiser": saved(self.optimisers)}
        return files if self.average is None else {**files, "ema": self.average.state_dict()}

    def restore(self, tensors: dict[str, dict[str, Tensor]]) -> None:
        """Load the tensors of a checkpoint."""
        self.model.load_state_dict(tensors["model"])
        restore(self.optimisers, tensors.get("optimiser", {}))  # finished runs have none
        if self.average is not None:
            self.average.load_state_dict(tensors["ema"])


def run(model: Model, batch: Tensors) -> Output:
    """The model's output for a batch."""
    output: Output = model(
        batch.tokens,
        batch.lengths,
        documents=batch.documents,
        source=batch.source,
        source_lengths=batch.source_lengths,
    )
    return output


def summed_loss(
    logits: Float[Tensor, "batch length classes"],
    batch: Tensors,
    label_sets: LabelSetLoss = "binary",
) -> Float[Tensor, ""]:
    """The sum of losses at all positions with a target, in float32 or float64.

    Cross-entropy for classes and sequences. For label sets, with L the legal symbols of C:

        binary    (1/C) sum_c BCE(sigmoid(logit_c), c in L), multi-label prediction as in the code
                  of Huang et al. (2025) and its successors
        uniform   -(1/|L|) sum_(c in L) log p_c
        any       -log sum_(c in L) p_c
    """
    wide = logits if logits.dtype == torch.float64 else logits.float()
    if batch.legal is None:
        return nn.functional.cross_entropy(
            wide.flatten(0, -2), batch.targets.flatten(), ignore_index=IGNORED, reduction="sum"
        )
    scored = batch.targets >= 0
    legal = nn.functional.pad(batch.legal, (0, wide.shape[-1] - batch.legal.shape[-1]))
    legal = legal | ~scored[..., None]  # no empty set, so that every loss is finite
    losses = _label_set_losses(wide, legal, label_sets)
    return torch.where(scored, losses, 0.0).sum()


def _label_set_losses(logits: Tensor, legal: Tensor, label_sets: LabelSetLoss) -> Tensor:
    """The loss at each position (b l)."""
    if label_sets == "binary":
        losses = nn.functional.binary_cross_entropy_with_logits(
            logits, legal.to(logits.dtype), reduction="none"
        )
        return losses.mean(-1)
    log_shares = logits.log_softmax(-1)
    if label_sets == "uniform":
        return -torch.where(legal, log_shares, 0.0).sum(-1) / legal.sum(-1)
    return -log_shares.masked_fill(~legal, -torch.inf).logsumexp(-1)


def autocast(config: TrainingConfig, device: torch.device) -> AbstractContextManager[object]:
    """The precision of matmuls: bf16 if the config asks for it."""
    if not config.bf16:
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)
