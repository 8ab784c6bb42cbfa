"""Which numbers a head that averages can give, and how the weights compute them.

Up to a longest input, finitely many means occur. The interpreter computes a mean in float64 and
reads it as the nearest bucket. The weights give each of n selected values the weight fl(1/n) and
add them up in some order, which moves the mean by at most (terms + 4) u times the mean of the
absolute values. So every bucket has an exact set of means, which the weights keep within bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import gcd

import numpy as np

from weft.compiler.proof.findings import Unproved
from weft.language.ranges import Number
from weft.proofs.rounding import Array, Precision

MAX_MEANS = 4_000_000
"""How many means are looked at before the verifier gives up."""


@dataclass(frozen=True)
class Means:
    """The buckets that a head can give.

    Attributes:
        codes: their codes.
        low: the least number that the weights can give for each.
        high: the greatest.
        examples: a mean that is read as each.
    """

    codes: Array
    low: Array
    high: Array
    examples: Array


def possible_means(
    name: str, values: tuple[float, ...], output: Number, count: int, precision: Precision
) -> Means:
    """The buckets that means of up to `count` of these values are read as.

    Args:
        name: the head, for messages.
        values: what it averages, in ascending order.
        output: the buckets of its output.
        count: how many positions it can select at most.
        precision: the number format of the weights.
    """
    buckets = len(output)
    low, high = np.full(buckets, np.inf), np.full(buckets, -np.inf)
    examples = np.zeros(buckets)
    borders = np.asarray(output.borders)
    largest = max(abs(value) for value in values)
    same_sign = min(values) >= 0 or max(values) <= 0
    seen = 0
    for number, means, terms in _means(values, count):
        seen += len(means)
        if seen > MAX_MEANS:
            raise Unproved(f"'{name}' has more than {MAX_MEANS:,} different means")
        absolute = np.abs(means) if same_sign else np.full(len(means), largest)
        if number == 1:
            slack = precision.roundoff * np.abs(means)  # the value itself, as it is stored
        else:
            slack = (terms + 4) * precision.roundoff * absolute * 1.01
        codes = np.searchsorted(borders, means, side="right")
        examples[codes] = means
        np.minimum.at(low, codes, means - slack)
        np.maximum.at(high, codes, means + slack)
    codes = np.flatnonzero(low <= high)
    return Means(codes, low[codes], high[codes], examples[codes])


def _means(values: tuple[float, ...], count: int) -> Iterator[tuple[int, Array, Array]]:
    """For each number of selected positions: the means as the interpreter has them, and terms.

    Terms are how many of the selected values are not zero.
    """
    if len(values) <= 2:
        yield from _means_of_two(values, count)
        return
    steps = _whole_steps(values)
    if steps is None:
        raise Unproved(
            f"means of {', '.join(f'{value:g}' for value in values[:4])}, ... round differently in "
            "different orders"
        )
    first, unit, places = steps
    sums = 1  # bit s is set if `count` values can add up to s units
    for number in range(1, count + 1):
        sums = reduce(lambda found, place: found | (sums << place), places, 0)
        reached = np.flatnonzero(_bits(sums)).astype(np.float64)
        # Multiples of a power of two, below 2^53 of it: the total is exact, the quotient rounds.
        totals = number * first + reached * unit
        yield number, totals / number, np.full(len(totals), number)


def _means_of_two(values: tuple[float, ...], count: int) -> Iterator[tuple[int, Array, Array]]:
    """One or two values: how often the second occurs says all, in the interpreter's own order."""
    one, other = values[0], values[-1]
    for number in range(1, count + 1):
        often = np.arange(number + 1) if len(values) == 2 else np.zeros(1)
        totals = (0.0 + (number - often) * one) + (often * other if len(values) == 2 else 0.0)
        terms = (number - often) * (one != 0) + often * (other != 0 and len(values) == 2)
        yield number, totals / number, terms


def _whole_steps(values: tuple[float, ...]) -> tuple[float, float, list[int]] | None:
    """Values as first + unit * places for a power of two; None if their sums would round."""
    fractions = [Fraction(value) for value in values]
    denominator = max(fraction.denominator for fraction in fractions)  # powers of two all
    whole = [int(fraction * denominator) for fraction in fractions]
    if denominator > 1 << 20 or max(map(abs, whole)) > 1 << 20:
        return None
    common = reduce(gcd, (number - whole[0] for number in whole[1:]), 0) or 1
    places = [(number - whole[0]) // common for number in whole]
    if max(places) > 1 << 16:
        return None
    return whole[0] / denominator, common / denominator, places


def _bits(number: int) -> Array:
    data = np.frombuffer(number.to_bytes((number.bit_length() + 7) // 8, "little"), np.uint8)
    return np.unpackbits(data, bitorder="little")
