"""Domains against counting every pair of numbers, and against what samplers draw."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.tasks import task
from weft.tasks.arithmetic import Arithmetic
from weft.tasks.arithmetic.digits import digit_lengths, integers
from weft.tasks.arithmetic.domains import (
    Counts,
    Domain,
    Kind,
    Mixture,
    Sampler,
    cells_by_length,
    digit_count,
    domain,
    number_range,
)


def written(number: int, base: int) -> int:
    """The number of digits, by writing them out."""
    return len(np.base_repr(number, base))


def every(base: int, digits: int, operands: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(base**digits), repeat=operands))


@given(st.integers(0, 10**30), st.integers(2, 36))
def test_digits_are_counted_as_they_are_written(number: int, base: int) -> None:
    assert digit_count(number, base) == written(number, base)
    low, high = number_range(digit_count(number, base), base)
    assert low <= number < high


SMALL = [(2, 3, 2), (3, 2, 2), (5, 2, 2), (10, 1, 2), (10, 2, 2), (2, 3, 3), (4, 2, 3)]


@pytest.mark.parametrize(("base", "digits", "operands"), SMALL)
@pytest.mark.parametrize("kind", ["D", "D~"])
def test_the_uniform_sampler_is_uniform_over_the_set(
    kind: Kind, base: int, digits: int, operands: int
) -> None:
    lengths = [[written(n, base) for n in row] for row in every(base, digits, operands)]
    wanted = {"D": lambda row: max(row) == digits, "D~": lambda row: set(row) == {digits}}[kind]
    counted = Counter(tuple(row) for row in lengths if wanted(row))
    total = sum(counted.values())
    made = Domain(kind, digits)
    assert made.size(base, operands) == total
    cells = made.cells(base, "uniform", operands)
    assert cells == {counts: Fraction(n, total) for counts, n in counted.items()}


@pytest.mark.parametrize(("base", "digits", "operands"), SMALL)
def test_the_coin_sampler_is_the_published_procedure(base: int, digits: int, operands: int) -> None:
    """Pick who has exactly n digits, and everyone else below base^n; all outcomes weighed."""
    low, high = number_range(digits, base)
    chances: Counter[Counts] = Counter()
    for place in range(operands):
        ranges = [range(low, high) if k == place else range(high) for k in range(operands)]
        for row in itertools.product(*ranges):
            chances[tuple(written(n, base) for n in row)] += 1
    total = chances.total()  # each choice of `place` has equally many outcomes
    cells = Domain("D", digits).cells(base, "coin", operands)
    assert cells == {counts: Fraction(n, total) for counts, n in chances.items()}


def test_sizes_are_those_of_the_paper() -> None:
    for n in range(2, 8):
        assert Domain("D", n).size() == 99 * 10 ** (2 * n - 2)
        assert Domain("D~", n).size() == 81 * 10 ** (2 * n - 2)
    assert Domain("D", 1).size() == Domain("D~", 1).size() == 100


@given(
    st.sampled_from(["D", "D~", "L"]),
    st.integers(1, 5),
    st.integers(2, 12),
    st.sampled_from(["coin", "uniform"]),
    st.integers(2, 3),
)
def test_probabilities_sum_to_one(
    kind: Kind, digits: int, base: int, sampler: Sampler, operands: int
) -> None:
    made = Domain(kind, digits)
    cells = made.cells(base, sampler, operands)
    assert sum(cells.values()) == 1
    assert all(chance > 0 and made.holds(counts) for counts, chance in cells.items())
    assert set(cells) == set(made.counts(operands))


def test_a_mixture_draws_from_each_domain_with_its_share() -> None:
    made = domain("D2:1+D~3:3")
    parts = {2: Fraction(1, 4), 3: Fraction(3, 4)}
    by_length = {
        length: sum(p for counts, p in made.cells().items() if max(counts) == length)
        for length in parts
    }
    assert by_length == parts
    assert made.cells()[1, 2] == Fraction(1, 4) * Domain("D", 2).cells()[1, 2]
    assert made.lengths == (2, 3)
    assert [made.holds(counts) for counts in ((1, 2), (3, 3), (2, 3))] == [True, True, False]


@given(st.lists(st.tuples(st.sampled_from(["D", "D~", "L"]), st.integers(1, 9),
                          st.integers(1, 9)), min_size=1, max_size=4))  # fmt: skip
def test_names_are_read_as_they_are_written(parts: list[tuple[Kind, int, int]]) -> None:
    total = sum(weight for _, _, weight in parts)
    made = Mixture(tuple((Domain(k, n), Fraction(w, total)) for k, n, w in parts))
    assert domain(str(made)) == made


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: domain("E4"), "'E4' is not a domain"),
        (lambda: domain("D"), "'D' is not a domain"),
        (lambda: domain("D+D5", 4), "'D' is not a domain"),
        (lambda: domain("D4:x"), "the share in 'D4:x' is not a number"),
        (lambda: domain("D4:1/0"), "is not a number"),
        (lambda: domain("D4:0+D5:1"), "is not positive"),
        (lambda: domain("D4:2+D5:-1"), "is not positive"),
        (lambda: domain("D0"), "digits is 0. Give at least 1"),
        (lambda: domain(""), "is not a domain"),
        (lambda: Domain("D", 4).cells(base=1), "base is 1. Give at least 2"),
        (lambda: Domain("D", 4).cells(sampler="fair"), "Give one of: coin, uniform"),  # type: ignore[arg-type]
        (lambda: Domain("E", 4), "its kind is 'E'"),  # type: ignore[arg-type]
        (lambda: Mixture(()), "a share is not positive"),
        (lambda: Mixture(((Domain("D", 4), Fraction(1, 2)),)), "do not sum to 1"),
    ],
)
def test_what_is_no_domain_is_refused(wrong: object, message: str) -> None:
    assert callable(wrong)
    with pytest.raises(WeftError, match=message):
        wrong()


# What samplers draw


def drawn(made: Arithmetic, split: str, size: int) -> list[np.ndarray]:
    batch = made.lay_out(made.draw(split, np.random.default_rng(5), size))
    return made.operands(batch)


def chi_square_bound(freedom: int) -> float:
    """Exceeded about once in a million times (Wilson and Hilferty, 1931)."""
    return float(freedom * (1 - 2 / (9 * freedom) + 4.75 * math.sqrt(2 / (9 * freedom))) ** 3)


def assert_drawn_from(chances: dict[Counts, float], drawn: Counter[Counts]) -> None:
    assert set(drawn) <= set(chances)
    size = drawn.total()
    common = {counts: p for counts, p in chances.items() if p * size >= 5}
    rest = [(sum(p for counts, p in chances.items() if counts not in common),
             sum(n for counts, n in drawn.items() if counts not in common))]  # fmt: skip
    cells = [*((p, drawn[counts]) for counts, p in common.items()), *(r for r in rest if r[0] > 0)]
    statistic = sum((n - p * size) ** 2 / (p * size) for p, n in cells)
    assert statistic < chi_square_bound(max(1, len(cells) - 1))


PARAMETERS = [
    {},
    {"domain": "D4"},
    {"domain": "D2"},
    {"domain": "D2", "sampler": "uniform"},
    {"domain": "D~3"},
    {"domain": "D1:1+D2:2+D4:3"},
    {"domain": "D3", "test_domain": "L"},
    {"domain": "D2", "base": 3},
    {"domain": "L3", "test_domain": "D", "base": 2},
    {"domain": "D3", "restrict": "even-digits"},
    {"domain": "D3", "restrict": "no-carries"},
    {"domain": "D1:1+D4:1", "restrict": "no-carries"},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
@pytest.mark.parametrize("name", ["addition", "sum-of-three"])
def test_digit_counts_are_drawn_with_their_probabilities(
    name: str, parameters: dict[str, object]
) -> None:
    made = task(name, **parameters)
    assert isinstance(made, Arithmetic)
    for split in ("train", "longer", "digits-3"):
        operands = drawn(made, split, 4000)
        lengths = zip(*(digit_lengths(digits).tolist() for digits in operands), strict=True)
        chances = {counts: float(p) for counts, p in made.cells(split).items()}
        assert_drawn_from(chances, Counter(lengths))


@pytest.mark.parametrize("parameters", [{"domain": "D2"}, {"domain": "D2", "base": 4}, {}], ids=str)
def test_given_the_digit_counts_numbers_are_uniform(parameters: dict[str, object]) -> None:
    made = task("addition", **parameters)
    assert isinstance(made, Arithmetic)
    pairs = zip(*(integers(digits, made.base) for digits in drawn(made, "digits-2", 50_000)),
                strict=True)  # fmt: skip
    values = [a for a, b in pairs if {digit_count(n, made.base) for n in (a, b)} == {2}]
    low, high = number_range(2, made.base)
    chances = {(n,): 1 / (high - low) for n in range(low, high)}
    assert_drawn_from(chances, Counter((value,) for value in values))


@settings(max_examples=25)
@given(st.sampled_from(["D", "D~", "L"]), st.sets(st.integers(1, 5), min_size=1),
       st.sampled_from(["coin", "uniform"]), st.integers(2, 3))  # fmt: skip
def test_tests_of_several_lengths_have_each_equally_often(
    kind: Kind, lengths: set[int], sampler: Sampler, operands: int
) -> None:
    cells = cells_by_length(kind, tuple(sorted(lengths)), 10, sampler, operands)
    for length in lengths:
        chance = sum(p for counts, p in cells.items() if max(counts) == length)
        assert chance == Fraction(1, len(lengths))
    if kind != "L" and len(lengths) == 1:
        assert cells == Domain(kind, lengths.pop()).cells(10, sampler, operands)
