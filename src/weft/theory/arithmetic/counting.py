"""Exact accuracy of the truncated function, length by length.

A model that has learned an operation on the last n digits is right if that yields the result of all
digits. Write a = A base^n + a0 and b = B base^n + b0 with a0, b0 < base^n. Then it is right iff

    a + b                A = B = 0 (all high parts are 0, for any number of operands)
    a - b                A = B
    a b                  A = B = 0, or an operand is 0
    a b + c              C = 0, and A = B = 0 or a = 0 or b = 0
    a + b modulo p       p' divides A + B
    a b modulo p         p' divides A b + B a0

with p' = p / gcd(p, base^n). Given its digit count, an operand is uniform on an interval, so every
accuracy is a ratio of two integers, and the accuracy on a domain is a sum over its cells.
docs/arithmetic.md derives all of this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd, prod

from weft.tasks.arithmetic.domains import Counts, Kind, Sampler, cells_by_length, number_count
from weft.theory.arithmetic.products import ProductCounts, product_counts


@dataclass(frozen=True)
class Distribution:
    """How test questions of a length are drawn: a kind of domain, and for D a sampler.

    A length m is that of the longest operand. For `L`, the others have 1 to m digits, uniformly.
    """

    kind: Kind
    sampler: Sampler = "coin"

    @property
    def name(self) -> str:
        """Its name in tables: `D (coin)`, `D (uniform)`, `D~` or `L`."""
        return f"D ({self.sampler})" if self.kind == "D" else self.kind

    def cells(self, length: int, base: int, operands: int) -> Mapping[Counts, Fraction]:
        """The probability of each tuple of digit counts at a length."""
        return cells_by_length(self.kind, (length,), base, self.sampler, operands)


def reduced_modulus(modulus: int, base: int, digits: int) -> int:
    """p' = p / gcd(p, base^digits): what the high parts have to be a multiple of.

    Example:
        >>> [reduced_modulus(p, 10, 4) for p in (100, 101, 150, 16, 32)]
        [1, 101, 3, 1, 2]
    """
    return modulus // gcd(modulus, base**digits)


def high_part(count: int, base: int, digits: int) -> range:
    """What numbers of `count` digits have above their last `digits` digits.

    Example:
        >>> high_part(5, 10, 4), high_part(6, 10, 4), high_part(4, 10, 4)
        (range(1, 10), range(10, 100), range(0, 1))
    """
    if count <= digits:
        return range(1)
    return range(base ** (count - 1 - digits), base ** (count - digits))


def zero_sums(one: range, two: range, modulus: int) -> int:
    """How many pairs of these two intervals have a sum that is a multiple of `modulus`.

    Of each interval's residues, an interval modulo p holds one element more than the others. With
    q and s for quotient and remainder of its size, the number of pairs is

        p q1 q2 + q1 s2 + q2 s1 + t,    t = residues r such that r and -r hold an extra element

    Example:
        >>> zero_sums(range(1, 10), range(1, 10), 3)
        27
    """
    (q1, s1), (q2, s2) = divmod(_size(one), modulus), divmod(_size(two), modulus)
    # The extra residues of the second interval are first, ..., first + s2 - 1; these are negated.
    negated = -(two.start + s2 - 1) if s2 else 0
    both = _overlap(one.start, s1, negated, s2, modulus)
    return modulus * q1 * q2 + q1 * s2 + q2 * s1 + both


def _size(interval: range) -> int:
    """The size of an interval; `len` refuses large ones."""
    return max(0, interval.stop - interval.start)


def _overlap(first: int, size: int, second: int, other: int, modulus: int) -> int:
    """The size of the intersection of two intervals modulo a number, each at most as long as it."""
    start = (second - first) % modulus
    return max(0, min(size, start + other) - start) + max(0, min(size, start + other - modulus))


@dataclass(frozen=True)
class Truncation:
    """An operation on the last `digits` digits, in place of all.

    Attributes:
        operation: the operation's name: `addition`, `subtraction`, `multiplication`,
            `sum of three` or `multiply-add`.
        base: the base.
        digits: n, how many digits of every operand count.
        modulus: the modulus; 0 if results are not reduced.
    """

    operation: str
    base: int
    digits: int
    modulus: int = 0

    @property
    def operands(self) -> int:
        """The number of operands."""
        return 3 if self.operation in ("sum of three", "multiply-add") else 2

    @property
    def factor(self) -> int:
        """p' = p / gcd(p, base^n); 1 without a modulus."""
        return reduced_modulus(self.modulus, self.base, self.digits) if self.modulus else 1

    @property
    def products(self) -> ProductCounts:
        """Counts of residues for a product with a modulus."""
        return product_counts(self.factor, self.base**self.digits)

    @property
    def limit_is_exact(self) -> bool:
        """Whether the limit is exact: p' is not too large for counting residues of products."""
        return not self._multiplies_residues or self.products.limit_is_exact

    def is_exact(self, distribution: Distribution, length: int) -> bool:
        """Whether the share on test questions of a length is exact."""
        if not self._multiplies_residues or self.factor == 1:
            return True
        cells = distribution.cells(length, self.base, self.operands)
        high = (
            [high_part(count, self.base, self.digits) for count in counts]
            for counts in cells
            if min(counts) > self.digits
        )
        return all(self.products.is_exact(*each) for each in high)

    @property
    def _multiplies_residues(self) -> bool:
        return bool(self.modulus) and self.operation == "multiplication"

    def share_at(self, counts: Counts) -> Fraction:
        """How often it is right on operands of these digit counts, each uniform.

        Example:
            >>> Truncation("addition", 10, 4, modulus=150).share_at((9, 9))
            Fraction(1, 3)
            >>> Truncation("subtraction", 10, 4).share_at((5, 5))
            Fraction(1, 9)
        """
        return _share(self, counts)

    def share(self, distribution: Distribution, length: int) -> Fraction:
        """How often it is right on test questions of a length."""
        cells = distribution.cells(length, self.base, self.operands)
        return sum((share * self.share_at(counts) for counts, share in cells.items()), Fraction(0))

    @property
    def limit(self) -> Fraction:
        """What `share` tends to as the length grows, for all of the distributions."""
        if not self.modulus:
            return Fraction(0)
        if self.operation == "addition":
            return Fraction(1, self.factor)
        return self.products.limit

    def first_right(self, distribution: Distribution) -> int | None:
        """The first length above n at which it can be right; None if it never is."""
        longest = self.digits + 1
        if self.modulus:
            while self.base ** (longest - self.digits) <= self.factor:
                longest += 1  # from here on, some high part is a multiple of p'
        lengths = range(self.digits + 1, longest + 2)
        return next((m for m in lengths if self.share(distribution, m)), None)


