"""Residues of products, against enumeration of quadruples and pairs."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from weft.theory.arithmetic import Truncation, products
from weft.theory.arithmetic.products import (
    ProductCounts,
    floor_sum,
    prime_power_share,
    prime_powers,
    product_over_primes,
)


def is_right(p: int, low: int, high: tuple[int, int], parts: tuple[int, int]) -> bool:
    """The criterion of the theory: p' divides A b + B a0."""
    (a, b), (a0, b0) = high, parts
    return (a * (b * low + b0) + b * a0) % p == 0


@settings(max_examples=60, deadline=None)
@given(
    p=st.integers(1, 24),
    low=st.integers(1, 12),
    starts=st.tuples(st.integers(0, 30), st.integers(0, 30)),
    sizes=st.tuples(st.integers(1, 12), st.integers(1, 12)),
)
@example(p=12, low=10, starts=(1, 10), sizes=(9, 12))
@example(p=7, low=3, starts=(6, 0), sizes=(12, 7))
def test_shares_of_intervals(
    p: int, low: int, starts: tuple[int, int], sizes: tuple[int, int]
) -> None:
    one, two = (range(a, a + size) for a, size in zip(starts, sizes, strict=True))
    right = sum(
        is_right(p, low, high, parts)
        for high in product(one, two)
        for parts in product(range(low), repeat=2)
    )
    share = ProductCounts(p, low).share(one, two)
    assert share == Fraction(right, len(one) * len(two) * low**2)


@settings(max_examples=30, deadline=None)
@given(p=st.integers(1, 14), low=st.integers(1, 20))
def test_the_limit_has_uniform_high_parts(p: int, low: int) -> None:
    right = sum(
        is_right(p, low, high, parts)
        for high in product(range(p), repeat=2)
        for parts in product(range(low), repeat=2)
    )
    assert ProductCounts(p, low).limit == Fraction(right, p**2 * low**2)


@given(
    p=st.integers(1, 200),
    low=st.tuples(st.integers(0, 300), st.integers(1, 60)),
    high=st.tuples(st.integers(0, 300), st.integers(1, 60)),
)
def test_multiples(p: int, low: tuple[int, int], high: tuple[int, int]) -> None:
    one, two = (range(start, start + size) for start, size in (low, high))
    right = sum(x * y % p == 0 for x in one for y in two)
    share = ProductCounts(p, 10).share_of_multiples(one, two)
    assert share == Fraction(right, len(one) * len(two))


@pytest.mark.parametrize(("prime", "exponent"), [(2, 1), (2, 3), (3, 1), (3, 2), (5, 1), (7, 1)])
def test_prime_powers_by_enumeration(prime: int, exponent: int) -> None:
    power = prime**exponent
    residues = Counter(x * y % power for x, y in product(range(power), repeat=2))
    assert prime_power_share(prime, exponent) == Fraction(
        sum(count**2 for count in residues.values()), power**4
    )


@pytest.mark.parametrize("prime", [2, 3, 5, 17, 67, 101])
def test_the_published_formula_for_a_prime(prime: int) -> None:
    expected = Fraction((2 * prime - 1) ** 2 + (prime - 1) ** 3, prime**4)
    assert prime_power_share(prime, 1) == expected


def test_published_limits() -> None:
    """True limits trained on 3 digits and the product over primes; last, p = 12 on one digit."""
    for factor, low, limit, approximation in (
        (51, 1000, 0.02533, 0.02529),
        (3, 1000, 0.4077, 0.4074),
        (201, 1000, 0.00618, 0.00617),
        (6, 10, 0.2722, 0.2546),
    ):
        places = 5 if limit < 0.1 else 4
        assert round(float(ProductCounts(factor, low).limit), places) == limit
        assert round(float(product_over_primes(factor)), places) == approximation


def test_an_under_trained_model_of_the_paper() -> None:
    """Measured 61.6 to 63.0% modulo 200, after training on 3 digits: as on the last two alone."""
    assert Truncation("multiplication", 10, 2, 200).limit == Fraction(5, 8)


def test_the_product_is_exact_if_low_parts_are_uniform() -> None:
    for factor in (3, 8, 12, 45):
        assert ProductCounts(factor, 5 * factor).limit == product_over_primes(factor)


def test_beyond_the_largest_modulus_pairs_are_enumerated_or_independent() -> None:
    p, low = 1009, 30
    large = ProductCounts(p, low)
    few, many = range(1, 60), range(10**4, 10**5)
    assert large.is_exact(few, few)
    right = sum(
        is_right(p, low, high, parts)
        for high in product(few, range(1, 8))
        for parts in product(range(low), repeat=2)
    )
    assert large.share(few, range(1, 8)) == Fraction(right, 59 * 7 * low**2)
    assert not large.is_exact(many, many)
    assert not large.limit_is_exact
    assert large.limit == large.share(many, many) == product_over_primes(p)


def test_both_ways_of_counting_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    for p, low in ((96, 100), (45, 10), (101, 1000), (7, 1000)):
        ranges = range(3, 70), range(100, 230)
        by_residues = ProductCounts(p, low).share(*ranges)
        monkeypatch.setattr(products, "LARGEST_EXACT", 1)
        assert ProductCounts(p, low).share(*ranges) == by_residues
        monkeypatch.undo()


@given(st.lists(st.tuples(*[st.integers(0, 60), st.integers(1, 50)] * 2), min_size=1, max_size=4))
def test_floor_sums(rows: list[tuple[int, int, int, int]]) -> None:
    count, modulus, slope, offset = (
        np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)
    )
    expected = [sum((a * i + b) // m for i in range(n)) for n, m, a, b in rows]
    assert floor_sum(count, modulus, slope, offset).tolist() == expected


@given(st.integers(1, 10**6))
def test_factors(number: int) -> None:
    powers = prime_powers(number)
    assert np.prod([prime**exponent for prime, exponent in powers.items()], initial=1) == number
    assert all(prime % d for prime in powers for d in range(2, min(prime, 1001)) if d * d <= prime)


def test_factors_of_a_large_prime() -> None:
    assert prime_powers(2**31 - 1) == {2**31 - 1: 1}
