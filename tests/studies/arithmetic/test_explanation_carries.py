"""Carry features and what they explain, against functions that use them or do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.studies.arithmetic.explanation_carries import carry_features, explained_by_carries
from weft.studies.arithmetic.explanation_hypotheses import Questions, operation
from weft.tasks import task
from weft.tasks.arithmetic import Addition, Arithmetic
from weft.tasks.arithmetic.digits import digits_of_integers, integers
from weft.tasks.arithmetic.notation import Numbers
from weft.tasks.arrays import Ints

SUM = Addition(domain="D~3")


def questions(count: int, seed: int, width: int = 3) -> list[Ints]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 10, (count, width)) for _ in range(2)]


def both(answer: object) -> tuple[Questions, Questions]:
    assert callable(answer)
    drawn = [questions(4000, seed) for seed in (0, 1)]
    fit, test = (Questions(each, answer(each)) for each in drawn)
    return fit, test


@given(
    a=st.integers(0, 10**6 - 1), b=st.integers(0, 10**6 - 1),
    name=st.sampled_from(["addition", "subtraction", "multiplication"]),
    base=st.sampled_from([2, 10, 12]),
)  # fmt: skip
def test_digits_and_carry_determine_every_digit_of_the_truth(
    a: int, b: int, name: str, base: int
) -> None:
    """A digit is the sum of its place and the carry into it (less the borrow), modulo the base."""
    given_task = task(name, base=base)
    assert isinstance(given_task, Arithmetic)
    operands = [digits_of_integers([value], base, 20) for value in (a, b)]
    features = carry_features(given_task, operands)
    sign = -1 if name == "subtraction" else 1
    digits = (features["digits"] + sign * features["carry"]) % base
    assert integers(digits, base) == [abs(given_task.operation.exact(a, b))]


def test_carries_and_next_carries_of_sums_by_hand() -> None:
    """A carry of one place against all that runs in, from integers."""
    drawn = questions(500, 2)
    features = carry_features(SUM, drawn)
    a, b = (integers(each, 10) for each in drawn)
    for row in range(500):
        for place in range(1, 4):
            power, below = 10**place, 10 ** (place - 1)
            whole = (a[row] % power + b[row] % power) // power
            alone = (a[row] // below % 10 + b[row] // below % 10) // 10
            assert features["carry"][row, place] == whole
            assert features["next"][row, place] == alone


def test_a_sum_is_explained_by_its_digits_and_carries() -> None:
    fit, test = both(operation(SUM))
    found = explained_by_carries(SUM, fit, test)
    assert [each.place for each in found] == [1, 2, 3, 4]
    for each in found:
        full = each.explained["digits, carry"]
        assert full.r2 == 1
        assert full.accuracy.share == 1
        assert full.accuracy.count == 4000
    # Place 1 has no carry; at place 2 the next carry is the carry; at place 3 it is not, if place 2
    # has 9 and a carry into it: one question in ten, times P(carry) = 45/100.
    assert found[0].explained["digits"].accuracy.share == 1
    assert found[1].explained["digits, next"].accuracy.share == 1
    wrong = 1 - found[2].explained["digits, next"].accuracy.share
    assert wrong == pytest.approx(0.1 * 0.45, abs=0.012)
    # Without a carry, the likelier digit is that without a carry: P(carry) is 45/100 and 495/1000.
    assert found[1].explained["digits"].accuracy.share == pytest.approx(0.55, abs=0.03)
    assert found[2].explained["digits"].accuracy.share == pytest.approx(0.505, abs=0.03)


def test_a_model_that_ignores_carries_is_explained_by_digits_alone() -> None:
    def answer(operands: Sequence[Ints]) -> Numbers:
        digits = (operands[0] + operands[1]) % 10
        every = np.ones(len(digits), dtype=np.bool_)
        return Numbers(digits, ~every, every)

    for each in explained_by_carries(SUM, *both(answer)):
        assert {one.accuracy.share for one in each.explained.values()} == {1.0}
        assert {one.r2 for one in each.explained.values()} == {1.0}


def test_random_digits_are_not_explained_and_constants_have_no_variance() -> None:
    def answer(operands: Sequence[Ints]) -> Numbers:
        digits = np.random.default_rng(5).integers(0, 10, operands[0].shape)
        digits[:, 1] = 7
        every = np.ones(len(digits), dtype=np.bool_)
        return Numbers(digits, ~every, every)

    def of(operands: Sequence[Ints]) -> Numbers:
        numbers = answer(operands)
        shift = int(operands[0].sum())
        return Numbers(np.roll(numbers.digits, shift, axis=0), numbers.negative,
                       numbers.well_formed)  # fmt: skip

    found = explained_by_carries(SUM, *both(of))
    for each in found[0].explained.values():
        assert each.r2 is not None
        assert abs(each.r2) < 0.05
        assert each.accuracy.share == pytest.approx(0.1, abs=0.03)
    constant = found[1].explained["digits"]
    assert constant.r2 is None
    assert constant.accuracy.share == 1


def test_outputs_that_are_no_number_explain_nothing() -> None:
    fit, test = both(operation(SUM))
    numbers = fit.outputs
    none = Questions(fit.operands, Numbers(numbers.digits, numbers.negative, numbers.negative))
    assert explained_by_carries(SUM, none, test) == []
