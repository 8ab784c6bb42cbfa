"""`weft study` for studies of length generalisation, whose reports are made from records."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.deadline import deadline
from weft.cli.options import new_table, print_full_width, print_json
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.studies.length.records import StudyRecords
    from weft.studies.study import Study
    from weft.training.launch.sweep import Cell

Train = Callable[[list["Cell"]], object]
"""Trains some runs."""


@dataclass(frozen=True, kw_only=True)
class LengthOptions:
    """What is asked of a length study.

    Attributes:
        scale: the scale.
        runs: the folder of all runs.
        values: settings of all runs.
        command: the command that repeats the study.
        keep: train and count this many seeds that fit in distribution; 0 for all seeds.
        minutes: when to stop; None for never.
        report: whether nothing is trained.
        stored: files of records to report instead of runs.
        records: where the records are written.
        out: the folder of the report.
        json: whether results are printed as JSON.
    """

    scale: str
    runs: Path
    values: dict[str, str]
    command: str
    keep: int = 0
    minutes: float | None = None
    report: bool = False
    stored: tuple[Path, ...] = ()
    records: Path | None = None
    out: Path | None = None
    json: bool = False


def prepared(study: Study, *, sweep: bool, models: Path | None) -> Study:
    """The study with the paper's grid of models, or with the models chosen from its records."""
    from weft.studies.length.records import load_records
    from weft.studies.length.selection import SUFFIX, select, swept, with_models

    if sweep and models is not None:
        raise WeftError("--sweep makes the records that --models reads", remedy="Give one of them")
    if sweep:
        return swept(study)
    if models is None:
        return study
    found = load_records(models)
    if found.study != study.name + SUFFIX:
        raise WeftError(
            f"{models} has the records of {found.study}",
            remedy=f"Give the file that `weft study {study.name} --sweep --records FILE` wrote",
        )
    return with_models(study, select(found))


def run_length_study(study: Study, options: LengthOptions, train: Train) -> bool:
    """Train what is missing, print the table and write what is asked for.

    Returns:
        Whether all runs have ended well, or were not asked to.
    """
    from weft.training.callbacks import GOOD

    interrupted: KeyboardInterrupt | None = None
    if not options.report and not options.stored:
        try:
            with deadline(options.minutes) as over:
                _train_rounds(study, options, train)
        except KeyboardInterrupt as error:  # what is finished is reported all the same
            interrupted = None if over.is_set() else error
            if over.is_set():
                what = f"stopped after {options.minutes:g} minutes"
                print(f"{what}; the same command resumes the runs", file=sys.stderr)
    records = _records(study, options)
    if options.records is not None:
        records.save(options.records)
        print(f"wrote {options.records}", file=sys.stderr)
    _print(study, records, options)
    if options.out is not None:
        from weft.studies.length.report import write_length_report

        for path in write_length_report(study, records, options.out, options.keep):
            print(f"wrote {path}", file=sys.stderr)
    if interrupted is not None:
        raise interrupted
    if options.report or options.stored or options.minutes is not None:
        return True
    return all(seed.status in GOOD for row in records.rows for seed in row.seeds)


def _train_rounds(study: Study, options: LengthOptions, train: Train) -> None:
    """Train all runs, cheap models first; with `keep`, seeds until enough of them fit."""
    from weft.studies.length.selection import next_round

    if not options.keep:
        train(sorted((cell for _, cell in study.cells(options.scale, options.values)), key=_cost))
        return
    tried: set[str] = set()
    while cells := next_round(
        study, options.scale, options.runs, options.keep, options.values, tried
    ):
        tried |= {cell.config.hash for cell in cells}
        train(sorted(cells, key=_cost))


def _cost(cell: Cell) -> tuple[int, int]:
    """By which runs are sorted, so that cheap models are trained first."""
    model = cell.config.model
    return model.get("layers", 1) * model.get("width", 64) ** 2, cell.config.seed


def _records(study: Study, options: LengthOptions) -> StudyRecords:
    from weft.studies.length.records import collect_records, load_records, merged

    if not options.stored:
        return collect_records(study, options.scale, options.runs, options.command, options.values)
    found = merged(load_records(path) for path in options.stored)
    if found.study != study.name:
        raise WeftError(
            f"the files have the records of {found.study}, not of {study.name}",
            remedy=f"Run weft study {found.study.removesuffix('-sweep')}"
            + (" --sweep" if found.study.endswith("-sweep") else ""),
        )
    return found


def _print(study: Study, records: StudyRecords, options: LengthOptions) -> None:
    from weft.studies.length.report import failures, length_rows, length_table, length_warnings
    from weft.studies.length.selection import SUFFIX, select

    rows = length_rows(study, records, options.keep)
    chosen = select(records) if study.name.endswith(SUFFIX) else {}
    if options.json:
        named = {" ".join(labels): str(model) for labels, model in chosen.items()}
        plain = [each.as_dict() for each in rows]
        print_json({"study": study.name, "scale": records.scale, "rows": plain, "models": named})
        return
    header, cells = length_table(study, rows)
    shown = new_table(header, cells, header[len(study.header) :])
    shown.title, shown.title_justify = study.title, "left"
    print_full_width(shown)
    for line in (*length_warnings(study, rows), *failures(rows), *_choices(chosen)):
        print(line)


def _choices(chosen: Mapping[tuple[str, ...], object]) -> Sequence[str]:
    """A line for every model that the paper's rule chooses."""
    return [f"chosen for {', '.join(labels)}: {model}" for labels, model in chosen.items()]


def print_scores(records: Sequence[StudyRecords], out: Path | None, json: bool) -> None:
    """Print how often the answers of each predictor came true; write the page if asked to."""
    from weft.studies.length.scores import tallies
    from weft.studies.length.scores_report import (
        HEADER,
        outcomes_of,
        score_rows,
        scores_as_dict,
        write_scores,
    )

    outcomes = outcomes_of(records)
    if json:
        print_json(scores_as_dict(outcomes))
    else:
        shown = new_table(HEADER, score_rows(tallies(outcomes)), HEADER[1:])
        shown.title, shown.title_justify = f"{len(outcomes)} rows of results", "left"
        print_full_width(shown)
    for path in write_scores(outcomes, records, out) if out is not None else []:
        print(f"wrote {path}", file=sys.stderr)
