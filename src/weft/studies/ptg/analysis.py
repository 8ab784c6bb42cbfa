"""What a model does on one split: accuracy, first errors by kind, and hazards.

Everything but the kinds of errors follows from the predictions under teacher forcing. For the kinds
the model writes the line of its first error to the end (`written_lines`), and the whole is compared
with the right trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.ptg.first_errors import first_error
from weft.ptg.interpreter import run
from weft.ptg.language import Program
from weft.ptg.lines import lines_of
from weft.ptg.parser import parse
from weft.statistics import Share
from weft.studies.ptg.continuation import written_lines
from weft.studies.ptg.hazards import Hazards, hazards_of
from weft.studies.ptg.steps import (
    FirstErrors,
    StepTable,
    first_errors,
    step_table,
    steps_before_error,
)
from weft.tasks.arrays import Ints
from weft.tasks.batch import Batch

if TYPE_CHECKING:
    from weft.models.factory import Model
    from weft.tasks.program_traces import ProgramTraces
    from weft.training.evaluation import Predictions

LOOKED_AT = 100
"""How many wrong traces per split are classified."""
QUANTILES = (0.1, 0.5, 0.9)
PROGRAM = "program"
"""The axis that says which examples share a program."""

Kinds = Mapping[str, Mapping[str, int]]
"""How many first errors there are, by category and by the kind of statement."""


@dataclass(frozen=True, kw_only=True)
class SplitAnalysis:
    """A model on a split.

    Attributes:
        split: its name.
        right: the share of traces that are right as a whole.
        steps: the mean number of steps of a trace, `<end>` included.
        before_error: of wrong traces, quantiles (10, 50 and 90%) of the number of right steps
            before the first error; none if all are right.
        hazards: first errors per step.
        errors: categories of first errors by kind of statement; empty if they were not looked at.
        programs: the share of programs that are right on all their inputs; None if every example
            has a program of its own.
    """

    split: str
    right: Share
    steps: float
    before_error: tuple[float, ...]
    hazards: Hazards
    errors: Kinds
    programs: Share | None = None

    @property
    def categories(self) -> dict[str, int]:
        """How many first errors there are of each category, most frequent first."""
        counts = Counter({name: sum(kinds.values()) for name, kinds in self.errors.items()})
        return dict(counts.most_common())

    @property
    def statements(self) -> dict[str, int]:
        """The same by kind of statement."""
        counts: Counter[str] = Counter()
        for kinds in self.errors.values():
            counts.update(kinds)
        return dict(counts.most_common())

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        return {
            "split": self.split,
            "right": [self.right.right, self.right.count],
            "steps": self.steps,
            "before_error": list(self.before_error),
            "hazards": self.hazards.as_dict(),
            "errors": {name: dict(kinds) for name, kinds in self.errors.items()},
            "programs": (
                None if self.programs is None else [self.programs.right, self.programs.count]
            ),
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> SplitAnalysis:
        """The analysis that `as_dict` wrote."""
        programs = values["programs"]
        return SplitAnalysis(
            split=values["split"],
            right=Share(*values["right"]),
            steps=values["steps"],
            before_error=tuple(values["before_error"]),
            hazards=Hazards.from_dict(values["hazards"]),
            errors={name: dict(kinds) for name, kinds in values["errors"].items()},
            programs=None if programs is None else Share(*programs),
        )


def analysis_of(
    task: ProgramTraces,
    predictions: Predictions,
    model: Model | None = None,
    *,
    looked_at: int = LOOKED_AT,
) -> SplitAnalysis:
    """Analyse the predictions of a model on a split.

    Args:
        task: the task.
        predictions: the model's, with one example per row.
        model: the model itself, to classify its first errors; None to leave that out.
        looked_at: how many wrong traces are classified, the first of the split.
    """
    batch = predictions.batch
    table = _table(task, batch)
    errors = first_errors(table, batch, _classes(predictions))
    before = steps_before_error(table, errors)[~errors.right]
    looked = np.flatnonzero(~errors.right)[:looked_at]
    kinds: Kinds = {}
    if model is not None and len(looked):
        kinds = error_kinds(model, task, predictions, errors, looked)
    return SplitAnalysis(
        split=predictions.split,
        right=Share.of(errors.right),
        steps=round(float(table.lengths.mean()), 2),
        before_error=(
            tuple(float(np.quantile(before, at)) for at in QUANTILES) if len(before) else ()
        ),
        hazards=hazards_of(table, errors),
        errors=kinds,
        programs=programs_right(batch, errors),
    )


def _classes(predictions: Predictions) -> Ints:
    """The class that was chosen at every position (b l)."""
    return np.asarray(predictions.chosen, dtype=np.int64)


_TABLES: dict[tuple[str, str], StepTable] = {}


def _table(task: ProgramTraces, batch: Batch) -> StepTable:
    """The steps of a test set, which many runs share."""
    key = (repr(sorted(task.parameters.items())), batch.content_hash)
    if key not in _TABLES:
        _TABLES[key] = step_table(task, batch)
    return _TABLES[key]


def programs_right(batch: Batch, errors: FirstErrors) -> Share | None:
    """The share of programs that are right on all their inputs; None if none has several."""
    numbers = batch.axes.get(PROGRAM)
    if numbers is None or not len(numbers) or (numbers < 0).all():
        return None
    programs = np.unique(numbers[numbers >= 0])
    failed = np.unique(numbers[(numbers >= 0) & ~errors.right])
    return Share(len(programs) - len(failed), len(programs))


def error_kinds(
    model: Model,
    task: ProgramTraces,
    predictions: Predictions,
    errors: FirstErrors,
    rows: Ints,
) -> dict[str, dict[str, int]]:
    """Categories of first errors, by kind of statement, of some examples that are wrong."""
    found: dict[str, Counter[str]] = {}
    batch = predictions.batch
    lines = written_lines(model, task, batch, _classes(predictions), rows, errors.place[rows])
    for row, line in zip(rows.tolist(), lines, strict=True):
        tokens = batch.tokens[row, : batch.lengths[row]]
        step = int(errors.step[row])
        category, kind = category_of(task, tokens, step, line)
        found.setdefault(category, Counter())[kind] += 1
    return {name: dict(kinds.most_common()) for name, kinds in found.items()}


def category_of(task: ProgramTraces, tokens: Ints, step: int, line: str) -> tuple[str, str]:
    """The category of a first error and the kind of statement.

    Args:
        task: the task.
        tokens: the example, without padding.
        step: the step with the error, from 0.
        line: what the model wrote instead of the right line; it ends in `<end>` if the model ended.
    """
    source, inputs = task.program_of(tokens)
    program, trace = _run(source, task.language, tuple(sorted(inputs.items())))
    right = task.trace_of(tokens)
    ended = line.endswith("<end>")
    kept = line.removesuffix("<end>")
    lines = right.split("\n")[:-1]
    if not ended and lines[step : step + 1] == [kept]:
        # The right line in other tokens: the name of a counter, written letter by letter.
        kind = "final state" if task.answer else program_kind(program, trace.steps[step].line)
        return "malformed", kind
    text = "".join(f"{each}\n" for each in lines[:step]) + kept
    if not ended:
        text += "\n"
    form = replace(task.form, first_label=task.first_label(tokens))
    found = first_error(program, inputs, trace, text, form)
    assert found is not None, "the line differs"
    return found.category, found.kind


def program_kind(program: Program, line: int) -> str:
    """What a line of a program does."""
    return lines_of(program)[line - 1].kind


@lru_cache(maxsize=512)
def _run(source: str, language: Any, inputs: tuple[tuple[str, Any], ...]) -> tuple[Any, Any]:
    program = parse(source, language)
    return program, run(program, dict(inputs))


def total_errors(analyses: Sequence[SplitAnalysis]) -> dict[str, Counter[str]]:
    """Categories of first errors over several splits, by kind of statement."""
    total: dict[str, Counter[str]] = {}
    for analysis in analyses:
        for name, kinds in analysis.errors.items():
            total.setdefault(name, Counter()).update(kinds)
    return total
