"""Trace supervision: learning the feed-forward (ALTA paper, appendices C.1 and D.1).

    loss  =  mean over batch and dimensions of (x~ + f(x~) - y)^2,    x~ = x + noise

x is the residual stream at a position after attention, y the stream after the feed-forward f. Since
the output of f is added to its input, f also learns to remove the noise, and errors do not
accumulate from layer to layer. Batches are drawn on the device, so on a GPU a step can be captured
as a CUDA graph.

An L1 penalty makes weights sparse, so that units that are not needed vanish:

    objective  =  loss + l1 * (sum of the absolute values of all weights and biases of f)

The model is an otherwise compiled Transformer. Embeddings, positions, attention, unembedding and
halting come from level 0, where every variable has its own dimensions of the residual stream, and
stay frozen. The feed-forward is free: the config sets `model.hidden` and `model.activation`. The
model runs at most as many layers as the program takes for the deepest test, so a model that never
halts stops there. Between layers the residual stream stays as the feed-forward leaves it, as in the
paper's experiments; with `supervision.round_between_layers`, every variable is set to its nearest
value.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from weft.errors import WeftError
from weft.models.config import TransformerConfig
from weft.models.factory import Model
from weft.models.feed_forward import FeedForward
from weft.models.init import normal
from weft.models.slots import round_stream
from weft.models.transformer import Transformer
from weft.tasks import Task
from weft.training.config import TrainingConfig, refuse
from weft.training.distributed import ALONE, Group
from weft.training.learner import Learner
from weft.training.program_task import ProgramTask
from weft.training.traces.dataset import TraceSet, collect
from weft.training.traces.sampling import StateSampler
from weft.training.traces.vectors import VectorPairs

if TYPE_CHECKING:
    from jaxtyping import Float

FIRST_STATES = 4096
"""Number of states on which the initial loss is measured."""
HIDDEN = (128, 128)
CONFIGURABLE = ("hidden", "activation")
"""What a config may set about the model; the program determines the rest."""


@dataclass(frozen=True)
class DrawnBatch:
    """A batch that the learner draws itself, of `token_count` states."""

    token_count: int

    def to(self, device: torch.device) -> DrawnBatch:
        """The batch itself: there is nothing to move."""
        return self


class TraceLearner(Learner):
    """Trains the feed-forward of a compiled model on pairs of vectors from traces."""

    def __init__(
        self,
        config: TrainingConfig,
        model: Model,
        pairs: VectorPairs,
        device: torch.device,
        group: Group = ALONE,
    ) -> None:
        super().__init__(config, model, device, group)
        self.pairs = pairs
        self.sampler = StateSampler(pairs, config.supervision.sample_by, config.batch)
        self.initial_loss = float("inf")

    def _compile(self) -> None:
        """Do nothing: the feed-forward alone has no layers to compile."""

    @property
    def guessing_loss(self) -> float:
        """The loss of the initial weights."""
        return self.initial_loss

    def feed(self, task: Task, first: int, workers: int = 0) -> Generator[Any]:
        while True:
            yield DrawnBatch(self.config.batch)

    def learn(self, batch: Any, step: int) -> Tensor:
        if self.sampler.by_errors and (step - 1) % self.sampler.interval == 0:
            self.sampler.measure(feed_forward_of(self.model))
        return super().learn(batch, step)

    def loss(self, batch: object) -> Tensor:
        before, after = self.pairs.at(self.sampler.draw(self.config.batch))
        noisy = before + self.config.supervision.noise * torch.randn_like(before)
        return squared_error(feed_forward_of(self.model), noisy, after)

    def objective(self, loss: Tensor) -> Tensor:
        l1 = self.config.supervision.l1
        return loss + l1 * l1_norm(feed_forward_of(self.model)) if l1 else loss

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        tensors = super().tensors()
        if self.sampler.by_errors:
            tensors["sampler"] = {"ends": self.sampler.ends}
        return tensors

    def restore(self, tensors: dict[str, dict[str, Tensor]]) -> None:
        super().restore(tensors)
        if "sampler" in tensors:  # finished runs have none
            self.sampler.ends.copy_(tensors["sampler"]["ends"])

    @torch.no_grad()
    def measure_initial_loss(self) -> None:
        """Set the loss that divergence is judged by: that of the current weights, without noise."""
        index = torch.arange(min(FIRST_STATES, self.pairs.count), device=self.device)
        error = squared_error(feed_forward_of(self.model), *self.pairs.at(index))
        self.initial_loss = float(error)


def trace_learner(
    config: TrainingConfig, task: Task, device: torch.device, group: Group = ALONE
) -> TraceLearner:
    """Trace the program, compile it, and initialise the feed-forward to train."""
    assert isinstance(task, ProgramTask)
    _check(config, group)
    pairs = VectorPairs.of(traces_of(config, task), task.compiled.model.layout, device)
    model = placed(config, task)
    initialise_he(feed_forward_of(model), config.seed)
    if config.supervision.init_at_states:
        initialise_at_states(feed_forward_of(model), pairs, config.seed)
    learner = TraceLearner(config, model, pairs, device, group)
    learner.measure_initial_loss()
    return learner


def squared_error(
    feed_forward: FeedForward,
    before: Float[Tensor, "batch width"],
    after: Float[Tensor, "batch width"],
) -> Float[Tensor, ""]:
    """The mean squared error of the residual stream after a feed-forward."""
    return nn.functional.mse_loss(before + feed_forward(before), after)


def l1_norm(feed_forward: FeedForward) -> Float[Tensor, ""]:
    """The sum of the absolute values of all weights and biases (R of appendix B, and last bias)."""
    parts = [part.abs().sum() for part in (*feed_forward.weights, *feed_forward.biases)]
    return torch.stack(parts).sum()


def initialise_he(feed_forward: FeedForward, seed: int) -> None:
    """He initialisation, standard deviation sqrt(2 / fan-in), as in the paper's code."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(seed)
        for weight in feed_forward.weights:
            normal(weight, (2 / weight.shape[1]) ** 0.5)


