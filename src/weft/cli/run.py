"""`weft run`: a program or a model on an input, layer by layer."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import Json, count_option, model_path, print_json
from weft.errors import WeftError
from weft.files import output_file

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from weft.language.program import Program

PICTURE_WIDTH = 100
"""Columns of a picture, at most."""


def run_command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="PROGRAM",
            help="A library name (see `weft list`), crasp:NAME (see `weft crasp list`), a .crasp "
            "file or path/file.py:Class, with parameters in brackets, as in "
            "'parity-absolute(positions=128)'; or the folder of a model or a run.",
        ),
    ],
    given: Annotated[
        str,
        typer.Argument(metavar="INPUT", help="The input as the program reads it: 101, or 12+34."),
    ],
    trace: Annotated[
        bool, typer.Option("--trace", help="Show the residual stream after every layer.")
    ] = False,
    layers: Annotated[
        int | None, count_option("--layers", "Run this many layers, or until it halts.", 0)
    ] = None,
    max_layers: Annotated[
        int | None, count_option("--max-layers", "Fail if it runs for more layers.", 0)
    ] = None,
    compiled: Annotated[
        bool, typer.Option("--compiled", help="Compile the program and run the weights.")
    ] = False,
    level: Annotated[
        int, typer.Option("-O", "--level", help="With --compiled: optimisation level 0 or 2.")
    ] = 2,
    svg: Annotated[
        Path | None, typer.Option("--svg", help="Also write the output as an SVG picture.")
    ] = None,
    json: Json = False,
) -> None:
    """Run a program or a model and show what it computes.

    The trace of a compiled model shows the variables as decoded from its residual stream. The
    margin is how much a variable's dimensions may change before another value is nearest, at the
    worst position; the gap is the smallest one between the scores that a head selects and others.

    Examples:

      weft run parity 101

      weft run parity 101 --trace

      weft run addition 12+34 --json

      weft run addition 12+34 --compiled --trace

      weft run models/addition 12+34

      weft run runs/3f2a90c1d7e4 0110

      weft run path/to/mine.py:Mine "a b c" --layers 3 --trace
    """
    from weft.programs import program

    if svg is not None:
        output_file(svg, option="--svg")
    folder = model_path(name)
    if folder is not None or compiled:
        if max_layers is not None:
            raise WeftError(
                "--max-layers is for the interpreter, and this runs a model",
                remedy="Leave it out, or give --layers to run that many and stop",
            )
        from weft.cli.run_model import run_compiled, run_folder

        if folder is not None:
            display = run_folder(folder, given, layers, trace)
        else:
            display = run_compiled(program(name), given, level, layers, trace)
    else:
        display = _run(program(name), given, layers, max_layers, trace)
    if svg is not None:
        write_picture(display, svg, f"weft run {name} {given}")
    if json:
        print_json(display.values())
        return
    from rich.console import Console

    show(display, Console(highlight=False))


@dataclass(frozen=True)
class RunDisplay:
    """What `weft run` shows.

    Attributes:
        blocks: the lines of the stream, for a width of the terminal.
        outputs: the outputs at every position.
        result: the answer.
        layers: how many layers ran.
        values: all of it as plain values, for JSON.
    """

    blocks: Callable[[int], Iterable[Text]]
    outputs: Sequence[Any]
    result: Any
    layers: int
    values: Callable[[], dict[str, Any]]


def _run(
    program: Program, given: str, layers: int | None, max_layers: int | None, trace: bool
) -> RunDisplay:
    """Run a program in the reference interpreter."""
    from weft.interpreter.reference import run

    done = run(program, given, layers=layers, max_layers=max_layers, trace=trace)

    def blocks(width: int) -> Iterable[Text]:
        from weft.cli.trace_table import render_run

        return render_run(done, width)

    return RunDisplay(blocks, done.outputs, done.result, done.layers, done.to_json)


def show(display: RunDisplay, console: Console) -> None:
    """Print the stream, after every layer if it was traced, then outputs and result."""
    from weft.interpreter.trace import plain

    for line in display.blocks(console.width):
        console.print(line, soft_wrap=True)
    console.print(f"outputs  {' '.join(str(plain(value)) for value in display.outputs)}")
    console.print(f"result   {display.result}", style="bold")
    console.print(f"layers   {display.layers}")


def write_picture(display: RunDisplay, path: Path, title: str) -> None:
    """Write what is shown as a picture, no wider than necessary."""
    from rich.console import Console

    widths = [len(line.plain) + 1 for line in display.blocks(PICTURE_WIDTH)]
    width = max(len(title) + 12, *widths)
    picture = Console(record=True, width=width, file=io.StringIO(), highlight=False)
    show(display, picture)
    path.write_text(picture.export_svg(title=title, code_format=_SVG), encoding="utf-8")


# Rich's own template loads a font from the network; this one names fonts that machines have.
_SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
  <style>
    .{unique_id}-matrix {{
      font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace;
      font-size: {char_height}px;
      line-height: {line_height}px;
    }}
    .{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
    {styles}
  </style>
  <defs>
    <clipPath id="{unique_id}-clip-terminal">
      <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
    </clipPath>
    {lines}
  </defs>
  {chrome}
  <g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix" xml:space="preserve">{matrix}</g>
  </g>
</svg>
"""
