"""A verdict: what a program expresses, what theory predicts and what training learned.

    compiled       the program as weights: is the algorithm expressible?
    predicted      its minimal program on the training inputs: would training find it? (ALTA paper,
                   appendix C.2)
    from traces    a compiled model whose feed-forward was trained from its traces (C.1)
    from streams   a whole Transformer trained to follow its traces, nothing compiled (C.1)
    from answers   models trained on the task from answers alone

All are tested on the same examples of one task, split by split, and the axes of every example are
kept. Trained models are compared with the minimal program answer by answer. The first two stages
are computed here; the others are runs, which are looked up, and trained if requested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from weft.errors import WeftError
from weft.files import read_json
from weft.programs import program as program_named
from weft.statistics import Mean
from weft.studies.agreement import Answers, agreement
from weft.studies.study import Reference
from weft.studies.verdicts.stages import (
    SharedTests,
    Stage,
    StageName,
    StageResult,
    answer_stages,
    compiled_stage,
    predicted_stage,
    stage_from,
    stream_stages,
    trace_stages,
)
from weft.tasks import solved_by, task
from weft.tasks.program_output import ProgramOutput, own_parameters
from weft.training.environment import device_of, environment
from weft.training.program_task import ProgramTask


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """All stages of some programs of one task.

    Attributes:
        task: the name of the task, or of the program that it was made of.
        splits: what it is tested on, in words.
        stages: program by program, then the models trained from answers.
        training: by axis, the smallest and largest value in distribution.
        made: the commits and machines that the results come from.
        command: the command that repeats it.
    """

    task: str
    splits: dict[str, str]
    stages: tuple[Stage, ...]
    training: dict[str, tuple[int, int]] = field(default_factory=dict)
    made: tuple[str, ...] = ()
    command: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The verdict as plain values, for JSON."""
        return {
            **vars(self),
            "stages": [stage.as_dict() for stage in self.stages],
            "seeds": [
                {
                    "name": stages[0].name,
                    "subject": stages[0].subject,
                    "runs": [stage.run for stage in stages],
                    "splits": {split: mean.as_dict() for split, mean in means.items()},
                }
                for stages, means in self.seeds()
            ],
        }

    def tests(self, split: str) -> int:
        """How many tests of a split the stages share."""
        return max((s.shares[split].count for s in self.stages if split in s.shares), default=0)

    def seeds(self) -> list[tuple[list[Stage], dict[str, Mean]]]:
        """Runs that differ only in their seed, with their means by split."""
        groups: dict[tuple[str, str], list[Stage]] = {}
        for stage in self.stages:
            if stage.run and stage.shares:
                groups.setdefault((stage.name, stage.recipe), []).append(stage)
        return [
            (stages, {split: Mean(tuple(s.shares[split] for s in stages)) for split in self.splits})
            for stages in groups.values()
            if len(stages) > 1
        ]

    def stage(self, name: StageName, subject: str) -> Stage | None:
        """The first stage with this name and subject; None if there is none."""
        return next((s for s in self.stages if (s.name, s.subject) == (name, subject)), None)


def load_verdict(path: Path) -> Verdict:
    """A verdict that was written as JSON, by this version or by version 0.1."""
    values = read_json(path)
    return Verdict(
        task=values["task"],
        splits=values["splits"],
        stages=tuple(stage_from(stage) for stage in values["stages"]),
        training={axis: (low, high) for axis, (low, high) in values.get("training", {}).items()},
        made=tuple(values.get("made", ())),
        command=values.get("command", ""),
    )


