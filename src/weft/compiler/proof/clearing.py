"""That the feed-forward subtracts from a dimension what stands there, to the last bit.

Units that clear a number scale it by powers of two, which rounds nothing, and never reach the
bounds of the activation. Positive and negative numbers are looked at in turn: on each side exactly
one chain of units may be on, and it must lead back with the factor -1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.proofs.rounding import Array, is_power_of_two

SMALLEST_GAIN = 2.0**-60
"""Means are multiples of at least 2^-50: scaled by this, they are still far from underflow."""


def is_cleared(
    weights: Sequence[Array], biases: Sequence[Array], dimension: int, span: tuple[float, float]
) -> bool:
    """Whether a feed-forward adds exactly -x to a dimension that holds x, for every x of a span.

    Args:
        weights: of every layer, the last one included.
        biases: of every layer.
        dimension: where the number lies.
        span: its least and greatest value, rounding included.
    """
    low, high = span if any(span) else (0.0, 1.0)  # what always holds 0 is not written either
    ends = [(-1, max(0.0, -low)), (1, max(0.0, high))]
    return all(most == 0 or _factor(weights, biases, dimension, s, most) == -1 for s, most in ends)


def _factor(
    weights: Sequence[Array], biases: Sequence[Array], dimension: int, sign: int, most: float
) -> float | None:
    """By what a number of one sign, up to `most`, is multiplied on its way; None if not exactly."""
    needed = [np.asarray([dimension])]
    for weight in reversed(weights[1:]):
        needed.append(np.flatnonzero((weight[needed[-1]] != 0).any(0)))
    needed.reverse()
    if len(weights) > 1:
        others = np.arange(weights[0].shape[1]) != dimension
        if weights[0][np.ix_(needed[0], others)].any():
            return None  # it depends on something else
    on = {dimension: float(sign)}  # units that are on, and by what they multiply |x|
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        last = layer == len(weights) - 1
        result: dict[int, float] = {}
        for unit in needed[layer].tolist():
            gain = _gain(weight[unit], float(bias[unit]), on, most)
            if gain is None or (not last and gain * most > 1):
                return None
            if gain > 0 or (last and gain):
                result[unit] = gain
        on = result
    return on.get(dimension, 0.0) * sign


def _gain(row: Array, bias: float, on: dict[int, float], most: float) -> float | None:
    """The factor of one unit; 0 if it stays off, None if it rounds or adds something."""
    inputs = [(float(row[unit]), factor) for unit, factor in on.items() if row[unit] != 0]
    highest = sum(max(0.0, weight * factor * most) for weight, factor in inputs) + bias
    if bias < 0 and highest <= 0:
        return 0.0
    if bias != 0 or len(inputs) > 1:
        return None
    if not inputs:
        return 0.0
    weight, factor = inputs[0]
    gain = weight * factor
    exact = is_power_of_two(weight) and SMALLEST_GAIN <= abs(gain) <= 1 / SMALLEST_GAIN
    return gain if exact else None
