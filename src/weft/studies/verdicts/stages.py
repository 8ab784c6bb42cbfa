"""The stages of a verdict, each computed from a program or looked up among runs.

All stages are tested on the same examples: the test sets of one task, in its own tokens or in those
of a program. A run stores its predictions, and a smaller test set is a prefix of a larger one, so
stored predictions are used if they cover the examples. Otherwise the model is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import Any, Literal

import numpy as np

from weft.errors import WeftError
from weft.language.ranges import UNDEFINED
from weft.statistics import Share
from weft.studies.agreement import Agreement, Answers, agreement_from
from weft.studies.results import Curve, curve_from, curves_of, pairs_of
from weft.studies.run_table import recipe
from weft.studies.study import Reference
from weft.tasks import Batch, Task
from weft.theory import InputOutcome, generalises, minimal_program
from weft.training.callbacks import GOOD
from weft.training.config import By, TrainingConfig
from weft.training.evaluation import Predictions, evaluate
from weft.training.program_task import ProgramTask
from weft.training.store import Run, RunStore
from weft.training.supervision import task_of
from weft.training.traces.recipes import trace_config
from weft.training.trainer import train

StageName = Literal["compiled", "predicted", "from traces", "from streams", "from answers"]

FORMER_NAMES: dict[str, StageName] = {
    "minimal": "predicted",
    "traces": "from traces",
    "streams": "from streams",
    "end to end": "from answers",
}
"""Names of stages in results written by version 0.1."""

NO_CLASS = -2
"""The answer of a program that failed; no target has this class."""


RANGE_EXAMPLES = 1024
"""How many training examples the training range of an axis is taken from."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One way to obtain a model, and how accurate it is.

    Attributes:
        name: which way.
        subject: the program, or for models trained from answers the model, in a few words.
        shares: accuracy by split; empty if there is no model yet.
        curves: for each axis, accuracy at each of its values, over all splits.
        details: sizes, rules and steps, in words.
        run: the name of the run, if it is one.
        recipe: the same for runs that differ only in their seed.
        reference: what a paper reports, by split.
        source: the paper, and the table or figure in it.
        agreement: how often it gives the same answer as minimal programs.
    """

    name: StageName
    subject: str
    shares: dict[str, Share]
    curves: dict[str, Curve]
    details: str
    run: str = ""
    recipe: str = ""
    reference: dict[str, float] = field(default_factory=dict)
    source: str = ""
    agreement: tuple[Agreement, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The stage for JSON; curves as pairs of correct answers and tests."""
        return {
            **vars(self),
            "shares": {split: share.as_dict() for split, share in self.shares.items()},
            "curves": {axis: pairs_of(curve) for axis, curve in self.curves.items()},
            "agreement": [item.as_dict() for item in self.agreement],
        }


def stage_from(values: Mapping[str, Any]) -> Stage:
    """The stage that `as_dict` wrote, in this version or in version 0.1."""
    former = {"of": "subject", "paper": "reference"}
    current = {former.get(key, key): value for key, value in values.items()}
    return Stage(
        **{
            **current,
            "name": FORMER_NAMES.get(current["name"], current["name"]),
            "shares": {split: Share.from_dict(item) for split, item in values["shares"].items()},
            "curves": {axis: curve_from(p) for axis, p in values.get("curves", {}).items()},
            "agreement": tuple(agreement_from(item) for item in values.get("agreement", ())),
        }
    )


@dataclass(frozen=True, kw_only=True)
class StageResult:
    """A stage, and its answer to every test; None if there is no model to ask."""

    stage: Stage
    answers: Answers | None = None


@dataclass(frozen=True)
class SharedTests:
    """The tests of a verdict: `size` examples of each split of a task, the same for all stages."""

    task: Task
    size: int

    def of(self, task: Task) -> dict[str, Batch]:
        """The tests in the form of a task that wraps this one."""
        return {split: task.test_set(split, self.size) for split in self.task.tested}

    def answers(self, task: Task, predictions: Mapping[str, Predictions]) -> Answers:
        """The answers, in words that can be compared.

        A task that asks for tags has the same answers in any tokens. A task that asks for text is
        answered by a program in its own form, at every position.
        """
        form = "program" if isinstance(task, ProgramTask) else "task"
        form = "tags" if self.task.format == "tag" else form
        return Answers(predictions=predictions, names=tuple(task.answers), form=form)

    def ranges(self) -> dict[str, tuple[int, int]]:
        """By axis, the smallest and largest value among training examples."""
        axes = self.task.batch("train", 0, 0, RANGE_EXAMPLES).axes
        return {axis: (int(values.min()), int(values.max())) for axis, values in axes.items()}


