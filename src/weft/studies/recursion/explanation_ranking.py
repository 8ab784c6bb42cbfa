"""How far machines agree with a function's outputs, and which failures they predict exactly.

Free parameters of a machine are chosen on one half of the questions, separately for each kind, and
everything is measured on the other half:

    agreement   the share of all outputs, right or wrong, that are exactly the machine's
    recall      of the function's wrong outputs, those that are exactly the machine's
    precision   of the questions on which the machine is wrong, those with exactly its output

The true machine agrees with every right output and predicts no failure. A machine that is wrong
nearly everywhere may have recall without precision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from weft.statistics import Share
from weft.studies.recursion.explanation_subjects import Subject
from weft.tasks.arrays import Bools
from weft.theory.recursion import Candidate, StateMachine, fit_rules
from weft.theory.recursion.rule_lists import runnable
from weft.theory.recursion.state_machines import Word

Answer = Callable[[Sequence[Word]], "list[Word | None]"]
"""What answers questions, in batches; None is an output that does not end."""
FITTED = "fitted rules"
MOST_FITTED = 1200
"""Rules are fitted to at most this many outputs, all wrong ones first."""


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions with a function's outputs.

    Attributes:
        inputs: the questions, each once.
        groups: of each, the name of its group, such as a split.
        outputs: the outputs; None if one did not end.
        truths: the right outputs.
    """

    inputs: list[Word]
    groups: list[str]
    outputs: list[Word | None]
    truths: list[Word]

    def __len__(self) -> int:
        return len(self.inputs)

    @cached_property
    def right(self) -> Bools:
        """Which outputs are right."""
        return equal(self.outputs, self.truths)

    def take(self, rows: Sequence[int]) -> Questions:
        """Some of the questions."""
        return Questions(
            [self.inputs[row] for row in rows],
            [self.groups[row] for row in rows],
            [self.outputs[row] for row in rows],
            [self.truths[row] for row in rows],
        )

    def halves(self) -> tuple[Questions, Questions]:
        """Every other question of each group."""
        turn: dict[str, int] = {}
        parts: tuple[list[int], list[int]] = ([], [])
        for row, group in enumerate(self.groups):
            parts[turn.get(group, 0) % 2].append(row)
            turn[group] = turn.get(group, 0) + 1
        return self.take(parts[0]), self.take(parts[1])


