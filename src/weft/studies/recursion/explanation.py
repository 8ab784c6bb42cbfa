"""What a model of a recursive function computes: `weft explain RUN`.

From the model's outputs on held-out inputs of every split, in the same way for any function from
token sequences to token sequences (`explain_function`):

- which abstract state machine agrees with most outputs, and which share of the failures it
  predicts exactly (`explanation_ranking`), over all inputs and by size;
- whether rules fitted to half of the outputs predict more of the failures on the other half;
- of which kinds the wrong outputs are, and what is written on all-carry inputs;
- which input tokens each output token depends on (`explanation_replacement`).

From its activations (`explain_recursion`): the effects of knocking out attention heads, recursion
heads (`explanation_heads`), and whether outputs follow positions or tokens
(`explanation_positions`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.errors import WeftError
from weft.recursion import Notation
from weft.statistics import Share, wilson
from weft.studies.recursion.explanation_model import BLANK, AskedModel
from weft.studies.recursion.explanation_ranking import (
    Answer,
    Questions,
    Runs,
    Support,
    equal,
    explains,
    failures,
    fitted_support,
    rank,
)
from weft.studies.recursion.explanation_replacement import (
    Dependence,
    dependence_of,
    replacements,
)
from weft.studies.recursion.explanation_subjects import (
    OtherSubject,
    Subject,
    SuccessorSubject,
    TraversalSubject,
)
from weft.tasks.recursion import Recursion
from weft.tasks.task import Task
from weft.theory.recursion import StateMachine
from weft.theory.recursion.rule_lists import runnable
from weft.theory.recursion.state_machines import Word
from weft.theory.recursion.traversal_machines import TRAVERSALS
from weft.training.store import Run
from weft.training.supervision import task_of

if TYPE_CHECKING:
    from weft.studies.recursion.explanation_heads import Effect, Head, Score
    from weft.studies.recursion.explanation_positions import Following

INPUTS = 2000
"""About how many inputs are asked."""
REPLACED = 96
"""How many inputs each token is replaced in."""
FEWEST = 20
"""The least number of inputs."""
REMAINDER = 12
"""How many failures that no machine predicts are listed."""


@dataclass(frozen=True, eq=False)
class Range:
    """What a function computes on inputs of some sizes.

    Attributes:
        name: `shorter`, `trained` or `longer`.
        ranking: the machines, best first, with parameters chosen on these inputs.
        kinds: how many outputs are of each kind, right ones too.
    """

    name: str
    ranking: list[Support]
    kinds: dict[str, int]

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        best = self.ranking[0]
        return {"range": self.name, "best": best.as_dict(), "kinds": self.kinds}


@dataclass(frozen=True, eq=False)
class Attention:
    """What interventions on activations show.

    Attributes:
        inputs: how many inputs were read.
        effects: the effects of knock-outs.
        scores: the recursion scores of heads.
        recursion_heads: heads with a score above the threshold and an effect on the recursion.
        following: what outputs follow when positions change.
    """

    inputs: int
    effects: list[Effect]
    scores: list[Score]
    recursion_heads: list[Head]
    following: list[Following]

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        return {
            "inputs": self.inputs,
            "knock_outs": [each.as_dict() for each in self.effects],
            "scores": [each.as_dict() for each in self.scores],
            "recursion_heads": [head.name for head in self.recursion_heads],
            "positions": [each.as_dict() for each in self.following],
        }


@dataclass(frozen=True, eq=False)
class RecursionExplanation:
    """What a function computes that answers the questions of a recursion task.

    Attributes:
        name: what was asked, such as the name of a run.
        task: the task.
        subject: what is known about the function of the task.
        questions: the inputs, with outputs.
        test: the half of them on which everything is measured.
        ranking: the machines, best first.
        fitted: the fitted rules; None if the subject has no words for them.
        ranges: the same by size, where there are enough inputs.
        dependences: the dependency matrices of the function and of the best machine; None if no
            token can be replaced.
        attention: what interventions on activations show; None of a plain function.
        model: the model; None of a plain function.
    """

    name: str
    task: Recursion
    subject: Subject
    questions: Questions
    test: Questions
    ranking: list[Support]
    fitted: Support | None
    ranges: list[Range]
    dependences: tuple[Dependence, Dependence] | None
    attention: Attention | None = None
    model: AskedModel | None = field(default=None, repr=False)

    @property
    def best(self) -> Support:
        """The machine that agrees with most outputs of the half that chooses."""
        return self.ranking[0]

    @property
    def truth(self) -> Support:
        """The true machine, whose agreement is the accuracy."""
        return next(each for each in self.ranking if each.candidate.is_true)

    @property
    def supported(self) -> bool:
        """Whether the best agrees with most outputs: its interval lies above one half."""
        return self.best.agreement.interval.low > 0.5

    @property
    def runner_up(self) -> Support | None:
        """The next machine that writes something else on some input; None if there is none."""
        for other in self.ranking[1:]:
            if self.best.kind not in other.same_as and other.kind not in self.best.same_as:
                return other
        return None

    @property
    def margin(self) -> Share:
        """Of the outputs that are those of only one of the best two, those of the best."""
        other = self.runner_up
        if other is None:
            return Share(0, 0)
        return Share.of(self.best.agreed[self.best.agreed != other.agreed])

    @property
    def decided(self) -> bool:
        """Whether the best is better than the next: its margin is above one half, with 95%."""
        margin = self.margin
        return margin.count > 0 and wilson(margin.right, margin.count).low > 0.5

    @property
    def failed(self) -> int:
        """How many outputs are wrong on the half on which everything is measured."""
        return int((~self.test.right).sum())

    @property
    def explains_failures(self) -> bool:
        """Whether the best machine is wrong where the function is, and in the same way.

        Recall and precision must both be above one half, with 95%.
        """
        return explains(self.best.recall, self.best.precision)

    @property
    def fitted_is_better(self) -> bool | None:
        """Whether fitted rules predict more of the failures than the best machine; None: unknown.

        Of the failures that only one of the two predicts, those of the fitted rules must be more
        than one half, with 95%.
        """
        if self.fitted is None or not self.failed:
            return None
        return self.fitted_margin.count > 0 and self.fitted_margin.interval.low > 0.5

    @property
    def fitted_margin(self) -> Share:
        """Of the failures that only one of fitted rules and best machine predicts, the rules'."""
        if self.fitted is None:
            return Share(0, 0)
        wrong = ~self.test.right
        mine, its = self.fitted.agreed[wrong], self.best.agreed[wrong]
        return Share.of(mine[mine != its])

    @cached_property
    def kinds(self) -> dict[str, int]:
        """How many of all outputs are of each kind."""
        return dict(failures(self.subject, self.questions))

    @cached_property
    def by_group(self) -> dict[str, Share]:
        """The accuracy on each split."""
        groups = np.array(self.questions.groups)
        names = dict.fromkeys(self.questions.groups)
        return {name: Share.of(self.questions.right[groups == name]) for name in names}

    @cached_property
    def edges(self) -> list[tuple[Word, Word | None, str]]:
        """All-carry inputs, or what else is listed, with outputs and kinds, shortest first."""
        rows = zip(self.questions.inputs, self.questions.outputs, strict=True)
        listed = [(given, output) for given, output in rows if self.subject.is_edge(given)]
        return [
            (given, output, self.subject.error(given, output, self.subject.truth(given)))
            for given, output in sorted(listed, key=lambda each: len(each[0]))
        ]

    @cached_property
    def remainder(self) -> Questions:
        """The failures, of both halves, that the best machine does not predict."""
        machine = self.best.candidate.machine
        made = [
            runnable(machine, given) if isinstance(machine, StateMachine) else machine(given)
            for given in self.questions.inputs
        ]
        left = ~self.questions.right & ~equal(made, self.questions.outputs)
        return self.questions.take(np.flatnonzero(left).tolist())

    def lines(self, limit: int) -> Iterator[str]:
        """The explanation as text, with at most `limit` rows of each table."""
        from weft.studies.recursion.explanation_report import lines

        return lines(self, limit)

    def as_dict(self) -> dict[str, Any]:
        """The explanation as plain values, for JSON."""
        from weft.studies.recursion.explanation_report import as_dict

        return as_dict(self)

    def write(self, folder: Path) -> list[Path]:
        """Write page, values and figures into a folder; returns the files."""
        from weft.studies.recursion.explanation_report import write

        return write(self, folder)


