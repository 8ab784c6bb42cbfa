"""`weft study inference`: does the regulariser stay bounded where the theory says so?

Huang et al. (2025) idealise learning as a choice: among the transformers of context n that are
right on all inputs of length up to n/2 at every offset, take the one, T_n, with the least R. A
function is computed by a limit transformer with periodic and local positions exactly if R(T_n)
stays bounded and T_n is, from some n on, right on all lengths up to n. Functions in C-RASP
[periodic, local] have a limit transformer. For n = 16, 32, 64 and 128, two tasks inside the class
and two outside:

    candidates   models without norms, trained on inputs of up to n/2 symbols at random offsets,
                 with the loss plus a coefficient times the differentiable terms of R, for each
                 coefficient of a fixed schedule; larger models only if no smaller one fits
    selection    those that are right on 512 inputs of up to n/2 symbols at every offset
    reduction    the least rank, then the fewest fractional bits, that still fit
                 (`weft.studies.length.reduction`)
    T_n          the one with the least R

Only then are inputs of more than n/2 symbols looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from weft.config import content_hash, override
from weft.crasp.regulariser import measure
from weft.errors import WeftError, check_known
from weft.files import read_json, write_json
from weft.models.transformer import Transformer
from weft.statistics import Share
from weft.studies.experiment import Execution, ExperimentReport
from weft.studies.length.protocol import positional, size, table_rows
from weft.studies.length.reduction import fits_at_all_offsets, reduce
from weft.studies.study import Scale, reseeded, rows_with
from weft.tasks import Batch, Task
from weft.tasks.task import TRAIN
from weft.training.callbacks import GOOD
from weft.training.config import TrainingConfig
from weft.training.environment import device_of
from weft.training.evaluation import evaluate
from weft.training.launch.sweep import Cell
from weft.training.store import Run
from weft.training.supervision import task_of

FORMAT = 1
"""Part of the hash of a candidate; raise it whenever its evaluation changes."""
NAME = "inference"
CONTEXTS = (16, 32, 64, 128)
SPLITS = ("longer", "longest")
"""Lengths from n/2 + 1 to 3n/4 and from there to n."""
COEFFICIENTS = (0.0, 1e-4, 1e-3)
"""Of all differentiable terms of R alike, since R adds them with weight 1."""
TERMS = ("position", "position_norm", "norm", "rank")
SIZES = ((1, 1), (2, 2), (4, 4))
"""Layers and heads of the candidates; a size is tried only if no smaller candidate fits."""
EXAMPLES = 512
"""Inputs of up to n/2 symbols on which a candidate must be right."""
TESTS = 1000
"""Longer inputs per split."""
FITTING, TESTING = 7, 8  # independent random streams


@dataclass(frozen=True)
class Problem:
    """A task of the study.

    Attributes:
        title: its name in the table.
        task: the name of the task.
        parameters: its parameters, besides lengths.
        inside: whether it is in C-RASP[periodic, local].
    """

    title: str
    task: str
    parameters: Mapping[str, Any] = field(hash=False)
    inside: bool


PROBLEMS = (
    Problem("binary majority", "binary-majority", {}, inside=True),
    Problem("Tomita-4", "formal-language", {"language": "tomita-4"}, inside=True),
    Problem("parity", "bit-parity", {}, inside=False),
    Problem("flip-flop", "formal-language", {"language": "012-02"}, inside=False),
)


@dataclass(frozen=True)
class InferenceRow:
    """A row of the table: a task, and the context n."""

    problem: Problem
    context: int

    @property
    def labels(self) -> tuple[str, ...]:
        """Its cells in the columns task, class and n."""
        return (
            self.problem.title, "inside" if self.problem.inside else "outside", str(self.context)
        )  # fmt: skip

    @property
    def lengths(self) -> dict[str, int]:
        """The largest length in distribution and of both test splits."""
        return {
            "length": self.context // 2, "longer": 3 * self.context // 4, "longest": self.context
        }  # fmt: skip


ROWS = tuple(InferenceRow(problem, context) for problem in PROBLEMS for context in CONTEXTS)

TRAINING: dict[str, Any] = {
    "model.norm": "none",
    "model.activation": "relu",
    "optimiser.lr": 3e-3,
    "optimiser.betas": [0.9, 0.999],
    "optimiser.weight_decay": 0.0,
    "schedule.name": "linear",
    "schedule.floor": 0.0,
    "parameters.held_out": 0.01,
    "evaluation.every": 0,
    "evaluation.splits": [SPLITS[-1]],
    "evaluation.size": 100,
    "log_every": 500,
}
"""What all candidates share, besides task, size, coefficient and seed.

