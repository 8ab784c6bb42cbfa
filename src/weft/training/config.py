"""Everything that determines what a run computes, as one frozen value with a content hash.

The device, the folder and how often a run is saved are arguments of `train` instead: they do not
change the result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal, NoReturn

from weft.config import (
    check_bounds,
    content_hash,
    from_plain,
    frozen,
    require,
    to_plain,
    typed_fields,
)
from weft.errors import WeftError, check_known
from weft.extensions import versions
from weft.models.config import TransformerConfig
from weft.models.init import Recipe
from weft.tasks.preparation import Packing

FORMAT = 2
"""Part of every hash; raise it whenever a default changes."""

LARGEST_COUNT = 1_000_000_000
BOUNDS: dict[str, tuple[float, float]] = {
    "steps": (1, LARGEST_COUNT),
    "batch": (1, 1_000_000),
    "pack": (0, 1_000_000),
    "pack_rows": (0, 1_000_000),
    "log_every": (1, LARGEST_COUNT),
    "seed": (0, 2**63 - 1),
    "evaluation.every": (0, LARGEST_COUNT),
    "evaluation.size": (1, 10_000_000),
    "evaluation.batch": (1, 1_000_000),
    "schedule.warm_up": (0, LARGEST_COUNT),
    "schedule.floor": (0, 1),
    "optimiser.betas": (0, 0.999999),
    "optimiser.momentum": (0, 1),
    "optimiser.weight_decay": (0, LARGEST_COUNT),
    "optimiser.clip": (0, math.inf),
    "stop.patience": (1, LARGEST_COUNT),
    "stop.accuracy": (0, 1),
    "stop.divergence": (0, math.inf),
    "supervision.examples": (1, LARGEST_COUNT),
    "supervision.noise": (0, math.inf),
    "supervision.l1": (0, math.inf),
    **dict.fromkeys(
        ("penalty.position", "penalty.position_norm", "penalty.norm", "penalty.rank"),
        (0, LARGEST_COUNT),
    ),
}
"""Smallest and largest values. Beyond them a run would fail late or never end."""

OptimiserName = Literal["adamw", "adafactor", "muon"]
ScheduleName = Literal["cosine", "linear", "exponential", "inverse-sqrt", "constant"]
By = Literal["answers", "traces", "streams"]
SampleBy = Literal["counts", "states", "errors"]
LabelSetLoss = Literal["binary", "uniform", "any"]


@dataclass(frozen=True, kw_only=True)
class SupervisionConfig:
    """What a run learns from: the task's answers, or the traces of a program that solves the task.

    `answers` is end-to-end training: the cross-entropy of the task's answers. `traces` trains the
    feed-forward alone, on pairs of residual-stream vectors before and after it; everything else is
    compiled (ALTA paper, appendix C.1). `streams` trains a whole Transformer, none of it compiled,
    so that every variable of the program can be read off the residual stream by a linear map after
    every layer (the idea at the end of C.1).

    Attributes:
        by: `answers`, `traces` or `streams`.
        program: the program whose traces are used: a library name, or `path/file.py:Class`.
        examples: with `traces`, the number of training inputs that are traced.
        noise: standard deviation of the Gaussian noise added to the feed-forward's input; with
            `streams`, to the residual stream before every layer.
        sample_by: with `traces`, `counts` draws a state as often as it occurs in the traces,
            `states` draws all distinct states equally often, `errors` half of them so and half in
            proportion to the fourth power of their errors.
        round_between_layers: with `traces`, set every variable to its nearest value between layers
            when the model runs. The paper does not.
        init_at_states: with `traces`, initialise the biases of the first hidden layer so that each
            unit's pre-activation is zero at a random state instead of at the origin. Useful for
            numerical variables, whose values lie far from it. The paper does not.
        l1: with `traces`, weight of an L1 penalty on the feed-forward's weights and biases; the
            logged loss is without it.
        label_sets: with `answers`, the loss at positions with a set of legal symbols. `binary` is
            the mean over symbols of the binary cross-entropy of being legal, and a prediction is
            the set of symbols whose logit is positive. `uniform` is the cross-entropy against the
            uniform distribution over the legal symbols and `any` minus the log of their total
            probability; there a prediction is one symbol, right if it is legal.
    """

    by: By = "answers"
    program: str = ""
    examples: int = 20_000
    noise: float = 0.1
    sample_by: SampleBy = field(default="counts", metadata={"formerly": "weigh"})
    round_between_layers: bool = field(default=False, metadata={"formerly": "rounded"})
    init_at_states: bool = field(default=False, metadata={"formerly": "spread"})
    l1: float = field(default=0.0, metadata={"formerly": "shrink"})
    label_sets: LabelSetLoss = "binary"


ANSWERS = SupervisionConfig()


@dataclass(frozen=True, kw_only=True)
class OptimiserConfig:
    """The optimiser and its hyperparameters.

    Attributes:
        name: `adamw`, `adafactor` or `muon`. Muon takes the matrices of the layers; AdamW takes the
            other parameters.
        lr: peak learning rate.
        betas: of AdamW.
        momentum: of Muon.
        weight_decay: decoupled weight decay of matrices and embeddings, multiplied by the learning
            rate.
        clip: largest gradient norm; 0 for no clipping.
    """

    name: OptimiserName = "adamw"
    lr: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.95)
    momentum: float = 0.95
    weight_decay: float = 0.1
    clip: float = 1.0


@dataclass(frozen=True, kw_only=True)
class ScheduleConfig:
    """The learning-rate schedule.

    Attributes:
        name: the decay after the warm-up.
        warm_up: number of steps of linear warm-up.
        floor: final learning rate as a share of the peak, for `cosine`, `linear` and `exponential`.
        factor: with `inverse-sqrt`, the factor C that sets the peak by the width of the model, in
            place of `optimiser.lr`: C width^-1/2 min(step^-1/2, step warm_up^-3/2).
    """

    name: ScheduleName = "cosine"
    warm_up: int = 100
    floor: float = 0.1
    factor: float | None = None


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """When and on what a run is evaluated, besides its end.

    Attributes:
        every: number of steps between evaluations; 0 to evaluate at the end only.
        splits: names of splits of the task; all of them if empty.
        size: number of test examples per split.
        batch: evaluation batch size.
    """

    every: int = 500
    splits: tuple[str, ...] = ()
    size: int = 1024
    batch: int = 256


@dataclass(frozen=True, kw_only=True)
class PenaltyConfig:
    """Coefficients of terms of the length-generalisation regulariser, added to the loss.

    The logged loss is without them; each term is logged separately, without its coefficient
    (`weft.crasp.regulariser.penalty_of` defines the terms).

    Attributes:
        position: of the position term in the form of the authors' code, where 1e-4 was used.
        position_norm: of the largest norm of a position vector.
        norm: of the largest Frobenius norm of any other parameter matrix or vector.
        rank: of the surrogate of the rank of value matrices, a bound of their nuclear norms.
    """

    position: float = 0.0
    position_norm: float = 0.0
    norm: float = 0.0
    rank: float = 0.0

    @property
    def coefficients(self) -> dict[str, float]:
        """The coefficients that are not 0, by term."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {term: value for term, value in values.items() if value}


