"""When a prediction came true, which cells count, and when predictions start to hold."""

from __future__ import annotations

import pytest
from arithmetic_records import TESTS, checkpoint, row_of, run_with, runs_of

from weft.statistics import Share
from weft.studies.arithmetic.comparison import (
    agrees,
    cells_of,
    compared,
    fits_from,
    holds_from,
    tallies,
)
from weft.studies.arithmetic.records import ArithmeticRun

MODULO_150 = row_of("modular addition", "150", "D3")
PERFECT = dict.fromkeys((1, 2, 3), 1.0) | dict.fromkeys(range(4, 10), 1 / 3)


def cells(*runs: ArithmeticRun, row: tuple[str, ...] = MODULO_150.labels) -> list[int]:
    """The lengths that count, per run; negative where the prediction did not come true."""
    found = cells_of(compared([runs_of(row_of(*row), runs)]))
    return [cell.length if cell.holds else -cell.length for cell in found]


@pytest.mark.parametrize(
    ("low", "high", "accuracy", "right", "expected"),
    [
        (1 / 3, 1 / 3, 1.0, 667, True),
        (1 / 3, 1 / 3, 1.0, 760, False),  # beyond the interval of 2,000 tests
        (1.0, 1.0, 0.995, 1990, True),
        (0.0, 0.0, 1.0, 0, True),
        (0.0, 0.0, 1.0, 20, False),
        (0.0, 0.0, 0.99, 15, True),  # closer than 1 - accuracy
        (0.45, 1.0, 1.0, 1400, True),  # within the range
        (0.45, 1.0, 1.0, 600, False),
    ],
)
def test_agreement_is_the_interval_or_the_missing_accuracy(
    low: float, high: float, accuracy: float, right: int, expected: bool
) -> None:
    assert agrees(low, high, accuracy, Share(right, TESTS)) is expected


def test_all_lengths_of_a_fitted_run_count() -> None:
    assert cells(run_with(checkpoint(PERFECT))) == list(range(1, 10))
    assert cells(run_with(checkpoint({**PERFECT, 5: 0.5}))) == [1, 2, 3, 4, -5, 6, 7, 8, 9]


def test_runs_below_99_per_cent_and_few_tests_do_not_count() -> None:
    assert cells(run_with(checkpoint(PERFECT, train=0.98))) == []
    assert cells(run_with(checkpoint(PERFECT, tests=1999))) == []
    assert cells(run_with(checkpoint(PERFECT), status="unfinished")) == []


def test_unknown_predictions_do_not_count() -> None:
    relative = row_of("modular addition", "150", "D3", "relative", "plain").labels
    assert cells(run_with(checkpoint(PERFECT)), row=relative) == [3]


def test_predictions_are_counted_by_kind() -> None:
    modular = runs_of(MODULO_150, [run_with(checkpoint({**PERFECT, 9: 0.9}))])
    tilde = row_of("addition", "–", "D~4")
    shares = {1: 1.0, 2: 1.0, 3: 0.726, 4: 1.0, 5: 0.0, 6: 0.0, 7: 0.0, 8: 0.0, 9: 0.0}
    sums = runs_of(tilde, [run_with(checkpoint(shares))])
    counted = {t.name: t.share for t in tallies(cells_of(compared([modular, sums])))}
    assert counted == {
        "with a modulus": Share(8, 9),
        "with a modulus, untrained lengths": Share(7, 8),
        "without a modulus": Share(7, 7),
        "without a modulus, untrained lengths": Share(7, 7),
        "ranges (patterns not exercised)": Share(2, 2),
    }


def test_predictions_hold_from_the_checkpoint_after_which_they_always_do() -> None:
    wrong = {**PERFECT, 6: 0.9}
    run = run_with(
        checkpoint(PERFECT, step=100),
        checkpoint(wrong, step=200),
        checkpoint(PERFECT, step=300),
        checkpoint(PERFECT, step=400),
    )
    each = compared([runs_of(MODULO_150, [run])])[0]
    assert (fits_from(run), holds_from(each, run)) == (100, 300)
    late = run_with(checkpoint(PERFECT, step=100), checkpoint(wrong, step=200))
    assert holds_from(each, late) is None
    early = run_with(checkpoint(PERFECT, step=100, train=0.5))
    assert (fits_from(early), holds_from(each, early)) == (None, None)
