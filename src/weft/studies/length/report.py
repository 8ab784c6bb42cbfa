"""The results of a length study as a table and a page.

Beside every accuracy stand what C-RASP predicts, how many seeds were tried and how many of them fit
in distribution, and what is published. Seeds that fail though they are predicted to succeed are
listed with what their heads do with positions.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from weft.statistics import Share, averaged, percent, warnings
from weft.studies.length.figures import draw_lengths
from weft.studies.length.records import IN_RANGE, RowRecords, SeedRecord, StudyRecords
from weft.studies.length.reference import FORMAL
from weft.studies.report import markdown_table
from weft.studies.study import Row, Study
from weft.tasks.task import TRAIN

RERUN = {each.language: each.rerun for each in FORMAL}
SUCCESS = 0.95
"""A seed generalises if it is right on this share of the tests of lengths 51 to 100."""
TESTED = "longer"
"""The split of those tests."""


@dataclass(frozen=True, kw_only=True)
class LengthRow:
    """A row of the table.

    Attributes:
        row: of the study.
        records: its runs.
        predicted: what C-RASP predicts: yes, no, unknown, or – outside the theory.
        counted: the runs whose accuracy is averaged.
        fitted: whether all of these fit in distribution.
    """

    row: Row
    records: RowRecords
    predicted: str
    counted: tuple[SeedRecord, ...]
    fitted: bool

    def shares(self, split: str) -> tuple[Share, ...]:
        """The accuracy of the counted runs on a split."""
        return tuple(seed.accuracy[split] for seed in self.counted if split in seed.accuracy)

    @property
    def rerun(self) -> str:
        """The accuracy of the re-run of 2026 in the three bins; empty if it has no such row."""
        asked = self.records.config["parameters"]
        bins = RERUN.get(asked.get("language", ""))
        learned = self.records.config["model"].get("position") == "learned"
        if bins is None or not learned or asked.get("target", "next") != "next":
            return ""
        return " / ".join(f"{value:g}" for value in bins) if not _penalised(self.records) else ""

    def as_dict(self) -> dict[str, Any]:
        """The row for JSON, without curves."""
        return {
            "labels": list(self.row.labels),
            "predicted": self.predicted,
            "tried": len(self.records.complete),
            "kept": len(self.records.kept),
            "seeds": [
                {
                    "seed": seed.seed,
                    "run": seed.run,
                    "status": seed.status,
                    "kept": seed.kept,
                    "accuracy": {name: share.as_dict() for name, share in seed.accuracy.items()},
                }
                for seed in self.records.seeds
            ],
            "paper": dict(self.row.paper),
        }


def _penalised(records: RowRecords) -> bool:
    return "penalty" in records.config


def predicted(records: RowRecords) -> str:
    """What C-RASP predicts of a row; `?` where the theory's parser is not installed."""
    from weft.studies.length.predictors import CRASP, predictions

    try:
        return predictions(records.config)[CRASP]
    except ModuleNotFoundError:  # results are also read where only what training needs is there
        return "?"


def length_rows(study: Study, records: StudyRecords, keep: int = 0) -> list[LengthRow]:
    """The rows of a study that have records.

    Args:
        study: the study.
        records: its runs.
        keep: count only the first so many seeds that fit in distribution, as the paper does; 0 for
            all that ended. If none fits, all are counted.
    """
    rows = []
    for row in study.rows:
        found = records.row(row.labels)
        if found is None:
            continue
        counted = found.kept[:keep] if keep and found.kept else found.complete
        rows.append(
            LengthRow(
                row=row,
                records=found,
                predicted=predicted(found),
                counted=counted,
                fitted=bool(counted) and all(seed.kept for seed in counted),
            )
        )
    return rows


