"""Trace supervision: the model, an otherwise compiled Transformer with a feed-forward to train.

Embeddings, positions, attention, unembedding and halting come from level 0, where every variable
has its own dimensions of the residual stream, and stay frozen. The feed-forward is free: the config
sets `model.hidden` and `model.activation`. The model runs at most as many layers as the program
takes for the deepest test, so a model that never halts stops there.

Between layers the residual stream stays as the feed-forward leaves it, as in the paper's
experiments; with `supervision.round_between_layers`, every variable is set to its nearest value.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from weft.models.config import TransformerConfig
from weft.models.factory import Model
from weft.models.feed_forward import FeedForward
from weft.models.slots import round_stream
from weft.models.transformer import Transformer
from weft.tasks import Task
from weft.training.config import TrainingConfig, refuse
from weft.training.program_task import ProgramTask

HIDDEN = (128, 128)
CONFIGURABLE = ("hidden", "activation")
"""What a config may set about the model; the program determines the rest."""


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
