"""A verdict: what a program can do, what the theory predicts, and what was learned, side by side.

    compiled     the program as weights: is the algorithm expressible?
    minimal      what training inputs leave of it: would training find it? (ALTA paper, C.2)
    traces       a feed-forward that learned from its traces, in the compiled model (C.1)
    streams      a whole Transformer that learned to follow its traces, nothing compiled (C.1)
    end to end   models that learned the task from answers alone

All are tested on the same examples of one task, split by split, with the axes of every example
kept; learned models are compared with the minimal program answer by answer. Compiled and minimal
programs are computed here; learned ones are runs, which are looked up, and trained if asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from weft.errors import WeftError
from weft.files import read_json
from weft.programs import program as program_named
from weft.statistics import Mean
from weft.studies.agreement import Answers, agreement
from weft.studies.verdicts.stages import (
    SameTests,
    Stage,
    StageName,
    Tested,
    answered_stages,
    compiled_stage,
    followed_stages,
    minimal_stage,
    stage_from,
    traced_stages,
)
from weft.tasks import solved_by, task
from weft.tasks.program_output import ProgramOutput, own_parameters
from weft.training.environment import device_of, environment
from weft.training.program_task import ProgramTask


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """All stages of some programs of one task.

    Attributes:
        task: its name, or the program that it was made of.
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
        return {
            **vars(self),
            "stages": [stage.as_dict() for stage in self.stages],
            "seeds": [
                {
                    "name": stages[0].name,
                    "of": stages[0].of,
                    "runs": [stage.run for stage in stages],
                    "splits": {split: mean.as_dict() for split, mean in means.items()},
                }
                for stages, means in self.seeds()
            ],
        }

    def tests(self, split: str) -> int:
        """How many tests of a split all stages have in common."""
        return max((s.shares[split].count for s in self.stages if split in s.shares), default=0)

    def seeds(self) -> list[tuple[list[Stage], dict[str, Mean]]]:
        """Runs that differ in their seed alone, with their means by split."""
        alike: dict[tuple[str, str], list[Stage]] = {}
        for stage in self.stages:
            if stage.run and stage.shares:
                alike.setdefault((stage.name, stage.recipe), []).append(stage)
        return [
            (stages, {split: Mean(tuple(s.shares[split] for s in stages)) for split in self.splits})
            for stages in alike.values()
            if len(stages) > 1
        ]

    def stage(self, name: StageName, of: str) -> Stage | None:
        """The first of a kind, where there is one."""
        return next((one for one in self.stages if (one.name, one.of) == (name, of)), None)


def load_verdict(path: Path) -> Verdict:
    """A verdict that was written as JSON."""
    values = read_json(path)
    values.pop("seeds")  # which follows from the rest
    stages = tuple(stage_from(one) for one in values.pop("stages"))
    made = tuple(values.pop("made"))
    return Verdict(**values, stages=stages, made=made)


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
        task_name: the task; that of the first program if left out, or what it does on its samples.
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
        >>> print(found.stage("compiled", "parity").shares["longer"])
        100.0% [83.9–100.0] of 20
    """
    names = list(programs)
    given = dict(parameters or {})
    wanted, own = (task_name, {}) if task_name else task_of_program(names[0], given)
    given = {**own, **given}
    inner = task(wanted, **given)
    asked = SameTests(inner, tests)
    predicted: dict[str, Answers] = {}
    stages: list[Stage] = []
    judged = {name: ProgramTask(inner=inner, program=program_named(name)) for name in names}
    for name, made in judged.items():
        _check_takes(name, made)
    for name, made in judged.items():
        told(f"{name}: compiling")
        stages.append(compiled_stage(name, made, asked).stage)
        told(f"{name}: what {examples:,} training inputs leave of it")
        cut = minimal_stage(name, made, asked, examples)
        stages.append(cut.stage)
        if cut.answers is not None:
            predicted[name] = cut.answers
        told(f"{name}: from traces")
        learned = traced_stages(name, asked, given, Path(runs), learn, device)
        learned += followed_stages(name, asked, given, Path(runs))
        alone = {name: predicted[name]} if name in predicted else {}
        stages += [compared(one, alone) for one in learned]
    stages += [compared(one, predicted) for one in answered_stages(asked, given, Path(runs))]
    described = {split: inner.splits[split].description for split in inner.tested}
    made_by = _made_by(stages, Path(runs))
    return Verdict(task=inner.called, splits=described, stages=tuple(stages), made=made_by)


def compared(tested: Tested, predicted: Mapping[str, Answers]) -> Stage:
    """The stage of a learned model, with how often it answers as some predicted programs do."""
    if tested.answers is None:
        return tested.stage
    found = [agreement(name, answers, tested.answers) for name, answers in predicted.items()]
    return replace(tested.stage, agreement=tuple(one for one in found if one is not None))


def _made_by(stages: Iterable[Stage], runs: Path) -> tuple[str, ...]:
    """Where the figures come from: this process, and the runs that are among them."""
    where = {"compiled and minimal": environment(device_of("cpu"))}
    where |= {
        f"run {stage.run}": read_json(runs / stage.run / "environment.json")
        for stage in stages
        if stage.run
    }
    alike: dict[str, list[str]] = {}
    for what, place in where.items():
        told = (
            f"commit {place['commit'] or 'unknown'}, {place['device']}, "
            f"Python {place['python']}, torch {place['torch']}"
        )
        alike.setdefault(told, []).append(what)
    return tuple(f"{', '.join(whats)}: {told}" for told, whats in alike.items())


def task_of_program(name: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The task that a program solves, or else the one that is made of it, and its parameters.

    Args:
        name: of the program.
        given: parameters of the task that it solves.
    """
    for found in solved_by(name):
        made = ProgramTask(inner=task(found, **given), program=program_named(name))
        with suppress(WeftError):
            _check_takes(name, made)
            return found, {}
    return ProgramOutput.name, own_parameters(name)


def _check_takes(name: str, made: ProgramTask) -> None:
    """A program takes the questions of a task, and can give its answers."""
    try:
        for split in made.tested:
            made.test_set(split, 1)
        _ = made.seen  # which runs the program on some
    except WeftError as error:
        raise WeftError(
            f"{name} does not take the inputs of {made.inner.called}: {error.what}",
            remedy="Name programs of one task, or give its parameters by --set",
        ) from error
