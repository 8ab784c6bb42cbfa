"""The results of the arithmetic study as tables: predicted, measured, published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.statistics import Mean, Share, percent
from weft.studies.arithmetic.comparison import (
    MIN_TESTS,
    Cell,
    Compared,
    Tally,
    cells_of,
    fits_from,
    holds_from,
    tallies,
)
from weft.studies.arithmetic.records import FITTED, ArithmeticRun
from weft.studies.arithmetic.reference import LENGTHS, SOURCE
from weft.studies.experiment import Table

MISSING = "–"


def tables_of(rows: Sequence[Compared]) -> tuple[Table, ...]:
    """All tables of the report that have something to show."""
    counted = tallies(cells_of(rows))
    every = (
        accuracy_table(rows),
        tally_table(counted),
        miss_table(counted),
        checkpoint_table(rows),
        unfit_table(rows),
    )
    return tuple(table for table in every if table.rows)


def accuracy_table(rows: Sequence[Compared]) -> Table:
    """Per row a line each for what is predicted, measured and published, by number of digits."""
    header = ("row", "accuracy", "n", "train", *map(str, LENGTHS))
    return Table(
        title="Exact match (%) by number of digits",
        header=header,
        rows=tuple(line for each in rows for line in _lines(each)),
        labels=2,
    )


def _lines(each: Compared) -> Iterator[tuple[str, ...]]:
    predicted = [each.predicted(length).text for length in LENGTHS]
    yield (each.name, "predicted", "", "", *predicted)
    runs = each.row.complete
    if runs:
        measured = [_cell(each.shares(length)) for length in LENGTHS]
        trained = _cell([run.last.train for run in runs])
        yield ("", _measured(runs), _counts(each), trained, *measured)
        agreement = [
            _cell([run.truncated[length] for run in runs if length in run.truncated])
            for length in LENGTHS
        ]
        yield ("", "agreement with the truncated function", "", "", *agreement)
    else:
        statuses = sorted({run.status for run in each.row.runs})
        yield ("", ", ".join(statuses), "", "", *[""] * len(LENGTHS))
    if each.paper is not None:
        for name, values in (
            ("paper", each.paper.truth),
            ("paper, truncated function", each.paper.truncated),
        ):
            if values:
                shown = [f"{values[at]:g}" if at in values else MISSING for at in LENGTHS]
                yield ("", name, "", "", *shown)


def _measured(runs: Sequence[ArithmeticRun]) -> str:
    return "measured" if len(runs) == 1 else f"measured, {len(runs)} seeds"


def _cell(shares: Sequence[Share]) -> str:
    """One run's share with its interval over tests, or the mean of several over seeds."""
    if not shares:
        return MISSING
    if len(shares) > 1:
        mean = Mean(tuple(shares))
        return f"{percent(mean.mean)} {mean.interval}"
    return f"{shares[0].percent.removesuffix('%')} {shares[0].interval}"


def _counts(each: Compared) -> str:
    """How many tests a length has; several numbers if lengths differ."""
    counts = {share.count for length in LENGTHS for share in each.shares(length)}
    return " or ".join(f"{count:,}" for count in sorted(counts))


def tally_table(counted: Sequence[Tally]) -> Table:
    """How many predictions came true."""
    return Table(
        title="Predictions that came true",
        header=("cells (run and length)", "came true"),
        rows=tuple((tally.name, str(tally.share)) for tally in counted if tally.share.count),
        labels=1,
    )


def miss_table(counted: Sequence[Tally]) -> Table:
    """Every cell whose prediction did not come true."""
    misses: dict[tuple[str, int], Cell] = {
        (cell.run.run, cell.length): cell for tally in counted for cell in tally.misses
    }
    return Table(
        title="Predictions that did not come true",
        header=("row", "seed", "digits", "predicted", "measured", "in distribution", "why"),
        rows=tuple(
            (
                cell.row,
                str(cell.run.seed),
                str(cell.length),
                cell.predicted.text,
                str(cell.measured),
                cell.run.last.train.percent,
                reason(cell),
            )
            for cell in misses.values()
        ),
        labels=2,
    )


def reason(cell: Cell) -> str:
    """What the agreement with the truncated function says about a miss."""
    agreement = cell.run.truncated.get(cell.length)
    if agreement is None:
        return "agreement with the truncated function not measured"
    shown = f"agrees with the truncated function on {agreement.percent}"
    if agreement.share >= FITTED:
        return f"{shown}: the tests drawn differ from their distribution"
    if cell.trained:
        return f"{shown}: not learned at this length"
    return f"{shown}: computes something else"


def checkpoint_table(rows: Sequence[Compared]) -> Table:
    """When the predictions start to hold."""
    return Table(
        title="When the predictions start to hold",
        header=(
            "row",
            "seed",
            "steps",
            "checkpoints",
            "99% in distribution from step",
            "all predictions hold from step",
        ),
        rows=tuple(
            (
                each.name,
                str(run.seed),
                f"{run.last.step:,}",
                str(len(run.checkpoints)),
                _step(fits_from(run)),
                _step(holds_from(each, run)),
            )
            for each in rows
            for run in each.row.runs
            if run.checkpoints
        ),
        labels=1,
    )


def _step(step: int | None) -> str:
    return "never" if step is None else f"{step:,}"


def unfit_table(rows: Sequence[Compared]) -> Table:
    """The runs below 99% in distribution, of which the theory predicts nothing."""
    return Table(
        title="Runs below 99% in distribution",
        header=("row", "seed", "steps", "in distribution", "minutes"),
        rows=tuple(
            (
                each.name,
                str(run.seed),
                f"{run.last.step:,}",
                str(run.last.train),
                f"{run.seconds / 60:.1f}",
            )
            for each in rows
            for run in each.row.complete
            if not run.fits
        ),
        labels=1,
    )


def notes_of(rows: Sequence[Compared]) -> tuple[str, ...]:
    """What to know about the results."""
    remarks = [
        f"{each.name}: {each.paper.remark}."
        for each in rows
        if each.paper is not None and each.paper.remark
    ]
    distributions = sorted({each.prediction.distribution for each in rows})
    return (
        f"Tests are drawn from {' or '.join(distributions)}, as published: {SOURCE} test sums and "
        "products on D_i and residues on D̃_i. The paper does not say on which domain most of its "
        "modular models were trained; ours are trained on D_n.",
        "The agreement with the truncated function is the share of questions on which the model "
        "generates exactly the result of the operation on the last n digits of each operand, "
        "right or wrong.",
        "Every output counts, also one that is no number. The paper leaves out outputs that do not "
        "end, so its shares can be higher.",
        f"A prediction came true if, times the accuracy in distribution, it lies in the 95% "
        "interval of the measurement, or differs from the measured share by at most one minus "
        f"that accuracy. Only runs of at least {FITTED:.0%} in distribution and lengths with at "
        f"least {MIN_TESTS:,} tests count. Lengths of one run share the model, so cells are not "
        "independent.",
        "Where training does not exercise all digit and carry patterns, the prediction is a range; "
        "where nothing is derived for an encoding, it is unknown.",
        *remarks,
    )