def initialise_at_states(feed_forward: FeedForward, pairs: VectorPairs, seed: int) -> None:
    """Set the first biases so that each unit's pre-activation is zero at a random state."""
    if not len(feed_forward.biases):
        return
    first, bias = feed_forward.weights[0], feed_forward.biases[0]
    drawn = torch.randint(pairs.count, bias.shape, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        before, _ = pairs.at(drawn.to(pairs.device))
        bias.copy_(-(first * before.to(first.device)).sum(1))


def traces_of(config: TrainingConfig, task: ProgramTask) -> TraceSet:
    """The traces that a run learns from: those of its program on training inputs."""
    return collect(task.program, task.inputs(config.seed, config.supervision.examples))


def _check(config: TrainingConfig, group: Group) -> None:
    if group.size > 1:
        raise WeftError(
            "supervision by traces runs in one process",
            remedy="Start it without torchrun; its batches are small",
        )
    if config.bf16:
        refuse(
            "compiled attention is exact in float32 only",
            "Leave bf16 out; `tf32` and `cuda_graphs` speed up steps on a GPU",
        )


# The model


def placed_config(config: TrainingConfig, task: Task) -> TransformerConfig:
    """The config of the compiled model with the feed-forward that a run asks for."""
    assert isinstance(task, ProgramTask)
    for key in config.model:
        if key not in CONFIGURABLE:
            allowed = " or ".join(f"model.{name}" for name in CONFIGURABLE)
            refuse(
                f"'model.{key}' is determined by the program",
                f"With supervision by traces, set {allowed}",
            )
    compiled = task.compiled.model.config
    return replace(
        compiled,
        hidden=tuple(config.model.get("hidden", HIDDEN)),
        activation=config.model.get("activation", "relu"),
        loops=min(compiled.loops, max(1, task.extent[1])),
    )


def placed(config: TrainingConfig, task: Task) -> Transformer:
    """The compiled model with a zero feed-forward of its own, the only part to be trained."""
    assert isinstance(task, ProgramTask)
    compiled, shape = task.compiled.model, placed_config(config, task)
    rounds = config.supervision.round_between_layers
    rounding = partial(round_stream, layout=compiled.layout) if rounds else None
    model = Transformer(shape, between_layers=rounding)
    weights = {k: v for k, v in compiled.state_dict().items() if ".feed_forward." not in k}
    model.load_state_dict(weights, strict=False)
    model.requires_grad_(False)
    feed_forward_of(model).requires_grad_(True)
    return model


def feed_forward_of(model: Model) -> FeedForward:
    """The feed-forward of a looped model."""
    feed_forward = model.layers[0].feed_forward
    assert isinstance(feed_forward, FeedForward)
    return feed_forward
