"""`weft verdict`: expressible, predicted and learned, side by side."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from weft.cli.options import (
    MAX_COUNT,
    Device,
    Json,
    Runs,
    check_device,
    new_console,
    print_full_width,
    print_json,
)
from weft.errors import WeftError
from weft.files import output_folder

if TYPE_CHECKING:
    from rich.table import Table

    from weft.studies.verdicts.verdict import Verdict


def verdict_command(
    programs: Annotated[list[str], typer.Argument(metavar="PROGRAM ...", help="Of one task.")],
    task: Annotated[str, typer.Option("--task", help="The task, where it is not clear.")] = "",
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the task, as length=12."),
    ] = None,
    examples: Annotated[
        int,
        typer.Option(
            "--examples", min=1, max=MAX_COUNT, help="Training inputs for minimal programs."
        ),
    ] = 10_000,
    tests: Annotated[
        int, typer.Option("--tests", min=1, max=MAX_COUNT, help="Tests of each split.")
    ] = 1_000,
    learn: Annotated[
        str, typer.Option("--learn", help="Train from traces what is not yet: small or paper.")
    ] = "",
    runs: Runs = Path("runs"),
    device: Device = "auto",
    out: Annotated[
        Path | None, typer.Option("--out", help="Write page, values and figures to this folder.")
    ] = None,
    json: Json = False,
) -> None:
    """What a program can do, what the theory predicts, and what was learned, on the same tests.

    Models that were trained are looked up among the runs: those from traces of the program
    (weft train TASK --traces PROGRAM), and all that learned the task from answers. A program that
    is linked to no task is asked for what it puts out, on inputs of its own `sample`.

    Examples:

      weft verdict parity parity-absolute parity-count

      weft verdict parity --set length=6 --set longer=12 --learn small --device cpu

      weft verdict addition --tests 200 --out results

      weft verdict my_program.py:MyProgram --set length=8 --set longer=16
    """
    if out is not None:
        output_folder(out, option="--out")
    output_folder(runs, option="--runs")
    check_device(device)
    if learn not in ("", "small", "paper"):
        raise WeftError(f"there is no recipe '{learn}'", remedy="Give small or paper")
    from weft.config import assignment
    from weft.studies.verdicts.report import write_verdict
    from weft.studies.verdicts.verdict import verdict

    found = verdict(
        programs,
        task,
        parameters=dict(map(assignment, given or [])),
        examples=examples,
        tests=tests,
        runs=runs,
        learn=cast(Literal["", "small", "paper"], learn),
        device=device,
        told=_say,
    )
    found = replace(found, command=_command(programs, task, given or [], examples, tests))
    if json:
        print_json(found.as_dict())
    else:
        _print(found)
    for path in write_verdict(found, out) if out is not None else []:
        print(f"wrote {path}", file=sys.stderr)


def _say(line: str) -> None:
    """Progress, for who is watching."""
    if sys.stderr.isatty():
        print(line, file=sys.stderr)


def _command(programs: list[str], task: str, given: list[str], examples: int, tests: int) -> str:
    words = ["weft verdict", *map(quote, programs), *([f"--task {task}"] if task else [])]
    words += [f"--set {one}" for one in given]
    return " ".join([*words, f"--examples {examples}", f"--tests {tests}"])


def _print(found: Verdict) -> None:
    """The tables, and below them what there is to say about each column and row."""
    from weft.studies.verdicts.report import agreements, has_paper, rows, warnings_of

    header, table = rows(found)
    print_full_width(_table(header[:-1], [row[:-1] for row in table]))
    console = new_console()
    console.print("\nIn square brackets: 95% intervals over the n tests, the same for all rows.")
    if has_paper(found):
        console.print("In brackets: what the paper reports.")
    for line in warnings_of(found):
        console.print(line, soft_wrap=True)
    compared, alike = agreements(found)
    if alike:
        console.print("\nHow often learned models answer as minimal programs do:\n")
        print_full_width(_table(compared, alike))
    console.print()
    for split, told in found.splits.items():
        console.print(f"{split}: {told}", soft_wrap=True)
    for row in table:
        console.print(f"{row[0]} {row[1]}: {row[-1]}", soft_wrap=True)


def _table(header: list[str], rows: list[list[str]]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in header:
        table.add_column(column, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table
