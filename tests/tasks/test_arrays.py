"""Rows with lengths: reversed, concatenated, masked."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from token_rows import padded, rows

from weft.tasks.arrays import placed, turned, within


@given(rows)
def test_rows_turn_within_their_lengths(lists: list[list[int]]) -> None:
    assert (turned(*padded(lists)) == padded([one[::-1] for one in lists])[0]).all()


@given(rows, st.randoms())
def test_parts_are_put_one_behind_the_other(lists: list[list[int]], rng: Any) -> None:
    others = [[rng.randrange(1, 9)] * rng.randrange(4) for _ in lists]
    found, lengths = placed(12, [padded(lists), padded(others)])
    expected = padded([one + other for one, other in zip(lists, others, strict=True)], 12)
    assert (found == expected[0]).all()
    assert (lengths == expected[1]).all()


def test_within_marks_the_first_positions() -> None:
    assert within(np.array([0, 2]), 3).tolist() == [[False] * 3, [True, True, False]]
