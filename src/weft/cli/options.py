"""Arguments and options that several commands share."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.language.ranges import UNDEFINED

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDEST = 1000

# Bounds of options. What lies beyond them is a slip of the finger: it would run for years, or ask
# for more memory than there is.
LONGEST = 1_000_000
"""Of lengths: tokens of an input."""
MOST = 1_000_000_000
"""Of counts: samples, layers, examples, lines to print."""
JOBS = 1024
"""Of processes at a time."""
LARGEST_SEED = 2**63 - 1

Name = Annotated[
    str,
    typer.Argument(
        metavar="PROGRAM",
        help="A library name (see `weft list`) or path/file.py:Class; parameters in brackets, as "
        "in 'parity-absolute(positions=128)'.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


def plain(value: Any) -> Any:
    """A value as JSON has it: sets as sorted lists, undefined as null."""
    if value is UNDEFINED:
        return None
    if isinstance(value, (frozenset, set)):
        return sorted(value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return str(value)


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output."""
    print(json.dumps(plain(value), ensure_ascii=False))


def new_console() -> Console:
    """What commands print on."""
    from rich.console import Console

    return Console(highlight=False, markup=False)


def print_whole(table: Table) -> None:
    """Print a table with no value cut off, wider than the console where it has to be."""
    from rich.measure import Measurement

    console = new_console()
    wanted = Measurement.get(console, console.options.update(width=WIDEST), table).maximum
    console.width = max(console.width, wanted)
    console.print(table)


def paragraphs(text: str) -> str:
    """A docstring with each paragraph on one line, for the console to wrap."""
    parts = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(part if part[:1].isspace() else " ".join(part.split()) for part in parts)
