"""Shares with their sample size and a 95% interval, and means over seeds.

    share of n tests   Wilson's score interval (Wilson 1927, Probable inference, the law of
                       succession, and statistical inference): the p for which |k/n - p| is at most
                       z √(p (1 - p) / n). It stays within 0 and 1 and has a width at 0 of n and
                       n of n, where the normal approximation has none.
    mean of m seeds    Student's t interval, mean ± t(m - 1) s/√m, clipped to [0, 1], and widened
                       to Wilson's interval of the mean if that is wider

The first says how far a model's accuracy on all inputs of a split can be from that on the n tests
that were drawn. The second says how far a recipe's mean accuracy over all seeds can be from that of
m runs. They are not interchangeable: one run says nothing about other seeds, whatever its n. Seeds
share their tests, so the error of drawing these does not average out: where seeds agree, the t
interval vanishes and Wilson's remains.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.errors import WeftError

CONFIDENCE = 0.95
Z = 1.959963984540054
"""The 0.975 quantile of the standard normal distribution."""

MIN_TESTS = 100
"""With fewer tests than this, a share comes with a warning."""


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`, both between 0 and 1."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"[{percent(self.low)}–{percent(self.high)}]"


def percent(share: float) -> str:
    """A share in per cent with one decimal, without the sign."""
    return f"{100 * share:.1f}"


@dataclass(frozen=True)
class Share:
    """How many of how many are right, with a 95% Wilson interval.

    Example:
        >>> from weft.statistics import Share
        >>> print(Share(779, 1000))
        77.9% [75.2–80.4] of 1,000
        >>> print(Share(2, 2))
        100.0% [34.2–100.0] of 2
    """

    right: int
    count: int

    def __post_init__(self) -> None:
        if not 0 <= self.right <= self.count:
            raise WeftError(f"{self.right} of {self.count} is not a share")

    @property
    def share(self) -> float:
        """The right ones among all; not a number if there are none."""
        return self.right / self.count if self.count else math.nan

    @property
    def interval(self) -> Interval:
        """Wilson's score interval at 95%; of nothing, everything from 0 to 1."""
        return wilson(self.right, self.count)

    @property
    def few(self) -> bool:
        """Whether these are too few tests to say much."""
        return self.count < MIN_TESTS

    @property
    def short(self) -> str:
        """The share with its interval, if n stands elsewhere."""
        return f"{self.percent} {self.interval}" if self.count else "–"

    @property
    def percent(self) -> str:
        """The share in per cent, with decimals enough not to read as all or none if it is not.

        Example:
            >>> Share(4095, 4096).percent, Share(4096, 4096).percent
            ('99.98%', '100.0%')
        """
        decimals = 1
        while 0 < self.right < self.count:
            shown = f"{100 * self.share:.{decimals}f}"
            if float(shown) not in (0.0, 100.0):
                return f"{shown}%"
            decimals += 1
        return f"{percent(self.share)}%"

    def __str__(self) -> str:
        return f"{self.short} of {self.count:,}" if self.count else "– of 0"

    def as_dict(self) -> dict[str, Any]:
        """The share for JSON: `share`, `right`, `n`, and the interval as `low` and `high`."""
        result = self.interval
        return {
            "share": self.share if self.count else None,
            "right": self.right,
            "n": self.count,
            "low": result.low,
            "high": result.high,
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Share:
        """The share that `as_dict` wrote."""
        return Share(values["right"], values["n"])

    @staticmethod
    def of(right: Any) -> Share:
        """The share of an array or a list of truth values.

        Example:
            >>> Share.of([True, False, True])
            Share(right=2, count=3)
        """
        return Share(int(sum(map(bool, right))), len(right))

    @staticmethod
    def recovered(share: float, count: int) -> Share:
        """A share of which only the value and n were kept.

        Example:
            >>> Share.recovered(0.75, 16)
            Share(right=12, count=16)
        """
        right = round(share * count)
        if not math.isclose(right, share * count, abs_tol=1e-6 * max(1, count)):
            raise WeftError(f"{share} is not a share of {count} tests")
        return Share(right, count)


def wilson(right: float, count: int, z: float = Z) -> Interval:
    """Wilson's score interval for a share.

    Args:
        right: how many are right.
        count: of how many.
        z: quantile of the normal distribution, 1.96 for 95%.
    """
    if not count:
        return Interval(0.0, 1.0)
    share, square = right / count, z * z / count
    centre = (share + square / 2) / (1 + square)
    half = z * math.sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    low = 0.0 if right == 0 else max(0.0, centre - half)
    high = 1.0 if right == count else min(1.0, centre + half)
    return Interval(low, high)


@dataclass(frozen=True)
class Mean:
    """The mean of a share over seeds, with a 95% interval over seeds.

    Example:
        >>> from weft.statistics import Mean, Share
        >>> print(Mean((Share(60, 100), Share(64, 100), Share(68, 100))))
        64.0% [54.1–73.9] over 3 seeds, 100 each
    """

    shares: tuple[Share, ...]

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return sum(share.share for share in self.shares) / len(self.shares)

    @property
    def interval(self) -> Interval:
        """Student's t interval over seeds, at least as wide as Wilson's over the tests they share.

        Of one seed, from 0 to 1.
        """
        seeds = t_interval([share.share for share in self.shares])
        count = min(share.count for share in self.shares)
        tests = wilson(self.mean * count, count)
        return Interval(min(seeds.low, tests.low), max(seeds.high, tests.high))

    @property
    def short(self) -> str:
        """The mean with its interval, if seeds and n stand elsewhere."""
        return f"{percent(self.mean)}% {self.interval}"

    def as_dict(self) -> dict[str, Any]:
        """The mean for JSON: `mean`, `seeds`, and the interval over seeds as `low` and `high`."""
        result = self.interval
        return {
            "mean": self.mean,
            "seeds": len(self.shares),
            "low": result.low,
            "high": result.high,
        }

    def __str__(self) -> str:
        counts = list(dict.fromkeys(share.count for share in self.shares))
        each = " or ".join(f"{count:,}" for count in counts)
        return f"{self.short} over {len(self.shares)} seeds, {each} each"


def t_interval(values: Sequence[float]) -> Interval:
    """Student's t interval at 95% for the mean of some shares, clipped to [0, 1]."""
    count = len(values)
    if count < 2:
        return Interval(0.0, 1.0)
    mean = math.fsum(values) / count
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    half = t_quantile(count - 1) * math.sqrt(variance / count)
    return Interval(max(0.0, mean - half), min(1.0, mean + half))


def t_quantile(freedom: int, confidence: float = CONFIDENCE) -> float:
    """The t for which |T| is at most t with this probability, at some degrees of freedom.

    Example:
        >>> round(t_quantile(2), 3)
        4.303
    """
    low, high = 0.0, 1.0
    while t_probability(high, freedom) < confidence:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        if t_probability(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return high


def t_probability(t: float, freedom: int) -> float:
    """P(|T| <= t) of Student's t, by its finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    if freedom < 1:
        raise WeftError(f"there is no t distribution of {freedom} degrees of freedom")
    angle = math.atan(t / math.sqrt(freedom))
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for power in range(odd, freedom - 1, 2):
        if power > odd:
            term *= math.cos(angle) ** 2 * (power - 1) / power
        total += term
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total


def averaged(shares: Sequence[Share]) -> str:
    """One run's share with its interval over tests, or the mean of several over seeds."""
    if not shares:
        return ""
    return str(shares[0]) if len(shares) == 1 else str(Mean(tuple(shares)))


def warnings(named: Iterable[tuple[str, Share]]) -> list[str]:
    """A warning if some shares come from fewer than 100 tests, with their names.

    Example:
        >>> warnings([("train", Share(990, 1000)), ("longer", Share(2, 2))])
        ['warning: fewer than 100 tests of longer (2), so its interval is wide']
    """
    few: dict[str, set[int]] = {}
    for name, share in named:
        if share.few:
            few.setdefault(name, set()).add(share.count)
    if not few:
        return []
    listed = ", ".join(
        f"{name} ({', '.join(f'{count:,}' for count in sorted(counts))})"
        for name, counts in few.items()
    )
    wide = "its interval is wide" if len(few) == 1 else "their intervals are wide"
    return [f"warning: fewer than {MIN_TESTS} tests of {listed}, so {wide}"]
