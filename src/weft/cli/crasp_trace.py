"""The run of a C-RASP program as a table: positions across, lines down.

The begin symbol is the first column. A Boolean is T or a dot, a count is a number. Words that are
too long for the terminal are folded into blocks of columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.text import Text

from weft.crasp.expressions import Counting, Exists, Expression, Previous, operands
from weft.crasp.program import NEXT, CraspProgram, Line
from weft.crasp.reference import CraspRun, allowed_next
from weft.crasp.syntax.diagnostics import shown
from weft.crasp.syntax.text import expression_text, name_text

BEGIN = "BOS"
TRUE, FALSE = "T", "."
STOP = "stop"
RESULT = "bold"
QUIET = "dim"
COUNT = "cyan"
MAX_CELL = 16
"""Maximum columns of a cell; longer values are truncated."""
GAP = 2
"""Columns between cells."""


@dataclass(frozen=True)
class Row:
    """A row of the table: its label, its cells, and the style of each."""

    label: str
    cells: Sequence[str]
    styles: Sequence[str]


def with_counts(program: CraspProgram) -> tuple[CraspProgram, dict[str, str]]:
    """A program with a line for each count that lines are made of, and the labels of these lines.

    A count inside another count is left out: its values belong to the positions that are counted.
    """
    lines: list[Line] = []
    labels: dict[str, str] = {}
    names = {line.name for line in program.lines}
    unused = (name for k in itertools.count(1) if (name := f"count{k}") not in names)
    shown_already: set[Expression] = set()
    for line in program.lines:
        shown_already.add(line.expression)
        for part in _counts(line.expression):
            if part not in shown_already:
                shown_already.add(part)
                lines.append(Line(next(unused), part))
                labels[lines[-1].name] = expression_text(part)
        lines.append(line)
    return replace(program, lines=tuple(lines)), labels


def _counts(expression: Expression) -> Iterator[Expression]:
    """The counts of an expression that are not inside another."""
    if isinstance(expression, Counting):
        yield expression
    elif not isinstance(expression, (Exists, Previous)):
        for inside in operands(expression):
            yield from _counts(inside)


def render_run(
    program: CraspProgram,
    run: CraspRun,
    trace: bool,
    width: int,
    labels: Mapping[str, str] | None = None,
) -> Iterator[Text]:
    """The lines to print: the table if `trace` is set, then the result.

    Args:
        program: the program.
        run: its run.
        trace: whether to show the table.
        width: the width of the terminal.
        labels: how to call lines whose name says nothing.
    """
    if trace:
        yield from _folded(_rows(program, run, labels or {}), width)
        yield Text("")
    if program.next_symbols:
        allowed = allowed_next(program, run)[-1]
        yield Text(f"next     {' '.join(map(shown, allowed)) if allowed else STOP}", RESULT)
    if not program.accepting.startswith(NEXT):
        yield Text(f"result   {'accepted' if run.accepted else 'rejected'}", RESULT)


def _rows(program: CraspProgram, run: CraspRun, labels: Mapping[str, str]) -> Iterator[Row]:
    count = len(run.word) + 1
    yield Row("position", [str(i) for i in range(count)], [QUIET] * count)
    yield Row("symbol", [BEGIN, *map(shown, run.word)], [QUIET] + [RESULT] * (count - 1))
    for name, values in run.values.items():
        label = labels.get(name) or name_text(name)
        if program.kinds[name] == "count":
            yield Row(label, [str(value) for value in values], [COUNT] * count)
        else:
            cells = [TRUE if value else FALSE for value in values]
            yield Row(label, cells, ["" if value else QUIET for value in values])
    if program.next_symbols:
        cells = [_several(symbols) for symbols in allowed_next(program, run)]
        yield Row("next", cells, [RESULT] * count)


def _several(symbols: Sequence[str]) -> str:
    """The symbols that may come next, or how many if they do not fit a cell."""
    text = " ".join(map(shown, symbols)) or FALSE
    return text if cell_len(text) <= MAX_CELL else f"{len(symbols)} symbols"


def _folded(given: Iterator[Row], width: int) -> Iterator[Text]:
    """The table in blocks of columns that fit a width; every block repeats the labels."""
    label_width = max(MAX_CELL, width // 2)
    rows = [
        Row(_cut(row.label, label_width), [_cut(c, MAX_CELL) for c in row.cells], row.styles)
        for row in given
    ]
    label = max(cell_len(row.label) for row in rows)
    columns = [
        max(map(cell_len, cells)) + GAP for cells in zip(*(row.cells for row in rows), strict=True)
    ]
    start = 0
    while start < len(columns):
        end, used = start + 1, label + columns[start]
        while end < len(columns) and used + columns[end] <= width:
            used += columns[end]
            end += 1
        if start:
            yield Text("")
        for row in rows:
            line = Text(_padded(row.label, label))
            for place in range(start, end):
                cell = row.cells[place]
                line.append(" " * (columns[place] - cell_len(cell)))
                line.append(cell, style=row.styles[place])
            yield line
        start = end


def _cut(text: str, width: int) -> str:
    """A text, truncated to `width` columns."""
    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))