def length_table(study: Study, rows: Sequence[LengthRow]) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of the table, as text."""
    has_paper = any(row.paper for row in study.rows)
    has_rerun = any(row.rerun for row in rows)
    header = [*study.header, "C-RASP", "fit"]
    for title in study.columns.values():
        header += [title, "paper"] if has_paper else [title]
    header += ["2026"] if has_rerun else []
    cells = []
    for each in rows:
        line = [*each.row.labels, each.predicted, _fit(each)]
        for split in study.columns:
            line.append(averaged(each.shares(split)) or _status(each))
            if has_paper:
                value = each.row.paper.get(split)
                line.append("" if value is None else f"{percent(value)}%")
        cells.append([*line, each.rerun] if has_rerun else line)
    return header, cells


def _fit(each: LengthRow) -> str:
    """How many of how many seeds fit in distribution, and how many of these are counted."""
    kept, tried = len(each.records.kept), len(each.records.complete)
    return f"{kept} of {tried}"


def _status(each: LengthRow) -> str:
    return each.records.seeds[0].status if each.records.seeds else ""


def failures(rows: Sequence[LengthRow]) -> Iterator[str]:
    """A line for every seed that fails though it is predicted to succeed."""
    from weft.studies.length.roles import missing, needs_of

    for each in rows:
        if each.predicted != "yes":
            continue
        name = ", ".join(each.row.labels)
        for seed in each.records.complete:
            share = seed.accuracy.get(TESTED)
            if share is None or (seed.kept and share.share >= SUCCESS):
                continue
            how = f"{share.short} on lengths beyond training"
            if not seed.kept:
                how = f"does not fit in distribution: {seed.accuracy[TRAIN].short} of the tests"
            line = f"{name}, seed {seed.seed}: {how}."
            if seed.heads:
                needs = needs_of(each.records.config)
                if needs:
                    lacking = missing(seed.heads, needs) or ["no head that it needs is missing"]
                    line += f" The program needs {needs}. {_sentence(lacking)}"
                line += f" {_sentence([str(head) for head in seed.heads])}"
            yield line


def _sentence(parts: Sequence[str]) -> str:
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def length_warnings(study: Study, rows: Sequence[LengthRow]) -> list[str]:
    """Warnings about columns with few tests."""
    return warnings(
        (title, share)
        for each in rows
        for split, title in study.columns.items()
        for share in each.shares(split)
    )


def length_page(
    study: Study,
    records: StudyRecords,
    rows: Sequence[LengthRow],
    keep: int = 0,
    pictures: Sequence[tuple[str, str]] = (),
) -> str:
    """The page; `pictures` are files with their captions."""
    header, cells = length_table(study, rows)
    failed = list(failures(rows))
    listed = (
        [
            "## Seeds that fail though predicted to succeed",
            "",
            f"A seed succeeds if it fits in distribution and is right on at least "
            f"{SUCCESS:.0%} of the tests of the next bin of lengths. For a model with absolute "
            "positions, the scores that positions alone give are matched, head by head, to "
            "uniform, j = i - d, and positions modulo m.",
            "",
            *(f"- {line}" for line in failed),
            "",
        ]
        if failed
        else []
    )
    scale = study.scale(records.scale)
    lines = [
        f"# {study.title}",
        "",
        f"{study.source}, beside our runs at the scale `{records.scale}`: {scale.description}."
        f"{_changed(records.command)}",
        "",
        _how_counted(rows, keep),
        "",
        *markdown_table(header, cells),
        "",
        *(f"**{line}**\n" for line in length_warnings(study, rows)),
        *(f"![{caption}]({file})\n" for file, caption in pictures),
        *(f"- {note}" for note in study.notes),
        "",
        *listed,
        "Made by:",
        "",
        *(f"    {command}" for command in records.command.splitlines()),
        "",
        f"Commit {', '.join(records.commits) or 'unknown'}; {'; '.join(records.machines)}.",
    ]
    return "\n".join(lines) + "\n"


def _changed(command: str) -> str:
    """A sentence about settings that a command changes."""
    words = shlex.split(command)
    changed = [value for option, value in pairwise(words) if option == "--set"]
    return f" Changed for all runs: {', '.join(changed)}." if changed else ""


def _how_counted(rows: Sequence[LengthRow], keep: int) -> str:
    """What the cells are."""
    which = (
        f"the first {keep} seeds that fit in distribution (all, if none does)"
        if keep
        else "all seeds that ended, whether they fit in distribution or not"
    )
    seeds = sorted({seed.seed for each in rows for seed in each.records.complete})
    return (
        f"Accuracy in %: the mean over {which}, in square brackets the 95% t interval over seeds "
        "(of a single seed, the Wilson interval over its tests), and how many tests each had. "
        "`C-RASP` is what it predicts; `fit` says how many of how many seeds fit in distribution: "
        f"100% of the validation set, if there is one, and at least {IN_RANGE:.0%} of the tests. "
        f"Seeds {_ranges(seeds)}."
    )


def _ranges(seeds: Sequence[int]) -> str:
    if seeds and list(seeds) == list(range(seeds[0], seeds[-1] + 1)) and len(seeds) > 1:
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds)) or "none so far"


def write_length_report(
    study: Study, records: StudyRecords, folder: Path, keep: int = 0
) -> list[Path]:
    """Write page, records and figure into a folder; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{study.name}-{records.scale}"
    rows = length_rows(study, records, keep)
    pictures = draw_lengths(study, rows, folder, stem)
    page = folder / f"{stem}.md"
    named = [(path.name, caption) for path, caption in pictures]
    page.write_text(length_page(study, records, rows, keep, named), "utf-8")
    values = folder / f"{stem}.json"
    records.save(values)
    return [page, values, *(path for path, _ in pictures)]
