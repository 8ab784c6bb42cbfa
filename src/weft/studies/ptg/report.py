"""The results of the study of program traces as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from weft.ptg.first_errors import CATEGORIES
from weft.statistics import Mean, Share, percent
from weft.studies.experiment import Table
from weft.studies.ptg.analysis import SplitAnalysis, total_errors
from weft.studies.ptg.hazards import merged, rate_text
from weft.studies.ptg.records import FITTED, TraceRecords, TraceRow, TraceRun
from weft.studies.ptg.reference import ORDERINGS, PUBLISHED, SOURCE, rank_agreement
from weft.studies.ptg.rows import MAIN, SPLITS
from weft.tasks.task import TRAIN

MISSING = "–"
BASELINE = "NoPE"
SAME_PROGRAM = "same-program"
CONTROLS = (
    ("longer-traces-1", "more-loops", "longer traces, with trip counts in range"),
    ("longer-traces-1", "matched-length", "documents as long, with traces in range"),
    ("longer-lists", "longer-lists-matched", "longer lists, in documents of usual length"),
)
"""A split, its control, and what the control changes."""


def introduction(description: str, records: TraceRecords) -> tuple[str, ...]:
    """The paragraphs before the tables."""
    seeds = sorted({run.seed for row in records.rows for run in row.runs})
    listed = ", ".join(map(str, seeds)) or "none so far"
    return (
        f"{SOURCE}, beside our runs at the scale `{records.scale}`: {description}. Seeds: "
        f"{listed}.",
        "A trace counts as right if every token of it is. In square brackets is the 95% Wilson "
        "interval over the n tests of a split or, of several seeds, the 95% t interval over seeds. "
        f"Figures of rows below {FITTED:.0%} in distribution do not count and stand in "
        "parentheses.",
    )


def tables_of(records: TraceRecords) -> tuple[Table, ...]:
    """All tables of the report that have something to show."""
    every = (
        accuracy_table(records, main=True),
        accuracy_table(records, main=False),
        paper_table(records),
        control_table(records),
        hazard_table(records),
        before_error_table(records),
        error_table(records),
        statement_table(records),
        program_table(records),
        heads_table(records),
        speed_table(records),
    )
    return tuple(table for table in every if table.rows)


def name_of(row: TraceRow) -> str:
    """A row in a few words."""
    mechanism, variation = row.labels
    return mechanism if variation == MAIN else f"{mechanism}, {variation}"


def accuracy_table(records: TraceRecords, *, main: bool) -> Table:
    """The share of right traces by row and split."""
    rows = [row for row in records.rows if (row.labels[1] == MAIN) == main]
    header = ("row", "seeds", "n", *SPLITS.values())
    return Table(
        title="Right traces (%) by split" + ("" if main else ": variations"),
        header=header,
        rows=tuple(
            (
                name_of(row),
                str(len(row.complete)) if row.complete else _statuses(row),
                _counts(row),
                *(cell(row, split) for split in SPLITS),
            )
            for row in rows
        ),
        labels=1,
    )


def cell(row: TraceRow, split: str) -> str:
    """A row's accuracy on a split, in parentheses if it does not count."""
    shares = row.shares(split)
    if not shares:
        return MISSING
    text = averaged(shares)
    return text if split == TRAIN or len(row.fitted) == len(row.complete) else f"({text})"


def averaged(shares: Sequence[Share]) -> str:
    """One run's share with its interval over tests, or the mean of several over seeds."""
    if len(shares) == 1:
        return f"{shares[0].percent.removesuffix('%')} {shares[0].interval}"
    mean = Mean(tuple(shares))
    return f"{percent(mean.mean)} {mean.interval}"


def _statuses(row: TraceRow) -> str:
    return ", ".join(sorted({run.status for run in row.runs}))


def _counts(row: TraceRow) -> str:
    """How many tests a split has; several numbers if splits differ."""
    counts = {share.count for split in SPLITS for share in row.shares(split)}
    return " or ".join(f"{count:,}" for count in sorted(counts))


def main_row(records: TraceRecords, mechanism: str) -> TraceRow | None:
    """The main row of a mechanism, if it has runs that count."""
    for row in records.rows:
        if row.labels == (mechanism, MAIN) and row.fitted:
            return row
    return None


def accuracy_of(records: TraceRecords) -> Callable[[str, str], float | None]:
    """The mean accuracy of a mechanism's runs that count, by mechanism and split."""

    def accuracy(mechanism: str, split: str) -> float | None:
        row = main_row(records, mechanism)
        runs = [] if row is None else [run for run in row.fitted if split in run.last.right]
        return sum(run.last.right[split].share for run in runs) / len(runs) if runs else None

    return accuracy


