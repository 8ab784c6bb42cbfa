"""The results of a study as a page: the paper's figures beside ours, and how ours were made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from weft.statistics import Share, averaged, warnings
from weft.studies.figures import draw
from weft.studies.results import Line, Results
from weft.studies.study import Study


def table(study: Study, results: Results) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of the table, as text."""
    header = list(study.header)
    for column, name in study.columns.items():
        header.append(name)
        if any(column in row.paper for row in study.rows):
            header.append("paper")
    header += ["steps", "minutes"]
    return header, [_row(study, line) for line in results.lines]


def _row(study: Study, line: Line) -> list[str]:
    cells = list(line.labels)
    for column in study.columns:
        cells.append(_shares(line.accuracy.get(column, ()), line.statuses))
        if any(column in row.paper for row in study.rows):
            cells.append(f"{line.paper[column]:.0%}" if column in line.paper else "")
    steps = ", ".join(f"{step:,}" for step in line.steps)
    return [*cells, steps, f"{sum(line.seconds) / 60:.1f}"]


def _shares(shares: Sequence[Share], statuses: Sequence[str]) -> str:
    """The accuracy in a cell, of one run or the mean of several, with n and interval."""
    if not shares:
        return statuses[0] if statuses else ""
    return averaged(shares)


def warnings_of(study: Study, results: Results) -> list[str]:
    """Warnings about columns with few tests."""
    return warnings(
        (name, share)
        for line in results.lines
        for column, name in study.columns.items()
        for share in line.accuracy.get(column, ())
    )


def _intervals(results: Results) -> str:
    """A sentence about what the intervals are over."""
    if any(len(shares) > 1 for line in results.lines for shares in line.accuracy.values()):
        return (
            "Accuracy in %: the mean over seeds, in square brackets the 95% t interval over seeds, "
            "and how many tests each run had."
        )
    return (
        "Accuracy in %, in square brackets the 95% Wilson interval over the tests, and how many "
        "tests there were. There is one run per row, so the variation over seeds is unknown: rows "
        "whose intervals do not overlap differ as models, not necessarily as recipes."
    )


def markdown(study: Study, results: Results, pictures: Sequence[tuple[str, str]] = ()) -> str:
    """The page; `pictures` are files with their captions."""
    header, rows = table(study, results)
    scale = study.scale(results.scale)
    lines = [
        f"# {study.title}",
        "",
        f"{study.source}, beside our runs at the scale `{results.scale}`: {scale.description}; "
        f"{_seeds(scale.seeds)}.",
        "",
        _intervals(results),
        "",
        *markdown_table(header, rows),
        "",
        *(f"**{line}**\n" for line in warnings_of(study, results)),
        *(f"![{caption}]({file})\n" for file, caption in pictures),
        *(f"- {note}" for note in study.notes),
        "",
        "Made by:",
        "",
        f"    {results.command}",
        "",
        f"Commit {', '.join(results.commits) or 'unknown'}; {'; '.join(results.machines)}.",
    ]
    return "\n".join(lines) + "\n"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    lined = [f"| {' | '.join(cells)} |" for cells in (header, *rows)]
    return [lined[0], "|" + "---|" * len(header), *lined[1:]]


def _seeds(count: int) -> str:
    return "one seed, 0" if count == 1 else f"seeds 0 to {count - 1}"


def write_report(study: Study, results: Results, folder: Path) -> list[Path]:
    """Write page, values and figures into a folder; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{study.name}-{results.scale}"
    pictures = draw(study, results, folder, stem)
    page = folder / f"{stem}.md"
    page.write_text(
        markdown(study, results, [(path.name, caption) for path, caption in pictures]), "utf-8"
    )
    values = folder / f"{stem}.json"
    results.save(values)
    return [page, values, *(path for path, _ in pictures)]
