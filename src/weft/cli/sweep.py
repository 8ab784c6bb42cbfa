"""`weft sweep`: all combinations of some values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import JOBS, Json, new_console, print_json
from weft.cli.train import Device, Runs, check_device
from weft.files import output_folder

if TYPE_CHECKING:
    from weft.statistics import Share
    from weft.training.launch.sweep import Cell


def sweep_command(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="What is combined.")],
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=JOBS, help="Processes at a time.")] = 1,
    runs: Runs = Path("runs"),
    device: Device = "auto",
    list_only: Annotated[
        bool, typer.Option("--list", help="Show the cells and how far they are; run none.")
    ] = False,
    json: Json = False,
) -> None:
    """Train all combinations of some values; finished ones are not run again.

    The file has a task, what all cells share ([all]) and a grid ([grid]), keys as for `weft train`:

      task = "parity"

      [all]
      steps = 500

      [grid]
      "model.position" = ["none", "nape"]
      seed = [0, 1]

    Examples:

      weft sweep parity.toml --jobs 2

      weft sweep parity.toml --list
    """
    from rich.progress import Progress

    from weft.training.callbacks import GOOD
    from weft.training.launch.sweep import read_sweep, sweep
    from weft.training.store import Run

    output_folder(runs, option="--runs")
    check_device(device)
    cells = read_sweep(file)
    if list_only:
        statuses = {cell.config.hash: Run(runs / cell.config.hash).status for cell in cells}
        _report(cells, statuses, runs, json)
        return
    with Progress(transient=True, disable=json) as bar:
        shown = bar.add_task(file.stem, total=len(cells))
        statuses = sweep(
            cells,
            runs=runs,
            jobs=jobs,
            device=device,
            ended=lambda cell, status: bar.advance(shown),
        )
    _report(cells, statuses, runs, json)
    if any(status not in GOOD for status in statuses.values()):
        raise typer.Exit(1)


def _report(cells: list[Cell], statuses: dict[str, str], runs: Path, json: bool) -> None:
    """Every cell with its status, and its accuracy on every split."""
    rows = [_row(cell, statuses[cell.config.hash], runs) for cell in cells]
    if json:
        print_json(rows)
        return
    from rich.table import Table

    from weft.statistics import warnings
    from weft.training.store import Run

    ended = {row["run"]: Run(runs / row["run"]).result for row in rows}
    results = {run: dict(one.told()) if one is not None else {} for run, one in ended.items()}
    splits = list(dict.fromkeys(split for row in rows for split in row["accuracy"]))
    table = Table(box=None, pad_edge=False)
    for column in ("cell", "run", "status", *splits):
        table.add_column(column, justify="right" if column in splits else "left")
    for row in rows:
        told = results[row["run"]]
        shown = [told.get(split, "") for split in splits]
        table.add_row(" ".join(row["cell"]), row["run"], row["status"], *shown)
    new_console().print(table)
    for line in warnings(_named(rows)):
        new_console().print(line, soft_wrap=True)


def _row(cell: Cell, status: str, runs: Path) -> dict[str, Any]:
    from weft.training.store import Run

    result = Run(runs / cell.config.hash).result
    accuracy = {} if result is None else dict(result.accuracy)
    shares = {} if result is None else result.shares
    return {
        "cell": list(cell.varied),
        "run": cell.config.hash,
        "status": status,
        "accuracy": accuracy,
        "shares": {split: one.as_dict() for split, one in shares.items()},
    }


def _named(rows: list[dict[str, Any]]) -> Iterator[tuple[str, Share]]:
    """Each share with the name of its split."""
    from weft.statistics import Share

    for row in rows:
        for split, share in row["shares"].items():
            yield split, Share.from_dict(share)