def explain_function(
    task: Recursion, answer: Answer, *, inputs: int = INPUTS, name: str = "a function"
) -> RecursionExplanation:
    """Explain what a function computes that answers the questions of a recursion task.

    Args:
        task: the task, which draws the questions.
        answer: the function, from inputs to outputs as tokens; None is an output without an end.
        inputs: about how many questions are asked.
        name: what the function is called in reports.

    Example:
        >>> from weft.studies.recursion.explanation import explain_function
        >>> from weft.tasks.recursion import Recursion
        >>> from weft.theory.recursion import shortcut_machine
        >>> machine = shortcut_machine("bounded", "flip", 4)
        >>> task = Recursion(order="natural", length=10, longer=12)
        >>> found = explain_function(task, lambda asked: [machine(x) for x in asked], inputs=400)
        >>> found.best.name, found.best.recall.percent
        ('run detector up to 4, all-carry with X1 for 01', '100.0%')
    """
    subject = subject_of(task)
    asked = questions_of(task, subject, answer, inputs)
    fit, test = asked.halves()
    runs = Runs()
    ranking = rank(subject, fit, test, runs)
    return RecursionExplanation(
        name=name,
        task=task,
        subject=subject,
        questions=asked,
        test=test,
        ranking=ranking,
        fitted=fitted_support(subject, fit, test),
        ranges=ranges_of(task, subject, asked, runs),
        dependences=_dependences(task, subject, answer, ranking[0]),
    )


