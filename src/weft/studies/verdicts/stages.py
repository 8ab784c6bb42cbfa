"""The stages of a verdict, each from a program or from runs that are looked up.

All are tested on the same examples: the test sets of one task, in its own tokens or in those of a
program. A run keeps its predictions, and a smaller test set is the beginning of a larger one, so
they are used if the examples are among them. Otherwise its model is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
from weft.tasks import Batch, Task, task
from weft.theory import Outcome, generalises, minimal_program
from weft.training.callbacks import GOOD
from weft.training.config import TrainingConfig
from weft.training.evaluation import Predictions, evaluate
from weft.training.program_task import ProgramTask
from weft.training.store import Run, RunStore
from weft.training.supervising import task_of
from weft.training.supervision import By
from weft.training.traces.feed_forward import compiled_for
from weft.training.traces.recipes import trace_config
from weft.training.trainer import train

StageName = Literal["compiled", "minimal", "traces", "streams", "end to end"]

NOTHING = -2
"""A class that no answer has: what a program that failed answers."""

TABLE_2 = {
    "parity": (1.0, 1.0, 1.0),
    "parity-absolute": (1.0, 0.52, 0.51),
    "parity-count": (1.0, 0.78, 0.50),
}
"""ALTA paper, table 2: trained from traces; at most 20 bits, more, more than 20 ones."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One way to come by a model, and how it does.

    Attributes:
        name: which way.
        of: the program, or for models trained end to end what they are.
        shares: accuracy by split, of how many tests; empty if there is no model yet.
        curves: for each axis, accuracy at each of its values, over all splits.
        details: sizes, rules, steps, in words.
        run: the run that it is, if it is one.
        recipe: the same for runs that differ in their seed alone.
        paper: what the paper reports, by split.
        agreement: how often it answers as the minimal program does.
    """

    name: StageName
    of: str
    shares: dict[str, Share]
    curves: dict[str, Curve]
    details: str
    run: str = ""
    recipe: str = ""
    paper: dict[str, float] = field(default_factory=dict)
    agreement: tuple[Agreement, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The stage for JSON; curves as pairs of right ones and tests."""
        return {
            **vars(self),
            "shares": {split: one.as_dict() for split, one in self.shares.items()},
            "curves": {axis: pairs_of(curve) for axis, curve in self.curves.items()},
            "agreement": [one.as_dict() for one in self.agreement],
        }


def stage_from(values: Mapping[str, Any]) -> Stage:
    """The stage that `as_dict` wrote."""
    return Stage(
        **{
            **values,
            "shares": {split: Share.from_dict(one) for split, one in values["shares"].items()},
            "curves": {axis: curve_from(pairs) for axis, pairs in values["curves"].items()},
            "agreement": tuple(agreement_from(one) for one in values["agreement"]),
        }
    )


@dataclass(frozen=True, kw_only=True)
class Tested:
    """A stage, and what it answers to every test; None if there is nothing to ask."""

    stage: Stage
    answers: Answers | None = None


@dataclass(frozen=True)
class SameTests:
    """The tests of a verdict: so many of each split of a task, the same for all stages."""

    inner: Task
    size: int

    def of(self, task: Task) -> dict[str, Batch]:
        """The tests as a task has them that is made of the inner one."""
        return {split: task.test_set(split, self.size) for split in self.inner.tested}

    def answers(self, task: Task, found: Mapping[str, Predictions]) -> Answers:
        """What was chosen, in words that can be compared.

        A task that asks for tags has the same answers in any tokens. One that asks for text is
        answered by a program in its own way, at every position.
        """
        form = "program" if isinstance(task, ProgramTask) else "task"
        form = "tags" if self.inner.format == "tag" else form
        return Answers(predictions=found, names=tuple(task.answers), form=form)


def compiled_stage(name: str, made: ProgramTask, tests: SameTests) -> Tested:
    """The program as weights, on all tests."""
    model = compiled_for(made).model
    found = evaluate(model, tests.of(made))
    size = sum(weight.numel() for weight in model.parameters())
    details = f"{model.config.hidden[0]:,} units at level 0, {size:,} parameters"
    return _tested("compiled", name, made, found, details, tests)


def minimal_stage(name: str, made: ProgramTask, tests: SameTests, examples: int) -> Tested:
    """The rules that training exercises, on all tests; a program that cannot be cut says why."""
    try:
        left = minimal_program(made.program, list(made.inputs(0, examples)))
    except WeftError as error:
        stage = Stage(name="minimal", of=name, shares={}, curves={}, details=error.what)
        return Tested(stage=stage)
    found: dict[str, Predictions] = {}
    unhalted = 0
    inner = tests.of(made.inner)
    for split, batch in tests.of(made).items():
        outcomes = generalises(left, made.encoded(inner[split])).outcomes
        found[split] = _read(made, split, batch, outcomes)
        unhalted += sum(outcome.ending == "not halted" for outcome in outcomes)
    details = f"{left.count:,} rules"
    if unhalted:
        details += f"; {unhalted:,} tests do not halt, and are read as they are"
    return _tested("minimal", name, made, found, details, tests)


def _read(made: ProgramTask, split: str, batch: Batch, outcomes: Iterable[Outcome]) -> Predictions:
    """What a program puts out under the tokens of every test, as it is read off a model."""
    codes = made.program.variables[made.program.definition.output].range.codes
    chosen = np.full_like(batch.targets, NOTHING)
    for row, outcome in enumerate(outcomes):
        for place, value in enumerate(outcome.outputs):
            chosen[row, place] = NOTHING if value is UNDEFINED else codes[value]
    return Predictions(split=split, batch=batch, chosen=chosen, loss=float("nan"))


