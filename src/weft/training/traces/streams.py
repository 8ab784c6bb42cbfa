"""Stream supervision: a whole Transformer that follows a program, with no compiled weights.

The idea with which appendix C.1 of the ALTA paper ends. Layer i of the model should do what layer i
of the program does: after it, a linear map of the residual stream must give every variable, and
between attention and feed-forward the output of every head.

    loss  =  mean over layers, positions and variables of the cross-entropy of
             softmax(R_variable stream) with the variable's value in the program's trace

The maps R are trained with the model and shared by all layers. That of the program's output is the
model's own unembedding, so evaluation measures what is supervised. One looped layer can run as
often as longer inputs need: the model runs as many layers as the program does for the deepest test,
and trains with as many as the deepest example of a batch takes.

    t  layers   b  examples   l  positions   s  variables that a step writes   h  outputs of heads

Positions of the task's question and of the program's input are aligned at the end. After an example
has halted, its variables keep their values; head outputs are not supervised then, and neither are
undefined values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from weft.errors import WeftError
from weft.interpreter.batched import BatchRun, run_batch
from weft.models.config import TransformerConfig
from weft.models.factory import Model
from weft.models.init import initialise, normal
from weft.tasks import Batch, Task
from weft.training.config import TrainingConfig, refuse
from weft.training.data import Tensors, drawn, tensors_of
from weft.training.distributed import ALONE, Group
from weft.training.learner import IGNORED, Learner, autocast
from weft.training.program_task import ProgramTask
from weft.training.supervision import model_of, program_of
from weft.training.traces.dataset import Array

if TYPE_CHECKING:
    from jaxtyping import Float, Int

STD = 0.02
"""Standard deviation of the initial read-out maps."""


@dataclass(frozen=True, kw_only=True)
class TracedTensors(Tensors):
    """A batch with its traces.

    Attributes:
        after: the code of each variable after each layer; -1 for what is not supervised.
        fetched: the code of each head's output between attention and feed-forward; likewise.
        layers: number of layers that the deepest example takes.
        code_count: number of supervised codes in the whole batch.
    """

    after: Int[Tensor, "layers batch length variables"]
    fetched: Int[Tensor, "layers batch length heads"]
    layers: int
    code_count: int


@dataclass(frozen=True)
class BatchTraces:
    """The codes of a batch (t b l s and t b l h), at the task's positions."""

    after: Array
    fetched: Array


def batch_traces(task: ProgramTask, batch: Batch) -> BatchTraces:
    """The program's traces of a batch of the inner task's examples."""
    inputs = task.encoded(batch)
    run = run_batch(task.program, inputs, trace=True)
    variables = task.program.variables
    stepped = [name for name, entry in variables.items() if not entry.is_head]
    shape = (run.traced, len(batch), batch.tokens.shape[1])
    after = np.full((*shape, len(stepped)), IGNORED, np.int64)
    fetched = np.full((*shape, len(task.program.heads)), IGNORED, np.int64)
    for layer in range(1, run.traced + 1):
        rows, places = _positions(run, layer, batch.lengths)
        kept = places >= 0
        rows, places = rows[kept], places[kept]
        if layer > 1:
            after[layer - 1] = after[layer - 2]  # variables keep their values after halting
        states, attended = run.states(layer, "after"), run.states(layer, "attended")
        for column, name in enumerate(stepped):
            after[layer - 1, rows, places, column] = states[name][kept]
        for column, name in enumerate(task.program.heads):
            codes = attended[name][kept].astype(np.int64)
            defined = np.where(codes < len(variables[name]), codes, IGNORED)
            fetched[layer - 1, rows, places, column] = defined
    return BatchTraces(after, fetched)


def _positions(run: BatchRun, layer: int, lengths: Array) -> tuple[Array, Array]:
    """The example and the position in the task's question of each position that ran a layer."""
    running = [row for row, ran in enumerate(run.layers) if ran >= layer and run.tokens[row]]
    sizes = [len(run.tokens[row]) for row in running]
    rows = np.repeat(np.array(running, np.intp), sizes)
    inside = np.concatenate([np.arange(size) for size in sizes] or [np.zeros(0, np.intp)])
    shift = lengths[rows] - np.repeat(np.array(sizes, np.intp), sizes)
    return rows, inside + shift


def with_traces(
    task: ProgramTask, batch: Batch, model: TransformerConfig, group: Group = ALONE
) -> TracedTensors:
    """A batch as tensors with the program's traces, or one process's share of it."""
    plain = tensors_of(batch, model, group)
    traces = batch_traces(task, batch)
    code_count = int((traces.after >= 0).sum() + (traces.fetched >= 0).sum())
    share = slice(group.rank, None, group.size)
    return TracedTensors(
        **{entry.name: getattr(plain, entry.name) for entry in fields(plain)},
        after=torch.from_numpy(traces.after[:, share].copy()),
        fetched=torch.from_numpy(traces.fetched[:, share].copy()),
        layers=len(traces.after),
        code_count=code_count,
    )


class Readouts(nn.Module):
    """A linear map of the residual stream per variable; the output has the model's unembedding."""

    def __init__(self, sizes: Mapping[str, int], width: int, seed: int) -> None:
        super().__init__()
        self.weights = nn.ParameterDict(
            {name: nn.Parameter(torch.zeros(size, width)) for name, size in sizes.items()}
        )
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed + 1)
            for weight in self.weights.values():
                normal(weight, STD)


