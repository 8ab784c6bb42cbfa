"""A feed-forward that is trained, in a Transformer that is compiled but for it.

Embedding, positions, attention, output and halting are those of level 0, in whose stream every
variable has dimensions of its own. The feed-forward is any: its hidden layers are the config's
`model.hidden`, `model.activation`. The model runs at most as many layers as the program takes for
the deepest test: one that never halts is stopped there.

Between layers the stream stays as the feed-forward leaves it, as in the paper's experiments; or
every variable is set to the value that is nearest (`supervision.rounded`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from weft.compiler.build import Compiled, compile_program
from weft.errors import WeftError
from weft.models.config import TransformerConfig
from weft.models.feed_forward import FeedForward
from weft.models.slots import Layout, Slot
from weft.models.transformer import Output, Transformer
from weft.tasks import Task
from weft.training.config import TrainingConfig
from weft.training.program_task import ProgramTask

HIDDEN = (128, 128)
FREE = ("hidden", "activation")
"""What a config may say about the model; the rest is the program's."""


def compiled_for(task: ProgramTask) -> Compiled:
    """The program at level 0, for inputs as long as the task's; kept with the task."""
    found: Compiled | None = vars(task).get("_compiled")
    if found is None:
        declared = task.program.definition.positions
        longest = task.seen[0] if declared is None else None
        found = compile_program(task.program, level=0, max_length=longest)
        vars(task)["_compiled"] = found
    return found


def placed_config(config: TrainingConfig, task: Task) -> TransformerConfig:
    """The config of the compiled model with the feed-forward that a run asks for."""
    assert isinstance(task, ProgramTask)
    for key in config.model:
        if key not in FREE:
            raise WeftError(
                f"'model.{key}' is the program's to say, not the run's",
                subject="TrainingConfig",
                remedy=f"With supervision by traces, set {' or '.join(f'model.{k}' for k in FREE)}",
            )
    base = compiled_for(task).model.config
    hidden = tuple(config.model.get("hidden", HIDDEN))
    activation = config.model.get("activation", "relu")
    loops = min(base.loops, max(1, task.seen[1]))
    return replace(base, hidden=hidden, activation=activation, loops=loops)


def placed(config: TrainingConfig, task: Task) -> Transformer:
    """The compiled model with a feed-forward of its own, all zero; that alone is to be trained."""
    assert isinstance(task, ProgramTask)
    source = compiled_for(task).model
    made = placed_config(config, task)
    model = Rounding(made, source.layout) if config.supervision.rounded else Transformer(made)
    weights = {k: v for k, v in source.state_dict().items() if ".feed_forward." not in k}
    model.load_state_dict(weights, strict=False)
    model.requires_grad_(False)
    feed_forward_of(model).requires_grad_(True)
    return model


def feed_forward_of(model: Transformer) -> FeedForward:
    """The feed-forward of a looped model."""
    found = model.layers[0].feed_forward
    assert isinstance(found, FeedForward)
    return found


class Rounding(Transformer):
    """A model that sets every variable to its nearest value after each layer."""

    def __init__(self, config: TransformerConfig, slots: Layout) -> None:
        super().__init__(config)
        self.slots = slots

    def forward(self, tokens: Tensor, lengths: Tensor | None = None, **arguments: Any) -> Output:
        """Run a batch; what is given for `tap` is not called."""
        arguments["tap"] = self._tap
        found: Output = super().forward(tokens, lengths, **arguments)
        return found

    def _tap(self, name: str, stream: Tensor) -> Tensor:
        return self._rounded(stream) if name.endswith("hook_resid_post") else stream

    def _rounded(self, stream: Tensor) -> Tensor:
        parts = [nearest(stream[..., slot.dimensions], slot) for slot in self.slots.values()]
        return torch.cat(parts, -1)


def nearest(part: Tensor, slot: Slot) -> Tensor:
    """The nearest encoding of a value to what a slot holds; after a step, heads are undefined."""
    if slot.is_head:
        return torch.zeros_like(part)
    if slot.kind == "number":
        buckets = torch.tensor([float(v) for v in slot.values], device=part.device)
        return buckets[(part - buckets).abs().argmin(-1, keepdim=True)].to(part.dtype)
    if slot.kind == "set":
        table = torch.zeros(len(slot.values), slot.size, device=part.device, dtype=part.dtype)
        for row, chosen in enumerate(slot.values):
            table[row, list(chosen)] = 1.0
    else:
        table = torch.eye(slot.size, device=part.device, dtype=part.dtype)
    distances = (part[..., None, :] - table).square().sum(-1)
    return table[distances.argmin(-1)]
