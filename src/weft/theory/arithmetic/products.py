"""Products modulo p of truncated operands: counting residues, and the product over prime powers.

With a = A N + a0 and b = B N + b0, N = base^n, the truncated product a0 b0 is right modulo p iff

    p' divides A b + B a0    where    b = B N + b0    and    p' = p / gcd(p, N)

which depends on the residues modulo p' of A, B, a0 and b0 only. A and B are uniform on intervals,
a0 and b0 on [0, N). An interval holds every residue q times and s consecutive ones once more, so
the number of right quadruples is a sum over pairs of residues (A, B) of

    q^2 S11 + q (S1e + Se1) + See

with q and s those of [0, N), and x = a0, y = b0 in

    S11   solutions (x, y) of A y + B x + A B N = 0 modulo p':   p' gcd(A, B, p')
    S1e   those with y < s:   gcd(B, p') times the multiples of gcd(B, p') / gcd(A, B, p') below s
    Se1   those with x < s, by symmetry
    See   those with x, y < s: for each (A, B) points of a line modulo p', counted by a floor sum
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from weft.tasks.arrays import Ints

LARGEST_EXACT = 600
"""Residues of products are counted up to this p'."""
MOST_PAIRS = 400_000
"""Above that, high parts are enumerated if there are at most this many pairs of them. Beyond both,
shares are the product over prime powers."""


def prime_powers(number: int) -> dict[int, int]:
    """The prime factors of a number with their exponents.

    Example:
        >>> prime_powers(600)
        {2: 3, 3: 1, 5: 2}
    """
    powers: dict[int, int] = {}
    prime = 2
    while number > 1:
        if prime * prime > number:
            prime = number
        while number % prime == 0:
            powers[prime] = powers.get(prime, 0) + 1
            number //= prime
        prime += 1
    return powers


def prime_power_share(prime: int, exponent: int) -> Fraction:
    """How often x y = z w modulo q^k for independent uniform residues.

    A residue of valuation j < k is a product in (j + 1) (q^k - q^(k-1)) ways, 0 in q^k more than
    k (q^k - q^(k-1)).

    Example:
        >>> prime_power_share(3, 1)
        Fraction(11, 27)
    """
    power = prime**exponent
    units = power - power // prime
    total = (exponent * units + power) ** 2
    for valuation in range(exponent):
        residues = prime ** (exponent - valuation) - prime ** (exponent - valuation - 1)
        total += residues * ((valuation + 1) * units) ** 2
    return Fraction(total, power**4)


def product_over_primes(factor: int) -> Fraction:
    """The accuracy modulo p' if all residues were independent and uniform: an approximation.

    The low parts of operands are uniform on [0, base^n), so their residues are not.

    Example:
        >>> f"{float(product_over_primes(51)):.5f}"
        '0.02529'
    """
    share = Fraction(1)
    for prime, exponent in prime_powers(factor).items():
        share *= prime_power_share(prime, exponent)
    return share


