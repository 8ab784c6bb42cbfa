"""`weft sweep`, `weft study`: many runs, as one table."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.deadline import deadline
from weft.cli.options import (
    MAX_MINUTES,
    Device,
    Jobs,
    Json,
    Out,
    Runs,
    check_places,
    new_console,
    new_table,
    print_full_width,
    print_json,
)
from weft.errors import WeftError, check_known
from weft.files import output_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.studies import Experiment, Study
    from weft.studies.results import Results
    from weft.training.launch.executor import Executor
    from weft.training.launch.sweep import Cell

MAX_LABEL = 30
"""Up to this many columns, the settings of a sweep's runs are not folded."""

MAX_STACK = 4096
"""Models in a stack."""
MAX_KEPT = 1000
MOST_SEEDS = 4
"""With --keep N and without --seeds, up to this many times N seeds are tried."""
SCORES = "scores"
"""In place of a study's name: how good the predictors are."""
RESUME = "the same command resumes the runs"

Devices = Annotated[
    str,
    typer.Option("--devices", help="Devices that the processes use in turn, as in cuda:0,cuda:1."),
]
Stack = Annotated[
    int,
    typer.Option(
        "--stack",
        min=0,
        max=MAX_STACK,
        metavar="N",
        help="Train up to N models of one shape together in one step; 0 for one run per process.",
    ),
]
ExecutorName = Annotated[
    str,
    typer.Option(
        "--executor",
        metavar="NAME",
        help="Your executor, as path/file.py:Class.",
    ),
]