def paper_table(records: TraceRecords) -> Table:
    """What the paper reports, beside ours, and how far the orderings agree."""
    lines: list[tuple[str, ...]] = []
    accuracy = accuracy_of(records)
    for mechanism, reported in PUBLISHED.items():
        for split, value in reported.items():
            ours = accuracy(mechanism, split)
            shown = MISSING if ours is None else percent(ours)
            lines.append((SPLITS[split], mechanism, f"{value:g}", shown))
    found = rank_agreement(accuracy)
    if found.tau is None:
        return Table(title="", header=(), rows=(), labels=0)
    summary = (
        f"Kendall's rank correlation with the paper's {len(ORDERINGS)} ordered pairs: "
        f"{found.tau:+.2f} ({found.same} the same way, {found.opposite} the other, {found.tied} "
        f"tied, {found.missing} not compared)"
    )
    return Table(
        title=f"{SOURCE} beside ours, right traces (%). {summary}",
        header=("split", "mechanism", "paper", "ours"),
        rows=tuple(sorted(lines, key=lambda line: list(SPLITS.values()).index(line[0]))),
        labels=2,
    )


def control_table(records: TraceRecords) -> Table:
    """Each factor beside its control: whether the factor or the document's length matters."""
    rows = []
    for row in records.rows:
        if not row.fitted or row.labels[1] != MAIN:
            continue
        for split, control, words in CONTROLS:
            if row.shares(split) and row.shares(control):
                there, here = cell(row, split), cell(row, control)
                rows.append((name_of(row), SPLITS[split], there, words, here))
    return Table(
        title="Controls: right traces (%) if a factor varies, and in its control",
        header=("row", "split", "right", "control", "right in the control"),
        rows=tuple(rows),
        labels=2,
    )


def analyses(row: TraceRow, *, fitted: bool = True) -> Iterator[tuple[TraceRun, SplitAnalysis]]:
    """What was measured of a row's runs, split by split."""
    for run in row.fitted if fitted else row.complete:
        if run.measured is not None:
            yield from ((run, analysis) for analysis in run.measured.splits.values())


def hazard_table(records: TraceRecords) -> Table:
    """First errors per 10,000 steps by split."""
    lines = []
    for row in records.rows:
        found: dict[str, list[SplitAnalysis]] = {}
        for _, analysis in analyses(row):
            found.setdefault(analysis.split, []).append(analysis)
        if not found:
            continue
        cells = []
        for split in SPLITS:
            if split not in found:
                cells.append(MISSING)
                continue
            total = merged([each.hazards for each in found[split]]).total
            low, high = total.interval.low * 1e4, total.interval.high * 1e4
            cells.append(f"{rate_text(total.share * 1e4)} [{rate_text(low)}–{rate_text(high)}]")
        lines.append((name_of(row), *cells))
    return Table(
        title="First errors per 10,000 steps that are reached without one, by split",
        header=("row", *SPLITS.values()),
        rows=tuple(lines),
        labels=1,
    )


def before_error_table(records: TraceRecords) -> Table:
    """How far wrong traces get."""
    lines = []
    for row in records.rows:
        for split in ("longer-traces-1", "longer-traces-2"):
            found = [each for _, each in analyses(row) if each.split == split]
            for analysis in found[:1]:
                if analysis.before_error:
                    low, middle, high = analysis.before_error
                    wrong = analysis.right.count - analysis.right.right
                    lines.append(
                        (
                            name_of(row),
                            SPLITS[split],
                            f"{wrong:,}",
                            f"{analysis.steps:.0f}",
                            f"{low:.0f}",
                            f"{middle:.0f}",
                            f"{high:.0f}",
                        )
                    )
    return Table(
        title="Right steps before the first error of wrong traces: 10, 50 and 90% quantiles",
        header=("row", "split", "wrong traces", "mean steps", "10%", "median", "90%"),
        rows=tuple(lines),
        labels=2,
    )


def error_table(records: TraceRecords) -> Table:
    """Categories of first errors, over all splits."""
    found = {
        name_of(row): total_errors([each for _, each in analyses(row)]) for row in records.rows
    }
    used = [
        category for category in CATEGORIES if any(category in errors for errors in found.values())
    ]
    return Table(
        title="First errors by category (%), over all splits",
        header=("row", "n", *used),
        rows=tuple(
            (
                name,
                f"{_total(errors):,}",
                *(_part(sum(errors.get(category, {}).values()), errors) for category in used),
            )
            for name, errors in found.items()
            if errors
        ),
        labels=1,
    )