NO_PENALTY = PenaltyConfig()


@dataclass(frozen=True, kw_only=True)
class StopConfig:
    """When a run stops before its last step.

    Attributes:
        split: the split whose accuracy decides. For `train` it is measured on a validation set that
            shares no example with the test sets; `dev` is allowed if the task has one.
        accuracy: stop when it is reached; None for never.
        patience: stop after this many evaluations without improvement; None for never.
        divergence: stop when the logged loss is above this multiple of a uniform guess's loss three
            times in a row.
    """

    split: str = "train"
    accuracy: float | None = None
    patience: int | None = None
    divergence: float = 3.0


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """A run: a task, a model and how it is trained.

    Attributes:
        task: name of the task.
        parameters: parameters of the task.
        supervision: what is learned from: the task's answers, or traces of a program.
        preset: size of the model, by name.
        model: fields of `TransformerConfig` that differ from the preset. The task determines
            vocabulary, outputs and kind; bidirectional models default to rotary positions.
        initial: initialisation recipe.
        optimiser: the optimiser and its hyperparameters.
        schedule: the learning-rate schedule.
        steps: number of steps.
        batch: batch size, in examples.
        pack: pack the examples of a batch into rows of this many tokens, several per row; 0 for one
            example per row.
        pack_rows: pack into exactly this many rows, so that `torch_compile` works: as many of the
            step's examples as fit, in the order in which they were drawn; 0 for as many rows as
            they need. Choose `batch` a little larger than what fits.
        packing: how packed examples see each other. `masked`: attention stays within an example,
            and positions restart with it. `unmasked`: attention is causal over the whole row, and
            positions run on. `cut`: as `unmasked`, and examples are concatenated and cut at the
            end of a row instead of being placed whole.
        bf16: bf16 autocast; parameters stay in float32.
        tf32: TF32 matmuls, several times faster on a GPU.
        torch_compile: compile the layers by `torch.compile`; batches are padded to few widths.
        cuda_graphs: on a GPU, capture a step as a CUDA graph and replay it. This helps small
            models, whose kernels take less time than their launches.
        ema: decay of the exponential moving average of the weights; if set, evaluation uses the
            average.
        log_every: number of steps between log records.
        evaluation: when and on what the run is evaluated.
        stop: when the run stops early.
        penalty: coefficients of the length-generalisation regulariser.
        seed: seed of the initialisation and of the data.
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
    pack: int = 0
    pack_rows: int = 0
    packing: Packing = "masked"
    bf16: bool = False
    tf32: bool = False
    torch_compile: bool = field(default=False, metadata={"formerly": "fused"})
    cuda_graphs: bool = field(default=False, metadata={"formerly": "graphed"})
    ema: float = 0.0
    log_every: int = 20
    evaluation: EvaluationConfig = EvaluationConfig()
    stop: StopConfig = StopConfig()
    penalty: PenaltyConfig = NO_PENALTY
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
        """Twelve hexadecimal digits that identify the run; the name of its folder."""
        return content_hash(self, FORMAT)

    def as_dict(self) -> dict[str, Any]:
        """The config as plain values, for JSON.

        `supervision`, `penalty` and `schedule.factor` are left out if they have their defaults.
        """
        plain = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        plain["schedule"] = to_plain(self.schedule)
        if self.schedule.factor is None:
            del plain["schedule"]["factor"]
        if self.supervision == ANSWERS:
            del plain["supervision"]
        if self.penalty == NO_PENALTY:
            del plain["penalty"]
        if not self.code:
            del plain["code"]
        for name in ("pack_rows", "packing"):
            if plain[name] == getattr(type(self), name):
                del plain[name]
        return {key: to_plain(value) for key, value in plain.items()}


def training_config(values: Mapping[str, Any]) -> TrainingConfig:
    """A config from plain values, as `as_dict` returns them; an unknown key is an error.

    Keys that have been renamed are accepted under their former names, so old run folders load.
    """
    return from_plain(TrainingConfig, values, "the run's config")


def _check(config: TrainingConfig) -> None:
    """Raise a `WeftError` for values that make no sense."""
    known = typed_fields(TransformerConfig)
    for key in config.model:
        check_known(key, known, f"a model has no '{key}'", subject="TrainingConfig")
    require(config.model, {key: known[key] for key in config.model}, "TrainingConfig: model")
    check_bounds(config, BOUNDS, "TrainingConfig")
    if not 0 <= config.ema < 1:
        refuse(f"ema is {config.ema:g}", "It is a decay, at least 0 and less than 1")
    if not 0 < config.optimiser.lr < math.inf:
        refuse(f"optimiser.lr is {config.optimiser.lr:g}", "It must be above 0 and finite")
    factor = config.schedule.factor
    if factor is not None and not 0 < factor < math.inf:
        refuse(f"schedule.factor is {factor:g}", "It must be above 0 and finite")


def refuse(what: str, remedy: str) -> NoReturn:
    """Raise a `WeftError` about a config."""
    raise WeftError(what, subject="TrainingConfig", remedy=remedy)