def compiled_stage(name: str, task: ProgramTask, tests: SharedTests) -> StageResult:
    """The program as compiled weights, on all tests."""
    model = task.compiled.model
    size = sum(weight.numel() for weight in model.parameters())
    details = f"{model.config.hidden[0]:,} units at level 0, {size:,} parameters"
    return _result("compiled", name, task, evaluate(model, tests.of(task)), details, tests)


def predicted_stage(name: str, task: ProgramTask, tests: SharedTests, examples: int) -> StageResult:
    """The minimal program of some training inputs, on all tests; or why there is none."""
    try:
        minimal = minimal_program(task.program, list(task.inputs(0, examples)))
    except WeftError as error:
        stage = Stage(name="predicted", subject=name, shares={}, curves={}, details=error.what)
        return StageResult(stage=stage)
    predictions: dict[str, Predictions] = {}
    unhalted = 0
    inner = tests.of(task.inner)
    for split, batch in tests.of(task).items():
        outcomes = generalises(minimal, task.encoded(inner[split])).outcomes
        predictions[split] = _as_predictions(task, split, batch, outcomes)
        unhalted += sum(outcome.ending == "not halted" for outcome in outcomes)
    details = f"{minimal.count:,} rules"
    if unhalted:
        details += f"; {unhalted:,} tests do not halt, and their last output is taken"
    return _result("predicted", name, task, predictions, details, tests)


def _as_predictions(
    task: ProgramTask, split: str, batch: Batch, outcomes: Iterable[InputOutcome]
) -> Predictions:
    """A program's outputs at the tokens of every test, as if a model had given them."""
    codes = task.program.variables[task.program.definition.output].range.codes
    chosen = np.full_like(batch.targets, NO_CLASS)
    for row, outcome in enumerate(outcomes):
        for position, value in enumerate(outcome.outputs):
            chosen[row, position] = NO_CLASS if value is UNDEFINED else codes[value]
    return Predictions(split=split, batch=batch, chosen=chosen, loss=float("nan"))


def trace_stages(
    name: str,
    tests: SharedTests,
    parameters: dict[str, Any],
    runs: Path,
    *,
    learn: str = "",
    device: str = "auto",
    references: Sequence[Reference] = (),
) -> list[StageResult]:
    """Runs trained from the program's traces, those that fit their training best first."""
    task = tests.task
    if learn:
        config = trace_config(task.name, name, small=learn == "small")
        train(replace(config, parameters=parameters), runs=runs, device=device)
    known = next((r for r in references if r.matches(task, "from traces", name)), None)
    results = [
        _of_run("from traces", name, run, _supervision(run), tests, known)
        for run in finished(task, parameters, runs, "traces")
        if run.config.supervision.program == name
    ]
    if results:
        return sorted(results, key=_training_accuracy)
    details = f"not trained yet: weft train {quote(task.called)} --traces {quote(name)}"
    stage = Stage(name="from traces", subject=name, shares={}, curves={}, details=details)
    return [StageResult(stage=_referenced(stage, known))]


def _referenced(stage: Stage, known: Reference | None) -> Stage:
    if known is None:
        return stage
    return replace(stage, reference=dict(known.accuracy), source=known.source)


def _training_accuracy(result: StageResult) -> tuple[float, str]:
    share = result.stage.shares.get("train", Share(0, 1))
    return -share.share, result.stage.run


def _supervision(run: Run) -> str:
    """The settings in which runs from the same traces differ."""
    supervision = run.config.supervision
    hidden = " x ".join(f"{width:,}" for width in run.config.model.get("hidden", ()))
    parts = [f"hidden {hidden}", f"sampled by {supervision.sample_by}"]
    parts += ["initialised at states"] if supervision.init_at_states else []
    parts += ["rounded between layers"] if supervision.round_between_layers else []
    return ", ".join([*parts, f"seed {run.config.seed}"])