def statement_table(records: TraceRecords) -> Table:
    """First errors by the kind of statement, over all splits."""
    found = {
        name_of(row): total_errors([each for _, each in analyses(row)]) for row in records.rows
    }
    counts: Counter[str] = Counter()
    for errors in found.values():
        for kinds in errors.values():
            counts.update(kinds)
    used = [kind for kind, _ in counts.most_common()]
    return Table(
        title="First errors by kind of statement (%), over all splits",
        header=("row", "n", *used),
        rows=tuple(
            (
                name,
                f"{_total(errors):,}",
                *(
                    _part(sum(kinds.get(kind, 0) for kinds in errors.values()), errors)
                    for kind in used
                ),
            )
            for name, errors in found.items()
            if errors
        ),
        labels=1,
    )


def _total(errors: dict[str, Counter[str]]) -> int:
    return sum(sum(kinds.values()) for kinds in errors.values())


def _part(count: int, errors: dict[str, Counter[str]]) -> str:
    return f"{100 * count / _total(errors):.0f}" if count else ""


def program_table(records: TraceRecords) -> Table:
    """The share of programs that are right on all their inputs."""
    lines = []
    for row in records.rows:
        for run, analysis in analyses(row):
            if analysis.split == SAME_PROGRAM and analysis.programs is not None:
                lines.append(
                    (
                        name_of(row),
                        str(run.seed),
                        f"{analysis.right.count:,}",
                        str(analysis.right),
                        str(analysis.programs),
                    )
                )
    return Table(
        title="One program on several inputs",
        header=("row", "seed", "tests", "right traces", "programs right on all inputs"),
        rows=tuple(lines),
        labels=2,
    )


def heads_table(records: TraceRecords) -> Table:
    """NaPE models without their ALiBi heads, and without their NoPE heads."""
    lines = []
    for row in records.rows:
        for run in row.fitted:
            if run.measured is None or not run.measured.without:
                continue
            variants = {"all heads": run.last.right, **run.measured.without}
            for name, shares in variants.items():
                cells = [shares[split].percent if split in shares else MISSING for split in SPLITS]
                lines.append((name_of(row), str(run.seed), name, *cells))
    return Table(
        title="Right traces (%) of NaPE models without some heads",
        header=("row", "seed", "evaluated", *SPLITS.values()),
        rows=tuple(lines),
        labels=3,
    )


def speed_table(records: TraceRecords) -> Table:
    """How fast rows train, and what they cost."""
    base = next(
        (
            run.tokens_per_second
            for row in records.rows
            if row.labels == (BASELINE, MAIN)
            for run in row.runs
            if run.tokens_per_second
        ),
        0.0,
    )
    lines = []
    for row in records.rows:
        for run in row.runs:
            if not run.tokens:
                continue
            comparable = base and row.labels[1] == MAIN
            shown = f"{run.tokens_per_second / base:.0%}" if comparable else ""
            lines.append(
                (
                    name_of(row),
                    str(run.seed),
                    run.status,
                    f"{run.parameters / 1e6:.1f}" if run.parameters else "",
                    f"{run.tokens / 1e6:,.1f}",
                    f"{run.tokens_per_second:,.0f}",
                    shown,
                    f"{run.seconds / 3600:.2f}",
                    "" if run.waiting is None else f"{run.waiting:.1%}",
                )
            )
    return Table(
        title="Speed",
        header=(
            "row",
            "seed",
            "status",
            "parameters (M)",
            "tokens (M)",
            "tokens per second",
            f"of {BASELINE}",
            "hours",
            "waiting for data",
        ),
        rows=tuple(lines),
        labels=3,
    )


def notes_of(records: TraceRecords) -> tuple[str, ...]:
    """What to know about the results."""
    notes = [
        "The paper's figures are those that its summaries give. Its splits have other sizes than "
        "ours, so orderings are compared, not values; an upper bound such as 'every other encoding "
        "stays below 40%' orders two mechanisms as well.",
        "A hazard is the share of first errors among the steps that are reached without an error. "
        "It falls on the program, not on the length of the trace: equal hazards and longer traces "
        "give fewer right traces.",
        "Categories of errors come from the first 100 wrong traces of each split; docs/ptg.md "
        "defines them. Tokens per second are medians without the first fifth of the records.",
    ]
    missing = [name_of(row) for row in records.rows if not row.complete]
    if missing:
        notes.append(f"Not finished: {'; '.join(missing)}.")
    unfit = [name_of(row) for row in records.rows if row.complete and not row.fitted]
    if unfit:
        notes.append(f"Below {FITTED:.0%} in distribution: {'; '.join(unfit)}.")
    if any("learned" in str(row.config) for row in records.rows):
        notes.append("Learned positions beyond the longest training document are untrained.")
    return tuple(notes)
