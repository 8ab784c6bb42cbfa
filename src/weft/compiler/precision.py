"""What a number format can tell apart, and which numbers a model must tell apart.

Attention is exact when everything that is not selected underflows to nothing: e^-x is 0 in float32
from about x = 104, in float64 from about 746. Means are not exact; but only finitely many of them
can occur up to a length, so the ramp between two buckets is put between the nearest on both sides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise

from weft.errors import WeftError
from weft.interpreter.reference import mean
from weft.language.ranges import Number


@dataclass(frozen=True)
class Format:
    """A number format: its unit roundoff, and a margin at which softmax weights vanish."""

    name: str
    roundoff: float
    margin: float


FORMATS = {
    "float32": Format("float32", 2.0**-24, 128.0),
    "float64": Format("float64", 2.0**-53, 800.0),
    "bfloat16": Format("bfloat16", 2.0**-8, 128.0),
}


def format_of(dtype: str) -> Format:
    """The format with this name."""
    if dtype not in FORMATS:
        raise WeftError(
            f"there is no number format '{dtype}'", remedy=f"Choose one of {', '.join(FORMATS)}"
        )
    return FORMATS[dtype]


@dataclass(frozen=True)
class Ramp:
    """Between `low` and `high` a threshold rises from 0 to 1; nothing that occurs lies between."""

    low: float
    high: float


def bucket_ramps(range_: Number) -> list[Ramp]:
    """The ramps of a number that always is one of its buckets."""
    return [
        Ramp(low + (high - low) / 4, high - (high - low) / 4)
        for low, high in pairwise(range_.buckets)
    ]


def mean_ramps(
    name: str, value: Number, output: Number, longest: int, format_: Format
) -> list[Ramp]:
    """The ramps of a head that averages `value` over up to `longest` positions."""
    for length in range(longest, 0, -1):
        ramps = [_mean_ramp(value, border, length, format_) for border in output.borders]
        if all(ramp is not None for ramp in ramps):
            if length == longest:
                return [ramp for ramp in ramps if ramp is not None]
            raise WeftError(
                f"the means of '{name}' over {longest} positions are too close to the borders of "
                f"its buckets for {format_.name}",
                remedy=f"Compile for at most {length} positions, or use a wider number format",
            )
    raise WeftError(
        f"the buckets of '{name}' are too close together for {format_.name}",
        remedy="Use a wider number format, or buckets further apart",
    )


def attainable(
    value: Number, output: Number, longest: int, format_: Format
) -> list[tuple[float, float]]:
    """For each bucket, between which numbers a model's means lie that belong to it."""
    low, high = value.buckets[0], value.buckets[-1]
    sides = [_sides(value, border, longest, format_) for border in output.borders]
    slack = (longest + 6) * format_.roundoff * max(abs(low), abs(high))
    starts = [low - slack, *(side[1] for side in sides)]
    ends = [*(side[0] for side in sides), high + slack]
    return [(a, max(a, b)) for a, b in zip(starts, ends, strict=True)]


def _mean_ramp(value: Number, border: float, longest: int, format_: Format) -> Ramp | None:
    """The widest ramp at a border that no mean of up to `longest` values falls into."""
    low, high = _sides(value, border, longest, format_)
    room = high - low
    enough = 8 * format_.roundoff * abs(border)
    return Ramp(low + room / 4, high - room / 4) if room > enough else None


def _sides(value: Number, border: float, longest: int, format_: Format) -> tuple[float, float]:
    """The greatest mean below a border and the least above, as far as rounding can take them."""
    low, high = -math.inf, math.inf
    for candidate, terms in _candidates(value, border, longest):
        slack = (terms + 6) * format_.roundoff * max(abs(candidate), abs(border))
        if candidate < border:
            low = max(low, candidate + slack)
        else:
            high = min(high, candidate - slack)
    if low == -math.inf:
        low = high - 1.0
    if high == math.inf:
        high = low + 1.0
    return low, high


def _candidates(value: Number, border: float, longest: int) -> list[tuple[float, int]]:
    """The means next to a border, as the interpreter computes them, with how many values they need.

    With buckets v0 + g * k for whole k, every mean of n of them is v0 + g * m / n for a whole m.
    """
    buckets = [_rational(bucket) for bucket in value.buckets]
    first = buckets[0]
    if len(buckets) == 1:
        return [(float(first), longest)]
    grain = reduce(_gcd, (bucket - first for bucket in buckets[1:]))
    most = (buckets[-1] - first) / grain
    place = (_rational(border) - first) / grain
    found = []
    for count in range(1, longest + 1):
        near = math.floor(place * count)
        for whole in (near - 1, near, near + 1):
            if 0 <= whole <= most * count:
                found.append((_as_computed(first, grain, whole, count), min(whole, count) + 1))
    return found


def _as_computed(first: Fraction, grain: Fraction, whole: int, count: int) -> float:
    if first == 0 and grain == 1 and whole <= count:
        return mean([0.0] * (count - whole) + [1.0] * whole) if count < 64 else whole / count
    return float(first + grain * whole / count)


def _rational(number: float) -> Fraction:
    """A simple fraction that is this number in floating point, where there is one."""
    simple = Fraction(number).limit_denominator(10**6)
    return simple if float(simple) == number else Fraction(number)


def _gcd(one: Fraction, other: Fraction) -> Fraction:
    while other:
        one, other = other, one % other
    return abs(one)