class StreamLearner(Learner):
    """A model, the maps that read its residual stream, and the program that it should follow."""

    def __init__(
        self,
        config: TrainingConfig,
        model: Model,
        traced: ProgramTask,
        classes: Int[Tensor, " codes"],
        device: torch.device,
        group: Group = ALONE,
    ) -> None:
        """`classes` has the task's class for each code of the program's output."""
        program = traced.program
        self.traced, self.output = traced, program.definition.output
        self.stepped = [name for name, entry in program.variables.items() if not entry.is_head]
        self.heads = list(program.heads)
        self.classes = classes.to(device)
        sizes = {
            name: len(entry) for name, entry in program.variables.items() if name != self.output
        }
        self.readouts = Readouts(sizes, model.config.width, config.seed).to(device)
        super().__init__(config, model, device, group)

    @property
    def trained(self) -> nn.Module:
        return nn.ModuleList([self.model, self.readouts])

    def _compile(self) -> None:
        """Do nothing: the loss taps the layers, so they run uncompiled."""

    def batch(self, task: Task, step: int) -> TracedTensors:
        batch = drawn(task, self.config, step).trimmed()
        return with_traces(self.traced, batch, self.model.config, self.group)

    def loss(self, batch: TracedTensors) -> Tensor:
        with autocast(self.config, self.device):
            attended, after = self.streams(batch)
        total = torch.zeros((), device=self.device)
        for streams, names, codes in (
            (after, self.stepped, batch.after),
            (attended, self.heads, batch.fetched),
        ):
            for column, name in enumerate(names):
                total = total + self._summed(streams, name, codes[..., column])
        return total / max(1, batch.code_count)

    def _summed(self, streams: Tensor, name: str, codes: Tensor) -> Tensor:
        """The sum of one variable's cross-entropies over all layers and positions."""
        targets = self.classes[codes] if name == self.output else codes
        logits = self.read(streams, name).float().flatten(0, -2)
        return nn.functional.cross_entropy(
            logits, targets.flatten(), ignore_index=IGNORED, reduction="sum"
        )

    def read(
        self, streams: Float[Tensor, "*batch width"], name: str
    ) -> Float[Tensor, "*batch values"]:
        """The logits of a variable's values, read off the residual stream."""
        if self.model.norm is not None:
            streams = self.model.norm(streams)
        readouts = self.readouts.weights
        weight = self.model.output_projection if name == self.output else readouts[name]
        return nn.functional.linear(streams, weight)

    def streams(self, batch: TracedTensors) -> tuple[Tensor, Tensor]:
        """The residual streams (t b l d) after attention and after each layer."""
        attended: list[Tensor] = []
        after: list[Tensor] = []

        def hook(name: str, stream: Tensor) -> Tensor:
            if name.endswith("hook_resid_pre") and self.model.training:
                return stream + self.config.supervision.noise * torch.randn_like(stream)
            if name.endswith("hook_resid_mid"):
                attended.append(stream)
            if name.endswith("hook_resid_post"):
                after.append(stream)
            return stream

        self.model(batch.tokens, batch.lengths, layers=batch.layers, hook=hook)
        return torch.stack(attended), torch.stack(after)

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        return {**super().tensors(), "readouts": self.readouts.state_dict()}

    def restore(self, tensors: dict[str, dict[str, Tensor]]) -> None:
        super().restore(tensors)
        self.readouts.load_state_dict(tensors["readouts"])


def stream_learner(
    config: TrainingConfig, task: Task, device: torch.device, group: Group = ALONE
) -> StreamLearner:
    """Initialise a model that should follow the config's program on a task."""
    traced = traced_task(config, task)
    classes = _classes(traced)
    model = initialise(model_of(config, task), config.initial, seed=config.seed)
    return StreamLearner(config, model, traced, classes, device, group)


def traced_task(config: TrainingConfig, task: Task) -> ProgramTask:
    """The task with the program that the model follows."""
    if task.format != "tag":
        refuse(
            f"the answers of the task {task.name} are not aligned with its tokens",
            "Supervise by streams only if its format is 'tag'",
        )
    return ProgramTask(inner=task, program=program_of(config))


def looped(config: TrainingConfig, task: Task) -> dict[str, Any]:
    """The depth of a model that follows a program: one looped layer, unless the config differs."""
    deepest = traced_task(config, task).extent[1]
    layers = int(config.model.get("layers", 1))
    return {"layers": layers, "loops": -(-deepest // layers)}


def _classes(task: ProgramTask) -> Tensor:
    """The task's class for each value of the output; -1 at the end, for what is ignored."""
    known = list(task.inner.answers)
    classes = [known.index(answer) if answer in known else IGNORED for answer in task.answers]
    if IGNORED in classes:
        lost = task.answers[classes.index(IGNORED)]
        raise WeftError(
            f"its output can be '{lost}', which is not an answer of the task {task.inner.name}",
            subject=task.program.name,
            remedy="Use a program whose output is the answer",
        )
    return torch.tensor([*classes, IGNORED])
