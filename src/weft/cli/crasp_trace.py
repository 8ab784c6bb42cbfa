"""The run of a C-RASP program as a table: positions across, lines down.

The begin symbol is the first column. A Boolean is T or a dot, a count is a number. Words that are
too long for the terminal are folded into blocks of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from weft.crasp.program import NEXT, CraspProgram
from weft.crasp.reference import CraspRun, allowed_next
from weft.crasp.text import name_text

BEGIN = "BOS"
TRUE, FALSE = "T", "."
STOP = "stop"
RESULT = "bold"
QUIET = "dim"
COUNT = "cyan"


@dataclass(frozen=True)
class Row:
    """A row of the table: its label, its cells, and the style of each."""

    label: str
    cells: Sequence[str]
    styles: Sequence[str]


def render_run(program: CraspProgram, run: CraspRun, trace: bool, width: int) -> Iterator[Text]:
    """The lines to print: the table if it was asked for, then the result."""
    rows = _rows(program, run) if trace else []
    if rows:
        yield from _folded(rows, width)
        yield Text("")
    if program.next_symbols:
        allowed = allowed_next(program, run)[-1]
        yield Text(f"next     {' '.join(allowed) if allowed else STOP}", RESULT)
    if not program.accepting.startswith(NEXT):
        yield Text(f"result   {'accepted' if run.accepted else 'rejected'}", RESULT)


def _rows(program: CraspProgram, run: CraspRun) -> list[Row]:
    count = len(run.word) + 1
    rows = [
        Row("position", [str(i) for i in range(count)], [QUIET] * count),
        Row("symbol", [BEGIN, *run.word], [QUIET] + ["bold"] * (count - 1)),
    ]
    for name, values in run.values.items():
        if program.kinds[name] == "count":
            cells, styles = [str(value) for value in values], [COUNT] * count
        else:
            cells = [TRUE if value else FALSE for value in values]
            styles = ["" if value else QUIET for value in values]
        rows.append(Row(name_text(name), cells, styles))
    if program.next_symbols:
        allowed = [" ".join(symbols) or FALSE for symbols in allowed_next(program, run)]
        rows.append(Row("next", allowed, [RESULT] * count))
    return rows


def _folded(rows: Sequence[Row], width: int) -> Iterator[Text]:
    """The table in blocks of columns that fit a width; every block repeats the labels."""
    label = max(len(row.label) for row in rows)
    columns = [max(map(len, cells)) + 2 for cells in zip(*(row.cells for row in rows), strict=True)]
    start = 0
    while start < len(columns):
        end, used = start + 1, label + columns[start]
        while end < len(columns) and used + columns[end] < width:
            used += columns[end]
            end += 1
        if start:
            yield Text("")
        for row in rows:
            line = Text(row.label.ljust(label))
            for place in range(start, end):
                line.append(row.cells[place].rjust(columns[place]), style=row.styles[place])
            yield line
        start = end
