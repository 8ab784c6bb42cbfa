"""The steps of traces, token by token: which step, line and statement each token belongs to.

A model that is right at every token under teacher forcing writes the trace by greedy decoding, and
its first wrong token is where decoding goes wrong too. So everything about first errors follows
from one forward pass: `first_errors` finds the wrong token of each example, and a `StepTable` says
which step it belongs to and how large the program's state was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from weft.ptg.language import Language
from weft.ptg.lines import TRACED, lines_of
from weft.ptg.parser import parse
from weft.tasks.arrays import Bools, Ints
from weft.tasks.batch import Batch

if TYPE_CHECKING:
    from weft.tasks.program_traces import ProgramTraces

END = "end"
"""The kind of the step in which `<end>` is written."""
KINDS = (*TRACED, END)
"""What a step does: the kinds of traced lines, and the end of the trace."""
NO_LIST = -1
"""The list length of a step that writes no list."""
RIGHT = -1
"""Instead of a step or a token, if nothing is wrong."""


@dataclass(frozen=True, kw_only=True)
class StepTable:
    """All steps of the traces of a split; s steps of n examples, `<end>` being a step of each.

    Attributes:
        example: s, the number of the example.
        step: s, the number of the step in its trace, from 1.
        line: s, the line of the program, from 1; 0 for `<end>`.
        kind: s, what the line does, as an index into `KINDS`.
        list_length: s, the length of the list that is written; `NO_LIST` if none is.
        variables: s, how many variables are bound after the step, counters included.
        first: n, the index of each example's first step.
        tokens: b l, the step of each position with a target, counted from 0 in its example; -1 for
            other positions. A position belongs to the step of the token that it predicts.
    """

    example: Ints
    step: Ints
    line: Ints
    kind: Ints
    list_length: Ints
    variables: Ints
    first: Ints
    tokens: Ints

    @property
    def count(self) -> int:
        """The number of examples."""
        return len(self.first)

    @property
    def lengths(self) -> Ints:
        """n, how many steps each example has, `<end>` included."""
        return np.bincount(self.example, minlength=self.count)


def step_table(task: ProgramTraces, batch: Batch) -> StepTable:
    """The steps of a batch with one example per row."""
    newline = task.vocabulary.index("\n")
    scored = batch.scored
    breaks = scored & (batch.targets == newline)
    before = breaks.cumsum(axis=1) - breaks
    tokens = np.where(scored, before, RIGHT)
    columns: dict[str, list[int]] = {name: [] for name in ("line", "kind", "list_length", "live")}
    counts = []
    for row in range(len(batch)):
        count = 0
        for step in _steps(task, batch.tokens[row, : batch.lengths[row]]):
            for name, value in zip(columns, step, strict=True):
                columns[name].append(value)
            count += 1
        counts.append(count)
    arrays = {name: np.array(values, dtype=np.int64) for name, values in columns.items()}
    lengths = np.array(counts, dtype=np.int64)
    first = lengths.cumsum() - lengths
    example = np.repeat(np.arange(len(batch)), lengths)
    return StepTable(
        example=example,
        step=np.arange(len(example)) - first[example] + 1,
        line=arrays["line"],
        kind=arrays["kind"],
        list_length=arrays["list_length"],
        variables=arrays["live"],
        first=first,
        tokens=tokens,
    )


def _steps(task: ProgramTraces, row: Ints) -> Iterator[tuple[int, int, int, int]]:
    """Line, kind, list length and bound variables of each step of a row."""
    source, inputs = task.program_of(row)
    kinds = line_kinds(source, task.language)
    bound, first = set(inputs), task.first_label(row)
    for text in task.trace_of(row).split("\n")[:-1]:
        head, _, written = text.partition(",") if not task.answer else ("", "", text)
        name, _, value = written.partition(":")
        if name:
            bound.add(name)
        length = NO_LIST
        if value.startswith("["):
            length = 0 if value == "[]" else value.count(",") + 1
        line = 0 if not head else int(head.rpartition("L")[2]) - first + 1
        kind = kinds[line - 1] if line else KINDS.index(END)
        yield line, kind, length, len(bound)
    yield 0, KINDS.index(END), NO_LIST, len(bound)


@lru_cache(maxsize=4096)
def line_kinds(source: str, language: Language) -> tuple[int, ...]:
    """What each line of a program does, as an index into `KINDS`; the end for lines not traced."""
    lines = lines_of(parse(source, language))
    return tuple(KINDS.index(line.kind) if line.kind in TRACED else len(TRACED) for line in lines)


@dataclass(frozen=True, kw_only=True)
class FirstErrors:
    """Where a model's first error is in each of n examples.

    Attributes:
        place: n, the position whose prediction is wrong; -1 if all are right.
        step: n, its step from 0; -1 if all are right.
    """

    place: Ints
    step: Ints

    @property
    def right(self) -> Bools:
        """Which examples are right everywhere."""
        return np.asarray(self.place == RIGHT)


def first_errors(table: StepTable, batch: Batch, chosen: Ints) -> FirstErrors:
    """The first wrong token of each example, under teacher forcing.

    Args:
        table: the steps of the batch.
        batch: the examples.
        chosen: the class that the model chose at every position (b l).
    """
    wrong = batch.scored & (chosen != batch.targets)
    place = np.where(wrong.any(axis=1), wrong.argmax(axis=1), RIGHT)
    rows = np.arange(len(batch))
    step = np.where(place == RIGHT, RIGHT, table.tokens[rows, place])
    return FirstErrors(place=place, step=step)


def steps_before_error(table: StepTable, errors: FirstErrors) -> Ints:
    """How many steps of each example are right before the first error; all, if there is none."""
    return np.where(errors.right, table.lengths, errors.step)


def at_risk(table: StepTable, errors: FirstErrors) -> tuple[Bools, Bools]:
    """Which steps (s) a model reaches without an error, and at which it makes its first one."""
    place = table.step - 1
    limit = steps_before_error(table, errors)[table.example]
    failed = place == errors.step[table.example]
    return np.asarray((place < limit) | failed), np.asarray(failed)


def survived(table: StepTable, errors: FirstErrors, steps: Sequence[int]) -> list[tuple[int, int]]:
    """For each number of steps, how many of the examples with so many have no error before."""
    before, lengths = steps_before_error(table, errors), table.lengths
    return [
        (int(((before >= count) & (lengths >= count)).sum()), int((lengths >= count).sum()))
        for count in steps
    ]
