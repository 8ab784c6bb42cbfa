"""Hashes of questions: independent of padding, distinct, and uniform."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from token_rows import padded, rows

from weft.tasks.hashing import hashed, in_bucket


@given(rows)
def test_hashes_do_not_depend_on_padding(lists: list[list[int]]) -> None:
    assert (hashed(padded(lists, 6)[0]) == hashed(padded(lists, 11)[0])).all()


def test_hashes_differ_and_fill_the_bucket_evenly() -> None:
    every = np.array(np.meshgrid(*[[1, 2]] * 14)).reshape(14, -1).T  # all strings of two tokens
    hashes = hashed(every)
    assert len(np.unique(hashes)) == 2**14
    for share in (0.125, 0.5):
        chosen = in_bucket(hashes, share)
        assert abs(chosen.mean() - share) < 0.02
        for place in range(14):  # no position decides
            assert abs(chosen[every[:, place] == 1].mean() - share) < 0.03
    assert not in_bucket(hashes, 0).any()
