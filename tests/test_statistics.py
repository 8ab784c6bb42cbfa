"""Intervals against independent oracles: the score equation, exact sums, published quantiles."""

from __future__ import annotations

import math
import random

import pytest

from weft.errors import WeftError
from weft.statistics import (  # fmt: skip
    MIN_TESTS,
    Interval,
    Mean,
    Share,
    averaged,
    t_interval,
    t_probability,
    t_quantile,
    warnings,
    wilson,
)


def score_bounds(right: int, count: int, z: float) -> tuple[float, float]:
    """The two p at which (right/count - p)² = z² p (1 - p) / count, by bisection."""
    share = right / count

    def excess(p: float) -> float:
        return (share - p) ** 2 - z * z * p * (1 - p) / count

    def root(inside: float, outside: float) -> float:
        if excess(outside) <= 0:
            return outside
        for _ in range(200):
            middle = (inside + outside) / 2
            if excess(middle) > 0:
                outside = middle
            else:
                inside = middle
        return inside

    return root(share, 0.0), root(share, 1.0)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 57, 100, 1000, 4096])
def test_wilson_solves_the_score_equation(count: int) -> None:
    rng = random.Random(count)
    for right in {0, count, *(rng.randint(0, count) for _ in range(20))}:
        found = wilson(right, count)
        low, high = score_bounds(right, count, 1.959963984540054)
        assert found.low == pytest.approx(low, abs=1e-9)
        assert found.high == pytest.approx(high, abs=1e-9)
        assert right / count in found


@pytest.mark.parametrize(
    ("right", "count", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, Two-sided confidence intervals, table I
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_published_values(right: int, count: int, low: float, high: float) -> None:
    found = wilson(right, count)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_wilson_covers_the_true_share_about_as_often_as_it_says() -> None:
    """Exactly: the probability, summed over all outcomes of 50 tests, that it is covered."""
    count, covered = 50, []
    for step in range(1, 100):
        p = step / 100
        covered.append(
            sum(
                math.comb(count, k) * p**k * (1 - p) ** (count - k)
                for k in range(count + 1)
                if p in wilson(k, count)
            )
        )
    assert sum(covered) / len(covered) == pytest.approx(0.95, abs=0.01)
    assert min(covered) > 0.85


def test_two_of_two_is_not_certainty() -> None:
    assert str(Share(2, 2)) == "100.0% [34.2–100.0] of 2"
    assert str(Share(0, 1000)) == "0.0% [0.0–0.4] of 1,000"
    assert Share(1000, 1000).interval.high == 1.0


def test_a_share_of_nothing_says_nothing() -> None:
    assert str(Share(0, 0)) == "– of 0"
    assert math.isnan(Share(0, 0).share)
    assert Share(0, 0).as_dict()["share"] is None
    assert Share(0, 0).interval == Interval(0.0, 1.0)
    with pytest.raises(WeftError, match="3 of 2 is not a share"):
        Share(3, 2)


def test_shares_go_to_json_and_back_and_are_recovered_from_their_value() -> None:
    share = Share(2838, 4096)
    assert Share.from_dict(share.as_dict()) == share
    assert share.as_dict()["n"] == 4096
    assert Share.recovered(0.69287109375, 4096) == share
    with pytest.raises(WeftError, match="is not a share of 7 tests"):
        Share.recovered(0.5, 7)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (6, 2.447), (7, 2.365),
     (8, 2.306), (9, 2.262), (10, 2.228), (20, 2.086), (30, 2.042), (60, 2.000), (120, 1.980)],
)  # fmt: skip
def test_t_quantiles_are_the_published_ones(freedom: int, quantile: float) -> None:
    """The 0.975 column of any table of Student's t, as in Fisher and Yates."""
    assert round(t_quantile(freedom), 3) == quantile


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 10])
def test_t_probabilities_are_the_integral_of_the_density(freedom: int) -> None:
    constant = math.gamma((freedom + 1) / 2) / (
        math.sqrt(freedom * math.pi) * math.gamma(freedom / 2)
    )
    t, steps = 2.5, 20_000
    width = 2 * t / steps
    integral = sum(
        constant * (1 + (-t + (i + 0.5) * width) ** 2 / freedom) ** (-(freedom + 1) / 2) * width
        for i in range(steps)
    )
    assert t_probability(t, freedom) == pytest.approx(integral, abs=1e-6)


def test_seeds_have_an_interval_over_seeds() -> None:
    """By hand: 0.6, 0.64, 0.68 have s = 0.04 and t(2) = 4.303, so ± 0.0994."""
    found = t_interval([0.6, 0.64, 0.68])
    assert found.low == pytest.approx(0.64 - 4.302653 * 0.04 / math.sqrt(3), abs=1e-6)
    assert found.high == pytest.approx(0.64 + 4.302653 * 0.04 / math.sqrt(3), abs=1e-6)
    assert t_interval([0.2, 0.9]) == Interval(0.0, 1.0)  # cut off
    assert t_interval([0.5]) == Interval(0.0, 1.0)  # one seed says nothing about others
    several = Mean((Share(60, 100), Share(64, 100), Share(136, 200)))
    assert str(several) == "64.0% [54.1–73.9] over 3 seeds, 100 or 200 each"
    alike = Mean((Share(90, 100), Share(90, 100)))  # nothing over seeds; the tests remain
    assert alike.interval.low == pytest.approx(Share(90, 100).interval.low)
    assert alike.interval.high == pytest.approx(Share(90, 100).interval.high)
    assert averaged([Share(60, 100)]) == "60.0% [50.2–69.1] of 100"
    assert averaged([]) == ""


def test_few_tests_give_a_warning_that_names_them() -> None:
    assert warnings([("train", Share(MIN_TESTS, MIN_TESTS))]) == []
    (line,) = warnings([("train", Share(99, 99)), ("longer", Share(2, 2)), ("longer", Share(3, 3))])
    assert line.startswith("warning: fewer than 100 tests of train (99), longer (2, 3)")