def traced_stages(
    name: str, tests: SameTests, parameters: dict[str, Any], runs: Path, learn: str, device: str
) -> list[Tested]:
    """Runs that learned from the program's traces, those that learned most of them first."""
    inner = tests.inner
    if learn:
        config = trace_config(inner.name, name, small=learn == "small")
        train(replace(config, parameters=parameters), runs=runs, device=device)
    paper = _paper(name, inner)
    found = [
        _of_run("traces", name, run, _recipe(run), paper, tests)
        for run in finished(inner, parameters, runs, "traces")
        if run.config.supervision.program == name
    ]
    if found:
        return sorted(found, key=_most_learned)
    details = f"not trained yet: weft train {quote(inner.called)} --traces {quote(name)}"
    stage = Stage(name="traces", of=name, shares={}, curves={}, details=details, paper=paper)
    return [Tested(stage=stage)]


def _most_learned(tested: Tested) -> tuple[float, str]:
    train_share = tested.stage.shares.get("train", Share(0, 1))
    return -train_share.share, tested.stage.run


def _recipe(run: Run) -> str:
    """What runs that learn from the same traces differ in."""
    supervision = run.config.supervision
    hidden = " x ".join(f"{width:,}" for width in run.config.model.get("hidden", ()))
    parts = [f"hidden {hidden}", f"drawn by {supervision.weigh}"]
    parts += [word for word in ("spread", "rounded") if getattr(supervision, word)]
    return ", ".join([*parts, f"seed {run.config.seed}"])


def followed_stages(
    name: str, tests: SameTests, parameters: dict[str, Any], runs: Path
) -> list[Tested]:
    """Runs in which a whole Transformer learned to follow the program's traces."""
    return [
        _of_run("streams", name, run, "nothing compiled", {}, tests)
        for run in finished(tests.inner, parameters, runs, "streams")
        if run.config.supervision.program == name
    ]


def answered_stages(tests: SameTests, parameters: dict[str, Any], runs: Path) -> list[Tested]:
    """All runs that learned the task from answers."""
    found = [
        _of_run("end to end", described(run.config), run, "from answers", {}, tests)
        for run in finished(tests.inner, parameters, runs, "answers")
    ]
    return sorted(found, key=lambda one: (len(one.stage.of.split()[0]), one.stage.of))


def finished(inner: Task, parameters: dict[str, Any], runs: Path, by: By) -> Iterable[Run]:
    """Runs of a task that came to their end and learned from something."""
    for run in RunStore(runs).runs():
        config = run.config
        same = config.task == inner.name and dict(config.parameters) == parameters
        if same and config.supervision.by == by and run.status in GOOD:
            yield run


def _paper(name: str, inner: Task) -> dict[str, float]:
    """The paper's figures, where it has any: for parity as it is, at most 20 bits in training."""
    plain = name.partition("(")[0].strip()
    if inner != task("parity") or plain not in TABLE_2:
        return {}
    return dict(zip(("train", "longer", "more-ones"), TABLE_2[plain], strict=True))


def described(config: TrainingConfig) -> str:
    """A model in a few words."""
    layers, loops = config.model.get("layers"), config.model.get("loops", 1)
    words = [config.preset] if layers is None else [f"{layers * loops} layers"]
    if loops != 1:
        words.append("shared")
    words.append(str(config.model.get("position", "default positions")))
    return ", ".join([*words, f"seed {config.seed}"])


def _of_run(
    name: StageName, of: str, run: Run, what: str, paper: dict[str, float], tests: SameTests
) -> Tested:
    assert run.result is not None
    made = task_of(run.config)
    details = f"{what}, {run.result.step:,} steps, {run.result.parameters:,} parameters"
    found = predictions_on(run, made, tests.of(made))
    if not found:
        details += "; not tested: its predictions are of other tests, and its weights are gone"
    tested = _tested(name, of, made, found, details, tests)
    recipe = replace(run.config, seed=0).hash
    return replace(tested, stage=replace(tested.stage, run=run.name, recipe=recipe, paper=paper))


def predictions_on(run: Run, made: Task, tests: Mapping[str, Batch]) -> dict[str, Predictions]:
    """What a run chooses for these tests; nothing if it has neither predictions nor weights."""
    found = {split: _stored(run, split, batch) for split, batch in tests.items()}
    missing = {split: tests[split] for split, one in found.items() if one is None}
    if missing:
        try:
            model = run.model(task=made)
        except WeftError:
            return {}
        found |= evaluate(model, missing, batch=run.config.evaluation.batch)
    return {split: one for split, one in found.items() if one is not None}


def _stored(run: Run, split: str, tests: Batch) -> Predictions | None:
    """What a run chose for these tests when it ended, if they were among its own."""
    known: Predictions | None = None
    with suppress(WeftError):
        known = run.predictions(split)
    if known is None or len(known.batch) < len(tests):
        return None
    first = slice(0, len(tests))
    batch = known.batch.take(first)
    if batch.trimmed().content_hash != tests.trimmed().content_hash:
        return None
    return replace(known, batch=batch, chosen=known.chosen[first])


def _tested(
    name: StageName,
    of: str,
    made: Task,
    found: Mapping[str, Predictions],
    details: str,
    tests: SameTests,
) -> Tested:
    stage = Stage(
        name=name, of=of, details=details,
        shares={split: one.share for split, one in found.items()},
        curves=curves_of(list(found.values())),
    )  # fmt: skip
    return Tested(stage=stage, answers=tests.answers(made, found) if found else None)
