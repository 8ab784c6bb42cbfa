"""Learning the feed-forward from traces (ALTA paper, appendices C.1 and D.1).

    loss  =  mean over batch and dimensions of (x~ + f(x~) - y)^2,    x~ = x + noise

x is the stream at a position after attention, y the stream after the feed-forward f. What f puts
out is added to what it reads, so it learns to take the noise away as well, and errors do not add up
from layer to layer. Everything is drawn on the device, so on a GPU a step can be captured as it is
(`graphed`).

A step can also make the weights smaller, so that units are left out that nothing needs:

    objective  =  loss + shrink * (sum of magnitudes of all weights and biases of f)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from weft.errors import WeftError
from weft.models.config import TransformerConfig
from weft.models.feed_forward import FeedForward
from weft.models.init import normal
from weft.models.transformer import Transformer
from weft.tasks import Task
from weft.training.config import TrainingConfig
from weft.training.distributed import Group
from weft.training.learner import Batches, Learner
from weft.training.program_task import ProgramTask
from weft.training.traces.dataset import TraceSet, collect
from weft.training.traces.feed_forward import compiled_for, feed_forward_of, placed
from weft.training.traces.vectors import VectorPairs

MANY = 4096


@dataclass(frozen=True)
class Drawn:
    """A batch that is drawn where it is learned; `read` states of it."""

    read: int

    def to(self, device: torch.device) -> Drawn:
        """The same: there is nothing to bring anywhere."""
        return self


@dataclass(frozen=True)
class DrawnBatches:
    """As many batches as are asked for."""

    size: int

    def __iter__(self) -> Iterator[Drawn]:
        while True:
            yield Drawn(self.size)

    def close(self) -> None:
        """Nothing is to be ended."""


class TraceLearner(Learner):
    """The compiled model with its own feed-forward, and the states that it learns from."""

    def __init__(
        self, config: TrainingConfig, task: Task, device: torch.device, group: Group | None = None
    ) -> None:
        assert isinstance(task, ProgramTask)
        _check(config, group)
        self.task = task
        self.traces = traces_of(config, task)
        layout = compiled_for(task).model.layout
        self.pairs = VectorPairs(self.traces, layout, device)
        super().__init__(config, config.model_config(task), device, group)
        self._guessing = self._first_loss()

    def _made(self, config: TransformerConfig) -> Transformer:
        model = placed(self.config, self.task)
        draw_he(feed_forward_of(model), self.config.seed)
        if self.config.supervision.spread:
            spread(feed_forward_of(model), self.pairs, self.config.seed)
        return model

    def _fuse(self) -> None:
        """There are no layers to compile: the feed-forward learns alone."""

    @property
    def guessing(self) -> float:
        """The loss of the first weights."""
        return self._guessing

    def feed(self, task: Task, first: int) -> Batches:
        return DrawnBatches(self.config.batch)

    def loss(self, batch: object) -> Tensor:
        supervision = self.config.supervision
        index = self.pairs.draw(self.config.batch, by_counts=supervision.weigh == "counts")
        read, left = self.pairs.at(index)
        noisy = read + supervision.noise * torch.randn_like(read)
        return squared_error(feed_forward_of(self.model), noisy, left)

    def objective(self, loss: Tensor) -> Tensor:
        shrink = self.config.supervision.shrink
        return loss + shrink * magnitude(feed_forward_of(self.model)) if shrink else loss

    @torch.no_grad()
    def _first_loss(self) -> float:
        index = torch.arange(min(MANY, self.pairs.count), device=self.device)
        return float(squared_error(feed_forward_of(self.model), *self.pairs.at(index)))


def squared_error(feed_forward: FeedForward, read: Tensor, left: Tensor) -> Tensor:
    """The mean square of what the stream differs by after a feed-forward."""
    return nn.functional.mse_loss(read + feed_forward(read), left)


def magnitude(feed_forward: FeedForward) -> Tensor:
    """The sum of the magnitudes of its weights and biases (R of appendix B, and the last bias)."""
    parts = [part.abs().sum() for part in (*feed_forward.weights, *feed_forward.biases)]
    return torch.stack(parts).sum()


def draw_he(feed_forward: FeedForward, seed: int) -> None:
    """First weights of deviation sqrt(2 / inputs) (He et al. 2015), as in the paper's code."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(seed)
        for weight in feed_forward.weights:
            normal(weight, (2 / weight.shape[1]) ** 0.5)


def spread(feed_forward: FeedForward, pairs: VectorPairs, seed: int) -> None:
    """First biases that let each unit of the first layer begin at a state that is drawn."""
    if not len(feed_forward.biases):
        return
    first, bias = feed_forward.weights[0], feed_forward.biases[0]
    drawn = torch.randint(pairs.count, bias.shape, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        read, _ = pairs.at(drawn.to(pairs.device))
        bias.copy_(-(first * read.to(first.device)).sum(1))


def traces_of(config: TrainingConfig, task: ProgramTask) -> TraceSet:
    """The states that a run learns from: those of its program on inputs that are trained on."""
    return collect(task.program, task.inputs(config.seed, config.supervision.examples))


def _check(config: TrainingConfig, group: Group | None) -> None:
    if group is not None and group.size > 1:
        raise WeftError(
            "supervision by traces runs in one process",
            remedy="Start it without torchrun; its batches are small",
        )
    if config.bf16:
        raise WeftError(
            "compiled attention is exact in float32 alone",
            subject="TrainingConfig",
            remedy="Leave bf16 out; `tf32` and `graphed` make steps quicker on a GPU",
        )