def sweep_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.toml", help="The settings to combine; see below.")
    ],
    jobs: Jobs = 1,
    runs: Runs = Path("runs"),
    device: Device = "auto",
    devices: Devices = "",
    executor: ExecutorName = "",
    stack: Stack = 0,
    list_only: Annotated[
        bool, typer.Option("--list", help="Show the runs and their status; train nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Train every combination of some settings; finished runs are not trained again.

    The file names a task, the settings that all runs share ([all]) and those that are combined
    ([grid]), with keys as for `weft train`:

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
    from weft.training.callbacks import GOOD
    from weft.training.launch.sweep import read_sweep
    from weft.training.store import Run

    check_places(runs, device)
    chosen = _executor(executor, jobs, devices or device)
    cells = read_sweep(file)
    if list_only:
        statuses = {cell.config.hash: Run(runs / cell.config.hash).status for cell in cells}
    else:
        statuses = _train(cells, file.stem, runs, chosen, json, stack, device)
    _print_sweep(cells, statuses, runs, json)
    if not list_only and any(status not in GOOD for status in statuses.values()):
        raise typer.Exit(1)


def _executor(name: str, jobs: int, devices: str) -> Executor:
    """The user's executor if one is named; local processes otherwise."""
    from weft.extensions import make
    from weft.training.launch.executor import LocalProcesses

    if name:
        result: Executor = make("executor", name)
        return result
    return LocalProcesses(jobs, [device.strip() for device in devices.split(",")])


def _train(
    cells: Sequence[Cell],
    title: str,
    runs: Path,
    executor: Executor,
    quiet: bool,
    stack: int = 0,
    device: str = "auto",
) -> dict[str, str]:
    """Train all cells, with a progress bar; gives the status of each run."""
    from rich.progress import Progress

    from weft.training.launch.sweep import sweep

    with Progress(transient=True, disable=quiet) as bar:
        task = bar.add_task(title, total=len(cells))
        if stack:
            from weft.training.stacked.launch import stacked_sweep

            return stacked_sweep(
                cells,
                runs=runs,
                places=stack,
                device=device,
                executor=executor,
                ended=lambda cell, status: bar.advance(task),
            )
        return sweep(
            cells,
            runs=runs,
            executor=executor,
            ended=lambda cell, status: bar.advance(task),
        )


def _print_sweep(cells: list[Cell], statuses: dict[str, str], runs: Path, json: bool) -> None:
    """Every cell with its status, and its accuracy on every split."""
    from weft.statistics import warnings
    from weft.training.store import Run

    results = {cell.config.hash: Run(runs / cell.config.hash).result for cell in cells}
    if json:
        print_json([_cell_as_json(cell, statuses, results[cell.config.hash]) for cell in cells])
        return
    accuracies = {
        name: {} if result is None else dict(result.described()) for name, result in results.items()
    }
    splits = list(dict.fromkeys(split for shown in accuracies.values() for split in shown))
    rows = []
    for cell in cells:
        name = cell.config.hash
        shares = [accuracies[name].get(split, "") for split in splits]
        rows.append(["\n".join(cell.label), name[:8], statuses[name], *shares])
    console = new_console()
    table = new_table(("cell", "run", "status", *splits), rows, splits)
    longest = max((len(part) for cell in cells for part in cell.label), default=0)
    table.columns[0].no_wrap = longest <= MAX_LABEL  # the accuracies fold first
    console.print(table)
    tested = [pair for result in results.values() if result for pair in result.shares.items()]
    for line in warnings(tested):
        console.print(line, soft_wrap=True)


def _cell_as_json(cell: Cell, statuses: dict[str, str], result: Any) -> dict[str, Any]:
    shares = {} if result is None else result.shares
    return {
        "cell": list(cell.label),
        "run": cell.config.hash,
        "status": statuses[cell.config.hash],
        "accuracy": {} if result is None else dict(result.accuracy),
        "shares": {split: share.as_dict() for split, share in shares.items()},
    }


def study_command(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="The name of a study; without it, list all.")
    ] = "",
    scale: Annotated[
        str,
        typer.Option(
            "--scale", help="small, or another of the study's scales, such as smoke or paper."
        ),
    ] = "small",
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only rows with this label; may be repeated.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of all runs; may be repeated."),
    ] = None,
    jobs: Jobs = 1,
    device: Device = "auto",
    devices: Devices = "",
    executor: ExecutorName = "",
    stack: Stack = 0,
    runs: Runs = Path("runs"),
    seeds: Annotated[
        str,
        typer.Option(
            "--seeds", metavar="N|A-B", help="Seeds 0 to N - 1, or A to B; else the scale's own."
        ),
    ] = "",
    minutes: Annotated[
        float | None,
        typer.Option(
            "--minutes",
            min=0,
            max=MAX_MINUTES,
            help="Stop after this time; the same command resumes the runs.",
        ),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Show the results so far; train nothing.")
    ] = False,
    records: Annotated[
        Path | None,
        typer.Option("--records", metavar="FILE", help="Write the results of all runs as JSON."),
    ] = None,
    stored: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="FILE", help="Report these records, merged; train nothing."),
    ] = None,
    keep: Annotated[
        int,
        typer.Option(
            "--keep",
            min=0,
            max=MAX_KEPT,
            metavar="N",
            help="Train seeds until N of each row fit in distribution, and average these.",
        ),
    ] = 0,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Train the paper's grid of models for every row.")
    ] = False,
    models: Annotated[
        Path | None,
        typer.Option("--models", metavar="FILE", help="Take the best models of a --sweep."),
    ] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Reproduce a table of a paper as training runs.

    Finished runs are not trained again.

    Examples:

      weft study

      weft study parity --device cuda --jobs 4 --out results

      weft study scan --only length --only 2 --only 6 --device cuda

      weft study scan --only mcd1 --set parameters.folder=~/scan --report

      weft study crasp-formal --device cuda --stack 16 --minutes 9 --records formal.json

      weft study arithmetic --only D3 --only 150 --only absolute --device cuda --records sums.json

      weft study scores --from formal.json --out results
    """
    if not name:
        _list_studies(json)
        return
    if name == SCORES:
        _scores(stored or [], out, json)
        return
    from weft.cli.length_studies import LengthOptions, prepared, run_length_study
    from weft.studies import EXPERIMENTS, LENGTH_STUDIES, RECORDED, STUDIES, study
    from weft.studies.report import write_report
    from weft.studies.results import collect
    from weft.training.callbacks import GOOD

    check_known(name, (*STUDIES, *EXPERIMENTS), f"there is no study '{name}'")
    check_places(runs, device, out)
    if records is not None:
        output_file(records, option="--records")
    if name in EXPERIMENTS:
        from weft.cli.experiments import ExperimentOptions, experiment_of, run_experiment
        from weft.studies.experiment import Execution

        if sweep or models or keep:
            raise WeftError(
                f"the study {name} has no --sweep, --models and --keep",
                remedy="They are for studies whose names begin with crasp",
            )
        if name not in RECORDED and (records or stored):
            raise WeftError(
                f"the study {name} has no --records and --from",
                remedy="--out writes its values as JSON",
            )
        values = dict(_setting(text) for text in changes or [])
        trained_by = _executor(executor, jobs, devices or device)
        complete = run_experiment(
            experiment_of(
                name, only or [], _seed_range(seeds) if seeds else None, tuple(stored or ())
            ),
            Execution(
                runs=runs,
                device=device,
                given=values,
                train=lambda cells: _train(cells, name, runs, trained_by, json, stack, device),
            ),
            ExperimentOptions(
                scale=scale,
                report_only=report,
                out=out,
                json=json,
                command=_study_command(name, scale, only or [], values, jobs, device, stack, seeds)
                + "".join(f" --from {path.name}" for path in stored or []),
                records=records,
            ),
            deadline(minutes),
        )
        if not complete:
            raise typer.Exit(1)
        return
    chosen = study(name)
    length_study = name in [each.name for each in LENGTH_STUDIES]
    if not length_study and (sweep or models or keep or records or stored):
        raise WeftError(
            f"the study {name} has no --sweep, --models, --keep, --records and --from",
            remedy=f"They are for {', '.join(each.name for each in LENGTH_STUDIES)}",
        )
    if seeds:
        chosen = chosen.with_seeds(*_seed_range(seeds))
    elif keep:
        chosen = chosen.with_seeds(0, MOST_SEEDS * keep)
    values = dict(_setting(text) for text in changes or [])
    trained_by = _executor(executor, jobs, devices or device)
    words = _study_command(
        name, scale, only or [], values, jobs, device, stack, seeds, keep, sweep, models
    )
    if length_study:
        chosen = prepared(chosen, sweep=sweep, models=models).only(only or [])
        complete = run_length_study(
            chosen,
            LengthOptions(
                scale=scale,
                runs=runs,
                values=values,
                command=words,
                keep=keep,
                minutes=minutes,
                report=report,
                stored=tuple(stored or ()),
                records=records,
                out=out,
                json=json,
            ),
            lambda cells: _train(cells, chosen.name, runs, trained_by, json, stack, device),
        )
        if not complete:
            raise typer.Exit(1)
        return
    chosen = chosen.only(only or [])
    late = False
    if not report:
        cells = [cell for _, cell in chosen.cells(scale, values)]
        with deadline(minutes) as over:
            try:
                _train(cells, chosen.name, runs, trained_by, json, stack, device)
            except KeyboardInterrupt:
                if not over.is_set():
                    raise
                late = True
                print(f"stopped after {minutes:g} minutes; {RESUME}", file=sys.stderr)
    results = collect(chosen, scale, runs, words, values)
    _print_study(chosen, results, json)
    for path in write_report(chosen, results, out) if out is not None else []:
        print(f"wrote {path}", file=sys.stderr)
    statuses = [status for line in results.lines for status in line.statuses]
    if not report and not late and any(status not in GOOD for status in statuses):
        raise typer.Exit(1)


def _seed_range(text: str) -> tuple[int, int]:
    """The first seed and how many there are, of `5` or `3-7`."""
    first, dash, last = text.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        raise WeftError(
            f"'{text}' is not a range of seeds", remedy="Write --seeds 5 or --seeds 3-7"
        )
    start, end = (int(first), int(last)) if dash else (0, int(first) - 1)
    if end < start:
        raise WeftError(f"there are no seeds in '{text}'", remedy="Write --seeds 5 or --seeds 3-7")
    return start, end - start + 1


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise WeftError(f"'{text}' changes nothing", remedy="Write it as in --set steps=500")
    return key, str(Path(value).expanduser()) if value.startswith("~") else value


def _study_command(
    name: str,
    scale: str,
    only: list[str],
    values: dict[str, str],
    jobs: int,
    device: str,
    stack: int = 0,
    seeds: str = "",
    keep: int = 0,
    sweep: bool = False,
    models: Path | None = None,
) -> str:
    """The command that repeats the study; the user's folders are left for others to fill in."""
    words = ["weft study", name, f"--scale {scale}", *_only(only)]
    for key, value in values.items():
        words.append(f"--set {key}={'FOLDER' if key.endswith('folder') else value}")
    words += [f"--seeds {seeds}"] if seeds else []
    words += [f"--keep {keep}"] if keep else []
    words += ["--sweep"] if sweep else []
    words += [f"--models {models.name}"] if models else []
    words += [f"--device {device}"] if device != "auto" else []
    words += [f"--stack {stack}"] if stack else []
    return " ".join([*words, *([f"--jobs {jobs}"] if jobs != 1 else [])])


