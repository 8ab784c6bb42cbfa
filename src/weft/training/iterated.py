"""Atomic steps, iterated: a model of one round is applied to its own output until no call is left.

A model that has learned the part `step` of the task `recursion` is given the call on an input, then
what it wrote, and so on. The reduction is right if every term of it is; it ends at the first wrong
one. Inputs are held out of training with all terms of their reductions.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from weft.errors import WeftError
from weft.models.factory import Model
from weft.statistics import Share
from weft.tasks.arrays import Bools, Ints
from weft.tasks.batch import Batch
from weft.tasks.formats import END, Pairs
from weft.tasks.recursion import Recursion
from weft.tasks.recursion.settings import BLANK, SEPARATOR
from weft.tasks.scoring import group_by
from weft.training.decoding import greedy_outputs

SLACK = 8
"""How many tokens more than the longest right term an output may have."""


@dataclass(frozen=True, kw_only=True)
class IteratedSteps:
    """The reductions that a model makes of the inputs of a split.

    Attributes:
        split: the split.
        axes: b for each axis, as in the task.
        steps: b, the number of applications that the right reduction takes.
        first_error: b, the number of the first wrong application, from 1; 0 if there is none.
    """

    split: str
    axes: dict[str, Ints]
    steps: Ints
    first_error: Ints

    @property
    def right(self) -> Bools:
        """Which reductions (b) are right from the first term to the last."""
        return np.asarray(self.first_error == 0)

    @property
    def share(self) -> Share:
        """The share of reductions that are right."""
        return Share.of(self.right)

    def by(self, axis: str) -> dict[int, Share]:
        """The share of right reductions for each value of an axis, such as `depth`."""
        return group_by(self.axes[axis], self.right)

    @property
    def errors(self) -> dict[int, int]:
        """How many reductions fail first at each application, from 1."""
        return dict(sorted(Counter(self.first_error[~self.right].tolist()).items()))

    @property
    def per_step(self) -> Share:
        """The share of right applications among all that were asked of right terms."""
        made = int(np.where(self.right, self.steps, self.first_error).sum())
        return Share(made - int((~self.right).sum()), made)


def iterate_steps(
    model: Model, task: Recursion, split: str, size: int, *, rows: int = 512
) -> IteratedSteps:
    """Apply a model of the part `step` to its own outputs, from the call to the value.

    Args:
        model: the model.
        task: the task that it was trained on.
        split: the split from which inputs are taken.
        size: how many inputs, at most.
        rows: how many are decoded at a time.
    """
    if task.part != "step":
        raise WeftError(
            f"a model of part={task.part} does not reduce its own outputs",
            subject=f"task {task.name}",
            remedy="Train one with parameters.part=step",
        )
    tests = replace(task, part="trace", format="seq2seq", unroll=1).test_set(split, size)
    traces = _traces(task, tests)
    longest = max(len(term) for trace in traces for term in trace) + SLACK
    first_error = np.zeros(len(traces), dtype=np.int64)
    going = list(range(len(traces)))
    number = 0
    while going:
        number += 1
        asked = [traces[row][number - 1] for row in going]
        written = _applied(model, task, asked, longest, rows)
        after = []
        for row, term in zip(going, written, strict=True):
            if term != traces[row][number]:
                first_error[row] = number
            elif number + 1 < len(traces[row]):
                after.append(row)
        going = after
    return IteratedSteps(
        split=split,
        axes=dict(tests.axes),
        steps=np.array([len(trace) - 1 for trace in traces], dtype=np.int64),
        first_error=first_error,
    )


def _traces(task: Recursion, tests: Batch) -> list[list[tuple[int, ...]]]:
    """The terms that each test should go through, the first and every `unroll`-th after it."""
    assert tests.source is not None
    assert tests.source_lengths is not None
    made = replace(task, part="trace", format="seq2seq", unroll=1)
    mark = made.vocabulary.index(SEPARATOR)
    found = []
    for row in range(len(tests)):
        first = tuple(tests.source[row, : tests.source_lengths[row]].tolist())
        terms, term = [first], list[int]()
        for token in tests.targets[row, tests.targets[row] >= 0].tolist():
            if token in (mark, END):
                terms.append(tuple(term))
                term = []
            else:
                term.append(token)
        kept = terms[:: task.unroll]
        found.append(kept if (len(terms) - 1) % task.unroll == 0 else [*kept, terms[-1]])
    return found


def _applied(
    model: Model, task: Recursion, terms: list[tuple[int, ...]], longest: int, rows: int
) -> list[tuple[int, ...]]:
    """What a model writes for each term."""
    aligned = task.format == "tag"
    blank = task.vocabulary.index(BLANK) if aligned else -1
    asked = [(*term, blank) if aligned else term for term in terms]
    lengths = np.array([len(term) for term in asked], dtype=np.int64)
    table = np.zeros((len(asked), int(lengths.max())), dtype=np.int64)
    for row, term in zip(table, asked, strict=True):
        row[: len(term)] = term
    pairs = Pairs(  # the question itself is the first draft of the answer
        question=table,
        question_lengths=lengths,
        answer=table,
        answer_lengths=lengths,
        axes={},
    )
    outputs = greedy_outputs(
        model, task.lay_out(pairs), longest=0 if aligned else longest, rows=rows
    )
    if not aligned:
        return [_ended(row) for row in outputs.tolist()]
    return [tuple(token for token in row if token not in (0, blank)) for row in outputs.tolist()]


def _ended(row: list[int]) -> tuple[int, ...]:
    """An output up to its end; nothing if it does not end."""
    return tuple(row[: row.index(END)]) if END in row else ()
