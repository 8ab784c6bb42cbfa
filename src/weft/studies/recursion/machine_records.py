"""Which machine explains a run of the recursion study: the comparison of `weft explain`.

Models of the successor and of the traversals that learn values are compared with the machines on
held-out inputs of every split, as `weft explain` compares them, without fitted rules and without
interventions: over all inputs, and over those of sizes below, within and above the trained ones.
The comparison needs the model; it is made once, after training, and stored beside the runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import WeftError
from weft.files import read_json, write_json
from weft.statistics import Share
from weft.studies.recursion.explanation import (
    Range,
    asked_model,
    questions_of,
    ranges_of,
    recursion_task,
    subject_of,
)
from weft.studies.recursion.explanation_ranking import Answer, Runs, explains, failures, rank
from weft.studies.recursion.explanation_subjects import SuccessorSubject, TraversalSubject
from weft.tasks.recursion import Recursion
from weft.training.store import Run

INPUTS = 600
"""About how many inputs a model is asked."""
ALL = "all"
"""The name of the range of all sizes."""
SHARES = ("agreement", "recall", "precision")


@dataclass(frozen=True, kw_only=True)
class MachineRecord:
    """The machine that agrees with most outputs of a run, on inputs of some sizes.

    Shares are of the half of the inputs on which no parameter was chosen, kinds of both halves.

    Attributes:
        sizes: `all`, `shorter`, `trained` or `longer`.
        machine: the machine in words.
        is_true: whether it computes the function itself.
        same_as: other machines that write the same on all of these inputs, in words.
        agreement: the outputs that are exactly the machine's.
        recall: the run's wrong outputs that are exactly the machine's.
        precision: the machine's wrong outputs that are exactly the run's.
        wrong: how many wrong outputs are of each kind.
    """

    sizes: str
    machine: str
    is_true: bool
    same_as: tuple[str, ...]
    agreement: Share
    recall: Share
    precision: Share
    wrong: Mapping[str, int]

    @property
    def supported(self) -> bool:
        """Whether it agrees with most outputs: its interval lies above one half."""
        return self.agreement.interval.low > 0.5

    @property
    def explains_failures(self) -> bool:
        """Whether recall and precision both lie above one half, with 95%."""
        return explains(self.recall, self.precision)

    def as_dict(self) -> dict[str, Any]:
        """The record for JSON."""
        shares = {name: [getattr(self, name).right, getattr(self, name).count] for name in SHARES}
        return {**vars(self), "same_as": list(self.same_as), "wrong": dict(self.wrong), **shares}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> MachineRecord:
        """The record that `as_dict` wrote."""
        shares = {name: Share(*values[name]) for name in SHARES}
        return MachineRecord(**{**values, "same_as": tuple(values["same_as"]), **shares})

    @staticmethod
    def of(found: Range) -> MachineRecord:
        """The record of a ranking."""
        best = found.ranking[0]
        others = [each for each in found.ranking[1:] if best.kind in each.same_as]
        others += [each for each in found.ranking[1:] if each.kind in best.same_as]
        return MachineRecord(
            sizes=found.name,
            machine=best.name,
            is_true=best.candidate.is_true,
            same_as=tuple(each.name for each in others),
            agreement=best.agreement,
            recall=best.recall,
            precision=best.precision,
            wrong={kind: count for kind, count in found.kinds.items() if kind != "right"},
        )


def best_machines(task: Recursion, answer: Answer, inputs: int = INPUTS) -> list[MachineRecord]:
    """The machine that agrees with most outputs of a function: over all sizes, and by size.

    Args:
        task: the task, which draws the questions.
        answer: the function, from inputs to outputs as tokens; None is an output without an end.
        inputs: about how many questions are asked.

    Example:
        >>> from weft.studies.recursion.machine_records import best_machines
        >>> from weft.tasks.recursion import Recursion
        >>> from weft.theory.recursion import shortcut_machine
        >>> machine = shortcut_machine("bounded", "flip", 4)
        >>> task = Recursion(order="natural", length=10, longer=12)
        >>> found = best_machines(task, lambda asked: [machine(x) for x in asked], inputs=400)
        >>> found[0].sizes, found[0].machine
        ('all', 'run detector up to 4, all-carry with X1 for 01')
    """
    subject, runs = subject_of(task), Runs()
    asked = questions_of(task, subject, answer, inputs)
    kinds = dict(failures(subject, asked))
    whole = Range(ALL, rank(subject, *asked.halves(), runs), kinds)
    return [MachineRecord.of(each) for each in (whole, *ranges_of(task, subject, asked, runs))]


def has_machines(run: Run) -> bool:
    """Whether machines are about what a run learns: values of the successor or a traversal."""
    task = recursion_task(run)
    return task is not None and isinstance(subject_of(task), SuccessorSubject | TraversalSubject)


def machines_file(runs: Path, name: str) -> Path:
    """Where the comparison of a run with the machines is stored."""
    return runs / "recursion" / f"{name}-machines.json"


def measure_machines(run: Run, runs: Path, device: str, inputs: int = INPUTS) -> None:
    """Compare a trained model with the machines, and store the result.

    If the task has too few held-out inputs, the result is empty and says so.
    """
    from weft.training.environment import device_of

    model = asked_model(run, str(device_of(device)))
    assert isinstance(model.task, Recursion)
    found: Sequence[MachineRecord] = ()
    problem = ""
    try:
        found = best_machines(model.task, model, inputs)
    except WeftError as error:
        problem = error.line
    path = machines_file(runs, run.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"problem": problem, "machines": [each.as_dict() for each in found]})


def stored_machines(run: Run, runs: Path) -> tuple[MachineRecord, ...]:
    """The comparison of a run with the machines; empty if it was not made."""
    path = machines_file(runs, run.name)
    if not path.exists():
        return ()
    return tuple(MachineRecord.from_dict(each) for each in read_json(path)["machines"])
