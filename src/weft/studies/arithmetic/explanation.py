"""What a model of an arithmetic task computes: `weft explain RUN`.

Everything is found from the model's answers, in the same way for any function from operands to
numbers (`explain_function`):

- which hypothesis about the function agrees with most outputs, right or wrong
  (`explanation_hypotheses`), on held-out questions of all lengths in equal shares;
- which digits of the operands each digit of the output depends on (`explanation_dependence`), at
  the number of digits in training and at the maximum;
- how much of each output digit carries explain (`explanation_carries`), on held-out questions from
  the training domain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from weft.errors import WeftError
from weft.statistics import Share, wilson
from weft.studies.arithmetic.explanation_carries import PlaceFeatures, explained_by_carries
from weft.studies.arithmetic.explanation_dependence import (
    Dependence,
    dependence,
    dependence_of,
    interventions,
)
from weft.studies.arithmetic.explanation_hypotheses import (
    Answer,
    Questions,
    Support,
    congruences,
    rank,
)
from weft.tasks import Task
from weft.tasks.arithmetic import Arithmetic
from weft.tasks.batch import Batch
from weft.tasks.task import TRAIN
from weft.training.store import Run
from weft.training.supervision import task_of

INPUTS = 2000
"""The number of questions for the hypotheses; there are half as many for the carries."""
INTERVENTIONS = 64
"""How many questions each digit is changed in."""
FEWEST = 4
"""The least number of questions of a length."""


@dataclass(frozen=True, eq=False)
class ArithmeticExplanation:
    """What a function that answers the questions of an arithmetic task computes.

    Attributes:
        subject: what was asked, such as the name of a run.
        task: the task.
        ranking: the hypotheses, best first.
        ranges: the best hypothesis on `shorter`, `trained` and `longer` questions alone, chosen for
            each: a model may compute different functions within and beyond the training domain.
        well_formed: outputs that are a number, by the number of digits of the longest operand.
        congruences: outputs that are right modulo each divisor of the modulus or power of the base.
        dependences: the dependency matrices of the function and of the best hypothesis.
        carries: how much of each output digit carries explain.
        questions: how many questions were asked in all.
    """

    subject: str
    task: Arithmetic
    ranking: list[Support]
    ranges: dict[str, Support]
    well_formed: dict[int, Share]
    congruences: dict[int, Share]
    dependences: list[tuple[Dependence, Dependence]]
    carries: list[PlaceFeatures]
    questions: int

    @property
    def best(self) -> Support:
        """The hypothesis that agrees with most outputs of the half that chooses."""
        return self.ranking[0]

    @property
    def supported(self) -> bool:
        """Whether it agrees with most outputs: the lower end of its interval is above one half."""
        return self.best.agreement.interval.low > 0.5

    @property
    def truth(self) -> Support:
        """The agreement with the true operation, which is the accuracy."""
        return next(each for each in self.ranking if each.hypothesis.kind == "operation")

    @cached_property
    def runner_up(self) -> Support | None:
        """The next hypothesis that predicts something else; None if there is none."""
        best = self.best
        for other in self.ranking[1:]:
            if best.hypothesis.kind in other.same_as or other.hypothesis.kind in best.same_as:
                continue
            return other
        return None

    @property
    def margin(self) -> Share:
        """Of the outputs that agree with the best hypothesis or the next, but not with both, those
        that agree with the best."""
        other = self.runner_up
        if other is None:
            return Share(0, 0)
        differ = self.best.agreed != other.agreed
        return Share.of(self.best.agreed[differ])

    @property
    def decided(self) -> bool:
        """Whether the best is better than the next: its margin is above one half, with 95%."""
        margin = self.margin
        return margin.count > 0 and wilson(margin.right, margin.count).low > 0.5

    def lines(self, limit: int) -> Iterator[str]:
        """The explanation as text, with at most `limit` rows of each table."""
        from weft.studies.arithmetic.explanation_report import lines

        return lines(self, limit)

    def as_dict(self) -> dict[str, Any]:
        """The explanation as plain values, for JSON."""
        from weft.studies.arithmetic.explanation_report import as_dict

        return as_dict(self)

    def write(self, folder: Path) -> list[Path]:
        """Write page, values and figure into a folder; returns the files."""
        from weft.studies.arithmetic.explanation_report import write

        return write(self, folder)


def explain_function(
    task: Arithmetic, answer: Answer, *, inputs: int = INPUTS, subject: str = "a function"
) -> ArithmeticExplanation:
    """Explain what a function computes that answers the questions of an arithmetic task.

    Args:
        task: the task, whose numbers are written digit by digit.
        answer: the function, from the digits of each operand (b l each, least significant first).
        inputs: how many questions the hypotheses are compared on.
        subject: what the function is called in reports.

    Example:
        >>> from weft.studies.arithmetic.explanation import explain_function
        >>> from weft.studies.arithmetic.explanation_hypotheses import operation
        >>> from weft.tasks.arithmetic import Addition
        >>> task = Addition(domain="D3", longer=6)
        >>> found = explain_function(task, operation(task, digits=3), inputs=300)
        >>> found.best.hypothesis.name, str(found.best.agreement)
        ('addition of the last 3 digits', '100.0% [97.5–100.0] of 150')
    """
    fit, test = _halves(task, answer, _of_all_lengths(task, inputs))
    ranking = rank(task, fit, test)
    rng = np.random.default_rng(0)
    dependences = []
    for length in dict.fromkeys((task.digits, task.longer)):
        changes = interventions(
            rng,
            count=INTERVENTIONS,
            length=length,
            operands=task.operation.operands,
            base=task.base,
        )
        made = dependence(changes, answer(changes.operands))
        dependences.append((made, dependence_of(ranking[0].hypothesis.compute, changes)))
    carry_fit, carry_test = _halves(task, answer, [task.test_set(TRAIN, max(2, inputs // 2))])
    changed = sum(INTERVENTIONS * (1 + each.changed.shape[1]) for each, _ in dependences)
    return ArithmeticExplanation(
        subject=subject,
        task=task,
        ranking=ranking,
        ranges=_ranges(task, fit, test),
        well_formed=_by_length(test),
        congruences=congruences(task, test),
        dependences=dependences,
        carries=explained_by_carries(task, carry_fit, carry_test),
        questions=len(fit) + len(test) + len(carry_fit) + len(carry_test) + changed,
    )


def explain_arithmetic(run: Run, *, inputs: int = INPUTS) -> ArithmeticExplanation:
    """Explain what the model of a finished run computes.

    Args:
        run: a run that was trained on the answers of an arithmetic task.
        inputs: how many questions the hypotheses are compared on.
    """
    task = arithmetic_task(run)
    if task is None:
        what = f"the run {run.name} trained {run.config.task}, which is not an arithmetic task"
        raise WeftError(what, remedy="Give a run such as one of: weft train addition")
    if not task.digit_tokens:
        what = f"the run {run.name} has one token per number, and so no digits to explain it by"
        remedy = f"Train one digit by digit: weft train {run.config.task} parameters.digits=3"
        raise WeftError(what, remedy=remedy)
    if run.result is None:
        what = f"the run {run.name} is not finished"
        raise WeftError(what, remedy="Resume it with the command that started it, then explain it")
    from weft.studies.arithmetic.explanation_model import answer_of

    answer = answer_of(task, run.model(task=task))
    return explain_function(task, answer, inputs=inputs, subject=f"{run.name}, {run.status}")


def arithmetic_task(run: Run) -> Arithmetic | None:
    """The task of a run that was trained on the answers of an arithmetic task; None of others."""
    if run.config.supervision.by != "answers":
        return None
    task: Task = task_of(run.config)
    return task if isinstance(task, Arithmetic) else None


def _of_all_lengths(task: Arithmetic, inputs: int) -> list[Batch]:
    """Held-out questions of every length, equally many unless there are too few of a length."""
    lengths = range(1, task.longer + 1)
    each = inputs // len(lengths)
    if each < FEWEST:
        what = f"{inputs} inputs are too few for {len(lengths)} lengths"
        raise WeftError(what, remedy=f"Give at least {FEWEST * len(lengths)}")
    found = []
    for length in lengths:
        try:
            found.append(task.test_set(f"digits-{length}", each))
        except WeftError:  # in small bases, no question of one digit may be held out
            continue
    if not found:
        what = f"the task {task.name} has nothing held out to explain a model by"
        raise WeftError(what, remedy="Train with a larger held_out")
    return found


def _halves(task: Arithmetic, answer: Answer, batches: list[Batch]) -> tuple[Questions, Questions]:
    """Two halves of each batch of questions, with the function's outputs."""
    parts = [task.operands(batch) for batch in batches]
    width = max(part[0].shape[1] for part in parts)
    operands = [
        np.concatenate([np.pad(part[place], ((0, 0), (0, width - part[place].shape[1])))
                        for part in parts])
        for place in range(task.operation.operands)
    ]  # fmt: skip
    turn = np.concatenate([np.arange(len(batch)) % 2 for batch in batches])
    asked = Questions(operands, answer(operands))
    return asked.take(turn == 0), asked.take(turn == 1)


def _ranges(task: Arithmetic, fit: Questions, test: Questions) -> dict[str, Support]:
    """The best hypothesis on the lengths below, within and above those in training."""
    low, high = task.mixture.lengths[0], task.mixture.lengths[-1]
    result = {}
    for name, least, most in (
        ("shorter", 1, low - 1),
        ("trained", low, high),
        ("longer", high + 1, task.longer),
    ):
        halves = [
            each.take((each.lengths >= least) & (each.lengths <= most)) for each in (fit, test)
        ]
        if all(map(len, halves)):
            result[name] = rank(task, *halves)[0]
    return result


def _by_length(questions: Questions) -> dict[int, Share]:
    from weft.tasks.scoring import group_by

    return group_by(questions.lengths, questions.outputs.well_formed)
