"""`weft run`: a program on an input, layer by layer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import MAX_COUNT, Json, Name, model_path, plain, print_json
from weft.files import output_file
from weft.interpreter.trace import Run

if TYPE_CHECKING:
    from rich.console import Console


def run_command(
    name: Name,
    given: Annotated[
        str, typer.Argument(metavar="INPUT", help="What the program's encode takes: 101, or 12+34.")
    ],
    trace: Annotated[bool, typer.Option("--trace", help="Show the stream at every layer.")] = False,
    layers: Annotated[
        int | None,
        typer.Option(
            "--layers", min=0, max=MAX_COUNT, help="Run this many, unless it halts before."
        ),
    ] = None,
    max_layers: Annotated[
        int | None,
        typer.Option(
            "--max-layers", min=0, max=MAX_COUNT, help="Give up on a program that runs longer."
        ),
    ] = None,
    compiled: Annotated[
        bool, typer.Option("--compiled", help="Run the compiled weights instead.")
    ] = False,
    level: Annotated[int, typer.Option("-O", "--level", help="0 or 2, with --compiled.")] = 2,
    svg: Annotated[
        Path | None, typer.Option("--svg", help="Write what is shown as a picture.")
    ] = None,
    json: Json = False,
) -> None:
    """Run a program and show what it computes.

    Examples:

      weft run parity 101

      weft run parity 101 --trace

      weft run addition 12+34 --json

      weft run addition 12+34 --compiled

      weft run models/addition 12+34

      weft run runs/3f2a90c1d7e4 0110

      weft run path/to/mine.py:Mine "a b c" --layers 3 --trace
    """
    from weft.interpreter.reference import run
    from weft.programs import program

    if svg is not None:
        output_file(svg, option="--svg")
    stored = model_path(name)
    if stored is not None or compiled:
        from weft.cli.run_model import run_compiled, run_folder

        if stored is not None:
            answer = run_folder(stored, given, layers)
        else:
            answer = run_compiled(program(name), given, level, layers)
        if json:
            print_json(
                {
                    "input": [str(token) for token in answer.tokens],
                    "outputs": answer.outputs,
                    "result": answer.result,
                    "layers": answer.layers,
                }
            )
        else:
            print(f"outputs  {_spaced(answer.outputs)}")
            print(f"result   {answer.result}")
            print(f"layers   {answer.layers}")
        return
    found = program(name)
    done = run(found, given, layers=layers, max_layers=max_layers, trace=trace)
    if svg is not None:
        write_picture(done, svg, f"weft run {name} {given}")
    if json:
        print_json(done.to_json())
        return
    from rich.console import Console

    show(done, Console(highlight=False))


def _spaced(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def write_picture(run: Run, path: Path, title: str, widest: int = 100) -> None:
    """Write what is shown of a run as a picture, no wider than it has to be."""
    from rich.console import Console

    from weft.cli.stream_table import render_run

    width = max(len(title) + 12, *(len(line.plain) + 1 for line in render_run(run, widest)))
    picture = Console(record=True, width=width, file=_Nowhere(), highlight=False)  # type: ignore[arg-type]
    show(run, picture)
    path.write_text(picture.export_svg(title=title, code_format=_SVG), encoding="utf-8")


def show(run: Run, console: Console) -> None:
    """Print a run: the stream (all of them with a trace), the outputs, the result."""
    from weft.cli.stream_table import render_run

    for line in render_run(run, console.width):
        console.print(line, soft_wrap=True)
    console.print(f"outputs  {' '.join(str(plain(value)) for value in run.outputs)}")
    console.print(f"result   {run.result}", style="bold")
    console.print(f"layers   {run.layers}")


class _Nowhere:
    """A file that forgets."""

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass


# Rich's own picture loads a font from the network; this one names fonts that machines have.
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
