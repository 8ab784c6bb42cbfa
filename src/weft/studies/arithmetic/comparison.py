"""Predictions beside measurements, by number of digits, and how often they came true.

The theory is about a model that is perfect in distribution. A real one is right on a share a of the
tests in distribution, so what is expected at a length is a times the prediction. A prediction came
true if that lies in the 95% interval of the measurement, or differs from the measured share by at
most 1 - a: a model that is perfect on short numbers and right on a in distribution does not count
as a miss. Only models with a of at least 99%, and lengths with at least 2,000 tests, count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.statistics import Share
from weft.studies.arithmetic.records import ArithmeticRun, Checkpoint, RowRuns, arithmetic_task
from weft.studies.arithmetic.reference import LENGTHS, PUBLISHED, Published
from weft.theory.arithmetic import AccuracyRange, ArithmeticPrediction, predict_arithmetic

MIN_TESTS = 2000
"""Lengths with fewer tests are shown and do not count."""
ROUNDING = 1e-12
"""Products of shares are not exact; an interval's end belongs to it."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One row of the study: its runs, the prediction and the paper's figures.

    Attributes:
        row: the runs.
        prediction: what is predicted.
        paper: the paper's figures; None if it does not report this row.
    """

    row: RowRuns
    prediction: ArithmeticPrediction
    paper: Published | None

    @property
    def name(self) -> str:
        """The row in words."""
        return ", ".join(label for label in self.row.labels if label not in UNNAMED)

    def predicted(self, length: int) -> AccuracyRange:
        """The prediction for a length."""
        return self.prediction.at(length)

    def shares(self, length: int) -> tuple[Share, ...]:
        """The accuracy of the finished runs at a length."""
        return tuple(
            run.last.exact[length] for run in self.row.complete if length in run.last.exact
        )


UNNAMED = ("–", "default", "no gap")
"""Labels that say that nothing is varied."""


def compared(rows: Iterable[RowRuns]) -> list[Compared]:
    """All rows with their predictions, which are computed here."""
    return [Compared(row=row, prediction=prediction_of(row), paper=paper_of(row)) for row in rows]


def prediction_of(row: RowRuns) -> ArithmeticPrediction:
    """The prediction for the runs of a row, from their config."""
    config = row.config
    model: Mapping[str, Any] = config["model"]
    return predict_arithmetic(
        arithmetic_task(config["task"], config["parameters"]),
        encoding=model["position"],
        random_offset=model.get("random_offset", 0),
        lengths=LENGTHS,
    )


def paper_of(row: RowRuns) -> Published | None:
    """The paper's figures for a row; None if it does not report it."""
    usual = row.labels[3:5] == ("absolute", "published") and row.labels[5:] == (
        "mini",
        "default",
        "no gap",
    )
    return PUBLISHED.get((row.labels[0], row.labels[1], row.labels[2])) if usual else None


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run at one length, with a prediction.

    Attributes:
        row: the row in words.
        modular: whether the task has a modulus.
        run: the run.
        length: the number of digits.
        accuracy: of the run in distribution, between 0 and 1.
        predicted: the prediction.
        measured: the accuracy at that length.
        trained: whether the length is in the training domain.
    """

    row: str
    modular: bool
    run: ArithmeticRun
    length: int
    accuracy: float
    predicted: AccuracyRange
    measured: Share
    trained: bool

    @property
    def holds(self) -> bool:
        """Whether the prediction came true."""
        expected, at_least = self.predicted.expected, self.predicted.at_least
        if expected is None or at_least is None:
            return False
        return agrees(float(at_least), float(expected), self.accuracy, self.measured)

    def __str__(self) -> str:
        return (
            f"{self.row}, seed {self.run.seed}, {self.length} digits: predicted "
            f"{self.predicted.text}%, measured {self.measured}, in distribution "
            f"{self.run.last.train.percent}"
        )


def agrees(low: float, high: float, accuracy: float, measured: Share) -> bool:
    """Whether a prediction between `low` and `high` agrees with a measurement.

    Args:
        low: the smallest predicted share.
        high: the largest.
        accuracy: of the model in distribution, by which predictions are multiplied.
        measured: the measured share.

    Example:
        >>> agrees(1 / 3, 1 / 3, 1.0, Share(660, 2000)), agrees(1 / 3, 1 / 3, 1.0, Share(0, 2000))
        (True, False)
    """
    low, high = low * accuracy, high * accuracy
    interval = measured.interval
    if low <= interval.high + ROUNDING and high >= interval.low - ROUNDING:
        return True
    distance = max(low - measured.share, measured.share - high)
    return distance <= 1 - accuracy + ROUNDING


def cells_of(rows: Sequence[Compared]) -> list[Cell]:
    """All cells that count: fitted runs, known predictions, enough tests."""
    return [
        cell
        for each in rows
        for run in each.row.complete
        if run.fits
        for cell in _cells(each, run, run.last)
    ]


def _cells(each: Compared, run: ArithmeticRun, at: Checkpoint) -> list[Cell]:
    return [
        Cell(
            row=each.name,
            modular=bool(each.prediction.modulus),
            run=run,
            length=length,
            accuracy=at.train.share,
            predicted=each.predicted(length),
            measured=share,
            trained=each.prediction.row(length).where == "trained",
        )
        for length, share in at.exact.items()
        if share.count >= MIN_TESTS and each.predicted(length).known
    ]


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How many predictions came true.

    Attributes:
        name: of which cells.
        share: how many of how many.
        misses: those that did not.
    """

    name: str
    share: Share
    misses: tuple[Cell, ...]


def tallies(cells: Sequence[Cell]) -> tuple[Tally, ...]:
    """How many predictions came true: with a modulus, without, and outside the training lengths.

    Predictions that are a range, where training does not exercise all patterns, are counted apart:
    a wide range says little.
    """
    certain = [cell for cell in cells if cell.predicted.certain]
    groups = {
        "with a modulus": [cell for cell in certain if cell.modular],
        "with a modulus, untrained lengths": [
            cell for cell in certain if cell.modular and not cell.trained
        ],
        "without a modulus": [cell for cell in certain if not cell.modular],
        "without a modulus, untrained lengths": [
            cell for cell in certain if not cell.modular and not cell.trained
        ],
        "ranges (patterns not exercised)": [cell for cell in cells if not cell.predicted.certain],
    }
    return tuple(
        Tally(
            name=name,
            share=Share.of([cell.holds for cell in some]),
            misses=tuple(cell for cell in some if not cell.holds),
        )
        for name, some in groups.items()
    )


def holds_from(each: Compared, run: ArithmeticRun) -> int | None:
    """The step of the first checkpoint from which on all predictions of a run hold; None if never.

    At every checkpoint, the run must be right on 99% of the tests in distribution.
    """
    from weft.studies.arithmetic.records import FITTED

    first: int | None = None
    for at in reversed(run.checkpoints):
        cells = _cells(each, run, at)
        if at.train.share < FITTED or not cells or not all(cell.holds for cell in cells):
            break
        first = at.step
    return first


def fits_from(run: ArithmeticRun) -> int | None:
    """The step of the first checkpoint with 99% in distribution; None if there is none."""
    from weft.studies.arithmetic.records import FITTED

    return next((at.step for at in run.checkpoints if at.train.share >= FITTED), None)