def explain_recursion(run: Run, *, inputs: int = INPUTS) -> RecursionExplanation:
    """Explain what the model of a finished run computes, and how.

    Args:
        run: a run that was trained on the answers of a recursion task.
        inputs: about how many inputs are asked, and read in interventions.
    """
    model = asked_model(run)
    return explain_model(model, inputs=inputs, name=f"{run.name}, {run.status}")


def explain_model(
    model: AskedModel, *, inputs: int = INPUTS, name: str = "a model"
) -> RecursionExplanation:
    """Explain what a model of a recursion task computes, and how.

    Args:
        model: the model, with its task.
        inputs: about how many inputs are asked, and read in interventions.
        name: what the model is called in reports.
    """
    from dataclasses import replace

    assert isinstance(model.task, Recursion)
    found = explain_function(model.task, model, inputs=inputs, name=name)
    return replace(found, attention=attention_of(model, found.questions), model=model)


def attention_of(model: AskedModel, questions: Questions) -> Attention:
    """What interventions on activations show, on the inputs of trained sizes that end."""
    task = model.task
    assert isinstance(task, Recursion)
    sizes = _sizes(task, questions)
    rows = [
        row
        for row, (size, output) in enumerate(zip(sizes, questions.outputs, strict=True))
        if output is not None and task.shortest <= size <= task.length
    ]
    part = questions.take(rows)
    return intervene(model, part.inputs, [output or () for output in part.outputs])


def intervene(model: AskedModel, inputs: Sequence[Word], outputs: Sequence[Word]) -> Attention:
    """What interventions on heads and positions show, while the model reads some outputs.

    Args:
        model: the model.
        inputs: the inputs.
        outputs: the outputs that it reads, usually its own.
    """
    from weft.studies.recursion.explanation_heads import (
        knock_outs,
        recursion_heads,
        recursion_scores,
    )
    from weft.studies.recursion.explanation_positions import position_interventions

    batches = model.laid_out(inputs, outputs)
    effects, scores = knock_outs(model, batches), recursion_scores(model, batches)
    return Attention(
        inputs=len(inputs),
        effects=effects,
        scores=scores,
        recursion_heads=recursion_heads(scores, effects),
        following=position_interventions(model, batches),
    )


def asked_model(run: Run, device: str = "cpu") -> AskedModel:
    """The model of a finished run from answers, to be asked with token names."""
    task = recursion_task(run)
    if task is None:
        what = f"the run {run.name} trained {run.config.task}, which is not a recursion task"
        raise WeftError(what, remedy="Give a run such as one of: weft train recursion")
    if run.result is None:
        what = f"the run {run.name} is not finished"
        raise WeftError(what, remedy="Resume it with the command that started it, then explain it")
    return AskedModel(task, run.model(device, task), subject_of(task))


