"""A program, its trace and a model's trace beside it, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from weft.cli.options import plural
from weft.ptg.alignment import Row, align
from weft.ptg.lines import TRACED, code, lines_of
from weft.ptg.source import source_hash, source_of
from weft.ptg.tracing import call_text, program_text

if TYPE_CHECKING:
    from weft.cli.ptg import Case
    from weft.ptg.first_errors import FirstError

TAB = "    "
MAX_WRITTEN = 300
"""Characters of a model's line that are shown, at most; an untrained model may never end a line."""
SAME, FIRST, LATER = "", "bold red", "yellow"
MARKS = {SAME: "", FIRST: "x", LATER: "~"}


def render(
    case: Case, written: str | None, error: FirstError | None, around: int = 0
) -> Iterator[Text | Table | str]:
    """The parts to print: the program, the call, the table of steps, and the verdict.

    Args:
        case: a program with its run.
        written: what a model wrote; None to show the right trace alone.
        error: its first error; None if there is none.
        around: how many steps to show before and after the first error; 0 for all.
    """
    source = source_of(case.program)
    size = f"{plural(source.count(chr(10)), 'line')}, {plural(len(case.trace.steps), 'step')}"
    yield f"program {source_hash(source)}, {size}"
    yield ""
    yield program_text(case.program, case.form).replace("\t", TAB)
    yield call_text(case.program, case.inputs, case.form)
    rows = align(case.target, case.target if written is None else written)
    yield _table(case, rows, written is not None, _shown(rows, around if error else 0))
    if written is not None:
        yield ""
        yield verdict(error)


def _shown(rows: list[Row], around: int) -> range:
    """The indices of the rows to show."""
    first = next((index for index, row in enumerate(rows) if row.first), None)
    if first is None or not around:
        return range(len(rows))
    return range(max(0, first - around), min(len(rows), first + around + 1))


def _table(case: Case, rows: list[Row], compared: bool, shown: range) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("step", justify="right")
    if not case.form.answer:
        table.add_column("code", overflow="fold")
    table.add_column("final state" if case.form.answer else "trace", overflow="fold")
    if compared:
        table.add_column("")
        table.add_column("model", overflow="fold")
    codes = _codes(case)
    if shown.start:
        table.add_row("...")
    for index in shown:
        row = rows[index]
        cells = [Text(str(row.step) if row.step else "")]
        if not case.form.answer:
            cells.append(Text(codes.get(row.step, ""), "dim"))
        cells.append(Text(row.expected or ""))
        if compared:
            style = SAME if row.same else FIRST if row.first else LATER
            cells += [Text(MARKS[style], style), _marked(row, style)]
        table.add_row(*cells)
    if shown.stop < len(rows):
        table.add_row("...")
    return table


def _codes(case: Case) -> Mapping[int, str]:
    """The code of the line that each step executes."""
    lines = lines_of(case.program)
    parameters = case.program.parameters
    assert all(line.kind in TRACED for line in (lines[s.line - 1] for s in case.trace.steps))
    return {
        number: code(lines[step.line - 1], parameters)
        for number, step in enumerate(case.trace.steps, 1)
    }


def _marked(row: Row, style: str) -> Text:
    """The model's line; in the first that is wrong, the first wrong character is underlined."""
    if row.written is None:
        return Text("(missing)", style)
    too_long = len(row.written) > MAX_WRITTEN
    text = Text(f"{row.written[:MAX_WRITTEN]}..." if too_long else row.written, style)
    if row.first and row.expected is not None:
        pairs = zip(row.expected, row.written, strict=False)
        same = next((at for at, (a, b) in enumerate(pairs) if a != b), len(row.expected))
        text.stylize("underline", same, same + 1)
    return text


def verdict(error: FirstError | None) -> Text:
    """What is wrong first, in words."""
    if error is None:
        return Text("the traces agree", "bold")
    where = f"step {error.step}"
    if error.line:
        where += f", line {error.line} ({error.kind})"
    return Text(f"first error: {error.category} at {where}, column {error.column + 1}", "bold")
