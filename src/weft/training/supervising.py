"""From a config to what it needs: its task, its model, and the learner of its supervision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from weft.errors import WeftError
from weft.extensions import check_versions
from weft.models.build import Model, build
from weft.tasks import Task, task
from weft.training.config import TrainingConfig
from weft.training.distributed import Group
from weft.training.learner import Learner

if TYPE_CHECKING:
    from weft.language.program import Program


def task_of(config: TrainingConfig) -> Task:
    """The task of a config; in its program's tokens, where the model is compiled but for a part."""
    check_versions(config.extensions, dict(config.code))
    found = task(config.task, **config.parameters)
    return in_tokens_of_program(config, found)


def in_tokens_of_program(config: TrainingConfig, found: Task) -> Task:
    """The task as the config's model meets it."""
    from weft.training.program_task import ProgramTask

    _check(config)
    if config.supervision.by == "answers" or isinstance(found, ProgramTask):
        return found
    program = program_of(config)
    return ProgramTask(inner=found, program=program) if config.supervision.by == "traces" else found


def _check(config: TrainingConfig) -> None:
    """Refuse what another supervision would pass over in silence."""
    for key in ("shrink", "spread"):
        if getattr(config.supervision, key) and config.supervision.by != "traces":
            raise WeftError(
                f"supervision by {config.supervision.by} has nothing to {key}",
                subject="TrainingConfig",
                remedy=f"Leave supervision.{key} out, or set supervision.by=traces",
            )


def program_of(config: TrainingConfig) -> Program:
    """The program whose traces are learned from."""
    from weft.programs import program

    if not config.supervision.program:
        raise WeftError(
            f"supervision by {config.supervision.by} needs a program",
            subject="TrainingConfig",
            remedy="Name one, as in supervision.program=parity",
        )
    return program(config.supervision.program)


def model_of(config: TrainingConfig, task: Task) -> Model:
    """The model of a config, to be given weights."""
    if config.supervision.by == "traces":
        from weft.training.traces.feed_forward import placed

        return placed(config, task)
    return build(config.model_config(task))


def learner_of(
    config: TrainingConfig, task: Task, device: torch.device, group: Group | None = None
) -> Learner:
    """A model that is about to learn a task, from what the config says."""
    by = config.supervision.by
    if by == "traces":
        from weft.training.traces.learner import TraceLearner

        return TraceLearner(config, task, device, group)
    if by == "streams":
        from weft.training.traces.stream_learner import StreamLearner

        return StreamLearner(config, task, device, group)
    return Learner(config, config.model_config(task), device, group)
