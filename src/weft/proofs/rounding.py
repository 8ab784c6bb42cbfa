"""Floating point: what is computed exactly, and how far the rest can be off.

A sum of products is exact in any order if every product is a multiple of some 2^g and their
absolute values add up to at most 2^(g + p), where p is the format's precision: no partial sum then
has more than p significant bits. Otherwise n roundings move it by at most about n u times the sum
of absolute values, with u = 2^-p.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

NOTHING = 1 << 20
"""The grid exponent of zero, a multiple of everything."""


@dataclass(frozen=True)
class Precision:
    """A floating-point format as the verifier sees it.

    Attributes:
        bits: significant bits, p.
        vanishes: from which x on exp(-x) is exactly 0 in the format that softmax is computed in.
        softmax_bits: significant bits of scores and softmax weights before they are stored.
    """

    bits: int
    vanishes: float
    softmax_bits: int

    @property
    def roundoff(self) -> float:
        """The largest relative error of one rounding; bfloat16 sums may round more than once."""
        return float(2.0 ** -(self.bits - 1)) if self.bits == 8 else float(2.0**-self.bits)


PRECISIONS = {
    "float32": Precision(bits=24, vanishes=104.0, softmax_bits=24),
    "float64": Precision(bits=53, vanishes=746.0, softmax_bits=53),
    "bfloat16": Precision(bits=8, vanishes=104.0, softmax_bits=24),
}
"""Smallest subnormals are 2^-149 and 2^-1074: half of either is above exp(-104), exp(-746)."""

LONGEST = 1 << 20
"""Maximum length of a proof if the model has none: counts stay exact, and rounding errors small."""


SMALLEST = 2.0**-30
"""Weights are 0, or between this and its reciprocal."""

LARGEST = 2.0**100
"""Sums of absolute values stay below this: nothing overflows in float32."""


def grid(values: Array) -> Array:
    """The exponents g for which each value is an odd multiple of 2^g; `NOTHING` for 0."""
    mantissa, exponent = np.frexp(np.asarray(values, np.float64))
    whole = np.round(np.abs(mantissa) * 2.0**53).astype(np.int64)
    lowest = whole & -whole
    trailing = np.log2(np.maximum(lowest, 1).astype(np.float64)).astype(np.int64)
    return np.where(whole == 0, NOTHING, exponent.astype(np.int64) - 53 + trailing)


def is_exact_product(left: Array, right: Array, bits: int) -> bool:
    """Whether `left @ right` is exact with this precision, in any order."""
    lowest = int(grid(left).min(initial=NOTHING)) + int(grid(right).min(initial=NOTHING))
    largest = float((np.abs(left) @ np.abs(right)).max(initial=0.0))
    return largest == 0 or largest <= 2.0 ** (lowest + bits)


def is_power_of_two(value: float) -> bool:
    """Whether multiplication by a number changes the exponent and the sign alone."""
    return bool(np.frexp(abs(value))[0] == 0.5)
