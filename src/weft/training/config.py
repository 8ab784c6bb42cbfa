"""All that decides what a run computes, as one frozen value with a content hash.

Where it runs, where its files go and how often it saves itself are arguments of `train` instead:
they change nothing about the result.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from weft.config import from_plain, frozen, require, typed_fields
from weft.errors import WeftError, did_you_mean
from weft.extensions import versions
from weft.models.config import TransformerConfig
from weft.training.supervision import ANSWERS, SupervisionConfig

if TYPE_CHECKING:
    from weft.tasks import Task

FORMAT = 2
"""Part of every hash; to be raised whenever a default changes."""

DIGITS = tuple("0123456789")
KINDS = {"tag": "encoder", "lm": "decoder", "seq2seq": "encoder-decoder", "next": "decoder"}
"""Which kind of model does a task of which format, unless another is asked for."""

MOST = 1_000_000_000
BOUNDS: dict[str, tuple[float, float]] = {
    "steps": (1, MOST),
    "batch": (1, 1_000_000),
    "log_every": (1, MOST),
    "seed": (0, 2**63 - 1),
    "evaluation.every": (0, MOST),
    "evaluation.size": (1, 10_000_000),
    "evaluation.batch": (1, 1_000_000),
    "schedule.warm_up": (0, MOST),
    "schedule.floor": (0, 1),
    "optimiser.betas": (0, 0.999999),
    "optimiser.momentum": (0, 1),
    "optimiser.weight_decay": (0, MOST),
    "optimiser.clip": (0, math.inf),
    "stop.patience": (1, MOST),
    "stop.accuracy": (0, 1),
    "stop.divergence": (0, math.inf),
}
"""Smallest and largest values; beyond them a run fails late, or never ends."""

OptimiserName = Literal["adamw", "adafactor", "muon"]
ScheduleName = Literal["cosine", "linear", "exponential", "inverse-sqrt", "constant"]
Recipe = Literal["gpt2", "depth-scaled", "zero-output", "fan-in"]


@dataclass(frozen=True, kw_only=True)
class OptimiserConfig:
    """How weights are changed.

    Attributes:
        name: `muon` is for the matrices of layers; the rest is AdamW's.
        lr: the highest learning rate.
        betas: of AdamW.
        momentum: of Muon.
        weight_decay: decoupled, times the learning rate; of matrices and tables alone.
        clip: the largest norm of the gradient; 0 for any.
    """

    name: OptimiserName = "adamw"
    lr: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.95)
    momentum: float = 0.95
    weight_decay: float = 0.1
    clip: float = 1.0


@dataclass(frozen=True, kw_only=True)
class ScheduleConfig:
    """How the learning rate goes up and down.

    Attributes:
        name: its way down after the warm-up.
        warm_up: over how many steps it grows from zero.
        floor: which share of it is left at the end, with `cosine`, `linear` and `exponential`.
    """

    name: ScheduleName = "cosine"
    warm_up: int = 100
    floor: float = 0.1


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """When and on what a run is evaluated; always at its end.

    Attributes:
        every: after every so many steps; 0 for the end alone.
        splits: of the task; all where none are named.
        size: how many examples of each.
        batch: how many at a time.
    """

    every: int = 500
    splits: tuple[str, ...] = ()
    size: int = 1024
    batch: int = 256


@dataclass(frozen=True, kw_only=True)
class StopConfig:
    """When a run ends before its last step, as its evaluations tell.

    Attributes:
        split: whose accuracy is looked at: that of `train` on its validation set, which is in no
            test set; or of `dev`, if the task has it.
        accuracy: the run ends when it is reached; None for never.
        patience: it ends after so many evaluations without a better one; None for never.
        divergence: it ends when the logged loss is three times running above so many times that of
            guessing.
    """

    split: str = "train"
    accuracy: float | None = None
    patience: int | None = None
    divergence: float = 3.0


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """A run: a task, a model, and how the one learns the other.

    Attributes:
        task: its name.
        parameters: of the task.
        supervision: what is learned from: the task's answers, or traces of a program.
        preset: the size of the model, by name.
        model: what else is different about it, as values of `TransformerConfig`. The task gives
            vocabulary, outputs and kind; a model that sees both sides is told positions by
            `rotary` unless it says otherwise.
        initial: the recipe of the first weights.
        optimiser: how weights are changed.
        schedule: how the learning rate goes.
        steps: how many there are.
        batch: how many examples a step has.
        bf16: whether products are computed in bfloat16; weights stay as they are.
        tf32: whether a GPU may round the factors of float32 products to 11 bits, which is several
            times as fast.
        fused: whether layers are compiled by torch.compile; batches are then padded to few widths.
        graphed: whether, on a GPU, a step is captured once and replayed as a whole: for small
            models, whose kernels take less time than launching them.
        ema: the decay of an average of the weights, which is what is evaluated; 0 for none.
        log_every: every how many steps the loss is written down.
        evaluation: when and on what it is evaluated.
        stop: when it ends early.
        seed: of first weights and data.
        code: names of the user's own code in the config, each with its version, filled in when the
            config is made (see `weft.extensions.versions`): another version is another run.
    """

    task: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    supervision: SupervisionConfig = ANSWERS
    preset: str = "nano"
    model: Mapping[str, Any] = field(default_factory=dict, metadata={"of": TransformerConfig})
    initial: Recipe = "depth-scaled"
    optimiser: OptimiserConfig = OptimiserConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    steps: int = 2000
    batch: int = 64
    bf16: bool = False
    tf32: bool = False
    fused: bool = False
    graphed: bool = False
    ema: float = 0.0
    log_every: int = 20
    evaluation: EvaluationConfig = EvaluationConfig()
    stop: StopConfig = StopConfig()
    seed: int = 0
    code: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for name in ("parameters", "model"):
            plain = {key: frozen(value) for key, value in getattr(self, name).items()}
            object.__setattr__(self, name, MappingProxyType(plain))
        names = {name for names in self.extensions.values() for name in names}
        recorded = {name: version for name, version in self.code if name in names}
        code = {**versions(self.extensions), **recorded}
        object.__setattr__(self, "code", tuple(sorted(code.items())))
        _check(self)

    def __hash__(self) -> int:
        return hash(self.hash)

    @property
    def extensions(self) -> dict[str, list[str]]:
        """The names in it that may refer to a user's own code, by extension point."""
        positions = (self.model.get("position", ""), self.model.get("encoder_position", ""))
        return {
            "task": [self.task],
            "program": [self.supervision.program],
            "position": [name for each in positions for name in each.split("+")],
            "attention": [self.model.get("attention", "")],
        }

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits that stand for all values.

        Defaults are left out, so that keys which are new leave the names of runs as they were.
        """
        text = json.dumps({"format": FORMAT, **changed(self)}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def as_dict(self) -> dict[str, Any]:
        """The config as plain values, for JSON; nothing of supervision where it is by answers."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        if self.supervision == ANSWERS:
            del plain["supervision"]
        if not self.code:
            del plain["code"]
        return {key: _plain(value) for key, value in plain.items()}

    def model_config(self, task: Task) -> TransformerConfig:
        """The config of the model that learns a task."""
        from weft.models.presets import preset

        if self.supervision.by == "traces":
            from weft.training.traces.feed_forward import placed_config

            return placed_config(self, task)

        kind = self.model.get("kind", KINDS[task.format])
        recurrent = self.model.get("architecture") == "lstm"
        told: dict[str, Any] = {"position": "rotary"}
        if kind == "decoder" or recurrent:
            told = {}
        if recurrent:
            self._check_recurrent()
        if self.supervision.by == "streams":
            from weft.training.traces.stream_learner import looped

            told |= looped(self, task)
        positions = (self.model.get("position", ""), self.model.get("encoder_position", ""))
        if any("abacus" in position.split("+") for position in positions):
            told["digits"] = _digits(task)
        given = {"outputs": task.outputs, "kind": kind, **told, **self.model}
        made = preset(self.preset, **{"vocabulary": len(task.vocabulary), **given})
        for key, needed in (("vocabulary", len(task.vocabulary)), ("outputs", task.outputs)):
            if getattr(made, key) < needed:
                _refuse(
                    f"model.{key} is {getattr(made, key)}, and {task.called} has {needed}",
                    f"Leave model.{key} out",
                )
        return made

    def _check_recurrent(self) -> None:
        """Refuse what only a Transformer has; the model's config refuses the rest."""
        if self.supervision.by != "answers":
            _refuse(
                f"an LSTM has no layers to supervise by {self.supervision.by}",
                "Leave supervision out",
            )
        for name in ("initial", "fused"):
            default = next(one.default for one in fields(self) if one.name == name)
            if getattr(self, name) != default:
                _refuse(f"{name} is for a Transformer, and model.architecture is lstm",
                        f"Leave {name} out")  # fmt: skip


