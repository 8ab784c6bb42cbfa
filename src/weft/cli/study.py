"""`weft study`: the papers' tables as runs, and as reports."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from weft.cli.options import JOBS, Json, new_console, print_json, print_whole
from weft.cli.train import Device, Runs, check_device
from weft.errors import WeftError
from weft.files import output_folder

if TYPE_CHECKING:
    from weft.studies import Study
    from weft.studies.results import Results


def study_command(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Of a study; none for all.")] = "",
    scale: Annotated[str, typer.Option("--scale", help="small, or paper for all of it.")] = "small",
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Rows with this label; may be repeated.")
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A change to all runs; may be repeated."),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=JOBS, help="Processes at a time.")] = 1,
    device: Device = "auto",
    runs: Runs = Path("runs"),
    report: Annotated[
        bool, typer.Option("--report", help="Report what is there; run nothing.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write page, values and figures to this folder.")
    ] = None,
    json: Json = False,
) -> None:
    """Run a study: a paper's table, with its figures beside ours. Finished runs are not run again.

    Examples:

      weft study

      weft study parity --device cuda --jobs 4 --out results

      weft study scan --only length --only 2 --only 6 --device cuda

      weft study scan --only mcd1 --set parameters.folder=~/scan --report
    """
    if not name:
        _list(json)
        return
    from weft.studies import study
    from weft.studies.report import write_report
    from weft.studies.results import collect

    for option, folder in (("--runs", runs), ("--out", out)):
        if folder is not None:
            output_folder(folder, option=option)
    check_device(device)
    chosen = study(name).only(only or [])
    values = dict(_pair(one) for one in given or [])
    if not report:
        _run(chosen, scale, values, runs, jobs, device, json)
    command = _command(name, scale, only or [], values, jobs, device)
    results = collect(chosen, scale, runs, command, values)
    _show(chosen, results, json)
    for path in write_report(chosen, results, out) if out is not None else []:
        print(f"wrote {path}", file=sys.stderr)
    if not report and any(_is_bad(status) for line in results.lines for status in line.statuses):
        raise typer.Exit(1)


def _is_bad(status: str) -> bool:
    from weft.training.callbacks import GOOD

    return status not in GOOD


def _pair(text: str) -> tuple[str, str]:
    key, found, value = text.partition("=")
    if not found:
        raise WeftError(f"'{text}' changes nothing", remedy="Write it as in --set steps=500")
    return key, str(Path(value).expanduser()) if value.startswith("~") else value


def _command(
    name: str, scale: str, only: list[str], values: dict[str, str], jobs: int, device: str
) -> str:
    """The command that makes the same again; folders of the user's are left for others to fill."""
    words = ["weft study", name, f"--scale {scale}", *(f"--only {label}" for label in only)]
    for key, value in values.items():
        words.append(f"--set {key}={'FOLDER' if key.endswith('folder') else value}")
    words += [f"--device {device}"] if device != "auto" else []
    return " ".join([*words, *([f"--jobs {jobs}"] if jobs != 1 else [])])


def _list(json: bool) -> None:
    from weft.studies import STUDIES

    rows = [
        {"name": one.name, "title": one.title, "source": one.source, "rows": len(one.rows)}
        for one in STUDIES.values()
    ]
    if json:
        print_json(rows)
        return
    for row in rows:
        text = f"{row['name']:10} {row['title']} ({row['source']}; {row['rows']} rows)"
        new_console().print(text, highlight=False)


def _run(
    study: Study,
    scale: str,
    given: dict[str, str],
    runs: Path,
    jobs: int,
    device: str,
    quiet: bool,
) -> None:
    """All runs that are not finished, with a line for each that ends."""
    from rich.progress import Progress

    from weft.training.launch.sweep import sweep

    cells = [cell for _, cell in study.cells(scale, given)]
    with Progress(transient=True, disable=quiet) as bar:
        shown = bar.add_task(study.name, total=len(cells))
        sweep(
            cells,
            runs=runs,
            jobs=jobs,
            device=device,
            ended=lambda cell, status: bar.advance(shown),
        )


def _show(study: Study, results: Results, json: bool) -> None:
    from rich.table import Table

    from weft.studies.report import table, warnings_of

    if json:
        print_json(results.as_dict())
        return
    header, rows = table(study, results)
    shown = Table(box=None, pad_edge=False, title=study.title, title_justify="left")
    for place, column in enumerate(header):
        side: Literal["left", "right"] = "left" if place < len(study.header) else "right"
        shown.add_column(column, justify=side, no_wrap=True)
    for row in rows:
        shown.add_row(*row)
    print_whole(shown)
    for line in warnings_of(study, results):
        print(line)