def _only(labels: list[str]) -> list[str]:
    return [f"--only {shlex.quote(label)}" for label in labels]


def _scores(stored: list[Path], out: Path | None, json: bool) -> None:
    """Print how often predictions came true, and write the page."""
    from weft.cli.length_studies import print_scores
    from weft.studies.length.records import load_records, merged_by_study

    print_scores(merged_by_study(load_records(path) for path in stored), out, json)


def _list_studies(json: bool) -> None:
    from weft.studies import EXPERIMENTS, STUDIES

    keys = ("name", "title", "source", "rows")
    every: list[Study | Experiment] = [*STUDIES.values(), *EXPERIMENTS.values()]
    rows = [(s.name, s.title, s.source, len(s.rows)) for s in every]
    if json:
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
        return
    cells = [list(map(str, row)) for row in rows]
    new_console().print(new_table(("study", *keys[1:]), cells, ("rows",)))


def _print_study(study: Study, results: Results, json: bool) -> None:
    from weft.studies.report import table, warnings_of

    if json:
        print_json(results.as_dict())
        return
    header, rows = table(study, results)
    shown = new_table(header, rows, header[len(study.header) :])
    shown.title, shown.title_justify = study.title, "left"
    print_full_width(shown)
    for line in warnings_of(study, results):
        print(line)
