"""Means that a head can give: against all selections, by the interpreter and by PyTorch."""

from __future__ import annotations

import itertools
import random

import pytest
import torch

from weft.compiler.proof.findings import Unproved
from weft.compiler.proof.means import possible_means
from weft.interpreter.reference import mean
from weft.language.ranges import number
from weft.proofs.rounding import PRECISIONS

CASES = {
    "zeros and ones": ((0.0, 1.0), [1 / k for k in range(1, 9)], 8),
    "one value": ((0.5,), [0, 0.5, 1], 5),
    "both signs": ((-3.0, 3.0), [-3, 0, 3], 7),
    "not dyadic": ((0.0, 0.1), [0, 0.03, 0.1], 9),
    "three values": ((0.0, 1.0, 2.5), [0, 0.5, 1, 2], 6),
    "many values": (tuple(map(float, range(-2, 6))), [-1, 0.25, 0.3, 3], 4),
    "buckets out of reach": ((0.0, 1.0), [-9, 0, 0.5, 7, 100], 6),
}


@pytest.mark.parametrize("name", CASES)
def test_every_selection_is_read_as_a_listed_bucket_and_lies_within_its_bounds(name: str) -> None:
    values, buckets, count = CASES[name]
    output = number(buckets)
    found = possible_means("head", values, output, count, PRECISIONS["float32"])
    reached = set()
    for size in range(1, count + 1):
        for chosen in itertools.combinations_with_replacement(values, size):
            code = output.codes[output.nearest(mean(list(chosen)))]
            reached.add(code)
            place = found.codes.tolist().index(code)
            given = float(_attended(chosen))
            assert found.low[place] <= given <= found.high[place], chosen
    assert reached == set(found.codes.tolist())


def _attended(chosen: tuple[float, ...]) -> torch.Tensor:
    """As a head computes it, with the values in some order."""
    shuffled = random.Random(len(chosen)).sample(chosen, len(chosen))
    scores = torch.zeros(1, len(shuffled))
    return (scores.softmax(-1) @ torch.tensor(shuffled)[:, None])[0, 0]


def test_neighbouring_buckets_do_not_touch_where_means_are_apart() -> None:
    output = number([1 / (1 + ones) for ones in range(30)])
    found = possible_means("share", (0.0, 1.0), output, 31, PRECISIONS["float32"])
    assert (found.high[:-1] < found.low[1:]).all()


def test_sums_that_depend_on_the_order_are_not_decided() -> None:
    with pytest.raises(Unproved, match="round differently"):
        possible_means("head", (0.1, 0.2, 0.7), number([0, 1]), 4, PRECISIONS["float32"])
