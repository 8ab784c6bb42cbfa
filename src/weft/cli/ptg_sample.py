"""`weft ptg sample`: examples of the task program-traces, and histograms of what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import Json, count_option, new_console, new_table, print_json
from weft.config import override

if TYPE_CHECKING:
    from weft.tasks.program_traces import ProgramTraces
    from weft.tasks.program_traces.distribution import Distribution

MOST = 100_000
BAR = 30
TITLES = {
    "lines": "lines of the program",
    "steps": "steps of the trace",
    "tokens": "tokens of the document",
    "variables": "variables",
    "list_length": "largest length of a list",
    "loops": "loops",
    "iterations": "iterations of loops",
    "value": "values of integers in the trace",
    "written_list": "lengths of lists in the trace",
    "source": "lines of source, by kind",
    "trace": "lines of traces, by kind",
}


def sample_command(
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE ...", help="Parameters of the task, as in tier=paper depth=2."
        ),
    ] = None,
    split: Annotated[str, typer.Option("--split", help="The split to draw from.")] = "train",
    size: Annotated[
        int,
        typer.Option(
            "--size", min=0, max=MOST, help="Number of examples; by default 1, or 1,000 to count."
        ),
    ] = 0,
    seed: Annotated[int, count_option("--seed", "Seed of the examples.", 0)] = 0,
    histogram: Annotated[
        bool, typer.Option("--histogram", help="Count sizes, statements and values instead.")
    ] = False,
    json: Json = False,
) -> None:
    """Draw random programs with inputs and traces, as the task program-traces does.

    With --histogram, sizes, kinds of statements, values and iterations are counted over the sample.

    Examples:

      weft ptg sample

      weft ptg sample tier=paper --split longer-traces-1 --size 2

      weft ptg sample --split longer-lists --histogram

      weft ptg sample depth=2 multiplication=true --histogram --json
    """
    from weft.tasks.program_traces import ProgramTraces

    task = override(ProgramTraces(), changes or [])
    task.check_split(split)
    if not histogram:
        _print_examples(task, split, size or 1, seed, json)
        return
    from weft.tasks.program_traces.distribution import distribution

    found = distribution(task, split, size or 1000, seed)
    if json:
        print_json(_as_json(found))
    else:
        _print_histograms(found)


def _print_examples(task: ProgramTraces, split: str, size: int, seed: int, json: bool) -> None:
    batch = task.batch(split, seed, 0, size)
    documents = []
    for place, row in enumerate(batch.tokens):
        source, inputs = task.program_of(row)
        text = task.decode(row[: batch.lengths[place]]).replace("<start>", "").split("<trace>")
        axes = {name: int(values[place]) for name, values in batch.axes.items()}
        documents.append({"source": source, "inputs": inputs, "text": "".join(text), "axes": axes})
    if json:
        print_json(documents)
    else:
        print("\n".join(str(document["text"]) for document in documents), end="")


def _as_json(found: Distribution) -> dict[str, Any]:
    numbers = {
        name: {"percentiles": found.percentiles(name), "counts": dict(sorted(counts.items()))}
        for name, counts in found.numbers.items()
        if counts
    }
    return {"numbers": numbers, "kinds": {name: dict(c) for name, c in found.kinds.items()}}


def _print_histograms(found: Distribution) -> None:
    console = new_console()
    for name, counts in found.numbers.items():
        if not counts:
            continue
        low, middle, high = found.percentiles(name)
        rows = [
            (f"{start}" if start == end else f"{start} to {end}", count)
            for start, end, count in found.bins(name)
        ]
        console.print(f"{TITLES[name]} (5%, 50%, 95%: {low}, {middle}, {high})")
        console.print(_table(rows))
    for name, kinds in found.kinds.items():
        console.print(TITLES[name])
        console.print(_table(sorted(kinds.items(), key=lambda item: -item[1])))


def _table(rows: list[tuple[str, int]]) -> Any:
    total, largest = sum(count for _, count in rows), max(count for _, count in rows)
    cells = [
        (name, f"{count:,}", f"{count / total:.1%}", "#" * round(BAR * count / largest))
        for name, count in rows
    ]
    return new_table(("", "count", "share", ""), cells, right=("count", "share"))