The theory's learner sees all inputs of up to n/2 symbols, so as few as possible are held out. The
evaluation at the end of a run decides nothing.
"""

SCALES = {
    "smoke": Scale("20 steps of 16 examples, models of width 8", {
        **TRAINING, "steps": 20, "batch": 16, "width": 8,
        "schedule.warm_up": 0,
    }),
    "small": Scale(
        "2,500 steps of 32 examples, models of width 32, one seed",
        {**TRAINING, "steps": 2500, "batch": 32, "width": 32},
    ),
    "paper": Scale("20,000 steps of 64 examples, models of width 64, three seeds", {
        **TRAINING, "steps": 20_000, "width": 64, "optimiser.lr": 1e-3,
    }, seeds=3),
}  # fmt: skip


@dataclass(frozen=True)
class Candidate:
    """A candidate for T_n before it is evaluated.

    Attributes:
        row: the row that it belongs to.
        layers: number of layers.
        heads: heads per layer.
        coefficient: of the regulariser, while training.
        config: its run.
    """

    row: InferenceRow
    layers: int
    heads: int
    coefficient: float
    config: TrainingConfig

    @property
    def size(self) -> tuple[int, int]:
        """Layers and heads."""
        return self.layers, self.heads

    @property
    def hash(self) -> str:
        """The name of the folder of its evaluation."""
        return content_hash(self.config, FORMAT)


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """What became of a candidate.

    Attributes:
        run: the name of its run.
        layers: number of layers.
        heads: heads per layer.
        coefficient: of the regulariser, while training.
        seed: of its run.
        status: how its run ended; if that is not well, nothing follows.
        fits: whether it is right on all inputs of up to n/2 symbols that were tried, at every
            offset. What follows is of the reduced model, or as trained if it does not fit.
        terms: the terms of R.
        trained: the terms of R as trained.
        bits: the fractional bits that parameters were rounded to; None if they are as trained.
        accuracy: on each of `SPLITS`, at offset 0.
    """

    run: str
    layers: int
    heads: int
    coefficient: float
    seed: int
    status: str
    fits: bool = False
    terms: Mapping[str, Any] = field(default_factory=dict)
    trained: Mapping[str, Any] = field(default_factory=dict)
    bits: int | None = None
    accuracy: Mapping[str, Share] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The candidate for JSON."""
        accuracy = {split: [share.right, share.count] for split, share in self.accuracy.items()}
        return {**vars(self), "accuracy": accuracy}


def evaluated_from(values: Mapping[str, Any]) -> Evaluated:
    """The candidate that `Evaluated.as_dict` wrote."""
    accuracy = {split: Share(*pair) for split, pair in values["accuracy"].items()}
    return Evaluated(**{**values, "accuracy": accuracy})


def chosen(candidates: Sequence[Evaluated]) -> Evaluated | None:
    """T_n: the candidate with the least R among those that fit; None if none fits."""
    fitting = [each for each in candidates if each.fits]
    return min(fitting, key=lambda each: float(each.terms["total"]), default=None)


@lru_cache(maxsize=64)
def drawn_inputs(task: Task, split: str, count: int) -> Batch:
    """Inputs of a split, independent of each other; held out from training or not."""
    stream = FITTING if split == TRAIN else TESTING
    return task.lay_out(task.draw(split, np.random.default_rng(stream), count))


def evaluate_candidate(candidate: Candidate, run: Run, device: str) -> Evaluated:
    """Test whether a trained candidate fits, reduce it if so, and evaluate it on longer inputs."""
    config = candidate.config
    described: dict[str, Any] = {
        "run": config.hash,
        "layers": candidate.layers,
        "heads": candidate.heads,
        "coefficient": candidate.coefficient,
        "seed": config.seed,
        "status": run.status,
    }
    if run.status not in GOOD:
        return Evaluated(**described)
    task = task_of(config)
    inputs = drawn_inputs(task, TRAIN, EXAMPLES)
    model = run.model(str(device_of(device)))
    assert isinstance(model, Transformer)
    trained = measure(model).as_dict()
    fits, bits = fits_at_all_offsets(model, inputs), None
    if fits:
        reduced = reduce(model, lambda tried: fits_at_all_offsets(tried, inputs))
        model, bits = reduced.model, reduced.bits
    tests = {split: drawn_inputs(task, split, TESTS) for split in SPLITS}
    predictions = evaluate(model, tests, batch=config.evaluation.batch)
    return Evaluated(
        **described,
        fits=fits,
        terms=measure(model).as_dict(),
        trained=trained,
        bits=bits,
        accuracy={split: table.share for split, table in predictions.items()},
    )