def recursion_task(run: Run) -> Recursion | None:
    """The task of a run that was trained on the answers of a recursion task; None of others."""
    if run.config.supervision.by != "answers":
        return None
    task: Task = task_of(run.config)
    return task if isinstance(task, Recursion) else None


def subject_of(task: Recursion) -> Subject:
    """What is known about the function of a task."""
    if task.part == "evaluate" and task.definition == "successor" and task.notation == "prefix":
        return SuccessorSubject(task.order)
    traversals = {name: name for name in TRAVERSALS}
    labelled = task.part == "evaluate" and task.order == "constructor"
    if labelled and task.definition in traversals:
        notation = Notation(task.notation, task.order, task.labels)
        return TraversalSubject(traversals[task.definition], notation)
    part = "" if task.part == "evaluate" else f", part={task.part}"

    def truth(given: Word) -> Word:
        return tuple(token for token in task.reference(given) if token != BLANK)

    return OtherSubject(f"{task.definition}{part}", truth)


def questions_of(task: Recursion, subject: Subject, answer: Answer, inputs: int) -> Questions:
    """Held-out inputs of every split, as evenly spread over splits as there are enough of each."""
    if inputs < FEWEST:
        raise WeftError(f"{inputs} inputs are too few", remedy=f"Give at least {FEWEST}")
    drawn: dict[str, list[Word]] = {}
    for split in task.splits:
        try:
            batch = task.test_set(split, inputs)
        except WeftError:  # a split may have no member that is held out
            continue
        drawn[split] = [
            tuple(token for token in question if token != BLANK)
            for question, _ in task.examples(batch)
        ]
    chosen: dict[Word, str] = {}
    share = inputs
    for left, (split, words) in enumerate(sorted(drawn.items(), key=lambda each: len(each[1]))):
        room = (share - len(chosen)) // (len(drawn) - left)
        fresh = [word for word in dict.fromkeys(words) if word not in chosen][:room]
        chosen |= dict.fromkeys(fresh, split)
    if len(chosen) < FEWEST:
        what = f"the task has only {len(chosen)} held-out inputs to explain a model by"
        raise WeftError(what, remedy="Train with a larger held_out, or with longer inputs")
    order = {split: place for place, split in enumerate(task.splits)}
    words = sorted(chosen, key=lambda word: order[chosen[word]])
    outputs, truths = answer(words), [subject.truth(word) for word in words]
    return Questions(words, [chosen[word] for word in words], outputs, truths)


def _sizes(task: Recursion, questions: Questions) -> list[int]:
    """The number of constructors of each input, as far as splits tell."""
    if isinstance(subject_of(task), SuccessorSubject):
        return [len(given) for given in questions.inputs]
    bounds = {name: split.axes["size"] for name, split in task.splits.items()}
    return [bounds[group][0] for group in questions.groups]


def ranges_of(task: Recursion, subject: Subject, questions: Questions, runs: Runs) -> list[Range]:
    """The ranking and kinds of outputs on the sizes below, within and above those in training."""
    sizes = _sizes(task, questions)
    found = []
    for name, least, most in (
        ("shorter", 0, task.shortest - 1),
        ("trained", task.shortest, task.length),
        ("longer", task.length + 1, 10**9),
    ):
        rows = [row for row, size in enumerate(sizes) if least <= size <= most]
        if not rows:
            continue
        part = questions.take(rows)
        fit, test = part.halves()
        if len(fit) and len(test):
            kinds = dict(failures(subject, part))
            found.append(Range(name, rank(subject, fit, test, runs), kinds))
    return found


def _dependences(
    task: Recursion, subject: Subject, answer: Answer, best: Support
) -> tuple[Dependence, Dependence] | None:
    """Dependency matrices at a size within the training range."""
    length = min(task.length, max(task.shortest, DEPENDENCE_LENGTH))
    drawn = subject.examples(length, REPLACED)
    if not drawn:
        return None
    asked = replacements(subject, drawn)
    if not asked.changed:
        return None
    machine = best.candidate.machine

    def written(inputs: Sequence[Word]) -> list[Word | None]:
        if isinstance(machine, StateMachine):
            return [runnable(machine, given) for given in inputs]
        return [machine(given) for given in inputs]

    return dependence_of(subject, answer, asked), dependence_of(subject, written, asked)


DEPENDENCE_LENGTH = 10
"""The size of the inputs in which tokens are replaced, if it is trained."""
