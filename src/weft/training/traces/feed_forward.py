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
from functools import partial

from weft.compiler.build import Compiled, compile_program
from weft.errors import WeftError
from weft.models.build import Model
from weft.models.config import TransformerConfig
from weft.models.feed_forward import FeedForward
from weft.models.slots import round_stream
from weft.models.transformer import Transformer
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
    rounding = partial(round_stream, layout=source.layout) if config.supervision.rounded else None
    model = Transformer(made, between_layers=rounding)
    weights = {k: v for k, v in source.state_dict().items() if ".feed_forward." not in k}
    model.load_state_dict(weights, strict=False)
    model.requires_grad_(False)
    feed_forward_of(model).requires_grad_(True)
    return model


def feed_forward_of(model: Model) -> FeedForward:
    """The feed-forward of a looped model."""
    found = model.layers[0].feed_forward
    assert isinstance(found, FeedForward)
    return found
