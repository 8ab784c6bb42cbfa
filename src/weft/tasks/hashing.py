"""Which questions are held out: a hash of their content decides, so no list of them is stored.

A question is hashed to 64 bits: the sum of each token times an odd number that depends on its
position, mixed by splitmix64. Padding is 0 and adds nothing, so the hash does not depend on how far
a row is padded. A question is held out if its hash lies in the lowest share of all 64-bit numbers.
A second hash, of the first, decides which of the held-out questions are for validation.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from weft.tasks.arrays import Bools, Ints

Hashes = NDArray[np.uint64]


@cache
def _factors(width: int) -> Hashes:
    """An odd number per position; a prefix of the same infinite sequence for every width."""
    places = np.arange(1, width + 1, dtype=np.uint64)
    return _mixed(places * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)


def _mixed(hashes: Hashes) -> Hashes:
    """The finaliser of splitmix64 (Steele et al., 2014)."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


def hashed(questions: Ints) -> Hashes:
    """A hash of each row (b l) that does not depend on trailing zeros."""
    factors = _factors(questions.shape[1])
    sums = np.einsum("bl,l->b", questions.astype(np.uint64), factors)
    return _mixed(sums)


def rehashed(hashes: Hashes) -> Hashes:
    """A second hash of each row, from its first, but statistically independent of it."""
    return _mixed(hashes + np.uint64(0x9E3779B97F4A7C15))


def in_bucket(hashes: Hashes, share: float) -> Bools:
    """Whether each hash is in the lowest `share` of all 64-bit numbers."""
    return np.asarray((hashes >> np.uint64(11)).astype(np.float64) < share * 2.0**53)
