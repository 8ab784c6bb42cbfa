"""The training step of a stack: forward, backward and AdamW for all models at once.

Everything that differs between models, the learning rate included, is a column of numbers that
travels with the batch (`COLUMNS`), so a step is one copy to the device and, on a GPU, one replay of
a CUDA graph. Batches are cut to one of a few widths; each width has a graph of its own.

    g    gradient of the model's loss and penalties, scaled to a norm of at most `clip`
    m    m + (g - m) (1 - b1)          v    b2 v + (1 - b2) g^2
    x    x (1 - lr decay) - lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + 1e-8)

A place without a run, and a model whose loss is not finite, does not change.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from weft.crasp.regulariser import TABLE, penalty_of, total_penalty
from weft.models.positions import Positions
from weft.models.transformer import DTYPES
from weft.training.config import PenaltyConfig, TrainingConfig
from weft.training.cuda_graphs import WARM_UP
from weft.training.optim.optimisers import learning_rate
from weft.training.stacked.batches import ALIGNMENT, TickArrays, TickShape
from weft.training.stacked.forward import StackedForward, StackedInput
from weft.training.stacked.objective import summed_losses, wide_logits
from weft.training.stacked.parameters import FlatLayout
from weft.training.stacked.shape import Member, StackShape, union

if TYPE_CHECKING:
    from jaxtyping import Float

EPSILON = 1e-8
"""AdamW's."""
WIDTHS = 4
"""Number of widths to which batches are cut."""
PENALTIES = tuple(entry.name for entry in fields(PenaltyConfig))
COLUMNS = (
    "active", "lr", "first", "second", "first_correction", "second_correction", "decay", "clip",
    "average", *PENALTIES, "targets",
)  # fmt: skip
"""What a step needs to know about each model: whether it has a batch, its learning rate, 1 - b1 and
1 - b2, 1 - b1^t and sqrt(1 - b2^t), weight decay, largest norm, weight of the moving average, the
coefficients of penalties, and number of targets."""
BLOCK = 4096


class RunColumns:
    """The columns of a run by step, without the number of targets; computed in blocks."""

    def __init__(self, config: TrainingConfig) -> None:
        self.config = config
        self._blocks: dict[int, Any] = {}

    def __call__(self, step: int) -> Any:
        """The columns of a step."""
        block, place = divmod(step, BLOCK)
        if block not in self._blocks:
            self._blocks = {block: self._block(block)}
        return self._blocks[block][place]

    def _block(self, block: int) -> Any:
        config = self.config
        steps = range(block * BLOCK, min((block + 1) * BLOCK, config.steps + 1))
        (b1, b2), optimiser = config.optimiser.betas, config.optimiser
        average = 1 - config.ema if config.ema else 0.0
        penalties = [getattr(config.penalty, term) for term in PENALTIES]
        rows = [
            (
                1.0, learning_rate(config, step) if step else 0.0, 1 - b1, 1 - b2, 1 - b1**step,
                (1 - b2**step) ** 0.5, optimiser.weight_decay, optimiser.clip, average,
                *penalties, 1.0,
            )
            for step in steps
        ]  # fmt: skip
        return np.array(rows, dtype=np.float64)


IDLE = np.array([float(n.endswith(("correction", "targets"))) for n in COLUMNS], dtype=np.float64)
"""The columns of a place without a batch."""


