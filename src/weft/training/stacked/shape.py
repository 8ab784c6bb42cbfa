"""What two runs must have in common to share a stack.

Seeds, learning rates, weight decay, clipping, schedules, numbers of steps, evaluations, stopping
rules and penalties may differ. So may tasks: vocabularies, classes and position tables are padded
to the largest of the stack. Models without positional encoding and with learned positions share a
stack, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from weft.models.config import TransformerConfig
from weft.tasks import Task
from weft.training.config import TrainingConfig
from weft.training.data import drawn
from weft.training.supervision import model_config, task_of

POSITIONS = ("none", "learned", "sinusoidal", "rotary", "alibi", "nape", "t5")
"""Positional encodings that a stack supports, one at a time."""
ABSENT_OR_LEARNED = ("none", "learned")
"""Positional encodings that may be mixed: a model without one has an unused table."""
SIMILAR = 1.25
"""A stack has no run whose examples are longer than this many times the shortest ones."""
MAX_TOKENS = 32_767
"""Token and class numbers travel as 16-bit integers."""


@dataclass(frozen=True)
class StackShape:
    """What all runs of a stack share; runs with equal shapes can be stacked.

    Attributes:
        model: the model's config, with padded fields set to a common value.
        batch: the batch size.
        bf16: whether matmuls are in bf16.
        tf32: whether matmuls are in TF32.
        label_sets: the loss of label sets; empty if the targets are classes.
        torch_compile: whether the loss is compiled.
    """

    model: TransformerConfig
    batch: int
    bf16: bool
    tf32: bool
    label_sets: str
    torch_compile: bool


@dataclass(frozen=True)
class Member:
    """A run that can be stacked.

    Attributes:
        config: the run.
        task: its task.
        model: the config of its model.
        width: the number of tokens per row of its batches.
        classes: the number of classes of its label sets; 0 if targets are classes.
    """

    config: TrainingConfig
    task: Task
    model: TransformerConfig
    width: int
    classes: int

    @property
    def shape(self) -> StackShape:
        """What it must share with the other runs of its stack."""
        config = self.config
        return StackShape(
            model=_padded_alike(self.model),
            batch=config.batch,
            bf16=config.bf16,
            tf32=config.tf32,
            label_sets=config.supervision.label_sets if self.classes else "",
            torch_compile=config.torch_compile,
        )


def _padded_alike(model: TransformerConfig) -> TransformerConfig:
    """The config with equal values in all fields that may differ within a stack."""
    absent = model.position in ABSENT_OR_LEARNED
    return replace(
        model,
        vocabulary=1,
        outputs=1,
        digits=(),
        position="learned" if absent else model.position,
        positions=1 if absent else model.positions,
        random_offset=0,
        example_offsets=False,
        max_length=None,
    )


def obstacle(config: TrainingConfig) -> str:
    """Why a run cannot be part of a stack, as far as its config tells; empty if it can."""
    reasons = {
        "supervision is not by answers": config.supervision.by != "answers",
        "examples are packed": bool(config.pack),
        f"the optimiser is {config.optimiser.name}": config.optimiser.name != "adamw",
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def model_obstacle(model: TransformerConfig) -> str:
    """Why a model cannot be part of a stack; empty if it can."""
    reasons = {
        f"the architecture is {model.architecture}": model.architecture != "transformer",
        "the model is an encoder-decoder": model.kind == "encoder-decoder",
        f"attention is {model.attention}": model.attention != "softmax",
        f"the positional encoding is {model.position}": model.position not in POSITIONS,
        "t5 needs a decoder": model.position == "t5" and model.kind != "decoder",
        "the model has Canon layers": bool(model.canon),
        "the model halts": model.halt is not None,
        "heads have sinks": model.sink,
        "heads have biases by offset": model.offsets is not None,
        "attention weights are dropped": bool(model.attention_dropout),
        "weights are in bfloat16": model.dtype == "bfloat16",
        "the vocabulary is too large": max(model.vocabulary, model.outputs) > MAX_TOKENS,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def member_of(config: TrainingConfig) -> Member | str:
    """The run as a member of a stack, or why it cannot be one."""
    if why := obstacle(config):
        return why
    task = task_of(config)
    model = model_config(config, task)
    if why := model_obstacle(model):
        return why
    first = drawn(task, config, 1)
    if first.documents is not None or first.source is not None:
        return "batches are packed or have a source"
    width = first.tokens.shape[1]
    if "learned" in model.encodings and model.positions is not None and width > model.positions:
        return "training texts are longer than the table of positions"
    classes = 0 if first.legal is None else first.legal.shape[-1]
    return Member(config, task, model, width, classes)


def union(models: Iterable[TransformerConfig]) -> TransformerConfig:
    """The config whose parameters have room for those of all models of one shape."""
    every = list(models)
    tabled = [model for model in every if model.position == "learned"]
    return replace(
        every[0],
        vocabulary=max(model.vocabulary for model in every),
        outputs=max(model.outputs for model in every),
        position="learned" if tabled else every[0].position,
        positions=max((model.positions or 1 for model in tabled), default=every[0].positions),
        random_offset=0,
        example_offsets=False,
        max_length=None,
        digits=(),
    )


def grouped(
    configs: Sequence[TrainingConfig],
) -> tuple[list[list[Member]], dict[TrainingConfig, str]]:
    """The runs by shape and similar width, and those to train alone, with reasons.

    All examples of a step are padded to the longest one, so a run of short examples beside a run of
    long ones would cost as much as that one.
    """
    groups: dict[StackShape, list[Member]] = {}
    alone: dict[TrainingConfig, str] = {}
    for config in configs:
        member = member_of(config)
        if isinstance(member, str):
            alone[config] = member
        else:
            groups.setdefault(member.shape, []).append(member)
    for shape, members in list(groups.items()):
        if len(members) == 1:
            alone[members[0].config] = "no other run has its shape"
            del groups[shape]
    return [part for members in groups.values() for part in _by_width(members)], alone


def _by_width(members: Iterable[Member]) -> list[list[Member]]:
    """The members sorted by width and cut into groups of similar width."""
    parts: list[list[Member]] = []
    for member in sorted(members, key=lambda each: each.width):
        if parts and member.width <= SIMILAR * parts[-1][0].width:
            parts[-1].append(member)
        else:
            parts.append([member])
    return parts
