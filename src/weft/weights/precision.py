"""Which numbers a number format can distinguish, and which a model must distinguish.

Attention is exact if the weights of everything that is not selected underflow to 0: e^-x is 0 in
float32 from about x = 104, in float64 from about 746. Means are not exact, but only finitely many
can occur up to a length: the ramp between two buckets lies between the nearest ones on each side.
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
    """A number format: its unit roundoff, and a margin at which softmax weights vanish.

    `largest` is a power of two below its largest number; 1 / largest is a normal number.
    """

    name: str
    roundoff: float
    margin: float
    largest: float


FORMATS = {
    "float32": Format("float32", 2.0**-24, 128.0, 2.0**126),
    "float64": Format("float64", 2.0**-53, 800.0, 2.0**1022),
    "bfloat16": Format("bfloat16", 2.0**-8, 128.0, 2.0**126),
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


def bucket_ramps(name: str, range_: Number, format_: Format) -> list[Ramp]:
    """The ramps of a number that is always exactly one of its buckets."""
    check_size(name, range_, format_)
    for low, high in pairwise(range_.buckets):
        if high - low <= 8 / format_.largest or high - low <= APART * format_.roundoff * max(
            abs(low), abs(high)
        ):
            raise _not_told_apart(name, low, high, format_)
    return [
        Ramp(low + (high - low) / 4, high - (high - low) / 4)
        for low, high in pairwise(range_.buckets)
    ]


def check_size(name: str, range_: Number, format_: Format) -> None:
    """Refuse buckets that a format cannot hold."""
    for bucket in range_.buckets:
        if abs(bucket) > format_.largest:
            raise WeftError(
                f"{format_.name} cannot hold the bucket {_shown(bucket)} of '{name}'",
                remedy=f"Use smaller numbers{_wider(format_)}",
            )


APART = 16
"""How many roundoffs two buckets must be apart, so that a threshold between them is sure.

A threshold is w x + b with w = 2 / (high - low), at least 1/2 away from 0 and from 1 at a bucket.
Weight, bias, product and sum are rounded: at most 4 roundoffs of w x, which is 8 x / (high - low).
"""


def mean_ramps(
    name: str, value: Number, output: Number, longest: int, format_: Format
) -> list[Ramp]:
    """The ramps of a head that averages `value` over up to `longest` positions."""
    check_size(name, value, format_)
    ramps = [_mean_ramp(value, border, longest, format_) for border in output.borders]
    for (low, high), border, ramp in zip(
        pairwise(output.buckets), output.borders, ramps, strict=True
    ):
        if ramp is None:
            raise _too_near(name, value, (low, high), border, longest, format_)
    return [ramp for ramp in ramps if ramp is not None]


def _too_near(
    name: str,
    value: Number,
    buckets: tuple[float, float],
    border: float,
    longest: int,
    format_: Format,
) -> WeftError:
    """A mean lies so near to a border that the format may put it on the other side."""
    for length in range(longest - 1, 0, -1):
        if _mean_ramp(value, border, length, format_) is not None:
            low, high = (_shown(bucket) for bucket in buckets)
            return WeftError(
                f"some mean of '{name}' over {longest} positions is too close to the border "
                f"between its buckets {low} and {high} for {format_.name}",
                remedy=f"Compile for at most {length} positions{_wider(format_)}",
            )
    return _not_told_apart(name, *buckets, format_)


def _not_told_apart(name: str, low: float, high: float, format_: Format) -> WeftError:
    return WeftError(
        f"{format_.name} cannot tell apart the buckets {_shown(low)} and {_shown(high)} of "
        f"'{name}'",
        remedy=f"Use buckets that are further apart{_wider(format_)}",
    )


def _shown(bucket: float) -> str:
    return repr(bucket).removesuffix(".0")


def _wider(format_: Format) -> str:
    """The formats with more digits, as the rest of a remedy."""
    wider = [name for name, other in FORMATS.items() if other.roundoff < format_.roundoff]
    return f", or use {' or '.join(wider)}" if wider else ""


def _mean_ramp(value: Number, border: float, longest: int, format_: Format) -> Ramp | None:
    """The widest ramp at a border that no mean of up to `longest` values falls into."""
    low, high = _sides(value, border, longest, format_)
    room = high - low
    enough = 8 * format_.roundoff * max(abs(low), abs(high))
    return Ramp(low + room / 4, high - room / 4) if room > enough else None


def _sides(value: Number, border: float, longest: int, format_: Format) -> tuple[float, float]:
    """The greatest mean below a border and the least above, as far as rounding can take them."""
    low, high = -math.inf, math.inf
    first, last = value.buckets[0], value.buckets[-1]
    cancels = max(-first, last) if first < 0 < last else 0.0  # sums that are larger than the mean
    for candidate, terms in _candidates(value, border, longest):
        slack = (terms + 6) * format_.roundoff * max(abs(candidate), cancels)
        if candidate < border:
            low = max(low, candidate + slack)
        else:
            high = min(high, candidate - slack)
    if low == -math.inf:  # the border lies beyond all means: the ramp lies right beyond them
        low = high - max(1.0, abs(high))
    if high == math.inf:
        high = low + max(1.0, abs(low))
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
    largest = (buckets[-1] - first) / grain
    place = (_rational(border) - first) / grain
    means = []
    for count in range(1, longest + 1):
        near = min(max(0, math.floor(place * count)), math.floor(largest * count))
        for numerator in (near - 1, near, near + 1):
            if 0 <= numerator <= largest * count:
                means.append(
                    (_as_computed(first, grain, numerator, count), min(numerator, count) + 1)
                )
    return means


def _as_computed(first: Fraction, grain: Fraction, numerator: int, count: int) -> float:
    if first == 0 and grain == 1 and numerator <= count:
        return (
            mean([0.0] * (count - numerator) + [1.0] * numerator)
            if count < 64
            else numerator / count
        )
    return float(first + grain * numerator / count)


def _rational(number: float) -> Fraction:
    """A simple fraction that rounds to this number, if there is one; otherwise its exact value."""
    simple = Fraction(number).limit_denominator(10**6)
    return simple if float(simple) == number else Fraction(number)


def _gcd(one: Fraction, other: Fraction) -> Fraction:
    while other:
        one, other = other, one % other
    return abs(one)
