"""Bounds on rounding errors, against PyTorch; units, against what they give for every count."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from evaluate_functions import evaluate

from weft.crasp.proof.diagrams import Diagrams
from weft.crasp.proof.values import Arithmetic, Known, Unknown
from weft.models.transformer import DTYPES

ALPHABET = ("a", "b")


def arithmetic(positions: int, dtype: str = "float32") -> Arithmetic:
    return Arithmetic(Diagrams(positions, 2), dtype)


def symbol(given: Arithmetic, a: float, b: float, begin: float = 0.0) -> Known:
    make = given.diagrams
    values = [Fraction(a), Fraction(b)]
    return Known(make.of_symbol(Fraction(begin), values), given.exact)


@pytest.mark.parametrize(
    ("dtype", "count"), [("float32", 900), ("float64", 900), ("bfloat16", 200)]
)
def test_means_lie_within_their_bounds(dtype: str, count: int) -> None:
    given = arithmetic(count + 1, dtype)
    mean = given.mean(symbol(given, 1, 0))
    assert isinstance(mean, Known)
    places = torch.arange(1, count + 2)
    mask = places[None] <= places[:, None]
    weights = torch.zeros(count + 1, count + 1).masked_fill(~mask, -torch.inf)
    for share in (1.0, 0.5, 0.1):
        held = (torch.rand(count + 1, 1) < share).to(DTYPES[dtype])
        held[0] = 0
        wide = torch.float64 if dtype == "float64" else torch.float32
        dense = weights.to(wide).softmax(-1).to(DTYPES[dtype]) @ held
        zero = torch.zeros(1, 1, count + 1, 1, dtype=DTYPES[dtype])
        fused = torch.nn.functional.scaled_dot_product_attention(
            zero, zero, held[None, None], is_causal=True, scale=1.0
        )[0, 0]
        exact = held.double().cumsum(0) / places[:, None]
        for computed in (dense, fused):
            off = (computed.double() - exact).abs()[:, 0].numpy()
            assert (off <= mean.error).all()
    assert mean.error[-1] < (1e-4 if dtype != "bfloat16" else 1e-2)


def test_sums_of_small_integers_are_exact_and_others_are_not() -> None:
    given = arithmetic(4)
    one, tenth = symbol(given, 1, 0, 1), float(np.float32(0.1))
    for terms, bias, exact in (
        ([(3.0, one), (-2.0, one)], 0.5, True),
        ([(2.0**-20, one), (1.0, one)], 0.0, True),
        ([(2.0**-20, one), (16.0, one)], 0.0, False),
        ([(tenth, one)], 0.0, True),  # one product with 1 or 0
        ([(tenth, one), (1.0, one)], 0.0, False),
    ):
        total = given.linear(terms, bias)
        assert isinstance(total, Known)
        assert total.is_exact == exact
    assert isinstance(given.linear([(0.0, Unknown("?")), (1.0, one)]), Known)
    assert isinstance(given.linear([(1.0, Unknown("?")), (1.0, one)]), Unknown)


@pytest.mark.parametrize("slope", [0.3, 1.0, 7.0, 40.0, 300.0, -40.0])
@pytest.mark.parametrize("clipped", [True, False])
def test_a_unit_gives_what_its_function_says_for_every_count(slope: float, clipped: bool) -> None:
    """clip(slope (share of a - 1.5 / (i + 1)) + 1/2) at every position and count."""
    count = 12
    given = arithmetic(count + 1)
    share, one = given.mean(symbol(given, 1, 0)), given.mean(symbol(given, 0, 0, 1))
    unit = given.activate(given.linear([(slope, share), (-1.5 * slope, one)], 0.5), clipped)
    assert isinstance(unit, Known)
    for often in range(count + 1):
        word = ["a"] * often + ["b"] * (count - often)
        held = evaluate(given.diagrams, unit.function, ALPHABET, word)
        for i, (constant, total) in enumerate(held):
            real = slope * (min(i, often) - 1.5) / (i + 1) + 0.5
            expected = min(max(real, 0.0), 1.0) if clipped else max(real, 0.0)
            assert abs(float(constant + total / (i + 1)) - expected) < 1e-9 + unit.error[i]
            if unit.error[i] == 0 and clipped:
                assert expected in (0.0, 1.0) or i == 0
    if abs(slope) >= 40:
        assert unit.is_exact == clipped


def test_coefficients_that_were_rounded_count_as_rounding_errors() -> None:
    """3 times the slope, as bfloat16 stores it, is not 3 times the slope as it stores that."""
    count = 20
    given = arithmetic(count + 1)
    a, b = given.mean(symbol(given, 1, 0)), given.mean(symbol(given, 0, 1))
    one = given.mean(symbol(given, 0, 0, 1))
    slope = 50.0
    exact = given.activate(
        given.linear([(slope, a), (-3 * slope, b), (-slope / 2, one)], 0.5), True
    )
    near = given.activate(
        given.linear([(slope, a), (-3 * slope * 1.0001, b), (-slope / 2, one)], 0.5), True
    )
    far = given.activate(
        given.linear([(slope, a), (-3.03 * slope, b), (-slope / 2, one)], 0.5), True
    )
    assert isinstance(exact, Known)
    assert isinstance(near, Known)
    assert isinstance(far, Known)
    assert near.function is exact.function
    assert near.is_exact
    assert not far.is_exact


def test_a_mean_over_too_many_positions_is_not_understood() -> None:
    given = arithmetic(1 << 18)
    assert isinstance(given.mean(symbol(given, 1, 0)), Unknown)
    wide = arithmetic(1 << 18, "float64")
    assert isinstance(wide.mean(symbol(wide, 1, 0)), Known)


def test_means_and_copies_of_inexact_numbers_are_not_understood() -> None:
    given = arithmetic(5)
    share = given.mean(symbol(given, 1, 0))
    assert isinstance(given.mean(share), Unknown)
    assert isinstance(given.fetched(share, np.zeros(5, np.int64)), Unknown)
    copied = given.fetched(symbol(given, 1, 0, 1), np.zeros(5, np.int64))
    assert isinstance(copied, Known)
    assert copied.function is given.diagrams.constant(1)