def stream_stages(
    name: str, tests: SharedTests, parameters: dict[str, Any], runs: Path
) -> list[StageResult]:
    """Runs in which a whole Transformer was trained to follow the program's traces."""
    return [
        _of_run("from streams", name, run, "nothing compiled", tests)
        for run in finished(tests.task, parameters, runs, "streams")
        if run.config.supervision.program == name
    ]


def answer_stages(tests: SharedTests, parameters: dict[str, Any], runs: Path) -> list[StageResult]:
    """All runs trained on the task from answers alone."""
    results = [
        _of_run("from answers", model_summary(run.config), run, "from answers", tests)
        for run in finished(tests.task, parameters, runs, "answers")
    ]
    return sorted(results, key=lambda r: (len(r.stage.subject.split()[0]), r.stage.subject))


def finished(task: Task, parameters: dict[str, Any], runs: Path, by: By) -> Iterable[Run]:
    """The finished runs of a task with some supervision."""
    for run in RunStore(runs).runs():
        config = run.config
        same = config.task == task.name and dict(config.parameters) == parameters
        if same and config.supervision.by == by and run.status in GOOD:
            yield run


def model_summary(config: TrainingConfig) -> str:
    """A model in a few words: depth, sharing, positional encoding, seed."""
    layers, loops = config.model.get("layers"), config.model.get("loops", 1)
    words = [config.preset] if layers is None else [f"{layers * loops} layers"]
    if loops != 1:
        words.append("shared")
    words.append(str(config.model.get("position", "default positions")))
    return ", ".join([*words, f"seed {config.seed}"])


def _of_run(
    name: StageName,
    subject: str,
    run: Run,
    words: str,
    tests: SharedTests,
    known: Reference | None = None,
) -> StageResult:
    assert run.result is not None
    task = task_of(run.config)
    details = f"{words}, {run.result.step:,} steps, {run.result.parameters:,} parameters"
    predictions = predictions_on(run, task, tests.of(task))
    if not predictions:
        details += "; not tested: its predictions are of other tests, and its weights are gone"
    result = _result(name, subject, task, predictions, details, tests)
    stage = replace(result.stage, run=run.name, recipe=recipe(run.config))
    return replace(result, stage=_referenced(stage, known))


def predictions_on(run: Run, task: Task, tests: Mapping[str, Batch]) -> dict[str, Predictions]:
    """A run's predictions on these tests; empty if it has neither predictions nor weights."""
    known = {split: _stored(run, split, batch) for split, batch in tests.items()}
    missing = {split: tests[split] for split, stored in known.items() if stored is None}
    if missing:
        try:
            model = run.model(task=task)
        except WeftError:
            return {}
        config = run.config
        known |= evaluate(
            model,
            missing,
            batch=config.evaluation.batch,
            label_sets=config.supervision.label_sets,
        )
    return {split: table for split, table in known.items() if table is not None}


def _stored(run: Run, split: str, tests: Batch) -> Predictions | None:
    """The predictions on these tests that a run stored at its end, if it covered them."""
    stored: Predictions | None = None
    with suppress(WeftError):
        stored = run.predictions(split)
    if stored is None or len(stored.batch) < len(tests):
        return None
    prefix = slice(0, len(tests))
    batch = stored.batch.take(prefix)
    if batch.trimmed().content_hash != tests.trimmed().content_hash:
        return None
    return replace(stored, batch=batch, chosen=stored.chosen[prefix])


def _result(
    name: StageName,
    subject: str,
    task: Task,
    predictions: Mapping[str, Predictions],
    details: str,
    tests: SharedTests,
) -> StageResult:
    stage = Stage(
        name=name,
        subject=subject,
        details=details,
        shares={split: table.share for split, table in predictions.items()},
        curves=curves_of(list(predictions.values())),
    )
    answers = tests.answers(task, predictions) if predictions else None
    return StageResult(stage=stage, answers=answers)
