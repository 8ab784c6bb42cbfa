"""A whole Transformer whose stream can be read: supervision with no compiled weights at all.

The idea with which appendix C.1 of the ALTA paper ends. Layer i of the model is to do what layer i
of the program does, in whatever way: after it, a linear map must tell every variable from the
stream, and between attention and feed-forward every output of a head.

    loss  =  mean over layers, positions and variables of the cross-entropy of
             softmax(R_variable stream) with the variable's value in the program's trace

The maps R are learned with the model and are the same at every layer; that of the program's output
is the model's own output projection, so that what is evaluated is what is supervised. One layer,
looped, can take as many turns for longer inputs as it needs: the model runs as often as the program
does for the deepest test, and learns with as many layers as the deepest example of a batch takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from weft.errors import WeftError
from weft.models.init import normal
from weft.tasks import Task
from weft.training.config import TrainingConfig
from weft.training.distributed import Group
from weft.training.learner import IGNORED, Batches, Learner, precise
from weft.training.program_task import ProgramTask
from weft.training.supervising import program_of
from weft.training.traces.streams import Traced, TracedFeed

STD = 0.02


class Readouts(nn.Module):
    """A linear map from the stream for each variable but the output, which the model reads."""

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
    """A model, maps that read its stream, and the program that it should follow."""

    def __init__(
        self, config: TrainingConfig, task: Task, device: torch.device, group: Group | None = None
    ) -> None:
        self.traced = traced_task(config, task)
        program = self.traced.program
        self.output = program.definition.output
        self.stepped = [name for name, one in program.variables.items() if not one.is_head]
        self.heads = list(program.heads)
        self.classes = _classes(self.traced).to(device)
        sizes = {n: len(v) for n, v in program.variables.items() if n != self.output}
        shape = config.model_config(task)
        self.readouts = Readouts(sizes, shape.width, config.seed).to(device)
        super().__init__(config, shape, device, group)

    @property
    def trained(self) -> nn.Module:
        return nn.ModuleList([self.model, self.readouts])

    def _fuse(self) -> None:
        """Layers are looked into, so they run as they are written."""

    def feed(self, task: Task, first: int) -> Batches:
        return TracedFeed(
            task, self.config, self.model.config, self.traced,
            first=first, pinned=self.device.type == "cuda", group=self.group,
        )  # fmt: skip

    def loss(self, batch: Traced) -> Tensor:
        with precise(self.config, self.device):
            attended, after = self.streams(batch)
        total = torch.zeros((), device=self.device)
        for streams, names, codes in (
            (after, self.stepped, batch.after),
            (attended, self.heads, batch.fetched),
        ):
            for column, name in enumerate(names):
                total = total + self._summed(streams, name, codes[..., column])
        return total / max(1, batch.told)

    def _summed(self, streams: Tensor, name: str, codes: Tensor) -> Tensor:
        """The cross-entropies of one variable at all layers and positions."""
        wanted = self.classes[codes] if name == self.output else codes
        logits = self.read(streams, name).float().flatten(0, -2)
        return nn.functional.cross_entropy(
            logits, wanted.flatten(), ignore_index=IGNORED, reduction="sum"
        )

    def read(self, streams: Tensor, name: str) -> Tensor:
        """The logits of a variable's values, from streams (... d)."""
        if self.model.norm is not None:
            streams = self.model.norm(streams)
        own = self.model.embedding if self.model.config.tied else self.model.unembedding
        weight = own if name == self.output else self.readouts.weights[name]
        return nn.functional.linear(streams, weight)

    def streams(self, batch: Traced) -> tuple[Tensor, Tensor]:
        """The streams (t b l d) after attention and after each layer."""
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


def traced_task(config: TrainingConfig, task: Task) -> ProgramTask:
    """The task with the program that is followed."""
    if task.format != "tag":
        raise WeftError(
            f"the task {task.name} does not answer under its tokens",
            subject="TrainingConfig",
            remedy="Supervise by streams where its format is 'tag'",
        )
    return ProgramTask(inner=task, program=program_of(config))


def looped(config: TrainingConfig, task: Task) -> dict[str, Any]:
    """The depth of a model that follows a program: one layer, looped, unless the config differs."""
    deepest = traced_task(config, task).seen[1]
    layers = int(config.model.get("layers", 1))
    return {"layers": layers, "loops": -(-deepest // layers)}


def _classes(task: ProgramTask) -> Tensor:
    """For each value of the output the class that the task has for it; -1 behind them for none."""
    known = list(task.inner.answers)
    found = [known.index(answer) if answer in known else IGNORED for answer in task.answers]
    if IGNORED in found:
        lost = task.answers[found.index(IGNORED)]
        raise WeftError(
            f"its output can be '{lost}', which is no answer of the task {task.inner.name}",
            subject=task.program.name,
            remedy="Take a program whose output is the answer",
        )
    return torch.tensor([*found, IGNORED])


def accuracy_by_layer(learner: StreamLearner, batch: Traced) -> dict[str, list[float]]:
    """How often each variable is read rightly after each layer (of heads, after attention)."""
    learner.model.eval()
    with torch.no_grad():
        attended, after = learner.streams(batch)
        found: dict[str, list[float]] = {}
        pairs = [(after, learner.stepped, batch.after), (attended, learner.heads, batch.fetched)]
        for streams, names, codes in pairs:
            for column, name in enumerate(names):
                wanted = codes[..., column]
                wanted = learner.classes[wanted] if name == learner.output else wanted
                right = (learner.read(streams, name).argmax(-1) == wanted) & (wanted >= 0)
                asked = (wanted >= 0).flatten(1).sum(1).clamp(min=1)
                found[name] = (right.flatten(1).sum(1) / asked).tolist()
    return found