@dataclass(frozen=True, eq=False)
class Support:
    """How well a machine explains a function.

    Attributes:
        candidate: the machine, with the parameters that were chosen.
        fitted: agreement on the half on which these were chosen.
        agreement: agreement on the other half.
        recall: the function's failures on that half whose exact output the machine predicts.
        precision: the machine's failures on that half that are exactly the function's outputs.
        by_group: agreement on that half by group.
        agreed: on which questions of that half the two agree.
        same_as: kinds before this one whose machines predict the same on all questions.
    """

    candidate: Candidate
    fitted: Share
    agreement: Share
    recall: Share
    precision: Share
    by_group: dict[str, Share]
    agreed: Bools
    same_as: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The kind of the machine."""
        return self.candidate.kind

    @property
    def name(self) -> str:
        """The machine in words."""
        return self.candidate.name

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        return {
            "kind": self.kind,
            "name": self.name,
            "true": self.candidate.is_true,
            "fitted": self.fitted.as_dict(),
            "agreement": self.agreement.as_dict(),
            "recall": self.recall.as_dict(),
            "precision": self.precision.as_dict(),
            "by_group": {name: share.as_dict() for name, share in self.by_group.items()},
            "same_as": self.same_as,
        }


@dataclass
class Runs:
    """Outputs of machines, each computed once.

    What a machine writes depends on its rules, the values of its pointers and the input alone, so
    machines that differ in a parameter often share their outputs.
    """

    known: dict[Any, Word | None] = field(default_factory=dict)

    def of(self, candidate: Candidate, inputs: Sequence[Word]) -> list[Word | None]:
        """The outputs for some inputs; None if a machine does not stop."""
        machine = candidate.machine
        if not isinstance(machine, StateMachine) or machine.reads is not None:
            return [machine(given) for given in inputs]
        rules = (machine.rules_key, machine.ordered)
        made = []
        for given in inputs:
            values = machine.values(given)
            key = (rules, given, values)
            if key not in self.known:
                self.known[key] = runnable(machine, given)
            made.append(self.known[key])
        return made


def rank(
    subject: Subject, fit: Questions, test: Questions, runs: Runs | None = None
) -> list[Support]:
    """The machines, those first that agree with most outputs of the half that chooses.

    Of two that agree equally often, the one that predicts more failures comes first, then the one
    that the subject prefers.

    Args:
        subject: what is known about the function.
        fit: the questions on which parameters are chosen.
        test: the questions on which agreement is measured.
        runs: outputs of machines that are known already.
    """
    runs = Runs() if runs is None else runs
    best: dict[str, tuple[tuple[int, int], Candidate, list[Word | None]]] = {}
    for candidate in subject.candidates([*fit.inputs, *test.inputs]):
        outputs = runs.of(candidate, fit.inputs)
        agreed = equal(outputs, fit.outputs)
        score = int(agreed.sum()), int((agreed & ~fit.right).sum())
        if candidate.kind not in best or score > best[candidate.kind][0]:
            best[candidate.kind] = score, candidate, outputs
    predictions: dict[str, list[Word | None]] = {}
    found: list[tuple[tuple[int, int], Support]] = []
    for kind, (score, candidate, outputs) in best.items():
        made = runs.of(candidate, test.inputs)
        both = [*outputs, *made]
        same = tuple(other for other, theirs in predictions.items() if theirs == both)
        predictions[kind] = both
        found.append((score, support(candidate, len(fit), score[0], made, test, same)))
    return [each for _, each in sorted(found, key=lambda each: (-each[0][0], -each[0][1]))]


def support(
    candidate: Candidate,
    fit_count: int,
    fit_agreed: int,
    made: Sequence[Word | None],
    test: Questions,
    same_as: tuple[str, ...] = (),
) -> Support:
    """How well a machine explains the outputs of some questions, given what it writes there."""
    agreed, wrong = equal(made, test.outputs), ~equal(made, test.truths)
    groups = np.array(test.groups)
    return Support(
        candidate=candidate,
        fitted=Share(fit_agreed, fit_count),
        agreement=Share.of(agreed),
        recall=Share.of(agreed[~test.right]),
        precision=Share.of(agreed[wrong]),
        by_group={name: Share.of(agreed[groups == name]) for name in dict.fromkeys(test.groups)},
        agreed=agreed,
        same_as=same_as,
    )


def fitted_support(subject: Subject, fit: Questions, test: Questions) -> Support | None:
    """Rules fitted to one half of the outputs, measured on the other; None if there can be none."""
    language = subject.language(fit.inputs)
    if language is None or all(output is None for output in fit.outputs):
        return None
    wrong = np.flatnonzero(~fit.right).tolist()
    right = np.flatnonzero(fit.right).tolist()
    rows = wrong[:MOST_FITTED] + right[: max(MOST_FITTED - len(wrong), MOST_FITTED // 3)]
    part = fit.take(sorted(rows))
    machine = fit_rules(language, part.inputs, part.outputs, part.right.tolist(), name=FITTED)
    chosen = [runnable(machine, given) for given in fit.inputs]
    made = [runnable(machine, given) for given in test.inputs]
    candidate = Candidate(FITTED, machine, FITTED)
    return support(candidate, len(fit), int(equal(chosen, fit.outputs).sum()), made, test)


def explains(recall: Share, precision: Share) -> bool:
    """Whether a machine with these shares explains failures: both above one half, with 95%."""
    return all(share.count > 0 and share.interval.low > 0.5 for share in (recall, precision))


def equal(one: Sequence[Word | None], other: Sequence[Word | None]) -> Bools:
    """Which outputs are the same; one that does not end is like no other."""
    pairs = zip(one, other, strict=True)
    return np.array([a is not None and a == b for a, b in pairs], dtype=np.bool_)


def failures(subject: Subject, questions: Questions) -> Mapping[str, int]:
    """How many outputs are of each kind, the most frequent kind first."""
    counts: dict[str, int] = {}
    rows = zip(questions.inputs, questions.outputs, questions.truths, strict=True)
    for given, output, truth in rows:
        kind = subject.error(given, output, truth)
        counts[kind] = counts.get(kind, 0) + 1
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))
