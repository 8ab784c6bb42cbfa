"""`weft runs`: list, compare and delete runs."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import Json, Runs, new_console, new_table, print_json
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.statistics import Mean, Share
    from weft.studies.run_table import RunGroup, RunRow
    from weft.training import Run, RunStore

HEADER = ("run", "date", "task", "model", "seed", "split", "accuracy [95%]", "n")
GROUP_HEADER = ("first run", "task", "model", "seeds", "split", "mean [95%]", "n each")


def runs_command(
    conditions: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONDITION ...",
            help="Conditions such as task=parity or 'accuracy.train>0.99 and seed=0', or the first "
            "characters of a run's name.",
        ),
    ] = None,
    runs: Runs = Path("runs"),
    sort: Annotated[
        str,
        typer.Option(
            "--sort",
            metavar="KEY",
            help="date, model, or a key of a condition, such as accuracy.longer; -KEY for "
            "descending order.",
        ),
    ] = "date",
    group: Annotated[
        bool, typer.Option("--group", help="Average runs that differ only in their seed.")
    ] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="Also list the settings in which they differ.")
    ] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the runs that match.")] = False,
    json: Json = False,
) -> None:
    """List, compare or delete runs.

    The table has accuracy by split. Intervals are 95%: Wilson's over the n tests of a run, and with
    --group Student's t over seeds.

    Examples:

      weft runs

      weft runs task=parity --sort -accuracy.longer

      weft runs task=parity status=done --group

      weft runs task=parity --compare

      weft runs 3f2a --delete
    """
    from weft.studies.run_table import grouped, sorted_rows
    from weft.training import RunStore

    store = RunStore(runs)
    matching = _matching(store, conditions or [])
    if delete:
        _delete(store, matching, conditions)
        return
    rows = sorted_rows(matching, sort)
    if json:
        values = [row.run.values() for row in rows]
        print_json([_group_as_json(entry) for entry in grouped(rows)] if group else values)
        return
    if not rows:
        matched = f" match {' and '.join(conditions)}" if conditions else ""
        print(f"no runs in {runs}{matched}")
        return
    console = new_console()
    if group:
        groups = grouped(rows)
        settings = _settings(store, groups)
        cells = [line for entry in groups for line in _group_lines(entry, settings)]
        console.print(new_table(GROUP_HEADER, cells, ("n each",)))
    else:
        cells = [line for row in rows for line in _lines(row)]
        console.print(new_table(HEADER, cells, ("seed", "n")))
    _print_notes(rows)
    if compare:
        _print_differences(store, [row.run for row in rows])


def _delete(store: RunStore, runs: Sequence[Run], conditions: list[str] | None) -> None:
    if not conditions:
        raise WeftError("no runs were named", remedy="Say which, as in status=nan")
    for run in runs:
        store.delete(run)
        print(f"deleted {run.name}")


def _matching(store: RunStore, conditions: list[str]) -> list[Run]:
    """The runs selected by conditions and by the first characters of names."""
    from weft.training.store import clauses

    joined = re.sub(r"(\s+and)+\s+", " and ", " and ".join(conditions))
    parts = clauses(joined) if conditions else []
    names = [part for part in parts if part.isalnum()]
    matching = store.query(*(part for part in parts if part not in names))
    chosen = {store.find(name).name for name in names}
    return [run for run in matching if not names or run.name in chosen]


def _lines(row: RunRow) -> list[list[str]]:
    """A run's rows of the table: one per split, or one with its status."""
    seed = "" if row.run.problem else str(row.run.config.seed)
    start = [row.run.name[:8], f"{row.date:%Y-%m-%d}", row.task, row.model, seed]
    results = _accuracies(row)
    if not results:
        return [[*start, row.run.status, "", ""]]
    return _repeated(start, results)


def _accuracies(row: RunRow) -> list[list[str]]:
    """Split, accuracy and n; n is unknown in results of the first version."""
    if row.run.problem or row.run.result is None or row.note:
        return []
    shares = row.shares
    return [
        [split, shares[split].short, f"{shares[split].count:,}"]
        if split in shares
        else [split, f"{accuracy:.1%}", "?"]
        for split, accuracy in row.run.result.accuracy.items()
    ]


def _settings(store: RunStore, groups: Sequence[RunGroup]) -> dict[str, list[str]]:
    """By first run, the settings in which groups of the same task and model differ."""
    alike: dict[tuple[str, str], list[Run]] = {}
    for group in groups:
        first = group.rows[0]
        alike.setdefault((first.task, first.model), []).append(first.run)
    result: dict[str, list[str]] = {}
    for runs in alike.values():
        differing = store.compare(runs)
        differing.pop("seed", None)
        for index, run in enumerate(runs):
            values = {key.rpartition(".")[2]: some[index] for key, some in differing.items()}
            result[run.name] = [
                f"{key}={'default' if value is None else value}" for key, value in values.items()
            ]
    return result


def _group_lines(group: RunGroup, settings: dict[str, list[str]]) -> list[list[str]]:
    """A group's rows of the table; below the model, as many settings as there is room for."""
    first = group.rows[0]
    done, total = len(group.seeds), len(group.rows)
    seeds = f"{done}" if done == total else f"{done} of {total}"
    start = [first.run.name[:8], first.task, first.model, seeds]
    results = [[split, *_averaged(mean)] for split, mean in group.means.items()]
    if not results:
        return [[*start, first.run.status, "", ""]]
    lines = _repeated(start, results)
    for line, setting in zip(lines[1:], settings[first.run.name], strict=False):
        line[GROUP_HEADER.index("model")] = setting
    return lines


def _averaged(mean: Mean) -> tuple[str, str]:
    """The mean over seeds with its interval, and n; of one seed, its own interval over tests."""
    count = f"{min(share.count for share in mean.shares):,}"
    return (mean.short if len(mean.shares) > 1 else mean.shares[0].short), count


def _repeated(start: list[str], results: list[list[str]]) -> list[list[str]]:
    """Rows that begin alike; only the first shows it."""
    blank = [""] * len(start)
    return [[*(blank if index else start), *result] for index, result in enumerate(results)]


def _print_notes(rows: Sequence[RunRow]) -> None:
    """Why runs have no results, and which have few tests; standard output has the table alone."""
    from weft.statistics import warnings

    for row in rows:
        if row.note:
            print(f"{row.run.name[:8]}: {row.run.status}: {row.note}")
    named: list[tuple[str, Share]] = [
        (f"{row.run.name[:8]}'s {split}", share)
        for row in rows
        for split, share in row.shares.items()
    ]
    for line in warnings(named):
        print(line, file=sys.stderr)


def _print_differences(store: RunStore, runs: list[Run]) -> None:
    differing = store.compare(runs)
    if not differing:
        print("\nno settings differ")
        return
    print()
    cells = []
    for index, run in enumerate(runs):
        settings = [[key, str(values[index])] for key, values in differing.items()]
        cells += _repeated([run.name[:8]], settings)
    new_console().print(new_table(("run", "setting", "value"), cells, ()))


def _group_as_json(group: RunGroup) -> dict[str, Any]:
    first = group.rows[0]
    return {
        "task": first.task,
        "model": first.model,
        "runs": [row.run.name for row in group.rows],
        "seeds": group.seeds,
        "accuracy": {split: mean.as_dict() for split, mean in group.means.items()},
    }
