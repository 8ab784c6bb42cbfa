"""`weft verdict`: what is expressible, predicted and learned, side by side."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from weft.cli.options import (
    Device,
    Json,
    Out,
    Runs,
    check_places,
    count_option,
    new_console,
    new_table,
    print_full_width,
    print_json,
)
from weft.errors import check_known

if TYPE_CHECKING:
    from weft.studies.verdicts.verdict import Verdict


def verdict_command(
    programs: Annotated[
        list[str], typer.Argument(metavar="PROGRAM ...", help="Programs of one task.")
    ],
    task: Annotated[
        str, typer.Option("--task", help="The task, by default that of the first program.")
    ] = "",
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="A parameter of the task, such as length=12."
        ),
    ] = None,
    examples: Annotated[
        int, count_option("--examples", "Training inputs for minimal programs.")
    ] = 10_000,
    tests: Annotated[int, count_option("--tests", "Tests of each split.")] = 1_000,
    learn: Annotated[
        str,
        typer.Option("--learn", help="Train missing runs from traces: small or paper recipes."),
    ] = "",
    runs: Runs = Path("runs"),
    device: Device = "auto",
    out: Out = None,
    json: Json = False,
) -> None:
    """Compare what is expressible, predicted, learned.

    All rows use the same tests. Trained models are looked up among the runs: those trained from
    the program's traces (weft train TASK --traces PROGRAM), and all that were trained on the task
    from answers. If a program solves no listed task, the task is to predict its output on inputs
    that its `sample` draws.

    Examples:

      weft verdict parity parity-absolute parity-count

      weft verdict parity --set length=6 --set longer=12 --learn small --device cpu

      weft verdict addition --tests 200 --out results

      weft verdict my_program.py:MyProgram --set length=8 --set longer=16
    """
    check_places(runs, device, out)
    if learn:
        check_known(learn, ("small", "paper"), f"there is no recipe '{learn}'")
    from weft.config import assignment
    from weft.studies.alta import REFERENCES
    from weft.studies.verdicts.report import write_verdict
    from weft.studies.verdicts.verdict import verdict

    result = verdict(
        programs,
        task,
        parameters=dict(map(assignment, parameters or [])),
        examples=examples,
        tests=tests,
        runs=runs,
        learn=cast(Literal["", "small", "paper"], learn),
        device=device,
        references=REFERENCES,
        progress=_print_progress,
    )
    result = replace(result, command=_command(programs, task, parameters or [], examples, tests))
    if json:
        print_json(result.as_dict())
    else:
        _print(result)
    for path in write_verdict(result, out) if out is not None else []:
        print(f"wrote {path}", file=sys.stderr)


def _print_progress(line: str) -> None:
    """A line of progress, if standard error is a terminal."""
    if sys.stderr.isatty():
        print(line, file=sys.stderr)


def _command(
    programs: list[str], task: str, parameters: list[str], examples: int, tests: int
) -> str:
    words = ["weft verdict", *map(quote, programs), *([f"--task {task}"] if task else [])]
    words += [f"--set {parameter}" for parameter in parameters]
    return " ".join([*words, f"--examples {examples}", f"--tests {tests}"])


def _print(verdict: Verdict) -> None:
    """The tables, and below them a line on each column and row."""
    from weft.studies.verdicts.report import agreements, rows, sources, warnings_of

    header, table = rows(verdict)
    print_full_width(new_table(header[:-1], [row[:-1] for row in table], ()))
    console = new_console()
    console.print("\nIn square brackets: 95% intervals over the n tests, the same for all rows.")
    source = sources(verdict)
    if source:
        console.print(f"In round brackets: {source}.")
    for line in warnings_of(verdict):
        console.print(line, soft_wrap=True)
    compared, alike = agreements(verdict)
    if alike:
        console.print("\nHow often trained models answer as minimal programs do:\n")
        print_full_width(new_table(compared, alike, ()))
    console.print()
    for split, description in verdict.splits.items():
        console.print(f"{split}: {description}", soft_wrap=True)
    for row in table:
        console.print(f"{row[0]}, {row[1]}: {row[-1]}", soft_wrap=True)
