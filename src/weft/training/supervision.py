"""From a config to what a run needs: its task, its model and the learner for its supervision."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import torch

from weft.extensions import check_versions
from weft.models.config import TransformerConfig
from weft.models.factory import Model, build_model
from weft.models.init import initialise
from weft.models.presets import preset
from weft.tasks import Task, task
from weft.training.config import OptimiserConfig, TrainingConfig, refuse
from weft.training.distributed import ALONE, Group
from weft.training.learner import Learner

if TYPE_CHECKING:
    from weft.language.program import Program

KINDS = {"tag": "encoder", "lm": "decoder", "seq2seq": "encoder-decoder", "next": "decoder"}
"""The kind of model for each task format, unless the config sets `model.kind`."""


def task_of(config: TrainingConfig) -> Task:
    """The task of a config; in the tokens of its program if supervision is by traces."""
    check_versions(config.extensions, dict(config.code))
    return in_program_tokens(config, task(config.task, **config.parameters))


def in_program_tokens(config: TrainingConfig, given: Task) -> Task:
    """A task as the model of a config reads it.

    A model that is compiled but for its feed-forward reads the tokens of its program.
    """
    from weft.training.program_task import ProgramTask

    _check_supervision(config)
    _check_schedule(config)
    if config.supervision.by == "answers" or isinstance(given, ProgramTask):
        return given
    program = program_of(config)
    return ProgramTask(inner=given, program=program) if config.supervision.by == "traces" else given


def _check_supervision(config: TrainingConfig) -> None:
    """Refuse settings that this kind of supervision would ignore."""
    if config.pack and config.supervision.by != "answers":
        refuse(f"supervision by {config.supervision.by} does not pack examples", "Leave pack out")
    if config.pack and not config.pack_rows and (config.torch_compile or config.cuda_graphs):
        refuse(
            "packed batches have different numbers of rows: steps cannot be compiled or captured",
            "Set pack_rows, or leave out pack, or torch_compile and cuda_graphs",
        )
    for name in ("pack_rows", "packing"):
        if not config.pack and getattr(config, name) != getattr(type(config), name):
            refuse(f"{name} is for packed batches", f"Set pack, or leave {name} out")
    if config.penalty.coefficients and config.supervision.by == "traces":
        refuse(
            "supervision by traces trains no attention that a penalty could change",
            "Leave penalty out",
        )
    supervision = config.supervision
    for key in ("l1", "init_at_states"):
        if getattr(supervision, key) and supervision.by != "traces":
            refuse(
                f"supervision by {supervision.by} ignores supervision.{key}",
                f"Leave supervision.{key} out, or set supervision.by=traces",
            )


def _check_schedule(config: TrainingConfig) -> None:
    """Refuse a factor where something else sets the peak learning rate."""
    if config.schedule.factor is None:
        return
    if config.schedule.name != "inverse-sqrt":
        refuse(
            f"schedule.factor is for inverse-sqrt, and schedule.name is {config.schedule.name}",
            "Set schedule.name=inverse-sqrt, or leave schedule.factor out",
        )
    if config.optimiser.lr != OptimiserConfig().lr:
        refuse(
            "schedule.factor sets the peak learning rate, and optimiser.lr is given, too",
            "Leave one of them out",
        )
    if config.supervision.by == "traces":
        refuse(
            "supervision by traces trains a feed-forward, whose program sets the model's width",
            "Leave schedule.factor out, and set optimiser.lr",
        )


def program_of(config: TrainingConfig) -> Program:
    """The program whose traces a run learns from."""
    from weft.programs import program

    if not config.supervision.program:
        refuse(
            f"supervision by {config.supervision.by} needs a program",
            "Name one, as in supervision.program=parity",
        )
    return program(config.supervision.program)


def model_config(config: TrainingConfig, task: Task) -> TransformerConfig:
    """The config of the model that a run trains on a task."""
    if config.supervision.by == "traces":
        from weft.training.traces.trace_learner import placed_config

        return placed_config(config, task)
    kind = config.model.get("kind", KINDS[task.format])
    recurrent = config.model.get("architecture") == "lstm"
    defaults: dict[str, Any] = {} if kind == "decoder" or recurrent else {"position": "rotary"}
    if recurrent:
        _check_recurrent(config)
    if config.supervision.by == "streams":
        from weft.training.traces.streams import looped

        defaults |= looped(config, task)
    positions = (config.model.get("position", ""), config.model.get("encoder_position", ""))
    if any("abacus" in position.split("+") for position in positions):
        defaults["digits"] = _digits(task)
    values = {"vocabulary": len(task.vocabulary), "outputs": task.outputs, "kind": kind}
    result = preset(config.preset, **{**values, **defaults, **config.model})
    for key, needed in (("vocabulary", len(task.vocabulary)), ("outputs", task.outputs)):
        if getattr(result, key) < needed:
            refuse(
                f"model.{key} is {getattr(result, key)}, but {task.called} has {needed}",
                f"Leave model.{key} out",
            )
    return result


def _check_recurrent(config: TrainingConfig) -> None:
    """Refuse what only a Transformer has; the model's config refuses the rest."""
    if config.pack and config.cuda_graphs:
        refuse(
            "an LSTM's packed documents have different lengths: steps cannot be captured",
            "Leave pack out, or cuda_graphs",
        )
    if config.supervision.by != "answers":
        refuse(
            f"an LSTM has no layers to supervise by {config.supervision.by}",
            "Leave supervision out",
        )
    for name in ("initial", "torch_compile", "penalty"):
        default = next(entry.default for entry in fields(config) if entry.name == name)
        if getattr(config, name) != default:
            refuse(
                f"{name} is for a Transformer, and model.architecture is lstm", f"Leave {name} out"
            )


def _digits(task: Task) -> tuple[int, ...]:
    """The tokens of a task that are digits, for abacus positions."""
    digits = task.digit_tokens
    if not digits:
        refuse(
            f"abacus encodes the places of digits, and {task.name} has no digits",
            "Choose another model.position",
        )
    return digits


def model_of(config: TrainingConfig, task: Task) -> Model:
    """The model of a run, before its weights are initialised or loaded."""
    if config.supervision.by == "traces":
        from weft.training.traces.trace_learner import placed

        return placed(config, task)
    return build_model(model_config(config, task))


def learner_of(
    config: TrainingConfig, task: Task, device: torch.device, group: Group = ALONE
) -> Learner:
    """A learner for the config's supervision, with an initialised model."""
    by = config.supervision.by
    if by == "traces":
        from weft.training.traces.trace_learner import trace_learner

        return trace_learner(config, task, device, group)
    if by == "streams":
        from weft.training.traces.streams import stream_learner

        return stream_learner(config, task, device, group)
    model = initialise(model_of(config, task), config.initial, seed=config.seed)
    return Learner(config, model, device, group)
