"""Ramps lie between the means that can occur; buckets that a format cannot hold are refused.

The oracle enumerates every mean with exact fractions.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.compiler.check import check
from weft.compiler.execution import input_numbers, run_model
from weft.language.ranges import number
from weft.weights.precision import format_of, mean_ramps

LONGEST = 6
eighths = st.integers(-24, 24).map(lambda n: n / 8)


def program(values: list[float], buckets: list[float]) -> weft.Program:
    """Which bucket the mean of the values of all tokens falls into."""
    range_ = number(buckets)

    class Mean(weft.Program):
        tokens = list(range(len(values)))
        value = weft.number(values, token=lambda t: values[t])
        everything = weft.var(1)
        mean = weft.attend(everything, everything, value, output=weft.number(buckets))
        bucket = weft.var(len(buckets))
        output = bucket
        layers = 1

        def step(z):
            z.bucket = range_.values.index(z.mean)

    return Mean()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(eighths, min_size=1, max_size=3, unique=True),
    st.lists(eighths.map(lambda n: n * 20), min_size=2, max_size=5, unique=True),
    st.sampled_from(["float32", "float64"]),
)
def test_no_mean_lies_on_a_ramp_and_every_mean_lies_on_its_side(
    values: list[float], buckets: list[float], dtype: str
) -> None:
    value, output = number(values), number(buckets)
    ramps = mean_ramps("mean", value, output, LONGEST, format_of(dtype))
    for count in range(1, LONGEST + 1):
        for chosen in combinations_with_replacement(map(Fraction, value.buckets), count):
            mean = sum(chosen) / count
            for border, ramp in zip(output.borders, ramps, strict=True):
                assert ramp.low < ramp.high
                assert mean < ramp.low if mean < Fraction(border) else mean > ramp.high


FAR = [
    [0, 0.5, 1, 100], [0, 0.5, 1, 1e9], [-1e9, 0, 0.5, 1], [5, 6], [-6, -5], [1000, 1000.0000001],
    [1e300, 1e301], [0, 1e-9, 1], [1 / 3, 1 / 3 + 1e-12, 1],
]  # fmt: skip


@pytest.mark.parametrize("buckets", FAR, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_buckets_far_from_all_means_are_compiled(buckets: list[float], dtype: str) -> None:
    made = program([0, 1], buckets)
    compiled = weft.compile(made, max_length=LONGEST, dtype=dtype)
    inputs = [list(bits) for n in range(1, LONGEST + 1) for bits in product((0, 1), repeat=n)]
    found = run_model(compiled.model, input_numbers(made, inputs)).outputs
    assert found == weft.run_batch(made, inputs).outputs
    report = check(compiled, samples=30, max_length=LONGEST)
    assert (report.difference, report.failures) == (None, ())


def test_numbers_that_cancel_have_room_for_the_rounding_of_their_parts() -> None:
    """The mean of -1 and 1 is small; what is rounded on the way is not."""
    (ramp,) = mean_ramps(
        "mean", number([-1, 1]), number([-0.01, 0.03]), LONGEST, format_of("float32")
    )
    assert ramp.low > 2**-24


class Close(weft.Program):
    """A number with two buckets that float32 holds as one."""

    tokens = [0, 1]
    level = weft.number([1, 1 + 1e-9], token=lambda t: 1 + t * 1e-9)
    high = weft.var(2)
    output = high
    layers = 1

    def step(z):
        z.high = z.level > 1


class Large(weft.Program):
    """A number with a bucket that float32 cannot hold."""

    tokens = [0, 1]
    level = weft.number([0, 1e60], token=lambda t: t * 1e60)
    high = weft.var(2)
    output = high
    layers = 1

    def step(z):
        z.high = z.level > 1


@pytest.mark.parametrize("level", [0, 2])
def test_buckets_that_a_format_cannot_tell_apart_are_refused_by_name(level: int) -> None:
    with pytest.raises(weft.WeftError) as caught:
        weft.compile(Close(), level=level)
    what = "float32 cannot tell apart the buckets 1 and 1.000000001 of 'level'"
    assert caught.value.what == what
    assert caught.value.remedy == "Use buckets that are further apart, or use float64"
    report = check(weft.compile(Close(), level=level, dtype="float64"), samples=20)
    assert report.difference is None
    with pytest.raises(weft.WeftError, match=r"bfloat16 cannot tell .*float32 or float64"):
        weft.compile(Close(), level=level, dtype="bfloat16")


def test_buckets_that_a_format_cannot_hold_are_refused_by_name() -> None:
    with pytest.raises(weft.WeftError, match=r"float32 cannot hold the bucket 1e\+60 of 'level'"):
        weft.compile(Large())
    assert check(weft.compile(Large(), dtype="float64"), samples=20).difference is None


def test_means_that_a_format_cannot_tell_apart_are_refused_by_name() -> None:
    values = [1e9, 1e9 + 1]
    made = program(values, [1e9, 1e9 + 0.5, 1e9 + 1])
    with pytest.raises(weft.WeftError) as caught:
        weft.compile(made, max_length=8)
    assert "the buckets 1000000000 and 1000000000.5 of 'mean'" in caught.value.what
    assert check(weft.compile(made, max_length=8, dtype="float64"), samples=40).difference is None
    with pytest.raises(weft.WeftError, match=r"between its buckets .* Compile for at most \d+ pos"):
        weft.compile(program([0, 1], [0, 0.3, 1]), max_length=8, dtype="bfloat16")