@dataclass(frozen=True)
class Inference:
    """The study; see the module.

    Its cells are runs, in `runs/HASH`, and their evaluations, in `runs/inference/HASH`.
    """

    rows: tuple[InferenceRow, ...] = ROWS
    seeds: tuple[int, int] | None = None
    name: str = NAME
    title: str = "Idealised inference: the regulariser as the context grows"
    source: str = "Huang et al. (2025), theorem 7"

    @property
    def scales(self) -> Mapping[str, Scale]:
        """The scales by name."""
        return SCALES if self.seeds is None else reseeded(SCALES, *self.seeds)

    def only(self, wanted: Sequence[str]) -> Self:
        """The study with only the rows that have these labels."""
        return replace(self, rows=rows_with(self.rows, wanted, self.name))

    def with_seeds(self, first: int, count: int) -> Self:
        """The study with these seeds in every scale."""
        return replace(self, seeds=(first, count))

    def candidates(self, scale: str, given: Mapping[str, Any]) -> list[Candidate]:
        """All candidates, in the order of the rows."""
        check_known(scale, self.scales, f"the study {self.name} has no scale '{scale}'")
        selected = self.scales[scale]
        return [
            _candidate(row, selected, layers, heads, coefficient, seed, given)
            for row in self.rows
            for layers, heads in SIZES
            for coefficient in COEFFICIENTS
            for seed in range(selected.first_seed, selected.first_seed + selected.seeds)
        ]

    def compute(self, scale: str, execution: Execution) -> None:
        """Train and evaluate candidates, a larger size only where no smaller one fits."""
        candidates = self.candidates(scale, execution.given)
        for wanted in SIZES:
            known = _stored(candidates, execution)
            todo = [
                each
                for each in candidates
                if each.size == wanted and each not in known and _is_open(each, known)
            ]
            if not todo:
                continue
            execution.train([_cell(each) for each in todo])
            ended = [each for each in todo if _has_ended(each, execution)]
            execution.started(len(ended))
            for candidate in ended:
                folder = _folder(candidate, execution)
                folder.mkdir(parents=True, exist_ok=True)
                result = evaluate_candidate(candidate, _run(candidate, execution), execution.device)
                write_json(folder / "result.json", result.as_dict())
                execution.progress(1)

    def report(self, scale: str, execution: Execution) -> ExperimentReport:
        """The results so far."""
        from weft.studies.length.inference_report import report_of

        candidates = self.candidates(scale, execution.given)
        known = _stored(candidates, execution)
        results: dict[InferenceRow, list[Evaluated]] = {row: [] for row in self.rows}
        for candidate, evaluated in known.items():
            results[candidate.row].append(evaluated)
        places = [
            read_json(_run(candidate, execution).folder / "environment.json") for candidate in known
        ]
        missing = [each for each in candidates if each not in known and _is_open(each, known)]
        return report_of(self, scale, results, places, complete=not missing)


def _stored(candidates: Sequence[Candidate], execution: Execution) -> dict[Candidate, Evaluated]:
    """The candidates that are evaluated."""
    paths = {each: _folder(each, execution) / "result.json" for each in candidates}
    return {each: evaluated_from(read_json(path)) for each, path in paths.items() if path.exists()}


def _is_open(candidate: Candidate, known: Mapping[Candidate, Evaluated]) -> bool:
    """Whether no smaller candidate of the row fits."""
    earlier = SIZES[: SIZES.index(candidate.size)]
    return not any(
        evaluated.fits and each.size in earlier
        for each, evaluated in known.items()
        if each.row == candidate.row
    )


def _has_ended(candidate: Candidate, execution: Execution) -> bool:
    """Whether its run has ended for good, well or not."""
    result = _run(candidate, execution).result
    return result is not None and result.final


def _candidate(
    row: InferenceRow,
    scale: Scale,
    layers: int,
    heads: int,
    coefficient: float,
    seed: int,
    given: Mapping[str, Any],
) -> Candidate:
    changes = {key: value for key, value in scale.changes.items() if key != "width"}
    lengths = {**row.problem.parameters, **row.lengths}
    rows = table_rows(row.problem.task, **lengths)
    varied = {
        **{f"parameters.{key}": value for key, value in lengths.items()},
        **size(layers, heads, scale.changes["width"]),
        **positional("learned", rows),
        **({f"penalty.{term}": coefficient for term in TERMS} if coefficient else {}),
        "seed": seed,
    }
    fixed = [key for key in given if key in varied or key.startswith("penalty.")]
    if fixed:
        raise WeftError(
            f"the study {NAME} varies '{fixed[0]}' itself",
            remedy="Select rows by --only and seeds by --seeds",
        )
    config = override(TrainingConfig(task=row.problem.task), {**varied, **changes, **given})
    return Candidate(row, layers, heads, coefficient, config)


def _cell(candidate: Candidate) -> Cell:
    varied = {
        "task": candidate.row.problem.title, "n": candidate.row.context,
        "layers": candidate.layers, "coefficient": candidate.coefficient,
        "seed": candidate.config.seed,
    }  # fmt: skip
    return Cell(varied, candidate.config)


def _run(candidate: Candidate, execution: Execution) -> Run:
    return Run(execution.runs / candidate.config.hash)


def _folder(candidate: Candidate, execution: Execution) -> Path:
    return execution.runs / NAME / candidate.hash


INFERENCE = Inference()
