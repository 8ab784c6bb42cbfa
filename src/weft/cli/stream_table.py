"""The stream as a table for the terminal: variables down, positions across, one block a layer.

As in figure 3 of the ALTA paper, changed values are marked and the output stands out. In a layer,
the heads show what attention found, the variables what the step left. Wide inputs are folded.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from weft.interpreter.trace import Run, Trace
from weft.language.program import Program
from weft.language.ranges import UNDEFINED, show_value
from weft.language.stream import Stream

CHANGED = "bold white on blue"
OUTPUT = "bold red"
HEAD = "cyan"
QUIET = "dim"


def render_run(run: Run, width: int) -> Iterator[Text]:
    """The blocks of a run's trace; of its last stream where there is no trace."""
    if run.trace is None:
        title = f"after {_layers(run.layers)}"
        table = _Table(run.program, run.tokens, [run.stream], width, title)
        names = [name for name, v in run.program.variables.items() if not v.is_head]
        yield from table.block(title, names, run.stream, None)
        return
    trace = run.trace
    streams = [trace.start, *(s for layer in trace.layers for s in (layer.attended, layer.after))]
    table = _Table(run.program, run.tokens, streams, width, f"layer {len(trace.layers)}")
    variables = [name for name, v in run.program.variables.items() if not v.is_head]
    yield from table.block("start", variables, trace.start, None)
    changing = _changing(run.program, trace)
    for number, layer in enumerate(trace.layers, 1):
        rows = [*run.program.heads, *changing]
        shown = layer.after.replaced({name: layer.attended[name] for name in run.program.heads})
        yield from table.block(f"layer {number}", rows, shown, layer.before)


def _layers(count: int) -> str:
    return f"{count} layer" if count == 1 else f"{count} layers"


def _changing(program: Program, trace: Trace) -> list[str]:
    """The variables that change at all, and the output; constants are shown once."""
    return [
        name
        for name, variable in program.variables.items()
        if not variable.is_head
        and (
            name == program.definition.output
            or any(layer.after[name] != trace.start[name] for layer in trace.layers)
        )
    ]


class _Table:
    """Column widths that stay the same from block to block."""

    def __init__(
        self,
        program: Program,
        tokens: tuple[object, ...],
        streams: list[Stream],
        width: int,
        longest_title: str,
    ) -> None:
        self.program = program
        self.tokens = [str(token) for token in tokens]
        names = max((len(name) for name in program.variables), default=0) + 2
        self.label = max(names, len(longest_title))
        cells = {show_value(cell) for stream in streams for row in stream.values() for cell in row}
        widest = max((len(cell) for cell in [*cells, *self.tokens]), default=1)
        self.cell = widest + 2
        self.fold = max(1, (width - self.label - 1) // self.cell)

    def block(
        self, title: str, names: list[str], stream: Stream, before: Stream | None
    ) -> Iterator[Text]:
        """A titled block, folded where it is too wide."""
        count = len(self.tokens)
        for start in range(0, max(count, 1), self.fold):
            span = range(start, min(start + self.fold, count))
            label = title if start == 0 else f"  from {start}"
            header = Text(label.ljust(self.label), style="bold")
            for position in span:
                header.append(self.tokens[position].rjust(self.cell), style=QUIET)
            yield header
            for name in names:
                yield self._row(name, stream, before, span)
        yield Text("")

    def _row(self, name: str, stream: Stream, before: Stream | None, span: range) -> Text:
        is_head = self.program.variables[name].is_head
        style = HEAD if is_head else OUTPUT if name == self.program.definition.output else ""
        row = Text(f"  {name}".ljust(self.label), style=style)
        for position in span:
            value = stream[name][position]
            changed = before is not None and not is_head and before[name][position] != value
            text = ("*" if changed else "") + show_value(value)
            row.append(" " * (self.cell - len(text)))
            own = CHANGED if changed else QUIET if value is UNDEFINED else style
            row.append(text, style=own)
        return row
