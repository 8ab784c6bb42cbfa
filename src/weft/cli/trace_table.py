"""Residual streams as tables for the terminal: variables down, positions across, a block per layer.

As in figure 3 of the ALTA paper, changed values are marked and the output stands out. In a layer,
heads show what attention returned, variables what the step left. Inputs that are too wide for the
terminal are folded. Rows of compiled models end with the smallest margin of the variable, and with
the smallest gap of a head's scores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from weft.cli.options import plural
from weft.interpreter.trace import Layer, Run
from weft.language.ranges import UNDEFINED, show_value
from weft.language.stream import Stream

if TYPE_CHECKING:
    from weft.compiler.tracing import ModelLayer, ModelTrace

CHANGED = "bold white on blue"
OUTPUT = "bold red"
HEAD = "cyan"
QUIET = "dim"
NUMBER_WIDTH = 8
"""Columns of a margin or a gap."""


def render_run(run: Run, width: int) -> Iterator[Text]:
    """The blocks of a run's trace, or its last stream if it was not traced."""
    heads, output = run.program.heads, run.program.definition.output
    if run.trace is not None:
        yield from _blocks(run.trace.start, run.trace.layers, run.tokens, width, heads, output)
        return
    title = f"after {plural(run.layers, 'layer')}"
    table = _Table(run.tokens, [run.stream], width, title, heads, output)
    yield from table.block(title, [name for name in run.stream if name not in heads], run.stream)


def render_model(
    trace: ModelTrace, tokens: Sequence[Any], output: str, width: int
) -> Iterator[Text]:
    """The blocks of a compiled model's trace, with margins and gaps.

    Args:
        trace: the trace.
        tokens: the input.
        output: the output variable; empty if it is not known.
        width: the width of the terminal.
    """
    numbers = [(layer.margins, layer.gaps) for layer in trace.layers]
    yield from _blocks(trace.start, trace.layers, tokens, width, trace.heads, output, numbers)


def _blocks(
    start: Stream,
    layers: Sequence[Layer | ModelLayer],
    tokens: Sequence[Any],
    width: int,
    heads: Collection[str],
    output: str,
    numbers: Sequence[tuple[Mapping[str, float], ...]] = (),
) -> Iterator[Text]:
    """The start and every layer; variables that never change are shown only at the start."""
    streams = [start, *(s for layer in layers for s in (layer.attended, layer.after))]
    titles = [f"layer {number}" for number in range(1, len(layers) + 1)]
    columns = ("margin", "gap") if numbers else ()
    table = _Table(tokens, streams, width, titles[-1] if titles else "", heads, output, columns)
    variables = [name for name in start if name not in heads]
    yield from table.block("start", variables, start)
    changing = [
        name
        for name in variables
        if name == output or any(layer.after[name] != start[name] for layer in layers)
    ]
    before = start
    for place, layer in enumerate(layers):
        shown = layer.after.replaced({name: layer.attended[name] for name in heads})
        more = numbers[place] if numbers else ()
        yield from table.block(titles[place], [*heads, *changing], shown, before, more)
        before = layer.after


class _Table:
    """Blocks with the same column widths."""

    def __init__(
        self,
        tokens: Sequence[Any],
        streams: Sequence[Stream],
        width: int,
        longest_title: str,
        heads: Collection[str],
        output: str,
        numbers: tuple[str, ...] = (),
    ) -> None:
        self.tokens = [str(token) for token in tokens]
        self.heads, self.output, self.numbers = heads, output, numbers
        names = [len(name) + 2 for stream in streams[:1] for name in stream]
        self.label = max([*names, len(longest_title)])
        cells = {show_value(cell) for stream in streams for row in stream.values() for cell in row}
        self.cell = max((len(cell) for cell in [*cells, *self.tokens]), default=1) + 2
        room = width - self.label - 1 - NUMBER_WIDTH * len(numbers)
        self.fold = max(1, room // self.cell)

    def block(
        self,
        title: str,
        names: Sequence[str],
        stream: Stream,
        before: Stream | None = None,
        numbers: Sequence[Mapping[str, float]] = (),
    ) -> Iterator[Text]:
        """A titled block, folded if it is too wide."""
        count = len(self.tokens)
        for start in range(0, max(count, 1), self.fold):
            span = range(start, min(start + self.fold, count))
            header = Text((title if start == 0 else f"  from {start}").ljust(self.label), "bold")
            for position in span:
                header.append(self.tokens[position].rjust(self.cell), style=QUIET)
            shown = numbers if start == 0 else ()
            for heading, _ in zip(self.numbers, shown, strict=False):
                header.append(heading.rjust(NUMBER_WIDTH), style=QUIET)
            yield header
            for name in names:
                row = self._row(name, stream, before, span)
                for column in shown:
                    number = f"{column[name]:.3g}" if name in column else ""
                    row.append(number.rjust(NUMBER_WIDTH), style=QUIET)
                row.rstrip()
                yield row
        yield Text("")

    def _row(self, name: str, stream: Stream, before: Stream | None, span: range) -> Text:
        is_head = name in self.heads
        style = HEAD if is_head else OUTPUT if name == self.output else ""
        row = Text(f"  {name}".ljust(self.label), style=style)
        for position in span:
            value = stream[name][position]
            changed = before is not None and not is_head and before[name][position] != value
            text = ("*" if changed else "") + show_value(value)
            row.append(" " * (self.cell - len(text)))
            cell_style = CHANGED if changed else QUIET if value is UNDEFINED else style
            row.append(text, style=cell_style)
        return row
