"""The stages of a verdict, each from a program or from runs that are looked up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import Any, Literal

import numpy as np

from weft.errors import WeftError
from weft.studies.results import Curve
from weft.tasks import Batch, Task, task
from weft.tasks.task import VALIDATION
from weft.theory import Outcome, generalises, minimal
from weft.training.config import TrainingConfig
from weft.training.evaluating import Predictions, evaluate
from weft.training.placing import compiled_for
from weft.training.program_task import ProgramTask
from weft.training.recipes import trace_config
from weft.training.running import train
from weft.training.store import Run, RunStore
from weft.training.supervision import By
from weft.training.watching import GOOD

StageName = Literal["compiled", "minimal", "traces", "streams", "end to end"]
Right = Mapping[str, np.ndarray[Any, np.dtype[np.bool_]]]
"""Which examples of each split are right."""

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
        accuracy: by split; empty where there is none yet.
        curves: for each axis, accuracy at each of its values, over all splits.
        details: sizes, rules, steps, in words.
        run: the run that it is, where it is one.
        paper: what the paper reports, by split.
    """

    name: StageName
    of: str
    accuracy: dict[str, float]
    curves: dict[str, Curve]
    details: str
    run: str = ""
    paper: dict[str, float] = field(default_factory=dict)


def compiled_stage(name: str, made: ProgramTask, tests: int) -> Stage:
    """The program as weights, on all tests."""
    model = compiled_for(made).model
    found = evaluate(model, {split: made.test_set(split, tests) for split in made.tested})
    size = sum(weight.numel() for weight in model.parameters())
    details = f"{model.config.hidden[0]:,} units at level 0, {size:,} parameters"
    return _of_predictions("compiled", name, found.values(), details)


def minimal_stage(
    name: str, made: ProgramTask, batches: Mapping[str, Batch], examples: int
) -> Stage:
    """What training leaves of the program, on all tests; a program that cannot be cut says why."""
    try:
        left = minimal(made.program, list(made.inputs(0, examples)))
    except WeftError as error:
        return Stage(name="minimal", of=name, accuracy={}, curves={}, details=error.what)
    right: dict[str, np.ndarray[Any, Any]] = {}
    unhalted = 0
    for split, batch in batches.items():
        outcomes = generalises(left, made.encoded(batch)).outcomes
        right[split] = np.array([_is_read(outcome) for outcome in outcomes])
        unhalted += sum(outcome.ending == "not halted" for outcome in outcomes)
    details = f"{left.count:,} rules"
    if unhalted:
        details += f"; {unhalted:,} tests do not halt, and are read as they are"
    axes = {split: batch.axes for split, batch in batches.items()}
    return Stage(
        name="minimal", of=name, details=details,
        accuracy={split: float(found.mean()) for split, found in right.items()},
        curves=_curves(axes, right),
    )  # fmt: skip


def _is_read(outcome: Outcome) -> bool:
    """Whether the answer can be read off the last stream, as it is read off a model's."""
    return outcome.ending != "failed" and outcome.answer == outcome.expected


def traced_stages(
    name: str, inner: Task, parameters: dict[str, Any], runs: Path, learn: str, device: str
) -> list[Stage]:
    """Runs that learned from the program's traces, those that learned most of them first."""
    if learn:
        config = trace_config(inner.name, name, small=learn == "small")
        train(replace(config, parameters=parameters), runs=runs, device=device)
    paper = _paper(name, inner)
    found = [
        _of_run("traces", name, run, _recipe(run), paper)
        for run in finished(inner, parameters, runs, "traces")
        if run.config.supervision.program == name
    ]
    if found:
        return sorted(found, key=lambda stage: (-stage.accuracy.get("train", 0.0), stage.run))
    details = f"not trained yet: weft train {quote(inner.called)} --traces {quote(name)}"
    return [Stage(name="traces", of=name, accuracy={}, curves={}, details=details, paper=paper)]


def _recipe(run: Run) -> str:
    """What runs that learn from the same traces differ in."""
    supervision = run.config.supervision
    hidden = " x ".join(f"{width:,}" for width in run.config.model.get("hidden", ()))
    parts = [f"hidden {hidden}", f"drawn by {supervision.weigh}"]
    parts += [word for word in ("spread", "rounded") if getattr(supervision, word)]
    return ", ".join([*parts, f"seed {run.config.seed}"])


def followed_stages(name: str, inner: Task, parameters: dict[str, Any], runs: Path) -> list[Stage]:
    """Runs in which a whole Transformer learned to follow the program's traces."""
    return [
        _of_run("streams", name, run, "nothing compiled", {})
        for run in finished(inner, parameters, runs, "streams")
        if run.config.supervision.program == name
    ]


def answered_stages(inner: Task, parameters: dict[str, Any], runs: Path) -> list[Stage]:
    """All runs that learned the task from answers."""
    found = [
        _of_run("end to end", described(run.config), run, "from answers", {})
        for run in finished(inner, parameters, runs, "answers")
    ]
    return sorted(found, key=lambda stage: (len(stage.of.split()[0]), stage.of))


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


def _of_run(name: StageName, of: str, run: Run, what: str, paper: dict[str, float]) -> Stage:
    assert run.result is not None
    splits = [split for split in run.result.accuracy if split != VALIDATION]
    found = [run.predictions(split) for split in splits]
    details = f"{what}, {run.result.step:,} steps, {run.result.parameters:,} parameters"
    stage = _of_predictions(name, of, found, details)
    return Stage(
        name=name, of=of, accuracy=stage.accuracy, curves=stage.curves, details=details,
        run=run.name, paper=paper,
    )  # fmt: skip


def _of_predictions(name: StageName, of: str, found: Iterable[Predictions], details: str) -> Stage:
    listed = list(found)
    axes = {one.split: one.batch.axes for one in listed}
    return Stage(
        name=name, of=of, details=details,
        accuracy={one.split: one.accuracy for one in listed},
        curves=_curves(axes, {one.split: one.right for one in listed}),
    )  # fmt: skip


def _curves(axes: Mapping[str, Mapping[str, Any]], right: Right) -> dict[str, Curve]:
    """Accuracy at every value of every axis, over all splits."""
    names = sorted({axis for of_split in axes.values() for axis in of_split})
    found: dict[str, Curve] = {}
    for axis in names:
        where = np.concatenate([of_split[axis] for of_split in axes.values()])
        what = np.concatenate([right[split] for split in axes]).astype(np.float64)
        found[axis] = {
            int(at): round(float(what[where == at].mean()), 4) for at in np.unique(where)
        }
    return found
