"""Induction against Python's strings."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.tasks import task


@settings(max_examples=30, deadline=None)
@given(
    st.integers(3, 12), st.integers(1, 9), st.integers(0, 99), st.sampled_from(["ab", "abcdxyz"])
)
def test_induction_finds_the_latest(length: int, more: int, seed: int, letters: str) -> None:
    made = task("induction", length=length, longer=length + more, letters=letters)
    for split in made.splits:
        batch = made.lay_out(made.draw(split, np.random.default_rng(seed), 30))
        for row, (question, answer) in enumerate(made.examples(batch)):
            text = "".join(question)
            before = text.rindex(text[-1], 0, len(text) - 1)
            assert answer == (text[before + 1],)
            assert batch.axes["gap"][row] == len(text) - 1 - before >= 2
            assert batch.axes["length"][row] == len(text) == batch.prompt[row]


def test_gaps_are_drawn_evenly() -> None:
    batch = task("induction").batch("train", 0, 0, 40_000)
    gaps = batch.axes["gap"][batch.axes["length"] == 11]
    assert all(abs((gaps == gap).mean() - 1 / 9) < 0.03 for gap in range(2, 11))