@dataclass(frozen=True)
class ProductCounts:
    """Counts of residues modulo p' of products of operands whose low parts are below `low`.

    Attributes:
        factor: p'.
        low: N = base^n.
    """

    factor: int
    low: int

    @property
    def limit_is_exact(self) -> bool:
        """Whether residues are counted, rather than taken as independent and uniform."""
        return self.factor <= LARGEST_EXACT

    def is_exact(self, one: range, two: range) -> bool:
        """Whether a share is exact, for high parts in these intervals."""
        return self.limit_is_exact or _size(one) * _size(two) <= MOST_PAIRS

    @property
    def limit(self) -> Fraction:
        """The accuracy for long operands, whose high parts are uniform modulo p'."""
        if not self.limit_is_exact:
            return product_over_primes(self.factor)
        pairs = sum(scale * int(sums[-1, -1]) for scale, sums in self._terms)
        return Fraction(pairs, self.factor**2 * self.low**2)

    def share(self, one: range, two: range) -> Fraction:
        """How often a truncated product is right, for high parts in these intervals."""
        if not self.is_exact(one, two):
            return product_over_primes(self.factor)
        sizes = [_size(interval) for interval in (one, two)]
        if not self.limit_is_exact:
            a, b = (np.array(each, dtype=np.int64) % self.factor for each in (one, two))
            right = sum(scale * int(found.sum()) for scale, found in self._right(a, b))
            return Fraction(right, sizes[0] * sizes[1] * self.low**2)
        (q1, s1), (q2, s2) = (divmod(size, self.factor) for size in sizes)
        every = ((0, self.factor),)
        first, second = self._spans(one.start, s1), self._spans(two.start, s2)
        right = 0
        for scale, sums in self._terms:
            right += scale * (
                q1 * q2 * _block(sums, every, every)
                + q1 * _block(sums, every, second)
                + q2 * _block(sums, first, every)
                + _block(sums, first, second)
            )
        return Fraction(right, sizes[0] * sizes[1] * self.low**2)

    def share_of_multiples(self, low: range, high: range) -> Fraction:
        """How often p' divides x y, for x and y in these intervals: one operand is short."""
        divisors = sorted(_divisors(self.factor), reverse=True)
        exactly: dict[int, int] = {}
        right = 0
        for divisor in divisors:  # x with gcd(x, p') = divisor
            larger = (exactly[other] for other in exactly if other % divisor == 0)
            exactly[divisor] = _multiples(low, divisor) - sum(larger)
            right += exactly[divisor] * _multiples(high, self.factor // divisor)
        return Fraction(right, _size(low) * _size(high))

    def _spans(self, start: int, size: int) -> tuple[tuple[int, int], ...]:
        """An interval of residues as one or two intervals that do not wrap around."""
        first = start % self.factor
        wrapped = max(0, first + size - self.factor)
        return (first, first + size - wrapped), (0, wrapped)

    @cached_property
    def _terms(self) -> tuple[tuple[int, Ints], ...]:
        """The powers of q with cumulative sums over A and B of what they multiply."""
        residues = np.arange(self.factor, dtype=np.int64)
        return tuple(
            (scale, _cumulative(found)) for scale, found in self._right(residues, residues)
        )

    def _right(self, a: Ints, b: Ints) -> tuple[tuple[int, Ints], ...]:
        """For residues A and B, the powers of q with what they multiply: S11, S1e + Se1 and See."""
        p = self.factor
        quotient, extra = divmod(self.low, p)
        one, two = np.gcd(a, p)[:, None], np.gcd(b, p)[None, :]  # gcd(0, p) = p
        both = np.gcd(one, two)  # gcd(A, B, p)
        half = np.asarray(
            two * _ceil(extra * both, two) + one * _ceil(extra * both, one), dtype=np.int64
        )
        return (quotient**2, p * both), (quotient, half), (1, _solutions(p, extra, a, b))


@lru_cache(maxsize=32)
def product_counts(factor: int, low: int) -> ProductCounts:
    """The counts for p' and N, which are computed once."""
    return ProductCounts(factor, low)


def _solutions(p: int, s: int, high: Ints, other: Ints) -> Ints:
    """For each pair A, B, how many x, y < s < p solve A y + B x + A B s = 0 modulo p."""
    if s == 0:
        return np.zeros((len(high), len(other)), dtype=np.int64)
    a, b = high[:, None], other[None, :]
    g = np.gcd(a, p)
    # g divides A, so it has to divide B x: x = step k. What is left is y = slope k + offset mod m.
    step = g // np.gcd(g, b)
    modulus = p // g
    inverse = np.array([pow(int(x // h), -1, int(m)) for x, h, m in
                        zip(a[:, 0], g[:, 0], modulus[:, 0], strict=True)])[:, None]  # fmt: skip
    slope = -inverse * (b * step // g % modulus) % modulus
    offset = np.broadcast_to(-b * s % modulus, slope.shape)
    count = _ceil(np.full_like(slope, s), step)
    modulus = np.broadcast_to(modulus, slope.shape)
    rest = s % modulus  # y < s has s // m or s // m + 1 values of each residue modulo m
    below = (
        floor_sum(count, modulus, slope, offset)
        - floor_sum(count, modulus, slope, offset + modulus - rest)
        + count
    )
    return np.asarray(s // modulus * count + below)


def floor_sum(count: Ints, modulus: Ints, slope: Ints, offset: Ints) -> Ints:
    """The sum of (slope i + offset) // modulus over i < count, for arrays of natural numbers.

    Exchanging the axes of the lattice below the line turns slope / modulus into modulus / slope, as
    Euclid's algorithm does.

    Example:
        >>> one = lambda *numbers: floor_sum(*(np.array([n]) for n in numbers)).item()
        >>> one(10, 7, 3, 5) == sum((3 * i + 5) // 7 for i in range(10))
        True
    """
    shape = slope.shape
    n, m, a, b = (
        np.array(part, dtype=np.int64).ravel() for part in (count, modulus, slope, offset)
    )
    total = np.zeros(n.shape, dtype=np.int64)
    where = np.arange(len(n))
    while len(where):
        total[where] += n * (n - 1) // 2 * (a // m) + n * (b // m)
        a, b = a % m, b % m
        last = a * n + b
        more = last >= m
        where, n, m, a, last = where[more], last[more] // m[more], a[more], m[more], last[more]
        b = last % a
    return total.reshape(shape)


def _size(interval: range) -> int:
    """The size of an interval; `len` refuses large ones."""
    return max(0, interval.stop - interval.start)


def _ceil(numbers: Ints, by: Ints) -> Ints:
    return np.asarray(-(-numbers // by))


def _cumulative(table: Ints) -> Ints:
    """Sums of a table's upper left blocks, so that any block's sum takes four of them."""
    sums = np.zeros((table.shape[0] + 1, table.shape[1] + 1), dtype=np.int64)
    sums[1:, 1:] = table.cumsum(axis=0).cumsum(axis=1)
    return sums


def _block(
    sums: Ints, rows: tuple[tuple[int, int], ...], columns: tuple[tuple[int, int], ...]
) -> int:
    """The sum of a table over blocks of rows and columns."""
    return sum(
        int(sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left])
        for top, bottom in rows
        for left, right in columns
    )


def _multiples(interval: range, divisor: int) -> int:
    """How many numbers of an interval are multiples of a number."""
    return (interval.stop - 1) // divisor - (interval.start - 1) // divisor


def _divisors(number: int) -> list[int]:
    divisors = [1]
    for prime, exponent in prime_powers(number).items():
        divisors = [d * prime**power for d in divisors for power in range(exponent + 1)]
    return divisors