@lru_cache(maxsize=65536)
def _share(truncation: Truncation, counts: Counts) -> Fraction:
    base, digits = truncation.base, truncation.digits
    if max(counts) <= digits:
        return Fraction(1)
    high = [high_part(count, base, digits) for count in counts]
    if truncation.modulus and truncation.operation == "addition":
        right = zero_sums(high[0], high[1], truncation.factor)
        return Fraction(right, prod(map(_size, high)))
    if truncation.modulus:
        return _product_share(truncation, counts)
    zero = 1 - prod((1 - _zero_share(count, base) for count in counts[:2]), start=Fraction(1))
    match truncation.operation:
        case "subtraction":
            return Fraction(1, _size(high[0])) if counts[0] == counts[1] else Fraction(0)
        case "multiplication":
            return zero
        case "multiply-add" if counts[2] <= digits:
            return Fraction(1) if max(counts[:2]) <= digits else zero
    return Fraction(0)


def _zero_share(count: int, base: int) -> Fraction:
    """How often a number of this many digits is 0."""
    return Fraction(1, base) if count == 1 else Fraction(0)


def _product_share(truncation: Truncation, counts: Counts) -> Fraction:
    """How often the truncated product is right modulo p, if an operand is longer than n digits."""
    base, digits, products = truncation.base, truncation.digits, truncation.products
    short, long = sorted(counts)
    if short > digits:
        return products.share(high_part(short, base, digits), high_part(long, base, digits))
    low = base ** (short - 1) if short > 1 else 0
    factors = range(low, low + number_count(short, base))
    return products.share_of_multiples(factors, high_part(long, base, digits))