@dataclass(frozen=True)
class StepBatch:
    """What a step reads, as tensors over one block of memory, on the host or on the device."""

    memory: Tensor
    tokens: Tensor
    targets: Tensor
    lengths: Tensor
    offsets: Tensor
    legal: Tensor
    columns: Tensor

    @classmethod
    def allocate(cls, shape: TickShape, device: torch.device, pinned: bool = False) -> StepBatch:
        """Tensors over new memory."""
        rows = (shape.models, shape.batch)
        sizes: dict[str, tuple[tuple[int, ...], torch.dtype]] = {
            "columns": ((shape.models, len(COLUMNS)), torch.float64),
            "lengths": (rows, torch.int32),
            "offsets": (rows, torch.int32),
            "tokens": ((*rows, shape.width), torch.int16),
            "targets": ((*rows, shape.width), torch.int16),
            "legal": ((*rows, shape.width, shape.classes), torch.bool),
        }
        places, total = {}, 0
        for name, (size, dtype) in sizes.items():
            count = int(np.prod(size)) * dtype.itemsize
            places[name] = (total, count)
            total += -(-count // ALIGNMENT) * ALIGNMENT
        memory = torch.zeros(total, dtype=torch.uint8, device=device, pin_memory=pinned)
        views = {
            name: memory[start : start + count].view(sizes[name][1]).view(sizes[name][0])
            for name, (start, count) in places.items()
        }
        return cls(memory, **views)

    def load(self, tick: TickArrays, columns: Any, width: int) -> None:
        """Copy the batches of a tick, cut to `width`."""
        self.columns.copy_(torch.from_numpy(columns))
        for name in ("lengths", "offsets"):
            getattr(self, name).copy_(torch.from_numpy(getattr(tick, name)))
        for name in ("tokens", "targets", "legal"):
            getattr(self, name).copy_(torch.from_numpy(getattr(tick, name)[:, :, :width]))


class StackedLearner:
    """The weights, moments and averages of all models of a stack, and the step that trains them.

    Attributes:
        flat: m p, the weights.
        totals: m, the sum of losses since it was last cleared.
        not_finite: m, whether a loss or gradient was not finite.
    """

    def __init__(
        self,
        shape: StackShape,
        members: Sequence[Member],
        places: int,
        device: torch.device,
    ) -> None:
        """`members` are all runs that will ever have a place in the stack."""
        self.shape, self.device, self.places = shape, device, places
        self.config = union(member.model for member in members)
        self.layout = FlatLayout.of(self.config)
        dtype = DTYPES[self.config.dtype]
        size = (places, self.layout.size)
        self.flat = torch.zeros(size, dtype=dtype, device=device, requires_grad=True)
        self.first, self.second = (torch.zeros(size, dtype=dtype, device=device) for _ in range(2))
        averaged = any(member.config.ema for member in members)
        self.average = torch.zeros_like(self.first) if averaged else None
        self.averaged = torch.zeros(places, dtype=torch.bool, device=device)
        self.decayed = self.layout.decayed().to(device, dtype)
        self.totals = torch.zeros(places, dtype=torch.float64, device=device)
        self.not_finite = torch.zeros(places, dtype=torch.bool, device=device)
        self.tabled, self.class_counts = self._differences(members)
        self.rows = torch.ones(places, dtype=dtype, device=device)
        self.terms = [
            t for t in PENALTIES if any(t in m.config.penalty.coefficients for m in members)
        ]
        self._offset = any(m.model.example_offsets or m.model.random_offset for m in members)
        position = Positions(self.config).to(dtype).to(device)
        self.forward = StackedForward(self.config, position)
        self.widths = _widths(max(member.width for member in members))
        classes = max(member.classes for member in members)
        self.tick_shape = TickShape(places, shape.batch, self.widths[-1], classes)
        self._loss = self._losses
        if shape.torch_compile:
            torch._dynamo.reset()  # what earlier stacks compiled counts towards a limit
            self._loss = torch.compile(self._losses, dynamic=False)
        self._graphs: dict[int, _Graph] = {}

    def _differences(self, members: Sequence[Member]) -> tuple[Tensor | None, Tensor | None]:
        """Which models have learned positions, and how many classes each has; None if all alike."""
        tabled = len({member.model.position for member in members}) > 1
        counted = len({member.model.outputs for member in members}) > 1
        ones = torch.ones(self.places, dtype=DTYPES[self.config.dtype], device=self.device)
        counts = torch.full((self.places,), self.config.outputs, device=self.device)
        return ones if tabled else None, counts if counted else None

    # Places

    def place(self, place: int, member: Member, tensors: dict[str, dict[str, Tensor]]) -> None:
        """Load a model with its optimiser and average into a place."""
        row = slice(place, place + 1)
        names = ["flat", "first", "second", *(["average"] if self.average is not None else [])]
        for name in names:
            values = tensors.get(name, {})
            with torch.no_grad():
                self.layout.write(getattr(self, name).detach()[row], values)
        self.clear([place])
        self.not_finite[place] = False
        self.averaged[place] = bool(member.config.ema)
        self.rows[place] = float(member.model.positions or 1)
        if self.tabled is not None:
            self.tabled[place] = float(member.model.position == "learned")
        if self.class_counts is not None:
            self.class_counts[place] = member.model.outputs

    def read(self, place: int, name: str, shapes: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
        """The weights (`flat`), moments or average of a model, as copies on the CPU."""
        row = getattr(self, name).detach()[place : place + 1].cpu()
        return self.layout.read(row, shapes)

    def clear(self, places: Sequence[int]) -> None:
        """Start new sums of losses."""
        self.totals[list(places)] = 0.0

    # Steps

    def width_for(self, longest: int) -> int:
        """The smallest width that holds so many tokens."""
        return next(width for width in self.widths if width >= longest)

    def host_batch(self, width: int) -> StepBatch:
        """Memory for the batches of a tick, from which they are copied to the device."""
        shape = self.tick_shape
        return StepBatch.allocate(
            TickShape(shape.models, shape.batch, width, shape.classes),
            torch.device("cpu"),
            pinned=self.device.type == "cuda",
        )

    def learn(self, batch: StepBatch) -> None:
        """Take a step with batches on the host, without waiting for the device."""
        if self.device.type != "cuda":
            self._advance(batch)
            return
        width = batch.tokens.shape[-1]
        if width not in self._graphs:
            self._graphs[width] = _Graph(self, width)
        self._graphs[width].learn(batch)

    def logits(
        self,
        batch: StackedInput,
        flat: Tensor,
        tabled: Tensor | None,
        class_counts: Tensor | None,
        training: bool = False,
    ) -> Float[Tensor, "models tokens classes"]:
        """The logits of some models, in float32 at least."""
        wide = self.layout.views(flat)
        narrow = self.layout.views(flat.to(torch.bfloat16)) if self.shape.bf16 else wide
        logits = self.forward(wide, narrow, batch, tabled=tabled, training=training)
        return wide_logits(logits, class_counts)

    def _losses(
        self,
        flat: Tensor,
        tokens: Tensor,
        targets: Tensor,
        lengths: Tensor,
        offsets: Tensor,
        legal: Tensor,
        counts: Tensor,
    ) -> Float[Tensor, " models"]:
        """The mean loss of each model."""
        batch = StackedInput(
            tokens.long(), lengths.long(), offsets.long() if self._offset else None
        )
        logits = self.logits(batch, flat, self.tabled, self.class_counts, training=True)
        sets = legal.flatten(1, 2) if legal.shape[-1] else None
        totals = summed_losses(
            logits, targets.flatten(1).long(), sets, self.shape.label_sets, self.class_counts
        )
        return totals / counts

    def _advance(self, batch: StepBatch) -> None:
        """Forward, backward and update; nothing in it waits for a GPU."""
        columns = batch.columns.to(self.flat.dtype)
        named = {name: columns[:, place, None] for place, name in enumerate(COLUMNS)}
        losses = self._loss(
            self.flat, batch.tokens, batch.targets, batch.lengths, batch.offsets, batch.legal,
            named["targets"][:, 0],
        )  # fmt: skip
        objective = losses.sum()
        if self.terms:
            objective = objective + self._penalties({t: named[t][:, 0] for t in self.terms}).sum()
        (gradient,) = torch.autograd.grad(objective, self.flat)
        with torch.no_grad():
            self._update(losses.detach(), gradient, named)

    def _penalties(self, coefficients: dict[str, Tensor]) -> Float[Tensor, " models"]:
        """The penalties of each model, multiplied by its coefficients."""
        if "position" in coefficients:
            coefficients = {**coefficients, "position": coefficients["position"] * self._own_rows()}
        result: Tensor = torch.vmap(total_penalty)(self.layout.views(self.flat), coefficients)
        return result

    def _own_rows(self) -> Tensor:
        """The factor of a mean over the rows of a padded table that makes it one over own rows."""
        return self.layout.shapes.get(TABLE, (1,))[0] / self.rows

    @torch.no_grad()
    def penalties(self) -> dict[str, list[float]]:
        """For each term that a model is trained with, its value in every place."""
        views = self.layout.views(self.flat.detach())
        values = {}
        for term in self.terms:
            value = torch.vmap(lambda weights, term=term: penalty_of(term, weights))(views)
            values[term] = (value * self._own_rows() if term == "position" else value).tolist()
        return values

    def _update(self, losses: Tensor, gradient: Tensor, named: dict[str, Tensor]) -> None:
        """Clip gradients and update weights, moments and averages of the models with batches."""
        active = named["active"][:, 0] > 0
        norm = torch.linalg.vector_norm(gradient, dim=1)
        finite = losses.isfinite() & norm.isfinite()
        self.not_finite |= active & ~finite
        self.totals += torch.where(active, losses, 0.0)
        moves = (active & finite & ~self.not_finite)[:, None]
        clip, scale = named["clip"], named["clip"] / (norm[:, None] + 1e-6)
        scale = torch.where(clip > 0, scale.clamp(max=1.0), 1.0)
        gradient = torch.where(moves, gradient * scale, 0.0)
        lr = torch.where(moves, named["lr"], 0.0)
        flat = self.flat.detach()
        flat.mul_(1 - lr * named["decay"] * self.decayed)
        self.first.lerp_(gradient, torch.where(moves, named["first"], 0.0))
        self.second.lerp_(gradient.square_(), torch.where(moves, named["second"], 0.0))
        spread = self.second.sqrt().div_(named["second_correction"]).add_(EPSILON)
        flat.addcmul_(self.first / spread, -lr / named["first_correction"])
        if self.average is not None:
            self.average.lerp_(flat, torch.where(moves, named["average"], 0.0))


def _widths(longest: int) -> list[int]:
    """A few widths up to `longest`, multiples of 8 but for the last."""
    parts = {-(-longest * part // (WIDTHS * 8)) * 8 for part in range(1, WIDTHS)}
    return sorted({width for width in parts if width < longest} | {longest})


class _Graph:
    """The step for batches of one width: a few times as it is, then as a CUDA graph."""

    def __init__(self, learner: StackedLearner, width: int) -> None:
        shape = learner.tick_shape
        self.learner = learner
        self.batch = StepBatch.allocate(
            TickShape(shape.models, shape.batch, width, shape.classes), learner.device
        )
        self.stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self.steps = 0
        self.graph: torch.cuda.CUDAGraph | None = None

    def learn(self, batch: StepBatch) -> None:
        """Take a step with batches on the host."""
        self.batch.memory.copy_(batch.memory, non_blocking=True)
        self.steps += 1
        if self.graph is not None:
            self.graph.replay()
            return
        if self.steps <= WARM_UP:
            here = torch.cuda.current_stream()
            self.stream.wait_stream(here)
            with torch.cuda.stream(self.stream), warnings.catch_warnings():
                self.learner._advance(self.batch)
            here.wait_stream(self.stream)
            return
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self.learner._advance(self.batch)
        self.graph = graph
        graph.replay()
