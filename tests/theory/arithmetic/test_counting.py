"""Shares of the truncated function: closed forms, enumeration, residues and published values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from weft.tasks.arithmetic.domains import Domain
from weft.theory.arithmetic.counting import (
    Distribution,
    Truncation,
    high_part,
    reduced_modulus,
    zero_sums,
)

EXACT: dict[str, Callable[..., int]] = {
    "addition": lambda a, b: a + b,
    "subtraction": lambda a, b: a - b,
    "multiplication": lambda a, b: a * b,
    "sum of three": lambda a, b, c: a + b + c,
    "multiply-add": lambda a, b, c: a * b + c,
}
MODULI = (50, 51, 100, 101, 150, 151, 200, 201)
EVERY = (Distribution("D~"), Distribution("D"), Distribution("D", "uniform"), Distribution("L"))
LONGEST = {2: 7, 3: 5, 4: 4, 5: 3, 6: 3, 7: 3, 10: 2}


def numbers(count: int, base: int) -> range:
    """The numbers of this many digits, by their definition."""
    return range(base ** (count - 1) if count > 1 else 0, base**count)


def is_right(truncation: Truncation, operands: tuple[int, ...]) -> bool:
    exact = EXACT[truncation.operation]
    cut = tuple(number % truncation.base**truncation.digits for number in operands)
    difference = exact(*operands) - exact(*cut)
    return difference % truncation.modulus == 0 if truncation.modulus else difference == 0


def enumerated(truncation: Truncation, counts: tuple[int, ...]) -> Fraction:
    operands = list(product(*(numbers(count, truncation.base) for count in counts)))
    return Fraction(sum(is_right(truncation, each) for each in operands), len(operands))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Truncation, tuple[int, ...]]:
    base = draw(st.sampled_from(list(LONGEST)))
    operation = draw(st.sampled_from(list(EXACT)))
    modulus = 0
    if operation in ("addition", "multiplication"):
        powers = st.builds(lambda k, m: base**k * m, st.integers(0, 3), st.integers(1, 4))
        modulus = draw(st.just(0) | st.integers(2, 40) | powers.filter(lambda p: 1 < p < 200))
    truncation = Truncation(operation, base, draw(st.integers(1, 3)), modulus)
    longest = LONGEST[base] if truncation.operands == 2 else max(2, LONGEST[base] // 2)
    count = st.integers(1, longest)
    return truncation, tuple(draw(count) for _ in range(truncation.operands))


@settings(max_examples=70, deadline=None)
@given(case=cases())
@example(case=(Truncation("multiplication", 10, 1, 12), (2, 2)))
@example(case=(Truncation("multiplication", 2, 1, 8), (4, 5)))  # p' shares factors with the base
@example(case=(Truncation("addition", 2, 2, 8), (3, 3)))
@example(case=(Truncation("addition", 7, 1, 3), (2, 1)))  # p < base
def test_a_share_is_what_enumeration_counts(case: tuple[Truncation, tuple[int, ...]]) -> None:
    truncation, counts = case
    assert truncation.share_at(counts) == enumerated(truncation, counts)


@settings(max_examples=60, deadline=None)
@given(
    base=st.sampled_from([2, 3, 4]),
    digits=st.integers(1, 2),
    length=st.integers(1, 4),
    modulus=st.integers(2, 30),
    operation=st.sampled_from(["addition", "multiplication"]),
    sampler=st.sampled_from(["coin", "uniform"]),
)
def test_on_the_domains_as_they_are_defined(
    base: int, digits: int, length: int, modulus: int, operation: str, sampler: str
) -> None:
    truncation = Truncation(operation, base, digits, modulus)
    both = list(product(range(base**length), repeat=2))
    exact = [all(n in numbers(length, base) for n in pair) for pair in both]
    some = [any(n in numbers(length, base) for n in pair) for pair in both]
    right = [is_right(truncation, pair) for pair in both]

    def mean(weights: list[int]) -> Fraction:
        return Fraction(sum(w for w, r in zip(weights, right, strict=True) if r), sum(weights))

    assert truncation.share(Distribution("D~"), length) == mean([int(inside) for inside in exact])
    # The coin picks which operand has `length` digits, and the other is below base^length.
    weights = [s + e if sampler == "coin" else s for s, e in zip(some, exact, strict=True)]
    expected = mean([int(weight) for weight in weights])
    sampled = Distribution("D", "coin" if sampler == "coin" else "uniform")
    assert truncation.share(sampled, length) == expected


@given(
    starts=st.tuples(st.integers(0, 60), st.integers(0, 60)),
    sizes=st.tuples(st.integers(0, 60), st.integers(0, 60)),
    modulus=st.integers(1, 50),
)
def test_sums_of_intervals_that_are_multiples(
    starts: tuple[int, int], sizes: tuple[int, int], modulus: int
) -> None:
    one, two = (range(a, a + size) for a, size in zip(starts, sizes, strict=True))
    counted = sum((a + b) % modulus == 0 for a in one for b in two)
    assert zero_sums(one, two, modulus) == counted


@pytest.mark.parametrize("modulus", MODULI)
@pytest.mark.parametrize("length", [5, 6, 7])
def test_addition_by_counting_residues(modulus: int, length: int) -> None:
    factor = modulus // math.gcd(modulus, 10**4)
    residues = Counter(number % factor for number in range(10 ** (length - 5), 10 ** (length - 4)))
    pairs = sum(count * residues[-r % factor] for r, count in residues.items())
    share = Truncation("addition", 10, 4, modulus).share(Distribution("D~"), length)
    assert share == Fraction(pairs, residues.total() ** 2)


@given(
    base=st.integers(2, 12),
    digits=st.integers(1, 4),
    modulus=st.integers(2, 3000),
    above=st.integers(1, 9),
)
def test_how_far_a_share_is_from_the_limit(
    base: int, digits: int, modulus: int, above: int
) -> None:
    truncation = Truncation("addition", base, digits, modulus)
    factor, size = truncation.factor, (base - 1) * base ** (above - 1)
    share = truncation.share_at((digits + above,) * 2)
    assert abs(share - truncation.limit) <= Fraction(factor, 4 * size * size)


@given(
    base=st.integers(2, 12),
    digits=st.integers(1, 4),
    modulus=st.integers(2, 3000),
    distribution=st.sampled_from(EVERY[:3]),
)
def test_the_first_length_at_which_a_sum_can_be_right(
    base: int, digits: int, modulus: int, distribution: Distribution
) -> None:
    truncation = Truncation("addition", base, digits, modulus)
    first = truncation.first_right(distribution)
    assert first is not None
    above = first - digits
    shares = [truncation.share(distribution, length) for length in range(digits + 1, first + 1)]
    assert [bool(share) for share in shares] == [False] * (above - 1) + [True]
    # The high parts sum up to at most 2 (base^k - 1); a multiple of p' has to be among the sums.
    least = next(k for k in range(1, 99) if 2 * (base**k - 1) >= truncation.factor)
    assert above >= least
    if distribution.kind == "D~" and base > 2:
        assert above == least


def test_the_published_formula_for_the_first_length() -> None:
    for modulus in MODULI:
        factor = reduced_modulus(modulus, 10, 4)
        first = Truncation("addition", 10, 4, modulus).first_right(Distribution("D~"))
        assert first == max(5, math.ceil(4 + math.log10(factor / 2 + 1)))


@pytest.mark.parametrize("distribution", EVERY)
@pytest.mark.parametrize(
    ("operation", "modulus"),
    [("multiplication", 0), ("subtraction", 0), ("addition", 0), ("multiplication", 12)],
)
def test_whether_it_is_ever_right(distribution: Distribution, operation: str, modulus: int) -> None:
    truncation = Truncation(operation, 10, 2, modulus)
    shares = [truncation.share(distribution, length) for length in range(3, 8)]
    first = truncation.first_right(distribution)
    expected = next((length for length, share in enumerate(shares, 3) if share), None)
    assert first == expected


def test_published_figures_for_addition() -> None:
    """Predicted per cent at 5 to 9 digits, trained on 4, both operands of exactly that length."""
    table = {
        50: [100] * 5,
        100: [100] * 5,
        200: [100] * 5,
        51: [0, 1.99, 1.96, 1.96, 1.96],
        101: [0, 1.01, 0.99, 0.99, 0.99],
        150: [33.33] * 5,
        151: [0, 0.59, 0.66, 0.66, 0.66],
        201: [0, 0, 0.49, 0.50, 0.50],
    }
    for modulus, expected in table.items():
        truncation = Truncation("addition", 10, 4, modulus)
        shares = [truncation.share(Distribution("D~"), length) for length in range(5, 10)]
        assert [round(float(100 * share), 2) for share in shares] == expected, modulus
    limits = {51: 1.96, 101: 0.99, 150: 33.33, 151: 0.66, 201: 0.50, 50: 100, 100: 100, 200: 100}
    for modulus, limit in limits.items():
        assert round(float(100 * Truncation("addition", 10, 4, modulus).limit), 2) == limit


def test_the_published_code_counts_high_parts_from_one() -> None:
    for modulus, share in ((151, 0.0066012), (201, 0.0049759)):
        counted = zero_sums(range(1, 1000), range(1, 1000), modulus) / 999**2
        assert round(counted, 7) == share


def test_published_figures_for_products() -> None:
    """Of three distributions at 4 digits, and the share of zero operands in plain products."""
    product_of = Truncation("multiplication", 10, 3, 51)
    shares = [round(float(product_of.share(each, 4)), 5) for each in EVERY[:3]]
    assert shares == [0.02398, 0.02488, 0.02562]
    sixteen = Truncation("multiplication", 10, 2, 16).share(Distribution("D~"), 3)
    assert round(float(sixteen), 3) == 0.324
    for length in (3, 4, 7):
        plain = Truncation("multiplication", 10, 2)
        assert plain.share(Distribution("D"), length) == Fraction(1, 10**length)
        assert plain.share(Distribution("D~"), length) == 0


@pytest.mark.parametrize("modulus", MODULI)
def test_moduli_that_divide_a_power_of_the_base_lose_nothing(modulus: int) -> None:
    for operation in ("addition", "multiplication"):
        truncation = Truncation(operation, 10, 4, modulus)
        shares = {truncation.share(each, length) for each in EVERY for length in (1, 5, 9)}
        assert (shares == {Fraction(1)}) == (10**4 % modulus == 0)


@given(base=st.integers(2, 12), digits=st.integers(1, 4), count=st.integers(1, 9))
def test_high_parts(base: int, digits: int, count: int) -> None:
    assume(base**count < 3000)
    found = {number // base**digits for number in numbers(count, base)}
    assert found == set(high_part(count, base, digits))


@pytest.mark.parametrize("distribution", EVERY)
@pytest.mark.parametrize("operands", [2, 3])
def test_cells_of_a_distribution(distribution: Distribution, operands: int) -> None:
    cells = distribution.cells(3, 4, operands)
    assert sum(cells.values()) == 1
    assert {max(counts) for counts in cells} == {3}
    if distribution.kind != "L":
        assert dict(cells) == Domain(distribution.kind, 3).cells(4, distribution.sampler, operands)
