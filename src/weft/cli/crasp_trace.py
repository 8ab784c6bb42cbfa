"""The run of a C-RASP program as a table: positions across, lines down.

The begin symbol is the first column. A Boolean is T or a dot, a count is a number. Words that are
too long for the terminal are folded into blocks of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from weft.crasp.diagnostics import shown
from weft.crasp.program import NEXT, CraspProgram
from weft.crasp.reference import CraspRun, allowed_next
from weft.crasp.text import name_text

BEGIN = "BOS"
TRUE, FALSE = "T", "."
STOP = "stop"
RESULT = "bold"
QUIET = "dim"
COUNT = "cyan"
MAX_CELL = 16
"""Columns of a cell, at most; longer ones are cut off."""
GAP = 2
"""Columns between cells."""


@dataclass(frozen=True)
class Row:
    """A row of the table: its label, its cells, and the style of each."""

    label: str
    cells: Sequence[str]
    styles: Sequence[str]


def render_run(program: CraspProgram, run: CraspRun, trace: bool, width: int) -> Iterator[Text]:
    """The lines to print: the table if `trace` is set, then the result."""
    if trace:
        yield from _folded(_rows(program, run), width)
        yield Text("")
    if program.next_symbols:
        allowed = allowed_next(program, run)[-1]
        yield Text(f"next     {' '.join(map(shown, allowed)) if allowed else STOP}", RESULT)
    if not program.accepting.startswith(NEXT):
        yield Text(f"result   {'accepted' if run.accepted else 'rejected'}", RESULT)


def _rows(program: CraspProgram, run: CraspRun) -> Iterator[Row]:
    count = len(run.word) + 1
    yield Row("position", [str(i) for i in range(count)], [QUIET] * count)
    yield Row("symbol", [BEGIN, *map(shown, run.word)], [QUIET] + [RESULT] * (count - 1))
    for name, values in run.values.items():
        if program.kinds[name] == "count":
            yield Row(name_text(name), [str(value) for value in values], [COUNT] * count)
        else:
            cells = [TRUE if value else FALSE for value in values]
            yield Row(name_text(name), cells, ["" if value else QUIET for value in values])
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
    """A text of at most so many columns."""
    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))
