"""Arguments and options that several commands share, and how results are printed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.files import is_folder, output_folder

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Upper bounds of options. A value beyond them is a typing mistake: it would run for years, or need
# more memory than any machine has.
MAX_LENGTH = 1_000_000
"""Tokens of an input."""
MAX_COUNT = 1_000_000_000
"""Samples, layers, examples, lines to print."""
MAX_JOBS = 1024
"""Processes at a time."""
MAX_SEED = 2**63 - 1
MAX_MINUTES = 525_600
"""A year."""
MAX_COLUMNS = 1000
"""Of a table that may be wider than the terminal."""


def count_option(name: str, help: str, least: int = 1) -> Any:
    """An option for a count, from `least` to `MAX_COUNT`."""
    return typer.Option(name, min=least, max=MAX_COUNT, help=help)


Name = Annotated[
    str,
    typer.Argument(
        metavar="PROGRAM",
        help="A library name (see `weft list`), crasp:NAME (see `weft crasp list`), a .crasp file "
        "or path/file.py:Class; parameters in brackets, as in 'parity-absolute(positions=128)'.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Runs = Annotated[Path, typer.Option("--runs", help="The folder that holds all runs.")]
RunName = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's name, or its first characters.")
]
Device = Annotated[
    str, typer.Option("--device", help="cpu, cuda, or auto: cuda if there is a GPU, else cpu.")
]
Jobs = Annotated[
    int, typer.Option("--jobs", min=1, max=MAX_JOBS, help="How many processes to run at a time.")
]
Layers = Annotated[
    int | None, count_option("--layers", "How many layers to run, if the program does not halt.", 0)
]
MaxLength = Annotated[
    int, typer.Option("--max-length", min=1, max=MAX_LENGTH, help="Maximum length of an input.")
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=MAX_SEED, help="The seed of the random inputs.")
]
Level = Annotated[
    int,
    typer.Option("-O", "--level", help="2: small model; 0: one unit per rule, as in ALTA."),
]
Out = Annotated[
    Path | None, typer.Option("--out", help="Write report, values and figures to this folder.")
]


def check_places(runs: Path, device: str, out: Path | None = None) -> None:
    """Refuse folders that cannot be written and missing devices, before any work is done."""
    from weft.training.environment import device_of

    for option, folder in (("--runs", runs), ("--out", out)):
        if folder is not None:
            output_folder(folder, option=option)
    device_of(device)


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output."""
    from weft.interpreter.trace import plain

    print(json.dumps(plain(value), ensure_ascii=False))


def new_console() -> Console:
    """A console on standard output that leaves text as it is."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def new_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str]) -> Table:
    """A table with a header and no lines.

    Args:
        header: the names of the columns.
        rows: their cells.
        right: the columns that are aligned to the right.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in header:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def print_full_width(table: Table) -> None:
    """Print a table without cutting any value off, wider than the terminal if necessary."""
    from rich.measure import Measurement

    console = new_console()
    for column in table.columns:
        column.no_wrap = True
    needed = Measurement.get(console, console.options.update(width=MAX_COLUMNS), table).maximum
    console.width = max(console.width, needed)
    console.print(table)


def plural(count: int, word: str) -> str:
    """A count with its word: `1 layer`, `2 layers`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def paragraphs(text: str) -> str:
    """A docstring with each paragraph on one line, for the console to wrap."""
    import inspect

    parts = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(part if part[:1].isspace() else " ".join(part.split()) for part in parts)


def model_path(name: str) -> Path | None:
    """The folder of a model or of a training run; None if the name is that of a program.

    A run may be named by its path, or by the beginning of its hash if it is in `runs`.
    """
    if is_folder(name):
        return Path(name)
    if re.fullmatch("[0-9a-f]{4,12}", name) is None:
        return None
    runs = [path for path in Path("runs").glob(f"{name}*") if path.is_dir()]
    return runs[0] if len(runs) == 1 else None
