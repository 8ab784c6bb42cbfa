"""A verdict: what a program can do, what the theory predicts, and what was learned, side by side.

    compiled     the program as weights: is the algorithm expressible?
    minimal      what training inputs leave of it: would training find it? (ALTA paper, C.2)
    traces       a feed-forward that learned from its traces, in the compiled model (C.1)
    end to end   models that learned the task from answers alone

All are tested on the same test sets of one task, split by split, with the axes of every example
kept. Compiled and minimal programs are computed here; learned ones are runs, which are looked up,
and made where that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from weft.errors import WeftError
from weft.programs import program as program_named
from weft.studies.results import Curve
from weft.tasks import TASKS, Batch, Task, task
from weft.theory import Outcome, generalises, minimal
from weft.training.config import TrainingConfig
from weft.training.environment import device_of, environment
from weft.training.evaluating import Predictions, evaluate
from weft.training.files import read_json
from weft.training.placing import compiled_for
from weft.training.program_task import ProgramTask
from weft.training.recipes import trace_config
from weft.training.running import train
from weft.training.store import Run, RunStore
from weft.training.watching import GOOD

StageName = Literal["compiled", "minimal", "traces", "end to end"]
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


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """All stages of some programs of one task.

    Attributes:
        task: its name.
        splits: what it is tested on, in words.
        stages: program by program, then what learned end to end.
        made: by which commits, on which machines.
        command: that makes it again.
    """

    task: str
    splits: dict[str, str]
    stages: tuple[Stage, ...]
    made: tuple[str, ...] = ()
    command: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The verdict as plain values, for JSON."""
        return asdict(self)

    def stage(self, name: StageName, of: str) -> Stage | None:
        """One of them, where there is one."""
        return next((one for one in self.stages if (one.name, one.of) == (name, of)), None)


def verdict(
    programs: Iterable[str],
    task_name: str = "",
    *,
    parameters: Mapping[str, Any] | None = None,
    examples: int = 10_000,
    tests: int = 1_000,
    runs: str | Path = "runs",
    learn: Literal["", "small", "paper"] = "",
    device: str = "auto",
    told: Callable[[str], None] = lambda line: None,
) -> Verdict:
    """What becomes of some programs of one task.

    Args:
        programs: their names; each must solve the task.
        task_name: the task; that of the first program if left out.
        parameters: of the task.
        examples: how many training inputs minimal programs are taken from.
        tests: how many tests of each split.
        runs: the folder of runs in which learned models are looked for.
        learn: train what was not trained from traces yet, by recipes that are small or the paper's.
        device: where to train.
        told: is told what is done next.

    Example:
        >>> from weft.studies import verdict
        >>> short = {"length": 6, "longer": 9}
        >>> found = verdict(["parity"], parameters=short, examples=50, tests=20)
        >>> found.stage("compiled", "parity").accuracy["longer"]
        1.0
    """
    names = list(programs)
    wanted = task_name or task_of_program(names[0])
    given = dict(parameters or {})
    inner = task(wanted, **given)
    batches = {split: inner.test_set(split, tests) for split in inner.tested}
    stages: list[Stage] = []
    for name in names:
        made = ProgramTask(inner=inner, program=program_named(name))
        told(f"{name}: compiling")
        stages.append(compiled_stage(name, made, tests))
        told(f"{name}: what {examples:,} training inputs leave of it")
        stages.append(minimal_stage(name, made, batches, examples))
        told(f"{name}: from traces")
        stages.append(traced_stage(name, inner, given, Path(runs), learn, device))
    stages += answered_stages(inner, given, Path(runs))
    described = {split: inner.splits[split].description for split in inner.tested}
    made_by = _made_by(stages, Path(runs))
    return Verdict(task=wanted, splits=described, stages=tuple(stages), made=made_by)


def _made_by(stages: Iterable[Stage], runs: Path) -> tuple[str, ...]:
    """Where the figures come from: this process, and the runs that are among them."""
    here = environment(device_of("cpu"))
    found = {"compiled and minimal": here}
    found |= {
        f"run {stage.run}": read_json(runs / stage.run / "environment.json")
        for stage in stages
        if stage.run
    }
    return tuple(
        f"{what}: commit {where['commit'] or 'unknown'}, {where['device']}, "
        f"Python {where['python']}, torch {where['torch']}"
        for what, where in found.items()
    )


def task_of_program(name: str) -> str:
    """The task that a program of the library solves."""
    plain = name.partition("(")[0].strip()
    for found, kind in TASKS.items():
        if plain in kind.programs:
            return found
    raise WeftError(f"no task is known that {name} solves", remedy=f"Name one: {', '.join(TASKS)}")


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


def traced_stage(
    name: str, inner: Task, parameters: dict[str, Any], runs: Path, learn: str, device: str
) -> Stage:
    """A run that learned from the program's traces: the largest there is, or a new one."""
    configs = {scale: _traced(name, inner, parameters, scale) for scale in ("paper", "small")}
    for scale, config in configs.items():
        if scale == learn:
            train(config, runs=runs, device=device)
        run = Run(runs / config.hash)
        if run.status in GOOD:
            return _of_run("traces", name, run, f"{scale} recipe", _paper(name, inner))
    details = f"not trained yet: weft train {inner.name} --traces '{name}'"
    return Stage(
        name="traces", of=name, accuracy={}, curves={}, details=details, paper=_paper(name, inner)
    )


def _traced(name: str, inner: Task, parameters: dict[str, Any], scale: str) -> TrainingConfig:
    from dataclasses import replace

    config = trace_config(inner.name, name, small=scale == "small")
    return replace(config, parameters=parameters)


def _paper(name: str, inner: Task) -> dict[str, float]:
    """The paper's figures, where it has any: for parity as it is, at most 20 bits in training."""
    if inner != task("parity") or name not in TABLE_2:
        return {}
    return dict(zip(("train", "longer", "more-ones"), TABLE_2[name], strict=True))


def answered_stages(inner: Task, parameters: dict[str, Any], runs: Path) -> list[Stage]:
    """All runs that learned the task from answers and came to their end."""
    found = []
    for run in RunStore(runs).runs():
        config = run.config
        same = config.task == inner.name and dict(config.parameters) == parameters
        if same and config.supervision.by == "answers" and run.status in GOOD:
            found.append(_of_run("end to end", described(config), run, "from answers", {}))
    return found


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
    splits = list(run.result.accuracy)
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