def verdict(
    programs: str | Iterable[str],
    task_name: str = "",
    *,
    parameters: Mapping[str, Any] | None = None,
    examples: int = 10_000,
    tests: int = 1_000,
    runs: str | Path = "runs",
    learn: Literal["", "small", "paper"] = "",
    device: str = "auto",
    references: Sequence[Reference] = (),
    progress: Callable[[str], None] = lambda line: None,
) -> Verdict:
    """Compare what programs of one task express, what theory predicts and what training learned.

    Args:
        programs: the name of a program, or several; each must solve the task.
        task_name: the task; by default that of the first program, or its output on its own samples.
        parameters: the parameters of the task.
        examples: how many training inputs minimal programs are computed from.
        tests: how many tests of each split.
        runs: the folder of runs in which trained models are looked up.
        learn: if set, train from traces what was not trained yet, by the `small` recipes or those
            of the `paper`.
        device: where to train.
        references: figures of papers; those that match task and program are shown.
        progress: is called with a line about each step.

    Example:
        >>> import weft
        >>> short = {"length": 6, "longer": 9}
        >>> result = weft.verdict("parity", parameters=short, examples=50, tests=20)
        >>> print(result.stage("compiled", "parity").shares["longer"])
        100.0% [83.9–100.0] of 20
    """
    names = [programs] if isinstance(programs, str) else list(programs)
    given = dict(parameters or {})
    chosen, defaults = (task_name, {}) if task_name else task_of_program(names[0], given)
    given = {**defaults, **given}
    inner = task(chosen, **given)
    shared = SharedTests(inner, tests)
    folder = Path(runs)
    predicted: dict[str, Answers] = {}
    stages: list[Stage] = []
    tasks = {name: ProgramTask(inner=inner, program=program_named(name)) for name in names}
    for name, made in tasks.items():
        _check_takes(name, made)
    for name, made in tasks.items():
        progress(f"{name}: compiling")
        stages.append(compiled_stage(name, made, shared).stage)
        progress(f"{name}: minimal program of {examples:,} training inputs")
        prediction = predicted_stage(name, made, shared, examples)
        stages.append(prediction.stage)
        if prediction.answers is not None:
            predicted[name] = prediction.answers
        progress(f"{name}: runs trained from traces")
        trained = trace_stages(
            name, shared, given, folder, learn=learn, device=device, references=references
        )
        trained += stream_stages(name, shared, given, folder)
        own = {name: predicted[name]} if name in predicted else {}
        stages += [compared(result, own) for result in trained]
    stages += [compared(result, predicted) for result in answer_stages(shared, given, folder)]
    return Verdict(
        task=inner.called,
        splits={split: inner.splits[split].description for split in inner.tested},
        stages=tuple(stages),
        training=shared.ranges(),
        made=_made_by(stages, folder),
    )


def compared(result: StageResult, predicted: Mapping[str, Answers]) -> Stage:
    """The stage of a trained model, with how often it answers as some predicted programs do."""
    if result.answers is None:
        return result.stage
    pairs = [agreement(name, answers, result.answers) for name, answers in predicted.items()]
    return replace(result.stage, agreement=tuple(pair for pair in pairs if pair is not None))


def _made_by(stages: Iterable[Stage], runs: Path) -> tuple[str, ...]:
    """Where the results come from: this process, and the runs among them."""
    environments = {"compiled and predicted": environment(device_of("cpu"))}
    environments |= {
        f"run {stage.run}": read_json(runs / stage.run / "environment.json")
        for stage in stages
        if stage.run
    }
    groups: dict[str, list[str]] = {}
    for what, values in environments.items():
        described = (
            f"commit {values['commit'] or 'unknown'}, {values['device']}, "
            f"Python {values['python']}, torch {values['torch']}"
        )
        groups.setdefault(described, []).append(what)
    return tuple(f"{', '.join(whats)}: {described}" for described, whats in groups.items())


def task_of_program(name: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The task that a program solves, or else the task of its own output, with its parameters.

    Args:
        name: the name of the program.
        given: parameters of the task that it solves.
    """
    for solved in solved_by(name):
        made = ProgramTask(inner=task(solved, **given), program=program_named(name))
        with suppress(WeftError):
            _check_takes(name, made)
            return solved, {}
    return ProgramOutput.name, own_parameters(name)


def _check_takes(name: str, made: ProgramTask) -> None:
    """Check that a program takes the questions of a task and can give its answers."""
    try:
        for split in made.tested:
            made.test_set(split, 1)
        _ = made.extent  # which runs the program on some
    except WeftError as error:
        raise WeftError(
            f"{name} does not take the inputs of {made.inner.called}: {error.what}",
            remedy="Name programs of one task, or give its parameters by --set",
        ) from error
