"""Numbers as arrays of digits, least significant first, one number per row, of any length.

The letters of shapes: b numbers, l places. Places beyond a number's length hold 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.tasks.arrays import Bools, Ints, within


def random_digits(rng: np.random.Generator, lengths: Ints, width: int, base: int = 10) -> Ints:
    """Uniformly random numbers of given lengths (b), without leading zeros."""
    digits = np.where(within(lengths, width), rng.integers(0, base, (len(lengths), width)), 0)
    rows = np.arange(len(lengths))
    digits[rows, lengths - 1] = rng.integers(np.where(lengths > 1, 1, 0), base)
    return digits


def random_digits_among(
    rng: np.random.Generator, lengths: Ints, width: int, allowed: tuple[int, ...]
) -> Ints:
    """Random numbers of given lengths (b) whose digits are all among the allowed ones.

    The leading digit of a number of several digits is drawn among those that are not 0.
    """
    values = np.array(allowed, dtype=np.int64)
    leading = values[values > 0]
    shape = (len(lengths), width)
    digits = np.where(within(lengths, width), values[rng.integers(0, len(values), shape)], 0)
    first = leading[rng.integers(0, len(leading), len(lengths))]
    rows = np.arange(len(lengths))
    digits[rows, lengths - 1] = np.where(lengths > 1, first, digits[rows, lengths - 1])
    return digits


def digit_lengths(digits: Ints) -> Ints:
    """The number of digits of each number (b) without leading zeros, at least 1."""
    lengths = np.ones(len(digits), dtype=np.int64)
    for place in range(1, digits.shape[1]):
        lengths[digits[:, place] != 0] = place + 1
    return lengths


def carried(columns: Ints, base: int, width: int) -> tuple[Ints, Ints]:
    """The digits of numbers given as sums per place, and the carry out of each place (b width).

    A borrow is a carry of -1.
    """
    digits = np.zeros((len(columns), width), dtype=np.int64)
    carries = np.zeros((len(columns), width), dtype=np.int64)
    carry = np.zeros(len(columns), dtype=np.int64)
    for place in range(width):
        raw = columns[:, place] + carry if place < columns.shape[1] else carry
        carry = raw // base
        digits[:, place] = raw - base * carry
        carries[:, place] = carry
    return digits, carries


def added(a: Ints, b: Ints, base: int = 10) -> tuple[Ints, Bools]:
    """The digits of sums, one more than the numbers have, and which digits carry."""
    width = a.shape[1]
    total, carries = carried(a + b, base, width + 1)
    return total, carries[:, :width] > 0


def convolved(a: Ints, b: Ints) -> Ints:
    """The sums per place of products: at place k, the sum of a_i b_j with i + j = k."""
    columns = np.zeros((len(a), a.shape[1] + b.shape[1] - 1), dtype=np.int64)
    for place in range(a.shape[1]):
        columns[:, place : place + b.shape[1]] += a[:, place, None] * b
    return columns


def residues(digits: Ints, base: int, modulus: int) -> Ints:
    """Each number modulo another (b)."""
    powers = np.array([pow(base, place, modulus) for place in range(digits.shape[1])])
    return np.asarray((digits * powers % modulus).sum(axis=1) % modulus)


def digits_of(numbers: Ints, base: int, width: int) -> Ints:
    """The digits of numbers (b) below base^width."""
    digits = np.zeros((len(numbers), width), dtype=np.int64)
    rest = numbers
    for place in range(width):
        digits[:, place] = rest % base
        rest = rest // base
    return digits


def digits_of_integers(numbers: Sequence[int], base: int, width: int) -> Ints:
    """The digits of Python integers (b) of any size below base^width."""
    digits = np.zeros((len(numbers), width), dtype=np.int64)
    for row, number in enumerate(numbers):
        for place in range(width):
            number, digits[row, place] = divmod(number, base)
    return digits


def truncated(digits: Ints, count: int) -> Ints:
    """Each number modulo base^count: digits at higher places are 0."""
    return np.where(np.arange(digits.shape[1]) < count, digits, 0)


def integers(digits: Ints, base: int) -> list[int]:
    """Each number as a Python integer, of any size."""
    total = np.zeros(len(digits), dtype=object)
    for place in reversed(range(digits.shape[1])):
        total = total * base + digits[:, place].astype(object)
    return [int(number) for number in total]


def chain(carries: Bools) -> Ints:
    """The longest run of carries in each row."""
    run = np.zeros(len(carries), dtype=np.int64)
    longest = run
    for place in range(carries.shape[1]):
        run = (run + 1) * carries[:, place]
        longest = np.maximum(longest, run)
    return longest