def _digits(task: Task) -> tuple[int, ...]:
    """The tokens of a task that are digits, for an encoding of their places."""
    found = tuple(n for n, token in enumerate(task.vocabulary) if token in DIGITS)
    if not found:
        raise WeftError(
            f"abacus tells places of digits, and {task.name} has none",
            subject="TrainingConfig",
            remedy="Choose another model.position",
        )
    return found


def changed(config: Any) -> dict[str, Any]:
    """What differs from the defaults, as plain values."""
    found: dict[str, Any] = {}
    for one in fields(config):
        value = getattr(config, one.name)
        if is_dataclass(value):
            inner = changed(value)
            found |= {one.name: inner} if inner else {}
        elif one.default is MISSING or _plain(value) != _plain(one.default):
            found[one.name] = _plain(value)
    return found


def training_config(values: Mapping[str, Any]) -> TrainingConfig:
    """A config from plain values, as `as_dict` gives; an unknown key is an error."""
    return from_plain(TrainingConfig, values, "the run's config")


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(inner) for inner in value]
    return value


def _check(config: TrainingConfig) -> None:
    """Refuse what makes no sense, with the reason."""
    wanted = typed_fields(TransformerConfig)
    known = list(wanted)
    for key in config.model:
        if key not in known:
            remedy = did_you_mean(key, known).capitalize()
            raise WeftError(f"a model has no '{key}'", subject="TrainingConfig", remedy=remedy)
    require(config.model, {key: wanted[key] for key in config.model}, "TrainingConfig: model")
    for key, (low, high) in BOUNDS.items():
        part, _, name = key.rpartition(".")
        value = getattr(getattr(config, part) if part else config, name)
        for one in value if isinstance(value, tuple) else (value,):
            if one is not None and not low <= one <= high:  # nan is in no range
                bound = f"at most {high:,}" if one > high else f"at least {low:,}"
                _refuse(f"{key} is {one:g}", f"It must be {bound}")
    if not 0 <= config.ema < 1:
        _refuse(f"ema is {config.ema:g}", "It is a decay from 0 up to, not including, 1")
    if not 0 < config.optimiser.lr < math.inf:
        _refuse(f"optimiser.lr is {config.optimiser.lr:g}", "It must be above 0, and finite")


def _refuse(what: str, remedy: str) -> None:
    raise WeftError(what, subject="TrainingConfig", remedy=remedy)
