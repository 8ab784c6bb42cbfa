"""`weft study` for experiments, whose results are more than the accuracies of runs."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.options import new_table, print_full_width, print_json
from weft.files import write_json

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence

    from weft.studies.experiment import Execution, Experiment, ExperimentReport


@dataclass(frozen=True, kw_only=True)
class ExperimentOptions:
    """What the user asked for.

    Attributes:
        scale: the name of the scale.
        report_only: compute nothing.
        out: the folder of the report.
        json: print JSON.
        command: the command that repeats it.
        records: the file in which the values are written; None for none.
    """

    scale: str
    report_only: bool
    out: Path | None
    json: bool
    command: str
    records: Path | None = None


def experiment_of(
    name: str, only: Sequence[str], seeds: tuple[int, int] | None, files: Sequence[Path] = ()
) -> Experiment:
    """An experiment by its name, with the rows, seeds and records that the user selected."""
    from weft.studies import EXPERIMENTS, RECORDED

    chosen = RECORDED[name].from_files(files) if files else EXPERIMENTS[name]
    selected = chosen.only(only)
    return selected if seeds is None else selected.with_seeds(*seeds)


def run_experiment(
    experiment: Experiment,
    execution: Execution,
    options: ExperimentOptions,
    deadline: AbstractContextManager[threading.Event],
) -> bool:
    """Compute an experiment, print its tables and write its report.

    Returns:
        Whether all its cells are finished, or were meant to be left unfinished.
    """
    interrupted: KeyboardInterrupt | None = None
    ended_in_time = True
    if not options.report_only:
        try:
            with deadline as over:
                _compute(experiment, execution, options)
        except KeyboardInterrupt as error:  # what is finished is reported all the same
            ended_in_time = False
            interrupted = None if over.is_set() else error
            if interrupted is None:
                print(
                    "stopped when the time was over; the same command resumes it",
                    file=sys.stderr,
                )
    report = experiment.report(options.scale, execution)
    _print(report, options)
    if options.records is not None:
        options.records.parent.mkdir(parents=True, exist_ok=True)
        write_json(options.records, report.as_dict(options.command))
        print(f"wrote {options.records}", file=sys.stderr)
    if options.out is not None:
        from weft.studies.experiment import write_experiment

        for path in write_experiment(report, options.command, options.out):
            print(f"wrote {path}", file=sys.stderr)
    if interrupted is not None:
        raise interrupted
    return report.complete or options.report_only or not ended_in_time


def _compute(experiment: Experiment, execution: Execution, options: ExperimentOptions) -> None:
    """Compute all cells, with a progress bar."""
    from rich.progress import Progress, TaskID

    bar = Progress(transient=True, disable=options.json)
    begun: list[TaskID] = []

    def started(total: int) -> None:
        bar.start()
        begun.append(bar.add_task(experiment.name, total=total))

    def advance(steps: int) -> None:
        bar.advance(begun[-1], steps)

    try:
        experiment.compute(options.scale, replace(execution, started=started, progress=advance))
    finally:
        if begun:  # stopping a bar that was never started prints an empty line
            bar.stop()


def _print(report: ExperimentReport, options: ExperimentOptions) -> None:
    if options.json:
        print_json(report.as_dict(options.command))
        return
    for number, table in enumerate(report.tables):
        if number:
            print()
        shown = new_table(table.header, table.rows, table.header[table.labels :])
        shown.title, shown.title_justify = table.title, "left"
        print_full_width(shown)
